"""A user's own vectors: encode a file, search its codes, and find out which codes to use."""

from cbe_bench.vectors.encode import encode_file
from cbe_bench.vectors.index import CodeIndex

__all__ = ["CodeIndex", "encode_file"]
