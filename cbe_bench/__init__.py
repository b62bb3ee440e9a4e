"""Binary codes from circulant matrices, and everything one would compare them with.

Every encoder class is reachable from here by name (``cbe_bench.CBERand``), and so is what handles a user's own vectors:
``encode_file``, ``CodeIndex``, ``recommend`` and ``top_k``. All are loaded when first used, so that importing the
package costs nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_VECTORS = {
    "CodeIndex": "cbe_bench.vectors.index",
    "encode_file": "cbe_bench.vectors.encode",
    "recommend": "cbe_bench.vectors.recommend",
    "top_k": "cbe_bench.kernels.nearest",
}
"""Public names beside the encoders, and the modules they are from."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in _VECTORS:
        return getattr(importlib.import_module(_VECTORS[name]), name)
    try:
        return _encoders()[name]
    except KeyError:
        raise AttributeError(f"module 'cbe_bench' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_VECTORS, *_encoders()]


def _encoders() -> dict[str, Any]:
    """Return the encoder classes, and the functions that make and load encoders, by name."""
    import cbe_bench.encoders as encoders

    classes = {cls.__name__: cls for cls in encoders.encoder_classes().values()}
    return classes | {name: getattr(encoders, name) for name in encoders.__all__}
