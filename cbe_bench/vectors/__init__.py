"""A user's own vectors: encode a file, search its codes, and find out which codes to use.

`recommend` measures recall by Hamming, asymmetric and re-ranked search at code lengths up to four times the
dimension, on nested samples, and extrapolates to all rows. `encode` streams a file of any size on all cores; stop it
whenever you like, the same command resumes to the same bytes; rows of zeros are skipped and counted. Its output holds
codes in faiss's layout, ids and the fitted encoder (the format). `search` is exact, in constant memory. `--workers N`
or `--scheduler ADDRESS` puts both, and the cells of `cbe-bench run`, on a Dask cluster
(`pip install 'cbe-bench[dask]'`). Feature files may be URLs, ``s3://...`` (`pip install 'cbe-bench[fsspec]'`): HDF5,
``.npy``, Parquet and Zarr; codes are local files. From Python: `cbe_bench.recommend`, `cbe_bench.encode_file`,
`cbe_bench.CodeIndex.open(path).search(queries, k)`, and `to_faiss` and `to_usearch` of an index.
"""

from cbe_bench.vectors.encode import encode_file
from cbe_bench.vectors.index import CodeIndex

__all__ = ["CodeIndex", "encode_file"]
