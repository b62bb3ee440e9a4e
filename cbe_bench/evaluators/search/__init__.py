"""Search in compressed vectors: recall against bytes and time, re-ranking, beside indexes of other libraries."""
