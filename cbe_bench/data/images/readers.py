"""Images as the descriptors want them: grey, square, of one size, values between 0 and 1, read in parts."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.data.images.dense_sift import Images
from cbe_bench.data.images.parsers import LabelledImages

SIDE = 64
"""Pixels of an image along each side when it is described."""
_GREY = (299, 587, 114)
"""Thousandths of red, green and blue in the grey of a pixel."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


class Pictures(ABC):
    """Labelled images that are read in parts.

    Attributes
    ----------
    labels : int16 array
        The class of each image.
    classes : tuple of str
        The names of the classes.
    provenance : dict
        What a file made from these images says about them.
    """

    labels: NDArray[np.int16]
    classes: tuple[str, ...]
    provenance: dict[str, Any]

    @abstractmethod
    def read(self, rows: NDArray[np.int64]) -> Images:
        """Return the given images, sorted, as (n, SIDE, SIDE)."""


class StoredPictures(Pictures):
    """Images in the form `store_images` writes."""

    def __init__(self, path: Path) -> None:
        import h5py

        with h5py.File(path, "r") as file:
            self._pixels = file["images"][:]
            self.labels = file["labels"][:]
            attributes = dict(file.attrs)
        self.classes = tuple(attributes.pop("classes"))
        self.provenance = attributes
        self._enlarge = _interpolation(self._pixels.shape[1], SIDE)

    def read(self, rows: NDArray[np.int64]) -> Images:
        """Return the given images, enlarged by linear interpolation, exactly until the division at the end.

        Grey is a whole number below 2^18, weights are multiples of 1/128: double precision holds their products.
        """
        pixels = self._pixels[rows].astype(np.float64)
        thousandths = pixels @ _GREY if pixels.ndim == 4 else 1000 * pixels
        return (self._enlarge @ thousandths @ self._enlarge.T / 255_000).astype(np.float32)


class FolderPictures(Pictures):
    """A folder of image files; those in a subfolder are of the class it is named after."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
        self._files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS)
        if not self._files:
            raise InputError(f"{folder}: no images in it; known endings: {', '.join(_ENDINGS)}")
        of_each = [path.relative_to(folder).parts[0] if path.parent != folder else "" for path in self._files]
        self.classes = tuple(sorted(set(of_each)))
        self.labels = np.searchsorted(np.array(self.classes), np.array(of_each)).astype(np.int16)
        self.provenance = {"kind": "user", "source": folder.name}

    def read(self, rows: NDArray[np.int64]) -> Images:
        """Decode the given images."""
        return np.stack([self._decode(self._files[row]) for row in rows])

    @staticmethod
    def _decode(path: Path) -> Images:
        from PIL import Image

        try:
            with Image.open(path) as image:
                small = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
                return np.asarray(small, np.float32) / np.float32(255)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(f"{path}: cannot be read as an image ({str(error).splitlines()[0]})") from None


def store_images(path: Path, images: LabelledImages, **provenance: str) -> None:
    """Write images, labels and where they come from to one HDF5 file."""
    import h5py

    with whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        file["images"] = images.pixels
        file["labels"] = images.labels
        file.attrs["classes"] = list(images.classes)
        file.attrs["images_sha256"] = images.content_hash()
        file.attrs.update(provenance)


def _interpolation(length: int, wanted: int) -> NDArray[np.float64]:
    """Return the matrix that brings an axis to another length by linear interpolation."""
    at = np.clip((np.arange(wanted) + 0.5) * length / wanted - 0.5, 0, length - 1)
    low = np.minimum(at.astype(int), length - 2)
    matrix = np.zeros((wanted, length))
    matrix[np.arange(wanted), low] = low + 1 - at
    matrix[np.arange(wanted), low + 1] = at - low
    return matrix
