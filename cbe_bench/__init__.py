"""Binary codes from circulant matrices, and everything one would compare them with.

Every encoder class is reachable from here by name (``cbe_bench.CBERand``), loaded when first used so that
importing the package costs nothing.
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return _public()[name]
    except KeyError:
        raise AttributeError(f"module 'cbe_bench' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_public()]


def _public() -> dict[str, Any]:
    """Return the encoder classes, and the functions that make and load encoders, by name."""
    import cbe_bench.encoders as encoders

    classes = {cls.__name__: cls for cls in encoders.encoder_classes().values()}
    return classes | {name: getattr(encoders, name) for name in encoders.__all__}
