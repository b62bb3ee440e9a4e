"""Feature files in every format, opened and written by suffix: one module per format."""

from cbe_bench.data.formats.registry import open_features, readable_suffixes, reader, writable_suffixes, writer

__all__ = ["open_features", "readable_suffixes", "reader", "writable_suffixes", "writer"]
