"""Labelled images in one layout, whatever format they came in.

Every reader takes the members of an archive and gives the images as rows of bytes with their labels, in the order of
the original data set: training images first. A hash over pixels and labels then decides whether the content is that
of the original, wherever it came from.
"""

import hashlib
import io
import json
import math
import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.sources.archives import Members, decompress

_MAX_IDX_BYTES = 1 << 26
_MAX_DRAWINGS_BYTES = 1 << 23
_MAX_PIXELS = 1024 * 10_000

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class LabelledImages:
    """Images as (n, height, width) or (n, height, width, 3) bytes, the class of each, and the names of the classes."""

    pixels: Pixels
    labels: NDArray[np.int16]
    classes: tuple[str, ...]

    def content_hash(self) -> str:
        """Return the SHA-256 of shape, pixels and labels."""
        digest = hashlib.sha256(repr(self.pixels.shape).encode())
        digest.update(np.ascontiguousarray(self.pixels).data)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i2").data)
        return digest.hexdigest()


def cifar10(members: Members, classes: tuple[str, ...]) -> LabelledImages:
    """Read CIFAR-10 from its official binary batches or from batches drawn as PNG, one image a row."""
    files = _by_base_name(members)
    batches = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    if "test_batch.bin" in files:
        records = [np.frombuffer(_take(files, f"{batch}.bin"), np.uint8).reshape(-1, 3073) for batch in batches]
        labels = np.concatenate([record[:, 0] for record in records])
        planes = np.concatenate([record[:, 1:] for record in records])
        pixels = np.ascontiguousarray(planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    else:
        parts = [_read_png(_take(files, f"{batch}.png")).reshape(-1, 32, 32, 3) for batch in batches]
        pixels = np.concatenate(parts)
        labels = np.array(json.loads(_take(files, "train_lables.json")) + json.loads(_take(files, "test_lables.json")))
    return LabelledImages(pixels, labels.astype(np.int16), classes)


def cifar10_batch_md5(images: LabelledImages) -> list[str]:
    """Return the MD5 sums that the images have as official binary batches of 10,000: label, red, green, blue."""
    planes = images.pixels.transpose(0, 3, 1, 2).reshape(len(images.pixels), -1)
    records = np.column_stack([images.labels.astype(np.uint8), planes])
    batches = np.split(records, range(10_000, len(records), 10_000))
    return [hashlib.md5(np.ascontiguousarray(batch).data).hexdigest() for batch in batches]


def idx_or_csv(members: Members, classes: tuple[str, ...]) -> LabelledImages:
    """Read an MNIST-like set from its IDX files, compressed or not, or from comma-separated lines, label first."""
    files = _by_base_name(members)
    pixels, labels = [], []
    for part, table in (("train", "mnist_train.csv"), ("t10k", "mnist_test.csv")):
        if table in files:
            values = _read_csv(files[table])
            labels.append(values[:, 0])
            pixels.append(values[:, 1:].reshape(-1, 28, 28))
        else:
            pixels.append(_read_idx(files, f"{part}-images-idx3-ubyte"))
            labels.append(_read_idx(files, f"{part}-labels-idx1-ubyte"))
    return LabelledImages(np.concatenate(pixels), np.concatenate(labels).astype(np.int16), classes)


def quickdraw(members: Members, classes: tuple[str, ...]) -> LabelledImages:
    """Read drawings: a compressed file for each class, a drawing of 784 shades between 0 and 1 in each line.

    The classes are named after the files.
    """
    drawings: dict[str, Pixels] = {}
    for name, content in members.items():
        lines = decompress(content, _MAX_DRAWINGS_BYTES, name).splitlines()
        shades = np.array([json.loads(line) for line in lines if line.strip()], np.float64)
        with np.errstate(invalid="ignore"):
            pixels = np.rint(255 * shades).astype(np.uint8)
        drawings[PurePosixPath(name).name.removesuffix(".ndjson.gz")] = pixels
    classes = tuple(sorted(drawings))
    pixels = np.concatenate([drawings[name] for name in classes]).reshape(-1, 28, 28)
    labels = np.repeat(np.arange(len(classes)), [len(drawings[name]) for name in classes])
    return LabelledImages(pixels, labels.astype(np.int16), classes)


def _by_base_name(members: Members) -> Members:
    return {PurePosixPath(name).name: content for name, content in members.items()}


def _take(files: Members, name: str) -> bytes:
    if name not in files:
        raise InputError(f"the archive has no {name}; it holds {', '.join(sorted(files)[:6]) or 'nothing of use'}")
    return files[name]


def _read_png(content: bytes) -> Pixels:
    from PIL import Image

    with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
        if image.width * image.height > _MAX_PIXELS:
            raise InputError(f"an image of {image.width:,} x {image.height:,} pixels; a batch has fewer")
        return np.asarray(image.convert("RGB"))


def _read_csv(content: bytes) -> NDArray[np.uint8]:
    lines = content.split(b"\n", 1)[1]  # a line of names stands first
    with warnings.catch_warnings(action="error"):  # text that is no number ends the values with a warning only
        values = np.fromstring(lines.replace(b"\r", b"").replace(b"\n", b","), np.uint8, sep=",")
    return values.reshape(-1, 785)


def _read_idx(files: Members, name: str) -> NDArray[np.uint8]:
    packed = files.get(f"{name}.gz")
    content = _take(files, name) if packed is None else decompress(packed, _MAX_IDX_BYTES, name)
    dimensions = content[3] if len(content) > 4 else 0
    shape = np.frombuffer(content, ">u4", dimensions, 4).astype(int)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
    if not dimensions or content[2] != 8 or values.size != math.prod(map(int, shape)):
        raise InputError(f"{name}: not a whole IDX file of bytes")
    return values.reshape(shape)
