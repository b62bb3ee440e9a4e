"""Encoding on another device than the processor: vectors and codes are there, and copying them is timed apart."""

from functools import partial
from statistics import median

from numpy.typing import NDArray

from cbe_bench.core.runner import Metrics
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.timers import Candidate
from cbe_bench.kernels.arrays import Array, Place, to_host
from cbe_bench.kernels.devices import find_device, wait_for

HOST = "cpu"
"""The device of NumPy arrays and compiled kernels."""
_COPIES = 5
"""How often vectors and codes are copied, to time that."""


class OnDevice:
    """A fitted encoder and vectors on a device.

    Parameters
    ----------
    encoder : Encoder
        The encoder; its parameters are copied to the device.
    X : float32 array of shape (n, d)
        The vectors, on the host.
    device : str
        The device, as `find_device` names it.
    """

    def __init__(self, encoder: Encoder, X: NDArray, device: str) -> None:
        self._encoder, self._host = encoder.to_device(device), X
        self._device = find_device(device)
        self._place = Place(self._device.xp, self._device.device, "float32")
        self._X = self._copied()

    def encode(self) -> Array:
        """Return the codes, on the device, when they are there."""
        codes = self._encoder.encode(self._X, check_input=False)
        wait_for(codes)
        return codes

    def metrics(self) -> Metrics:
        """Return what the device is, and the time to copy the vectors there and the codes back."""
        codes = self.encode()
        there, back = Candidate("there", self._copied), Candidate("back", partial(to_host, codes))
        transfer_s = sum(median(one.sample() for _ in range(_COPIES)) for one in (there, back))
        return {
            "device_model": self._device.model,
            "device_is_gpu": self._device.is_gpu,
            "transfer_us_per_vector": 1e6 * transfer_s / len(self._host),
        }

    def _copied(self) -> Array:
        array = self._place.put(self._host)
        wait_for(array)
        return array
