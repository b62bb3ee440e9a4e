"""Which codes to use for a file of vectors: measured on a sample of it, extrapolated to all of it.

Methods and code lengths are tried on a sample of the file, or with queries of their own. The exact neighbours of each
query are ranked among the codes: the fraction of the k nearest among the first R codes is the recall@k of a search that
takes R candidates and re-ranks them by exact distances, and with R = k that of a search by codes alone.

A larger database is usually harder to search. So recall is measured on nested samples as well, each a quarter of the
next one, and extrapolated along the logarithm of the number of rows, by the slope of the last step and by that of all
steps. That is the recall an answer counts on. Where neighbours get nearer as rows are added, as texts do, recall may
not fall at all: the interval reaches from the lowest extrapolation to no change, and covers the choice of queries
(bootstrap).
"""

from cbe_bench.vectors.recommend.answer import Target
from cbe_bench.vectors.recommend.report import recommend_report
from cbe_bench.vectors.recommend.run import METHODS, Recommendation, recommend

__all__ = ["METHODS", "Recommendation", "Target", "recommend", "recommend_report"]
