"""Devices by name: where arrays of other libraries live, and whether the calls that make them have ended.

A name is that of a library, torch, cupy, jax or array_api_strict, or one of its devices: torch:cpu, cupy:1, jax:gpu.
Devices of torch go without its name: cuda, cuda:1, mps, xpu. The name gpu stands for a graphics processor of whatever
library finds one.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import array_api_compat

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.kernels.arrays import Array, Namespace

_TORCH_DEVICES = ("cuda", "mps", "xpu")
_GPUS = ("cuda", "cupy", "jax:gpu")
_NAMESPACES = {
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
    "jax": "jax.numpy",
    "array_api_strict": "array_api_strict",
}


@dataclass(frozen=True)
class Device:
    """A device that was found.

    Attributes
    ----------
    name : str
        What was asked for.
    xp : namespace
        The library whose arrays live there.
    device : Any
        What the library calls it.
    model : str
        What the maker calls it; empty where that is not known.
    is_gpu : bool
        Whether it is a graphics processor.
    """

    name: str
    xp: Namespace
    device: Any
    model: str
    is_gpu: bool


def find_device(name: str) -> Device:
    """Return a device by its name.

    Raises
    ------
    InputError
        If the name is unknown, its library is not installed, or there is no such device.
    """
    if name == "gpu":
        return _any_gpu()
    library, _, own = name.partition(":")
    if library in _TORCH_DEVICES:
        library, own = "torch", name
    if library not in _NAMESPACES:
        raise InputError(f"unknown device {name!r}; {did_you_mean(library, (*_NAMESPACES, *_TORCH_DEVICES, 'gpu'))}")
    try:
        xp = importlib.import_module(_NAMESPACES[library])
    except ImportError as error:
        raise InputError(f"device {name!r}: {library} is not installed ({error}); pip install {library}") from None
    try:
        device, model, is_gpu = _LOOKUPS[library](own)
        xp.zeros((1,), dtype=xp.float32, device=device)
    except Exception as error:  # whatever a library raises where there is no such device
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"device {name!r}: no device found ({reason})") from None
    return Device(name, xp, device, model, is_gpu)


def _any_gpu() -> Device:
    for name in _GPUS:
        try:
            return find_device(name)
        except InputError:
            continue
    raise InputError("device 'gpu': no device found by torch, cupy or jax")


def wait_for(array: Array) -> None:
    """Return when the calls that make an array have ended: libraries return before their devices are done."""
    if array_api_compat.is_jax_array(array):
        array.block_until_ready()
    elif array_api_compat.is_cupy_array(array):
        array.device.synchronize()
    elif array_api_compat.is_torch_array(array) and array.device.type in _TORCH_DEVICES:
        import torch

        getattr(torch, array.device.type).synchronize()


Found = tuple[Any, str, bool]


def _torch(own: str) -> Found:
    import torch

    device = torch.device(own or ("cuda" if torch.cuda.is_available() else "cpu"))
    model = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return device, model, device.type in _TORCH_DEVICES


def _cupy(own: str) -> Found:
    import cupy

    number = int(own or 0)
    return cupy.cuda.Device(number), cupy.cuda.runtime.getDeviceProperties(number)["name"].decode(), True


def _jax(own: str) -> Found:
    import jax

    platform, _, number = own.partition(":")
    device = jax.devices(platform or None)[int(number or 0)]
    return device, device.device_kind, device.platform == "gpu"


def _strict(own: str) -> Found:
    import array_api_strict

    return array_api_strict.Device(own or "CPU_DEVICE"), "", False


_LOOKUPS = {"torch": _torch, "cupy": _cupy, "jax": _jax, "array_api_strict": _strict}
