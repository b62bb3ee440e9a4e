"""Embeddings that others computed, taken as vectors from an archive."""
