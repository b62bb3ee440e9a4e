"""Fitted encoders as files: an uncompressed `.npz` without pickles, with a schema version and a checksum.

Its member `__head__` is JSON: the method, its parameters, and what of its state is no array. `__sha256__` is the
checksum of everything else. A file that was changed in any way is refused in one line. Since a checksum can be made to
fit, every array is also held against what its method declares (`Encoder._state_fields`) before compiled code sees it,
and no more is read than the file holds.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.making import make_encoder
from cbe_bench.encoders.rabitq import RaBitQ
from cbe_bench.encoders.state import Field

SCHEMA = 3
_HEAD, _CHECKSUM = "__head__", "__sha256__"
_KEYS = {"format", "schema", "encoder", "params", "state"}
_FORMAT = "cbe-bench encoder"
_NAME = re.compile(r"((encoder|rotation)_\.)*[a-z]\w*_")
_LARGEST_SIZE = 1 << 40
"""Features or bits beyond which a file is not believed."""

Arrays = dict[str, NDArray]


def save_encoder(encoder: Encoder | RaBitQ, path: Path) -> None:
    """Write a fitted encoder to one file; see `load_encoder` and `load_rabitq`."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **encoder_arrays(encoder))


def encoder_arrays(encoder: Encoder | RaBitQ) -> Arrays:
    """Return a fitted encoder as arrays of plain numbers by name, its head and its checksum among them."""
    params = encoder._recipe() | {"random_state": None}
    if isinstance(encoder, Encoder):
        params["n_bits"] = encoder.n_bits_
    state = encoder._fitted_state()
    arrays = {n: np.ascontiguousarray(v) for n, v in state.items() if isinstance(v, np.ndarray) and v.dtype != object}
    others = {name: value for name, value in state.items() if name not in arrays}
    head = {"format": _FORMAT, "schema": SCHEMA, "encoder": encoder.name, "params": params, "state": others}
    arrays[_HEAD] = np.frombuffer(json.dumps(head, default=lambda value: value.tolist()).encode(), np.uint8)
    arrays[_CHECKSUM] = _checksum(arrays)
    return arrays


def load_encoder(path: str | Path) -> Encoder:
    """Read an encoder that `Encoder.save` wrote.

    Raises
    ------
    InputError
        If there is no such file, or it is not, or no longer, a saved encoder.
    """
    return restored_encoder(lambda: _read_arrays(Path(path)), path)


def load_rabitq(path: str | Path) -> RaBitQ:
    """Read what `RaBitQ.save` wrote; errors are those of `load_encoder`."""
    found = _checked(lambda: _read_arrays(Path(path)), path)
    if not isinstance(found, RaBitQ):
        raise InputError(f"{path}: holds a binary encoder, {found.name}, not a RaBitQ; load_encoder reads it")
    return found


def restored_encoder(read: Callable[[], Arrays], source: object) -> Encoder:
    """Return the encoder of the arrays that `encoder_arrays` returned, all of them checked.

    Parameters
    ----------
    read : callable
        Returns the arrays; what it raises becomes one line.
    source : object
        What the message begins with.

    Raises
    ------
    InputError
        If the arrays are not, or no longer, those of an encoder.
    """
    found = _checked(read, source)
    if isinstance(found, RaBitQ):
        raise InputError(f"{source}: holds a RaBitQ, not a binary encoder; load_rabitq reads it")
    return found


def _checked(read: Callable[[], Arrays], source: object) -> Encoder | RaBitQ:
    try:
        arrays = read()
        if not {_HEAD, _CHECKSUM} <= arrays.keys():
            raise InputError("its members are not those of a saved encoder")
        if not np.array_equal(arrays.pop(_CHECKSUM), _checksum(arrays)):
            raise InputError("its checksum does not fit; it was changed after it was saved")
        return _restored(json.loads(arrays.pop(_HEAD).tobytes()), arrays)
    except InputError as error:
        reason = str(error)
    except Exception as error:  # whatever a hostile file makes a parser raise
        reason = f"{type(error).__name__} while reading it"
    raise InputError(f"{source}: not a saved encoder: {' '.join(reason.split())}")


