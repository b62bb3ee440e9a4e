"""What the paper says of time and memory: Tables 1 and 2, Sections 3.3, 5.1 and 7.1, and the captions of figures."""

from cbe_bench.evaluators.timing.claims_captions import CAPTION_CLAIMS
from cbe_bench.evaluators.timing.claims_device import GPU_CLAIM
from cbe_bench.evaluators.timing.claims_growth import GROWTH_CLAIMS
from cbe_bench.evaluators.timing.claims_learning import LEARNING_CLAIMS
from cbe_bench.evaluators.timing.claims_speed import SPEED_CLAIMS

_ALL = (*GROWTH_CLAIMS, *LEARNING_CLAIMS, *SPEED_CLAIMS, *CAPTION_CLAIMS, GPU_CLAIM)
CLAIMS = tuple(sorted(_ALL, key=lambda claim: claim.order))
