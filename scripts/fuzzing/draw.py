"""What the changes of damaged files are drawn from: numbers, types, arrays, texts and bytes."""

import re
from typing import Any

import numpy as np
from numpy.random import Generator

ROWS, DIMS = 12, 5
NUMBERS = (-(1 << 63), -1, 0, 1, 5, 11, 12, 13, 255, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1)
DTYPES = ("<f2", "<f4", ">f4", "<f8", "<i1", "<u8", "<c8", "?", "S3", "<U2", "<M8[s]", "V7", "<f4,<i4", "S0")
INTERESTING = (0, 1, 2, 127, 128, 255, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1)


def pick(rng: Generator, choices: Any) -> Any:
    """Draw one of some choices."""
    return choices[int(rng.integers(len(choices)))]


def matrix(rng: Generator) -> np.ndarray:
    """Draw a small matrix of whole numbers, which every format can hold."""
    return rng.integers(0, 9, (ROWS, DIMS)).astype(np.float32)


def odd_array(rng: Generator) -> np.ndarray:
    """Draw an array of any type, shape and content."""
    shape = pick(rng, [(), (0,), (3,), (ROWS,), (ROWS + 1,), (ROWS, DIMS), (0, 5), (2, 3, 4)])
    if rng.random() < 0.5:
        return np.full(shape, pick(rng, NUMBERS), np.int64)
    return np.zeros(shape, pick(rng, DTYPES))


def change_arrays(arrays: dict[str, np.ndarray], rng: Generator) -> dict[str, np.ndarray]:
    """Return arrays of which some are left out, replaced, renamed or hold other values."""
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for _ in range(rng.integers(1, 3)):
        name, way = pick(rng, list(arrays)), rng.integers(5)
        if way == 0:
            arrays[name] = odd_array(rng)
        elif way == 1 and len(arrays) > 1:
            del arrays[name]
        elif way == 2:
            arrays[pick(rng, ["features", "labels", "shape", "data", "../x", "a\n"])] = arrays[name]
        elif arrays[name].size and arrays[name].dtype.kind in "iuf":
            real = arrays[name].dtype.kind == "f"
            wide = np.float64 if real else np.int64
            changed = arrays[name].astype(wide if rng.random() < 0.3 else arrays[name].dtype)
            values = np.array([*NUMBERS, np.nan, np.inf, 1e300], np.float64) if real else np.array(NUMBERS, np.int64)
            with np.errstate(over="ignore"):
                changed.flat[int(rng.integers(changed.size))] = pick(rng, values.astype(changed.dtype))
            arrays[name] = changed
    return arrays


def change_text(array: np.ndarray, rng: Generator) -> np.ndarray:
    """Change a number, a word or a character of a JSON text, stored as a string or as bytes."""
    text = array.tobytes().decode() if array.dtype == np.uint8 else str(array)
    words = re.findall(r"[\w.-]+", text)
    old = pick(rng, words)
    new = pick(
        rng, [str(pick(rng, NUMBERS)), "null", '"', "[]", "{}", "true", "1e999", "NaN", "lsh", '"x"', "[" * 2000]
    )
    text = text.replace(old, new, 1)
    return np.frombuffer(text.encode(), np.uint8) if array.dtype == np.uint8 else np.array(text)


def change_bytes(content: bytes, rng: Generator) -> bytes:
    """Flip, overwrite, cut, insert or repeat some bytes; the ends of a file, where headers are, more often."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not data:
            break
        size = len(data)
        ends = (rng.integers(size), rng.integers(min(size, 256)), size - 1 - rng.integers(min(size, 256)))
        at, way = int(ends[rng.integers(3)]), rng.integers(6)
        if way <= 1:
            data[at] ^= 1 << int(rng.integers(8))
        elif way == 2:
            width = int(rng.choice([1, 2, 4, 8]))
            value = int(rng.choice(INTERESTING)) & ((1 << (8 * width)) - 1)
            data[at : at + width] = value.to_bytes(width, str(rng.choice(["little", "big"])))[: size - at]
        elif way == 3:
            del data[at : at + int(rng.choice([1, 4, 64, size]))]
        elif way == 4:
            data[at:at] = rng.bytes(int(rng.choice([1, 4, 64])))
        else:
            start = int(rng.integers(size))
            data[at : at + 32] = data[start : start + 32]
    return bytes(data)