def _checksum(arrays: Arrays) -> NDArray[np.uint8]:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), np.uint8)


def _read_arrays(path: Path) -> Arrays:
    """Read all members; their sizes together are at most that of the file."""
    if not path.is_file():
        raise InputError("not a regular file" if path.exists() else "no such file")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise InputError("its members are compressed")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise InputError("its members are larger than the file")
        arrays = {member.filename.removesuffix(".npy"): _read_array(archive, member) for member in members}
    if len(arrays) != len(members):
        raise InputError("its members are not those of a saved encoder")
    return arrays


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray:
    with archive.open(member) as file:
        if npy.read_magic(file) != (1, 0):
            raise InputError(f"{member.filename} is of another version")
        shape, fortran_order, dtype = npy.read_array_header_1_0(file)
        size = member.file_size - file.tell()
        if fortran_order or dtype.kind not in "biuf" or not dtype.isnative:
            raise InputError(f"{member.filename} is not an array of plain numbers")
        if any(n < 0 for n in shape) or _product(shape) * dtype.itemsize != size:
            raise InputError(f"{member.filename} holds {size} bytes, not an array of shape {shape}")
        array: NDArray = np.empty(shape, dtype)
        unfilled = array.reshape(-1).view(np.uint8).data
        while unfilled:
            count = file.readinto(unfilled)  # type: ignore[attr-defined]
            if not count:
                raise InputError(f"{member.filename} ends early")
            unfilled = unfilled[count:]
        return array


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for n in shape:
        product *= int(n)
    return product


def _restored(head: Any, arrays: Arrays) -> Encoder | RaBitQ:
    """Make the encoder of a head and give it its state, all of it checked."""
    if not isinstance(head, dict) or head.keys() != _KEYS or head["format"] != _FORMAT:
        raise InputError("its head is not that of a saved encoder")
    if head["schema"] != SCHEMA:
        raise InputError(f"it has schema {head['schema']!r:.20}, this version reads {SCHEMA}; fit and save it again")
    name, params, others = head["encoder"], head["params"], head["state"]
    if not isinstance(name, str) or not isinstance(params, dict) or not isinstance(others, dict):
        raise InputError("its head is not that of a saved encoder")
    state = others | arrays
    if len(state) != len(others) + len(arrays) or not all(_NAME.fullmatch(key) for key in state):
        raise InputError("its state has names that no encoder uses")
    encoder = RaBitQ(**params) if name == RaBitQ.name else make_encoder(name, **params)
    for key, value in (("n_features_in_", others.get("n_features_in_")), ("n_bits", params.get("n_bits") or 1)):
        Field("i8", (), 1, _LARGEST_SIZE).check(key, value)
    encoder.check_params(others["n_features_in_"])
    _check_state(encoder, state)
    if "feature_names_in_" in state:
        state["feature_names_in_"] = _feature_names(state["feature_names_in_"], state["n_features_in_"])
    encoder._restore(state)
    return encoder


def _check_state(encoder: Encoder | RaBitQ, state: dict[str, Any]) -> None:
    """Raise InputError unless the state has all fields of the encoder, and nothing in it is out of range."""
    shapes = {key: value.shape for key, value in state.items() if isinstance(value, np.ndarray)}
    fields = encoder._state_fields(state["n_features_in_"], shapes)
    for key in fields.keys() - state.keys():
        raise InputError(f"{key} is missing")
    for key, value in state.items():
        if key in fields:
            fields[key].check(key, value)
        elif isinstance(value, np.ndarray):
            Field(value.dtype.str, value.shape).check(key, value)
        elif key != "feature_names_in_" and not isinstance(value, int | float | str | None):
            raise InputError(f"{key} is {value!r:.40}, not a number")


def _feature_names(names: Any, n_features: int) -> NDArray[np.object_]:
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise InputError(f"feature_names_in_ are not the names of {n_features} features")
    return np.array(names, object)
