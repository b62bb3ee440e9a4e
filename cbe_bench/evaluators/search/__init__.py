"""Search in compressed vectors: recall against bytes and time, re-ranking, beside indexes of other libraries.

`cbe-bench run embeddings` compares all of them, and faiss where it is installed, by recall, bytes, search time and
what re-ranking with the original vectors needs; `--set data.file=mine.npy` does so on your vectors, `--set
metric=cosine` (or `l2`, `ip`) says what nearest means.
"""
