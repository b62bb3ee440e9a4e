"""Accuracy of linear classifiers: of the features themselves, and of codes.

All vectors have unit length: the features x, codes sign(Rx) / sqrt(k), and real projections Rx / |Rx|. So C means the
same to all of them, and an intercept trained on codes fits projections. Classifiers are trained on codes, which stay
packed: dual coefficients are found from the Gram matrix, which counts bits, and weights from a few bits of all codes at
a time. They are tested on real projections (asymmetric, as in the paper) and on codes (symmetric).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.core.query_values import pack_queries
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.splits import PROTOCOLS, ClassSplit, Split, make_class_split
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.classification.svm import train_linear_svms
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.bits import Codes, code_bytes, unpack_signs
from cbe_bench.kernels.linalg.gram import Gram, code_gram, real_gram
from cbe_bench.kernels.linalg.products import products
from cbe_bench.kernels.parallel import for_slices

_DIMENSIONS = 512
"""Dimensions of all training vectors that a thread multiplies at once."""
_ROWS = 256
"""Vectors classified in one product."""
_ENCODED, _TRAINED = 0.2, 0.7
"""Fractions of an evaluation done when training rows are encoded, and when classifiers are trained."""
_NO_ROWS = np.empty(0, np.int64)


def draw_class_split(
    features: Features, seed: int, *, classes: int | None, train: int, validation: int, test: int
) -> ClassSplit:
    """Draw the split of a seed: rows of each class for training, validation and test.

    Parameters
    ----------
    features : Features
        With labels.
    seed : int
        The seed of the experiment.
    classes : int or None
        The number of classes, None for all.
    train, validation, test : int
        Rows of each class.

    Returns
    -------
    ClassSplit
    """
    return make_class_split(
        features.labels(),
        classes=classes,
        train=train,
        validation=validation,
        test=test,
        seed=derive_seed(seed, "split"),
        source=features.source,
    )


class ClassificationEvaluator:
    """Measures features and encoders on one split, whose training rows it reads at once.

    Parameters
    ----------
    features : Features
        Where the rows are.
    split : ClassSplit
        Training and held-out rows and their classes.
    seed : int
        Decides which dimensions are selected, and which rows an encoder is trained on where these are not all.
    n_features : int
        Dimensions that are selected.
    costs : sequence of float
        Values of C, in ascending order; the one that is best on the validation rows counts.
    protocol : str
        How rows are prepared.
    cache_bytes : int
        Memory for held-out rows, which are cached if all of them fit.
    block_rows : int or None
        Held-out rows of a block; by default as many as make 128 MiB.

    Attributes
    ----------
    X : float32 array of shape (n_train, n_features)
        The training rows, of unit length.
    """

    def __init__(
        self,
        features: Features,
        split: ClassSplit,
        *,
        seed: int,
        n_features: int,
        costs: Sequence[float],
        protocol: str = "paper",
        cache_bytes: int = 0,
        block_rows: int | None = None,
    ) -> None:
        def prepared(rows: Split, cache_bytes: int = 0) -> DatasetView:
            return DatasetView(
                features,
                rows,
                PROTOCOLS[protocol],
                seed=derive_seed(seed, "dimensions"),
                n_dims=n_features if n_features != features.n_features else None,
                cache_bytes=cache_bytes,
                block_rows=block_rows,
            )

        self.X = prepared(Split(queries=split.train, database=_NO_ROWS, train_positions=_NO_ROWS)).queries()
        self._held_out = prepared(Split(queries=_NO_ROWS, database=split.held, train_positions=_NO_ROWS), cache_bytes)
        self._split, self._costs = split, tuple(costs)

    def original(self, progress: Progress) -> dict[str, Any]:
        """Return the metrics of the features themselves."""
        X = self.X
        beta, train_s = self._train(real_gram(X), progress)
        weights = _weights(beta, X.shape[1], lambda part: X[:, part])
        (predicted,) = self._predict(beta, weights, lambda block: [block], progress)
        return {"bytes_per_vector": X.itemsize * X.shape[1], "train_s": train_s, **self._accuracy(predicted)}

    def codes(self, encoder: Encoder, progress: Progress, n_train: int | None = None) -> dict[str, Any]:
        """Return the metrics of an unfitted encoder, which is trained on `n_train` of the training rows, or all.

        Parameters
        ----------
        encoder : Encoder
            Not fitted.
        progress : Progress
            Called with the progress.
        n_train : int, optional
        """
        fit_s = self._fit(encoder, n_train)
        codes, encode_us = self._encode(encoder)
        progress(_ENCODED)
        n_bits, unit = encoder.n_bits_, np.float32(encoder.n_bits_**-0.5)
        gram = code_gram(codes, n_bits)
        gram *= unit**2
        beta, train_s = self._train(gram, progress)
        del gram
        weights = weights_of_codes(codes, n_bits, beta)

        def both(block: Matrix) -> Iterator[Matrix]:
            values = encoder.project(block)
            yield np.where(values >= 0, unit, -unit)
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), np.finfo(values.dtype).tiny)
            yield values

        symmetric, asymmetric = self._predict(beta, weights, both, progress)
        return {
            "bytes_per_vector": code_bytes(n_bits),
            "fit_s": fit_s,
            "encode_cpu_us_per_vector": encode_us,
            "train_s": train_s,
            **self._accuracy(asymmetric),
            **{f"{name}_symmetric": value for name, value in self._accuracy(symmetric).items()},
        }

    def _fit(self, encoder: Encoder, n_train: int | None) -> float:
        """Fit the encoder and return the seconds it took."""
        X, classes = (self.X, self._split.train_classes) if encoder.data_dependent else (self.X[:1], None)
        if encoder.data_dependent and n_train is not None and n_train < len(X):
            rows = np.sort(np.random.default_rng([self._held_out.seed, n_train]).choice(len(X), n_train, False))
            X, classes = X[rows], self._split.train_classes[rows]
        start = time.perf_counter()
        encoder.fit(X, classes)
        return round(time.perf_counter() - start, 4)

    def _encode(self, encoder: Encoder) -> tuple[Codes, float]:
        """Return the codes of the training rows, and the microseconds of processor time that one of them took.

        What an encoder draws again for every call, such as a matrix too large to store, is part of it.
        """
        encoder.warm_up(self.X)
        start = time.process_time()
        codes = encoder.encode(self.X, check_input=False)
        return codes, round(1e6 * (time.process_time() - start) / len(codes), 2)

    def _train(self, gram: Gram, progress: Progress) -> tuple[NDArray[np.float32], float]:
        """Return dual coefficients of shape (n_train, n_costs * n_classes), classes varying fastest, and seconds."""
        start = time.perf_counter()
        found = train_linear_svms(
            gram,
            self._split.train_classes,
            len(self._split.names),
            self._costs,
            lambda fraction: progress(_ENCODED + (_TRAINED - _ENCODED) * fraction),
        )
        beta = np.concatenate(list(found), axis=1)
        return beta, round(time.perf_counter() - start, 4)

    def _predict(
        self,
        beta: NDArray[np.float32],
        weights: NDArray[np.float32],
        vectors: Callable[[Matrix], Iterator[Matrix] | list[Matrix]],
        progress: Progress,
    ) -> list[NDArray[np.int64]]:
        """Return predicted classes of shape (n_held_out, n_costs), one array for each form that `vectors` returns."""
        intercepts, n_costs = beta.sum(axis=0), len(self._costs)
        blocks = []
        for _, block in self._held_out.database_blocks(lambda fraction: progress(_TRAINED + (1 - _TRAINED) * fraction)):
            values = [_decision_values(form, weights, intercepts) for form in vectors(block)]
            blocks.append([value.reshape(len(block), n_costs, -1).argmax(axis=2) for value in values])
        return [np.concatenate(form) for form in zip(*blocks, strict=True)]

    def _accuracy(self, predicted: NDArray[np.int64]) -> dict[str, Any]:
        """Return the test accuracy at the C that is best on the validation rows, the smallest of equals."""
        correct = predicted == self._split.held_classes[:, None]
        validation, test = (correct[rows].mean(axis=0) for rows in (~self._split.is_test, self._split.is_test))
        best = int(validation.argmax())
        return {
            "accuracy": float(test[best]),
            "cost": self._costs[best],
            "validation_accuracies": tuple(validation.round(9).tolist()),
            "test_accuracies": tuple(test.round(9).tolist()),
            "query_accuracy": pack_queries(correct[self._split.is_test, best]),
        }


def weights_of_codes(codes: Codes, n_bits: int, beta: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weights of classifiers trained on packed codes, bits being -1 and +1 over the root of their number.

    Parameters
    ----------
    codes : uint8 array of shape (n_train, ceil(n_bits / 8))
        The packed codes.
    n_bits : int
        The code length.
    beta : float32 array of shape (n_train, n_classifiers)
        The dual coefficients.

    Returns
    -------
    float32 array of shape (n_classifiers, n_bits)
    """

    def some_bits(part: slice) -> Matrix:
        return unpack_signs(codes[:, part.start // 8 : code_bytes(part.stop)], part.stop - part.start, np.float32)

    return _weights(beta * np.float32(n_bits**-0.5), n_bits, some_bits)


def _weights(beta: NDArray[np.float32], n_dims: int, columns: Callable[[slice], Matrix]) -> NDArray[np.float32]:
    """Return weights of shape (n_classifiers, n_dims), given what returns some columns of the training vectors."""
    weights = np.empty((beta.shape[1], n_dims), np.float32)
    coefficients = np.ascontiguousarray(beta.T)

    def multiply(part: slice) -> None:
        for first in range(part.start * _DIMENSIONS, min(part.stop * _DIMENSIONS, n_dims), _DIMENSIONS):
            here = slice(first, min(first + _DIMENSIONS, n_dims))
            weights[:, here] = coefficients @ columns(here)

    for_slices(multiply, -(-n_dims // _DIMENSIONS), 1, blas=True)
    return weights


def _decision_values(vectors: Matrix, weights: NDArray[np.float32], intercepts: NDArray[np.float32]) -> Matrix:
    """Return the decision value of every classifier for every vector, of shape (n_vectors, n_classifiers)."""
    values = np.empty((len(vectors), len(weights)), np.float32)

    def multiply(part: slice) -> None:
        values[part] = products(vectors[part], weights) + intercepts

    for_slices(multiply, len(vectors), _ROWS, blas=True)
    return values


def evaluation_bytes(n_train: int, n_features: int, n_bits: int, n_classes: int, n_costs: int) -> int:
    """Estimate the memory of an evaluation, the held-out rows and the encoder aside.

    Parameters
    ----------
    n_train : int
        Training rows.
    n_features, n_bits : int
        The dimension and the code length.
    n_classes, n_costs : int
        The classes, and the SVM costs tried.
    """
    n_classifiers = n_classes * n_costs
    rows = 4 * n_train * n_features + n_train * code_bytes(n_bits)
    training = 4 * n_train * n_train + 4 * n_train * (12 * n_classes + 3 * n_classifiers)
    blocks = 4 * 3 * (1 << 25)
    return rows + training + 4 * n_classifiers * n_bits + blocks


def evaluation_operations(n_train: int, n_held_out: int, n_bits: int, n_classifiers: int) -> float:
    """Estimate the cost of an evaluation in operations of a matrix product."""
    gram, n_products = n_train * n_train * n_bits / 16, 45.0
    return gram + 2.0 * n_classifiers * (n_products * n_train * n_train + (n_train + 2 * n_held_out) * n_bits)
