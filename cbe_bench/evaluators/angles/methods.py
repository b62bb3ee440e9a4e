"""The embeddings whose angle estimate is studied."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """An embedding, with or without its sign flips D, of vectors as they are or after a random Hadamard transform."""

    encoder: str
    sign_flips: bool = True
    precondition: bool = False

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        without = "" if self.sign_flips else " without D"
        return self.encoder + without + (" after HD'" if self.precondition else "")


METHODS = {
    method.label: method
    for method in (
        Method("lsh"),
        Method("cbe-rand"),
        Method("cbe-orth"),
        Method("hd3"),
        Method("cbe-rand", sign_flips=False),
        Method("cbe-rand", precondition=True),
        Method("cbe-rand", sign_flips=False, precondition=True),
    )
}
"""All of them by their labels; pairs are simulated for each."""
FEATURE_METHODS = ("lsh", "cbe-rand", "cbe-rand without D", "cbe-orth", "hd3")
"""Labels of those that are drawn for features."""
