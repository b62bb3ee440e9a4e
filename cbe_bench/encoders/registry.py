"""Methods by name: those of this package, and those that other packages offer.

A module of this package that decorates a class with ``@register("name")`` adds a method; there is no other list to
edit. Another package does the same and names the class in its entry points::

    [project.entry-points."cbe_bench.encoders"]
    my-method = "my_package:MyEncoder"
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.plugins import load_plugins

if TYPE_CHECKING:
    from cbe_bench.encoders.base import Encoder

ENTRY_POINTS = "cbe_bench.encoders"
REGISTRY: dict[str, type["Encoder"]] = {}
AnyEncoder = TypeVar("AnyEncoder", bound=type["Encoder"])


def register(name: str) -> Callable[[AnyEncoder], AnyEncoder]:
    """Register the decorated class under `name`."""

    def add(cls: AnyEncoder) -> AnyEncoder:
        if name in REGISTRY:
            raise ValueError(f"two encoders are called {name!r}: {REGISTRY[name].__name__} and {cls.__name__}")
        cls.name = name
        REGISTRY[name] = cls
        return cls

    return add


def encoder_classes() -> dict[str, type["Encoder"]]:
    """Return the classes of all methods by name, those of packages installed meanwhile included."""
    package = importlib.import_module("cbe_bench.encoders")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    for name, cls in load_plugins(ENTRY_POINTS).items():
        if name not in REGISTRY:
            register(name)(cls)
    return dict(sorted(REGISTRY.items()))


def encoder_class(name: str) -> type["Encoder"]:
    """Return the class of one method.

    Raises
    ------
    InputError
        If there is none of this name; the message has the nearest one.
    """
    if name in REGISTRY:
        return REGISTRY[name]
    classes = encoder_classes()
    if name not in classes:
        raise InputError(f"unknown encoder {name!r}; {did_you_mean(name, classes)}")
    return classes[name]
