"""Linear support vector machines, one against the rest, for all classes at once from one Gram matrix.

Of every class, with y = +1 on its rows and -1 on all others, the machine minimises

    |w|^2 / 2 + b^2 / 2 + C sum max(0, 1 - y (w x + b))^2,

which is what scikit-learn's `LinearSVC` minimises. The minimum has w = sum beta x and b = sum beta with
beta = 2 C y max(0, 1 - y f), f the values w x + b of the training rows; so it is found from the inner products of the
rows alone, whatever their length. Newton's method solves (K + 1/(2C)) beta = y on the rows that are active, those with
y f < 1, by conjugate gradients, and takes the new active rows. Classes share every product with K, which is what takes
the time, and each C begins where the one before it ended.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.view import Tick
from cbe_bench.kernels.gram import Gram
from cbe_bench.kernels.parallel import for_slices

Columns = NDArray[np.float32]
"""A value for every training row (rows) and class (columns)."""

TOLERANCE = 1e-3
"""Machines are done when no row is further than this, in units of the margin, from where it is at the minimum."""
_MOST_TURNS = 40
_MOST_STEPS = 60
"""Steps of conjugate gradients in a turn."""
_MOST_HALVINGS = 8
_ROUNDING = 1e-6
"""Relative change of the objective that single precision cannot tell from none."""
_ROWS = 1024
"""Rows of K in one product."""


def train_machines(
    gram: Gram, classes: NDArray[np.int64], n_classes: int, costs: Sequence[float], tick: Tick
) -> Iterator[Columns]:
    """Yield, for each C of rising costs, the coefficients beta of all machines: a row each vector, a column each class.

    `gram` has the inner products of the training rows, without what the intercept adds, and `classes` their classes,
    counted from 0.
    """
    y = np.where(classes[:, None] == np.arange(n_classes), 1, -1).astype(np.float32)
    beta, values = np.zeros_like(y), np.zeros_like(y)
    for number, cost in enumerate(costs):
        left = _newton(gram, y, cost, beta, values)
        tick((number + 1) / len(costs))
        if left:
            warnings.warn(f"C = {cost:g}: {left} of {n_classes} machines have not quite converged", stacklevel=2)
        yield beta.copy()


def _newton(gram: Gram, y: Columns, cost: float, beta: Columns, values: Columns) -> int:
    """Bring beta and the values to the minimum; return how many machines are not there when turns are used up."""
    todo = np.arange(y.shape[1])
    for _ in range(_MOST_TURNS):
        slack = np.maximum(0, 1 - y[:, todo] * values[:, todo])
        off = np.abs(beta[:, todo] / np.float32(2 * cost) - y[:, todo] * slack).max(axis=0)
        todo, slack, off = todo[off > TOLERANCE], slack[:, off > TOLERANCE], off[off > TOLERANCE]
        if not len(todo):
            break
        exact = np.maximum(0.1 * off, 0.3 * TOLERANCE)
        better = _solve(gram, y[:, todo], cost, slack > 0, beta[:, todo], exact)
        change = _times(gram, better) - values[:, todo]
        better -= beta[:, todo]
        step = _step(y[:, todo], cost, (beta[:, todo], values[:, todo]), (better, change))
        beta[:, todo] += step * better
        values[:, todo] += step * change
    return len(todo)


def _solve(gram: Gram, y: Columns, cost: float, active: NDArray[np.bool_], start: Columns, exact: NDArray) -> Columns:
    """Solve (K + 1/(2C)) beta = y on the active rows, beta = 0 elsewhere, to residuals of at most `exact`."""
    ridge: Any = np.float32(1 / (2 * cost))
    beta = start * active
    rest = (y - _times(gram, beta) - ridge * beta) * active
    direction, size = rest.copy(), _dot(rest, rest)
    for _ in range(_MOST_STEPS):
        if (np.abs(rest).max(axis=0) <= exact).all():
            break
        image = (_times(gram, direction) + ridge * direction) * active
        length = size / np.maximum(_dot(direction, image), np.finfo(np.float32).tiny)
        beta += length * direction
        rest -= length * image
        before, size = size, _dot(rest, rest)
        direction *= size / np.maximum(before, np.finfo(np.float32).tiny)
        direction += rest
    return beta


def _step(
    y: Columns, cost: float, here: tuple[Columns, Columns], change: tuple[Columns, Columns]
) -> NDArray[np.float32]:
    """Return how far each machine goes: all the way, or as many halves of it as keep the objective from rising."""
    step = np.ones(y.shape[1], np.float32)
    bound = _objective(y, cost, *here) * (1 + _ROUNDING)
    for _ in range(_MOST_HALVINGS):
        there = [value + step * more for value, more in zip(here, change, strict=True)]
        rises = _objective(y, cost, *there) > bound
        if not rises.any():
            break
        step[rises] /= 2
    return step


def _objective(y: Columns, cost: float, beta: Columns, values: Columns) -> NDArray:
    slack = np.maximum(0, 1 - y * values)
    return _dot(beta, values) / 2 + np.float32(cost) * _dot(slack, slack)


def _dot(a: Columns, b: Columns) -> NDArray[np.float32]:
    """Inner products column by column."""
    products: NDArray[np.float32] = np.einsum("ij,ij->j", a, b)
    return products


def _times(gram: Gram, columns: Columns) -> Columns:
    """Return the values of the training rows: products with the Gram matrix, and the intercept, the sum of beta."""
    out = np.empty_like(columns)

    def multiply(part: slice) -> None:
        np.matmul(gram[part], columns, out=out[part])

    for_slices(multiply, len(gram), _ROWS, blas=True)
    out += columns.sum(axis=0)
    return out
