"""Images as the descriptors want them: grey, square, of one size, values between 0 and 1, read in parts."""

import hashlib
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats.checks import check_regular_file, readable
from cbe_bench.data.formats.hdf5_access import attributes, create_file, find, fixed_strings, open_file, read_whole
from cbe_bench.data.images.dense_sift import Images
from cbe_bench.data.images.parsers import LabelledImages

SIDE = 64
"""Pixels of an image along each side when it is described, unless another size is wanted."""
_GREY = (299, 587, 114)
"""Thousandths of red, green and blue in the grey of a pixel."""
_MAX_PIXELS = 100_000_000
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


class ImageReader(ABC):
    """Labelled images that are read in parts.

    Attributes
    ----------
    labels : int16 array
        The class of each image.
    classes : tuple of str
        The names of the classes.
    provenance : dict
        What a file made from these images says about them.
    side : int
        Pixels of an image, as it is read, along each side.
    """

    side: int
    labels: NDArray[np.int16]
    classes: tuple[str, ...]
    provenance: dict[str, Any]

    @abstractmethod
    def read(self, rows: NDArray[np.int64]) -> Images:
        """Return the given images, sorted, as (n, side, side)."""


class StoredImages(ImageReader):
    """Images in a file that `store_images` wrote, brought to one size."""

    def __init__(self, path: Path, side: int = SIDE) -> None:
        self.side = side
        check_regular_file(path)
        with readable(path, "cannot be read as stored images"), open_file(path) as file:
            pixels, labels = find(file, "images"), find(file, "labels")
            if pixels is None or labels is None:
                raise InputError(f"{path}: no /images and /labels; fetch the images again")
            self._pixels, self.labels = read_whole(pixels, "u"), read_whole(labels, "i")
            found = attributes(file)
            self.classes = tuple(map(str, found.pop("classes")))
        shape = self._pixels.shape
        if len(shape) not in (3, 4) or not all(shape) or shape[1] != shape[2] or self.labels.shape != shape[:1]:
            raise InputError(f"{path}: /images has shape {shape}, /labels {self.labels.shape}; they do not fit")
        self.provenance = found
        self._enlarge = _interpolation(self._pixels.shape[1], side)

    def read(self, rows: NDArray[np.int64]) -> Images:
        """Return the given images, enlarged by linear interpolation, exactly until the division at the end.

        Grey is a whole number below 2^18, weights are multiples of 1/128: double precision holds their products.
        """
        pixels = self._pixels[rows].astype(np.float64)
        thousandths = pixels @ _GREY if pixels.ndim == 4 else 1000 * pixels
        return (self._enlarge @ thousandths @ self._enlarge.T / 255_000).astype(np.float32)


class FolderImages(ImageReader):
    """A folder of image files; those in a subfolder are of the class it is named after."""

    side = SIDE

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
        self._files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file())
        if not self._files:
            raise InputError(f"{folder}: no images in it; known endings: {', '.join(_ENDINGS)}")
        of_each = [path.relative_to(folder).parts[0] if path.parent != folder else "" for path in self._files]
        self.classes = tuple(sorted(set(of_each)))
        if len(self.classes) > np.iinfo(np.int16).max:
            raise InputError(f"{folder}: {len(self.classes):,} subfolders; allowed: up to {np.iinfo(np.int16).max:,}")
        self.labels = np.searchsorted(np.array(self.classes), np.array(of_each)).astype(np.int16)
        self.provenance = {"kind": "user", "source": folder.name, "images_sha256": self._content_hash(folder)}

    def _content_hash(self, folder: Path) -> str:
        """Return a hash over the names and contents of all images."""
        digest = hashlib.sha256()
        for path in self._files:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.relative_to(folder)}\0{content}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def read(self, rows: NDArray[np.int64]) -> Images:
        """Decode the given images."""
        return np.stack([self._decode(self._files[row]) for row in rows])

    @staticmethod
    def _decode(path: Path) -> Images:
        from PIL import Image

        with readable(path, "cannot be read as an image"), warnings.catch_warnings(action="ignore"):
            with Image.open(path, formats=_FORMATS) as image:
                if image.width * image.height > _MAX_PIXELS:
                    raise InputError(f"{path}: {image.width:,} x {image.height:,} pixels; allowed: {_MAX_PIXELS:,}")
                small = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            return np.asarray(small, np.float32) / np.float32(255)


def store_images(path: Path, images: LabelledImages, **provenance: str) -> None:
    """Write images, labels and where they come from to one HDF5 file."""
    n_bytes = images.pixels.nbytes + images.labels.nbytes
    with whole_file(path) as temporary, create_file(temporary, n_bytes) as file:
        file["images"] = images.pixels
        file["labels"] = images.labels
        found = {"classes": images.classes, "images_sha256": images.content_hash(), **provenance}
        file.attrs.update(fixed_strings(found))


def _interpolation(length: int, wanted: int) -> NDArray[np.float64]:
    """Return the matrix that brings an axis to another length by linear interpolation."""
    at = np.clip((np.arange(wanted) + 0.5) * length / wanted - 0.5, 0, length - 1)
    low = np.minimum(at.astype(int), length - 2)
    matrix = np.zeros((wanted, length))
    matrix[np.arange(wanted), low] = low + 1 - at
    matrix[np.arange(wanted), low + 1] = at - low
    return matrix
