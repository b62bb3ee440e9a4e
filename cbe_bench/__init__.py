"""Binary codes from circulant matrices, and everything one would compare them with.

Every encoder class is reachable from here by name (``cbe_bench.CBERand``), loaded when first used so that
importing the package costs nothing.
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    from cbe_bench.encoders import encoder_classes

    for cls in encoder_classes().values():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module 'cbe_bench' has no attribute {name!r}")
