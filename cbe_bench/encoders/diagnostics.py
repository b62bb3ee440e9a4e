"""Codes that say nothing, noticed while fitting: a mean that outweighs the rest, constant bits, codes that coincide."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.arrays import library_of, to_host
from cbe_bench.kernels.bits import Codes

if TYPE_CHECKING:
    from cbe_bench.encoders.base import Encoder

_ROWS = 512
"""Rows of a training set that are looked at, evenly spaced."""
_FEWEST_ROWS, _FEWEST_BITS = 100, 32
"""Of fewer rows, or in shorter codes, constant bits and equal codes are a matter of chance."""
_MEAN_ENERGY, _CONSTANT_BITS, _EQUAL_CODES = 0.5, 0.01, 0.1
"""Fractions above which there is a warning."""


class CodeWarning(UserWarning):
    """The codes of a fitted encoder say less than they could."""


def mean_energy(X: NDArray) -> float:
    """Return the fraction of the energy of the rows that their mean carries: ||mean||^2 / mean ||x||^2, in [0, 1]."""
    total = float(np.mean(np.einsum("ij,ij->i", X, X, dtype=np.float64)))
    return float(np.sum(X.mean(axis=0, dtype=np.float64) ** 2)) / total if total > 0 else 0.0


def mean_problem(energy: float, rows: str) -> str:
    """Say that the mean of some rows carries most of their energy; an empty string where it does not.

    Parameters
    ----------
    energy : float
        The fraction of the energy that the mean carries.
    rows : str
        What the rows are called.

    Returns
    -------
    str
        Empty if there is no problem.
    """
    return f"the mean carries {energy:.0%} of the energy of {rows}" if energy > _MEAN_ENERGY else ""


def constant_bits(codes: Codes, n_bits: int) -> float:
    """Return the fraction of bits that are the same in all codes.

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes)
        Packed codes, at least one.
    n_bits : int
        The code length.

    Returns
    -------
    float
        From 0 to 1.
    """
    varying = np.bitwise_or.reduce(codes ^ codes[0], axis=0)
    return 1 - int(np.unpackbits(varying, count=n_bits, bitorder="little").sum()) / n_bits


def equal_codes(codes: Codes) -> float:
    """Return the fraction of codes that are equal to an earlier one."""
    return 1 - len({code.tobytes() for code in codes}) / len(codes)


def training_problems(encoder: "Encoder", X: NDArray) -> list[str]:
    """Return what makes the codes of the training set poor, in a few words each; usually nothing.

    Parameters
    ----------
    encoder : Encoder
        A fitted encoder.
    X : float32 or float64 array of shape (n, d)
        The training set, or some rows like it, of any library; 512 of its rows are looked at, on the host.
    """
    n_rows = X.shape[0]
    if n_rows < _FEWEST_ROWS:
        return []
    some = X[:: -(-n_rows // _ROWS), :]
    if library_of(some) is not None:
        some = to_host(some)
    codes, problems = encoder._encode(some), []
    energy, constant = mean_energy(some), constant_bits(codes, encoder.n_bits_)
    if encoder.linear and (problem := mean_problem(energy, "the training set")):
        problems.append(problem)
    if encoder.n_bits_ >= _FEWEST_BITS and constant > _CONSTANT_BITS:
        problems.append(f"{constant:.0%} of the bits are constant")
    equal = equal_codes(codes) if encoder.n_bits_ >= _FEWEST_BITS else 0.0
    if equal > _EQUAL_CODES and equal - equal_codes(_as_bytes(some)) > _EQUAL_CODES:
        problems.append(f"{equal:.0%} of the codes are equal to another")
    return problems


def warn_of_problems(encoder: "Encoder", X: NDArray) -> None:
    """Warn in one line, with the remedy, if the codes of the training set are poor.

    Parameters
    ----------
    encoder : Encoder
        Fitted.
    X : array of shape (n, d)
        The training set.
    """
    problems = training_problems(encoder, X)
    if problems:
        remedy = "center=True" if encoder.linear else "threshold='median'"
        warnings.warn(f"{encoder.name}: {', '.join(problems)}; try {remedy}", CodeWarning, stacklevel=4)


def _as_bytes(X: NDArray) -> Codes:
    return np.ascontiguousarray(X).view(np.uint8)
