"""All claims that retrieval experiments decide."""

from cbe_bench.core.claims import Claim
from cbe_bench.evaluators.retrieval import claims_choices, claims_recall, claims_rivals, claims_training

CLAIMS: tuple[Claim, ...] = (
    *claims_recall.CLAIMS,
    *claims_rivals.CLAIMS,
    *claims_training.CLAIMS,
    *claims_choices.CLAIMS,
)
