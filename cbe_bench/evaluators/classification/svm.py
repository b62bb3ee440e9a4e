"""Linear support vector machines, one-vs-rest, for all classes at once from one Gram matrix.

For every class, with y = +1 on its rows and -1 on all others, the classifier minimises

    |w|^2 / 2 + b^2 / 2 + C sum max(0, 1 - y (w x + b))^2,

the objective of scikit-learn's `LinearSVC`. At the minimum w = sum beta x and b = sum beta with the dual coefficients
beta = 2 C y max(0, 1 - y f), where f = w x + b are the decision values of the training rows; so it is found from the
inner products of the rows alone, whatever their dimension. Newton's method solves (K + 1/(2C)) beta = y on the active
rows, those with y f < 1, by conjugate gradients, and updates the active rows. All classes use the same product with the
Gram matrix K, which dominates the cost, and each C is warm-started from the one before it.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.kernels.linalg.gram import Gram
from cbe_bench.kernels.parallel import for_slices

Columns = NDArray[np.float32]
"""A value for every training row and class, of shape (n_train, n_classes)."""

TOLERANCE = 1e-3
"""A classifier has converged when every row is this near, in units of the margin, to its place at the minimum."""
_MAX_ITER = 40
_MAX_CG_ITER = 60
"""Iterations of conjugate gradients within one of Newton's."""
_MAX_HALVINGS = 8
_ROUNDING = 1e-6
"""Relative change of the objective that is below single precision."""
_ROWS = 1024
"""Rows of K in one product."""


def train_linear_svms(
    gram: Gram, classes: NDArray[np.int64], n_classes: int, costs: Sequence[float], progress: Progress
) -> Iterator[Columns]:
    """Train one-vs-rest linear SVMs and yield their dual coefficients for each C.

    Parameters
    ----------
    gram : float32 array of shape (n_train, n_train)
        Inner products of the training rows, without what the intercept adds.
    classes : int64 array of shape (n_train,)
        Their classes, counted from 0.
    n_classes : int
        The number of classes.
    costs : sequence of float
        Values of C, in ascending order.
    progress : callable
        Takes the fraction that is done.

    Yields
    ------
    float32 array of shape (n_train, n_classes)
        The coefficients beta; those of a classifier add up to its intercept.
    """
    y = np.where(classes[:, None] == np.arange(n_classes), 1, -1).astype(np.float32)
    beta, values = np.zeros_like(y), np.zeros_like(y)
    for number, cost in enumerate(costs):
        n_left = _newton(gram, y, cost, beta, values)
        progress((number + 1) / len(costs))
        if n_left:
            warnings.warn(f"C = {cost:g}: {n_left} of {n_classes} classifiers did not converge", stacklevel=2)
        yield beta.copy()


def _newton(gram: Gram, y: Columns, cost: float, beta: Columns, values: Columns) -> int:
    """Move beta and the decision values to the minimum, in place; return how many classifiers did not converge."""
    todo = np.arange(y.shape[1])
    for _ in range(_MAX_ITER):
        slack = np.maximum(0, 1 - y[:, todo] * values[:, todo])
        off = np.abs(beta[:, todo] / np.float32(2 * cost) - y[:, todo] * slack).max(axis=0)
        todo, slack, off = todo[off > TOLERANCE], slack[:, off > TOLERANCE], off[off > TOLERANCE]
        if not len(todo):
            break
        tolerance = np.maximum(0.1 * off, 0.3 * TOLERANCE)
        direction = _solve(gram, y[:, todo], cost, slack > 0, beta[:, todo], tolerance)
        change = _decision_values(gram, direction) - values[:, todo]
        direction -= beta[:, todo]
        step = _step(y[:, todo], cost, (beta[:, todo], values[:, todo]), (direction, change))
        beta[:, todo] += step * direction
        values[:, todo] += step * change
    return len(todo)


def _solve(
    gram: Gram, y: Columns, cost: float, active: NDArray[np.bool_], start: Columns, tolerance: NDArray
) -> Columns:
    """Solve (K + 1/(2C)) beta = y on the active rows, beta = 0 elsewhere, to residuals within a tolerance."""
    ridge: Any = np.float32(1 / (2 * cost))
    beta = start * active
    residual = (y - _decision_values(gram, beta) - ridge * beta) * active
    direction, squared = residual.copy(), _dot(residual, residual)
    for _ in range(_MAX_CG_ITER):
        if (np.abs(residual).max(axis=0) <= tolerance).all():
            break
        image = (_decision_values(gram, direction) + ridge * direction) * active
        length = squared / np.maximum(_dot(direction, image), np.finfo(np.float32).tiny)
        beta += length * direction
        residual -= length * image
        before, squared = squared, _dot(residual, residual)
        direction *= squared / np.maximum(before, np.finfo(np.float32).tiny)
        direction += residual
    return beta


def _step(
    y: Columns, cost: float, here: tuple[Columns, Columns], change: tuple[Columns, Columns]
) -> NDArray[np.float32]:
    """Return the step length of each classifier: 1, halved until the objective does not increase."""
    step = np.ones(y.shape[1], np.float32)
    bound = _objective(y, cost, *here) * (1 + _ROUNDING)
    for _ in range(_MAX_HALVINGS):
        there = [value + step * more for value, more in zip(here, change, strict=True)]
        increases = _objective(y, cost, *there) > bound
        if not increases.any():
            break
        step[increases] /= 2
    return step


def _objective(y: Columns, cost: float, beta: Columns, values: Columns) -> NDArray:
    slack = np.maximum(0, 1 - y * values)
    return _dot(beta, values) / 2 + np.float32(cost) * _dot(slack, slack)


def _dot(a: Columns, b: Columns) -> NDArray[np.float32]:
    """Return inner products column by column."""
    products: NDArray[np.float32] = np.einsum("ij,ij->j", a, b)
    return products


def _decision_values(gram: Gram, beta: Columns) -> Columns:
    """Return the decision values of the training rows: products with the Gram matrix, plus the intercepts."""
    out = np.empty_like(beta)

    def multiply(part: slice) -> None:
        np.matmul(gram[part], beta, out=out[part])

    for_slices(multiply, len(gram), _ROWS, blas=True)
    out += beta.sum(axis=0)
    return out
