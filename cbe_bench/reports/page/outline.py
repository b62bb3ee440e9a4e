"""What the page shows, in the order of the paper: its parts, the experiments of each, and their files with captions.

This is the one place to look for, or to change, what is shown. An experiment that is in no part (your own, say) gets
a section at the end; a file that is not in the table of its kind is linked.
"""

from dataclasses import dataclass
from fnmatch import fnmatch


@dataclass(frozen=True, kw_only=True)
class Part:
    """A table, a figure or a section of the paper, and the experiments that stand beside it."""

    anchor: str
    title: str
    lead: str
    """What the paper shows there, in a sentence."""
    experiments: tuple[str, ...]
    """Their names; a name may end in a star. Those on real data are shown first."""
    opened: tuple[str, ...] = ()
    """Tables that need not be opened here, though they are folded elsewhere; they come first."""

    def place(self, name: str) -> int | None:
        """Return the place of an experiment among those of the part; none where it does not belong here."""
        return next((i for i, pattern in enumerate(self.experiments) if fnmatch(name, pattern)), None)


PARTS = (
    Part(
        anchor="table-1",
        title="Table 1: how time and memory grow",
        lead="Circulant codes take time d log d and memory d; bilinear ones d sqrt(k) and sqrt(dk); a full matrix "
        "takes dk of both. Fitted exponents stand beside those of the formulas over the same points.",
        experiments=("growth",),
        opened=("table1",),
    ),
    Part(
        anchor="table-2",
        title="Table 2: time to encode a vector",
        lead="Milliseconds to make d bits of d dimensions on one core; the paper's values in brackets. A dash is what "
        "did not fit in memory, with the bytes it needs.",
        experiments=("time",),
        opened=("table2",),
    ),
    Part(
        anchor="section-4",
        title="Sections 4 and 6.1: angles from codes",
        lead="The share of differing bits estimates the angle of two vectors: its mean, its variance against that of "
        "independent bits and the bounds proved for it, and what the random signs are for.",
        experiments=("angles*",),
    ),
    Part(
        anchor="figures-1-3",
        title="Figures 1 to 3: retrieval at equal time and at equal bits",
        lead="Recall of the ten nearest neighbours. Above, each method has the bits it makes in the time of circulant "
        "codes; below, all have the same bits.",
        experiments=(
            "cifar10",
            "cifar10-51200",
            "fashion",
            "mnist",
            "flickr",
            "imagenet25600",
            "imagenet51200",
        ),
    ),
    Part(
        anchor="learning",
        title="Sections 5 to 7: what learning needs",
        lead="The weight of orthogonality, the number of turns, and pairs of known similarity.",
        experiments=("lambda", "convergence", "semisup"),
    ),
    Part(
        anchor="figure-4",
        title="Figure 4: few dimensions",
        lead="With 2,048 dimensions, methods can be run that need a full matrix to be learned, ITQ among them.",
        experiments=("cifar10-2048", "flickr2048"),
    ),
    Part(
        anchor="figure-5",
        title="Figure 5: against codes by Hadamard transforms",
        lead="Fast binary embedding (fbe) and FJLT-p, whose sparse matrix has p percent of its entries.",
        experiments=("cifar10-fbe", "fbe"),
    ),
    Part(
        anchor="table-3",
        title="Table 3: classification",
        lead="A linear classifier is trained on codes and tested on projections (asymmetric); codes are 32 times "
        "smaller than what they were made from.",
        experiments=("classification-cifar10", "classification", "classification-imagenet"),
    ),
)


@dataclass(frozen=True)
class Shown:
    """A file of an experiment, without its suffix, and its caption."""

    stem: str
    caption: str
    folded: bool = False
    """Whether a reader has to open it."""
    numbers: str = ""
    """The table a figure is drawn from, where its name is another."""


FIGURES: dict[str, tuple[Shown, ...]] = {
    "time": (
        Shown("growth", "Time and memory against dimensions and bits; hollow marks: the paper's.", numbers="times"),
    ),
    "angles": (
        Shown("mean", "Mean share of differing bits against the angle, and its distance from angle / pi."),
        Shown("variance", "Variance of the share of differing bits, and relative to independent bits."),
        Shown("signs", "Variance with and without random signs, for four kinds of pairs."),
        Shown("features", "Error of angles between features, mean and worst pair."),
    ),
    "retrieval": (
        Shown("recall", "Codes against codes (symmetric). Bands are one standard deviation over seeds."),
        Shown(
            "recall-asymmetric",
            "The real projection of the query against codes (asymmetric).",
            folded=True,
            numbers="recall",
        ),
        Shown("sweep", "What was measured against the parameter; bars are one standard deviation over seeds."),
    ),
    "classification": (Shown("accuracy", "Accuracy of a linear classifier on codes.", numbers="table"),),
}
"""Figures of each kind of experiment, in order; folded ones have to be opened."""

TABLES: dict[str, tuple[Shown, ...]] = {
    "time": (
        Shown("table2", "Milliseconds a vector and ratios to circulant; the paper's in brackets.", folded=True),
        Shown("table1", "Exponents of growth, fitted and expected.", folded=True),
        Shown("times", "Every cell, with quartiles and what was needed beforehand.", folded=True),
    ),
    "angles": (Shown("features", "Errors of angles between features.", folded=True),),
    "retrieval": (
        Shown("sweep", "Recall, and the area under the curve where it was taken, for each value."),
        Shown("equal-time", "Bits made in the time of the reference, and their recall.", folded=True),
        Shown("table", "Recall of each method and number of bits.", folded=True),
    ),
    "classification": (Shown("table", "Accuracy, and the paper's in brackets where it prints one."),),
}
"""Tables of each kind of experiment, in order."""

MAKES = {
    "growth": "cbe-bench time --dims 2^10..2^14 --bits d/4,d/2,d,2d,4d --batch 16 --name growth",
    "time": "cbe-bench time --dims paper",
}
"""Commands of the experiments that are not `cbe-bench run configs/NAME.yaml`."""


def command_for(name: str, scale: str) -> str:
    """Return what to type to run an experiment that has not been run."""
    return MAKES.get(name, f"cbe-bench run configs/{name}.yaml --scale {scale}")
