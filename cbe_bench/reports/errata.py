"""Slips in the text of the paper, found as its formulas were written down again; the suite computes what is meant."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """A place in the paper, what is printed there, and what is meant."""

    where: str
    printed: str
    meant: str


ERRATA = (
    Erratum(
        "Introduction",
        "the chance that two signs are equal is the angle over pi",
        "that is the chance that they differ: vectors at angle zero never disagree",
    ),
    Erratum(
        "Section 3, fewer bits than dimensions",
        "the projection is cut to its first k columns",
        "its first k rows: one row makes one bit, and cutting columns would drop dimensions of the data",
    ),
    Erratum(
        "Section 5.2, the objective for k < d",
        "the matrix that keeps k bits stands where it would act on the data",
        "it has to act on the projected data: bits beyond k are left out of the error, not dimensions",
    ),
    Erratum(
        "Section 4, proof of the corollary",
        "epsilon and delta have changed places",
        "epsilon is the deviation and delta the chance of exceeding it, as in the theorem",
    ),
    Erratum(
        "Section 4, the last lemma",
        "the chance of a large deviation is below 1 - delta",
        "below delta; 1 - delta would say next to nothing",
    ),
    Erratum(
        "Section 5.1, the problem of each pair of frequencies",
        "frequencies are paired with their conjugates, two by two",
        "for an even number of dimensions the middle (Nyquist) frequency is its own conjugate, as zero is: it is "
        "counted twice, and has to be solved alone and real",
    ),
)
