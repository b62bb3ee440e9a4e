"""Files made to do harm: each is refused in one line, and nothing outside it is read."""

import io
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from cbe_bench.core.environment import peak_memory
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats import hdf5_probe, open_features


def refusal(path, part=None):
    """Return the one line that says why a file is not read."""
    with pytest.raises(InputError) as told, open_features(path, part=part) as features:
        features.read(np.arange(min(features.n_rows, 10)))
        features.labels()
    assert "\n" not in str(told.value)
    assert str(told.value).isprintable()
    return str(told.value)


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["features"] = np.full((20, 4), 42, np.float32)
        file["labels"] = np.arange(20)
    return path


def test_no_other_file_is_read_through_hdf5(secret, tmp_path):
    layout = h5py.VirtualLayout((20, 4), np.float32)
    layout[:] = h5py.VirtualSource(str(secret), "features", (20, 4))
    bad = {
        "external": lambda file: file.__setitem__("features", h5py.ExternalLink(str(secret), "/features")),
        "virtual": lambda file: file.create_virtual_dataset("features", layout),
        "storage": lambda file: file.create_dataset("features", (20, 4), "f4", external=[(str(secret), 0, 320)]),
    }
    for name, write in bad.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            write(file)
        assert "only the file itself is read" in refusal(tmp_path / f"{name}.h5")
    with h5py.File(tmp_path / "soft.h5", "w") as file:
        file["other"] = h5py.ExternalLink(str(secret), "/")
        file["features"] = h5py.SoftLink("/other/features")
    assert "only the file itself is read" in refusal(tmp_path / "soft.h5")
    assert "only the file itself is read" in refusal(tmp_path / "soft.h5", part="other/features")
    with h5py.File(tmp_path / "labels.h5", "w") as file:
        file["features"] = np.ones((20, 4), np.float32)
        file["labels"] = h5py.ExternalLink(str(secret), "/labels")
    assert "only the file itself is read" in refusal(tmp_path / "labels.h5")


