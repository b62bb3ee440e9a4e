"""Accuracy of linear classifiers: of the features themselves, and of codes.

All vectors have unit length: the features x, codes sign(Rx) / sqrt(k), and real projections Rx / |Rx|. So a cost C
means the same to all of them, and an intercept learned on codes suits projections. Classifiers are trained on codes,
which stay packed: machines are found from the Gram matrix, which counts bits, and their weights from a few bits of all
codes at a time. They are tested on real projections (asymmetric, as in the paper) and on codes (symmetric).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.features import Matrix
from cbe_bench.data.splits import ClassSplit
from cbe_bench.data.view import PreparedData, Tick
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.svm import train_machines
from cbe_bench.kernels.bits import Codes, code_bytes, unpack_signs
from cbe_bench.kernels.gram import Gram, code_gram, real_gram
from cbe_bench.kernels.parallel import for_slices
from cbe_bench.kernels.products import products

_DIMENSIONS = 512
"""Dimensions of all training vectors that a thread turns into weights at once."""
_ROWS = 256
"""Vectors classified in one product."""
_FITTED, _TRAINED = 0.2, 0.7
"""Shares of an evaluation done when codes are made, and when machines are trained."""


class ClassificationEvaluator:
    """Measures features and encoders on one split.

    Parameters
    ----------
    X : float32 array
        The training rows, of unit length.
    held : PreparedData
        The held rows of the split, as its database.
    split : ClassSplit
        The classes of both.
    costs : sequence of float
        Values of C, rising; the one that is best on the validation rows counts.
    """

    def __init__(self, X: Matrix, held: PreparedData, split: ClassSplit, costs: Sequence[float]) -> None:
        self._X, self._held, self._split, self._costs = X, held, split, costs

    def original(self, tick: Tick) -> dict[str, Any]:
        """Return the accuracy of the features themselves."""
        X = self._X
        machines, seconds = self._train(real_gram(X), tick)
        weights = _weights(machines, X.shape[1], lambda part: X[:, part])
        (predicted,) = self._predict(machines, weights, lambda block: [block], tick)
        return {"bytes_per_vector": X.itemsize * X.shape[1], "train_seconds": seconds, **self._accuracy(predicted)}

    def codes(self, encoder: Encoder, tick: Tick, learn_rows: int | None = None) -> dict[str, Any]:
        """Return accuracy and costs of an unfitted encoder, which learns from so many training rows, or all."""
        fit_seconds = self._fit(encoder, learn_rows)
        codes, encode_ms = self._encode(encoder)
        tick(_FITTED)
        n_bits, unit = encoder.n_bits_, np.float32(encoder.n_bits_**-0.5)
        gram = code_gram(codes, n_bits)
        gram *= unit**2
        machines, train_seconds = self._train(gram, tick)
        del gram
        weights = weights_of_codes(codes, n_bits, machines)

        def both(block: Matrix) -> Iterator[Matrix]:
            values = encoder.project(block)
            yield np.where(values >= 0, unit, -unit)
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), np.finfo(values.dtype).tiny)
            yield values

        symmetric, asymmetric = self._predict(machines, weights, both, tick)
        return {
            "bytes_per_vector": code_bytes(n_bits),
            "fit_seconds": fit_seconds,
            "encode_ms": encode_ms,
            "train_seconds": train_seconds,
            **self._accuracy(asymmetric),
            **{f"{name}_symmetric": value for name, value in self._accuracy(symmetric).items()},
        }

    def _fit(self, encoder: Encoder, learn_rows: int | None) -> float:
        """Fit the encoder and return the seconds it took."""
        X, classes = (self._X, self._split.train_classes) if encoder.learns else (self._X[:1], None)
        if encoder.learns and learn_rows is not None and learn_rows < len(X):
            rows = np.sort(np.random.default_rng([self._held.seed, learn_rows]).choice(len(X), learn_rows, False))
            X, classes = X[rows], self._split.train_classes[rows]
        start = time.perf_counter()
        encoder.fit(X, classes)
        return round(time.perf_counter() - start, 4)

    def _encode(self, encoder: Encoder) -> tuple[Codes, float]:
        """Return the codes of the training rows, and milliseconds of processor time that one of them took.

        What an encoder draws anew, such as a matrix too large to keep, is part of it.
        """
        encoder.warm_up(self._X)
        start = time.process_time()
        codes = encoder.encode(self._X, check_input=False)
        return codes, round(1e3 * (time.process_time() - start) / len(codes), 5)

    def _train(self, gram: Gram, tick: Tick) -> tuple[NDArray[np.float32], float]:
        """Return the coefficients of all machines, those of one cost after those of the other, and seconds."""
        start = time.perf_counter()
        found = train_machines(
            gram,
            self._split.train_classes,
            len(self._split.names),
            self._costs,
            lambda share: tick(_FITTED + (_TRAINED - _FITTED) * share),
        )
        machines = np.concatenate(list(found), axis=1)
        return machines, round(time.perf_counter() - start, 4)

    def _predict(
        self,
        machines: NDArray[np.float32],
        weights: NDArray[np.float32],
        vectors: Callable[[Matrix], Iterator[Matrix] | list[Matrix]],
        tick: Tick,
    ) -> list[NDArray[np.int64]]:
        """Return the predicted class of every held row at every cost, for each kind of vectors made of a block."""
        intercepts, n_costs = machines.sum(axis=0), len(self._costs)
        blocks = []
        for _, block in self._held.database_blocks(lambda share: tick(_TRAINED + (1 - _TRAINED) * share)):
            values = [_values(kind, weights, intercepts) for kind in vectors(block)]
            blocks.append([value.reshape(len(block), n_costs, -1).argmax(axis=2) for value in values])
        return [np.concatenate(kind) for kind in zip(*blocks, strict=True)]

    def _accuracy(self, predicted: NDArray[np.int64]) -> dict[str, Any]:
        """Return the accuracy on the test rows at the cost that is best, and smallest if equal, on the others."""
        right = predicted == self._split.held_classes[:, None]
        validation, test = (right[rows].mean(axis=0) for rows in (~self._split.is_test, self._split.is_test))
        best = int(validation.argmax())
        return {
            "accuracy": float(test[best]),
            "cost": self._costs[best],
            "validation_accuracies": validation.round(9).tolist(),
            "test_accuracies": test.round(9).tolist(),
        }


def weights_of_codes(codes: Codes, n_bits: int, machines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weights of machines trained on packed codes, which count as -1 and +1 over the root of their bits."""

    def some_bits(part: slice) -> Matrix:
        return unpack_signs(codes[:, part.start // 8 : code_bytes(part.stop)], part.stop - part.start, np.float32)

    return _weights(machines * np.float32(n_bits**-0.5), n_bits, some_bits)


def _weights(machines: NDArray[np.float32], n_dims: int, columns: Callable[[slice], Matrix]) -> NDArray[np.float32]:
    """Return the weights of all machines, given what returns some columns of the training vectors."""
    weights = np.empty((machines.shape[1], n_dims), np.float32)
    coefficients = np.ascontiguousarray(machines.T)

    def multiply(part: slice) -> None:
        for first in range(part.start * _DIMENSIONS, min(part.stop * _DIMENSIONS, n_dims), _DIMENSIONS):
            here = slice(first, min(first + _DIMENSIONS, n_dims))
            weights[:, here] = coefficients @ columns(here)

    for_slices(multiply, -(-n_dims // _DIMENSIONS), 1, blas=True)
    return weights


def _values(vectors: Matrix, weights: NDArray[np.float32], intercepts: NDArray[np.float32]) -> Matrix:
    """Return what every machine says of every vector."""
    values = np.empty((len(vectors), len(weights)), np.float32)

    def multiply(part: slice) -> None:
        values[part] = products(vectors[part], weights) + intercepts

    for_slices(multiply, len(vectors), _ROWS, blas=True)
    return values


def evaluation_bytes(n_train: int, n_features: int, n_bits: int, n_machines: int, n_classes: int) -> int:
    """Estimate the memory of an evaluation beside the held rows and the encoder; machines are classes times costs."""
    rows = 4 * n_train * n_features + n_train * code_bytes(n_bits)
    training = 4 * n_train * n_train + 4 * n_train * (12 * n_classes + 3 * n_machines)
    blocks = 4 * 3 * (1 << 25)
    return rows + training + 4 * n_machines * n_bits + blocks


def evaluation_work(n_train: int, n_held: int, n_bits: int, n_machines: int) -> float:
    """Estimate the cost of an evaluation in operations of a matrix product."""
    gram, steps = n_train * n_train * n_bits / 16, 45.0
    return gram + 2.0 * n_machines * (steps * n_train * n_train + (n_train + 2 * n_held) * n_bits)