def test_hdf5_announces_no_more_than_it_can_hold(tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("features", (1 << 40, 100), "f4", chunks=(1, 100))
    assert "/features announces 400 TiB" in refusal(tmp_path / "rows.h5").replace(",", "")
    with h5py.File(tmp_path / "wide.h5", "w") as file:
        file.create_dataset("features", (1, 1 << 28), "f4", chunks=(1, 1024))
    assert "announces 1.0 GiB" in refusal(tmp_path / "wide.h5")
    with h5py.File(tmp_path / "chunk.h5", "w") as file:
        file.create_dataset("features", (1 << 12, 1 << 12), "f4", chunks=(1 << 12, 1 << 12), compression="gzip")
        file.create_dataset("labels", (1 << 12,), "i8", chunks=(1 << 24,), maxshape=(None,))
    assert "a chunk of /labels announces 128 MiB" in refusal(tmp_path / "chunk.h5")
    with h5py.File(tmp_path / "never.h5", "w") as file:
        file.create_dataset("features", (1 << 20, 1 << 20), "f4")
    assert "announces 4,398,046,511,104 bytes" in refusal(tmp_path / "never.h5")


def gibibyte_of_zeros():
    """A stream of 1 MiB that deflate expands to a gibibyte."""
    pack = zlib.compressobj(9)
    head = pack.compress(b"") + pack.flush(zlib.Z_FULL_FLUSH)
    part = pack.compress(bytes(1 << 24)) + pack.flush(zlib.Z_FULL_FLUSH)
    checksum = ((1 << 30) % 65521 << 16) + 1
    return head + 64 * part + zlib.compressobj(9, zlib.DEFLATED, -15).flush() + checksum.to_bytes(4, "big")


def test_a_compressed_chunk_that_expands_without_end_is_refused(tmp_path):
    bomb = gibibyte_of_zeros()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("features", (64, 16384), "f4", chunks=(32, 16384), compression="gzip")
        data[:32] = 1
        data.id.write_direct_chunk((32, 0), bomb)
    before = peak_memory()
    with open_features(tmp_path / "x.h5") as features:
        assert (features.read(np.arange(32)) == 1).all()
        for _ in range(2):
            with pytest.raises(InputError, match=r"a chunk of /features expands to more than 2.0 MiB"):
                features.read(np.array([33]))
    assert peak_memory() < before + (1 << 28)
    with h5py.File(tmp_path / "x.h5", "a") as file:
        data = file.create_dataset("labels", (64,), "i8", chunks=(64,), compression="gzip")
        data.id.write_direct_chunk((0,), bomb[: 1 << 16])
    assert "a chunk of /labels expands to more than 512 B" in refusal(tmp_path / "x.h5")


def test_large_compressed_chunks_are_read(tmp_path, rng):
    X = rng.standard_normal((70, 4096)).astype(np.float32)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("features", data=X, chunks=(32, 4096), compression="gzip", shuffle=True, fletcher32=True)
    with open_features(tmp_path / "x.h5") as features:
        for rows in (np.arange(70), np.arange(30, 34)):
            assert np.array_equal(features.read(rows), X[rows])


def probe_by(tmp_path, code):
    """Start a process whose look at a file is a child that runs some code, with the limits such a child has."""
    module = Path(hdf5_probe.__file__)
    take = f"import os, sys, time; sys.path.insert(0, {str(module.parent)!r}); import {module.stem} as probe; "
    child = tmp_path / "child.py"
    write_id = "print(os.getpid(), file=open(sys.argv[2], 'w'), flush=True)"
    child.write_text(f"{take}probe._SECONDS = 1; probe._limit(int(sys.argv[1]))\n{write_id}\n{code}")
    look = f"{take}probe.__file__ = sys.argv[1]; probe._ask(sys.argv[2])"
    command = [sys.executable, "-c", look, str(child), str(tmp_path / "id")]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_look_at_a_file_has_limited_time(tmp_path):
    parent = probe_by(tmp_path, "while True: pass")
    assert "does not come to an end" in parent.communicate(timeout=60)[1]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot do it")
def test_a_look_at_a_file_ends_with_the_process_that_wants_it(tmp_path):
    parent = probe_by(tmp_path, "time.sleep(600)")
    identity = tmp_path / "id"
    while not (identity.is_file() and identity.read_text().strip()):
        assert parent.poll() is None
    parent.kill()
    parent.communicate()
    status, end = Path("/proc") / identity.read_text().strip() / "status", time.monotonic() + 30
    with suppress(FileNotFoundError, ProcessLookupError):
        while "State:\tZ" not in status.read_text():
            assert time.monotonic() < end


def test_a_few_bytes_of_parquet_take_no_gigabytes(tmp_path):
    values = pa.array(np.zeros(40_000_000, np.float32))
    column = pa.FixedSizeListArray.from_arrays(values, 4000)
    pq.write_table(pa.table({"emb": column}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    assert "column emb announces 305 MiB" in refusal(tmp_path / "x.parquet")
    schema = pa.schema({"emb": pa.list_(pa.float32(), 1), "label": pa.int64()})
    group = pa.table(
        [pa.FixedSizeListArray.from_arrays(values[: 1 << 20], 1), pa.array(np.zeros(1 << 20, int))], schema
    )
    with pq.ParquetWriter(tmp_path / "groups.parquet", schema) as writer:
        for _ in range(10):
            writer.write_table(group)
    assert "column label announces 80.0 MiB" in refusal(tmp_path / "groups.parquet")


def save_csr(path, **changed):
    """Write a sparse file whose arrays can be anything."""
    X = sparse.random(20, 30, 0.2, "csr", np.float32, random_state=0)
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"}
    np.savez(path, **{**arrays, **changed})


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"indptr": np.full(21, 1 << 30)}, "indptr does not cut"),
        ({"indptr": np.zeros(5, int)}, "20 rows need 21"),
        ({"indices": np.full(120, 1 << 30)}, "indices holds 1073741824; allowed: 0 to 29"),
        ({"indices": np.full(120, -1)}, "indices holds -1; allowed: 0 to 29"),
        ({"indices": np.zeros(3, int)}, "indices is int64 of shape"),
        ({"shape": [1 << 62, 30]}, "announces"),
        ({"shape": [20, 1 << 62]}, "allowed: up to"),
        ({"shape": [20.5, 3]}, "two whole numbers"),
        ({"format": b"dia"}, "sparse format 'dia'; allowed: csr, csc, coo"),
        ({"data": np.zeros((3, 2))}, "must have one dimension"),
        ({"data": np.array(["a"] * 120)}, "allowed: real numbers"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value[:12],
)
def test_sparse_indices_are_checked_before_they_are_followed(changed, message, tmp_path):
    save_csr(tmp_path / "x.npz", **changed)
    assert message in refusal(tmp_path / "x.npz")


class Payload:
    def __reduce__(self):
        return os.mkdir, ("pickle-was-run",)


def test_pickles_are_never_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = np.array([[Payload()]], object)
    np.save("x.npy", array, allow_pickle=True)
    np.savez("x.npz", features=array)
    np.savez("s.npz", data=np.ones(1), format=array, shape=[1, 1], indices=[0], indptr=[0, 1])
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Payload()))
    for name in ("x.npy", "x.npz", "s.npz", "raw.npy"):
        refusal(tmp_path / name)
    assert not (tmp_path / "pickle-was-run").exists()


def test_zip_members_hold_what_they_announce(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f4", "fortran_order": False, "shape": (1 << 15, 1 << 10)}
        )
        archive.writestr("features.npy", stream.getvalue() + bytes(1 << 27))
    assert "announces 128 MiB" in refusal(tmp_path / "bomb.npz")
    with zipfile.ZipFile(tmp_path / "short.npz", "w") as archive:
        archive.writestr("features.npy", stream.getvalue() + b"1234")
    assert "announces 134,217,728 bytes, not those it has" in refusal(tmp_path / "short.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_folders_pipes_and_devices_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "folder.h5").mkdir()
    assert "not a regular file" in refusal(tmp_path / "pipe.npy")
    assert "a folder, not a file" in refusal(tmp_path / "folder.h5")
    (tmp_path / "link.npy").symlink_to("/dev/zero")
    assert "not a regular file" in refusal(tmp_path / "link.npy")
    assert "no such file" in refusal(tmp_path / "none.npy")


def test_what_a_file_says_reaches_the_terminal_as_one_plain_line(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["first\nerror: \x1b[31mred"], file["other"] = np.ones((3, 2)), np.ones((3, 2))
    assert "first error:  [31mred" in refusal(tmp_path / "x.h5")
    (tmp_path / "a\nb.odd").touch()
    assert "a b.odd: unknown format" in refusal(tmp_path / "a\nb.odd")
    (tmp_path / "x.fbin").write_bytes(struct.pack("<II", 1 << 31, 1 << 31))
    assert "values announced need" in refusal(tmp_path / "x.fbin")
