"""The kinds of files that `fuzz.py` damages: how a small one is written, how its structure is changed, its use."""

import contextlib
import gzip
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzzing import texts
from fuzzing.draw import DIMS, DTYPES, NUMBERS, ROWS, change_arrays, change_bytes, change_text, matrix, odd_array, pick
from fuzzing.hdf5 import change_hdf5, write_ann, write_h5, write_sparse_h5
from numpy.random import Generator
from scipy import sparse

from cbe_bench.data.formats import open_features
from cbe_bench.data.inspect import inspect
from cbe_bench.kernels.parallel import slices

MOST_BYTES = 1 << 24
"""Values read of one file: those of a large and valid one need not all be seen."""


class Kind(NamedTuple):
    """How files of a kind are named, written (with or without a change of structure) and used."""

    suffix: str
    write: Callable[[Path, Generator, bool], None]
    use: Callable[[Path], None]
    names_itself: bool = True
    """Whether a message names the file."""


def use_features(path: Path) -> None:
    """Use a feature file as the suite does: describe it, read labels, neighbours and rows in blocks."""
    with open_features(path) as features:
        features.describe()
        features.labels()
        features.own_neighbours()
        if features.n_rows * features.n_features <= 1 << 16:
            inspect(features)
        at_once = max(1, (1 << 22) // (4 * features.n_features))
        for part in slices(min(features.n_rows, max(1, MOST_BYTES // (4 * features.n_features))), at_once):
            features.read(np.arange(part.start, part.stop))


def write_npy(path: Path, rng: Generator, change: bool) -> None:
    """Write an array, or one whose header says something else."""
    stream = io.BytesIO()
    np.save(stream, matrix(rng) if not change or rng.random() < 0.5 else odd_array(rng))
    content = stream.getvalue()
    if change:
        shape = f"({pick(rng, NUMBERS)}, {pick(rng, NUMBERS)})"
        odd = [f"'{pick(rng, DTYPES)}'", "'|O'", "[('a', '<f4')]", "(" * 200, shape, "(-1,)", "True", "'x' * 9", "\0"]
        old = pick(rng, [b"'<f4'", b"(12, 5)", b"False", b"'descr'", b"{", b"}"])
        content = content.replace(old, pick(rng, odd).encode(), 1)
    path.write_bytes(content)


def write_vecs(path: Path, rng: Generator, change: bool) -> None:
    """Write rows behind their lengths, some of which are wrong."""
    code = "f" if path.suffix == ".fvecs" else "B"
    lengths = [DIMS] * ROWS
    if change:
        lengths[int(rng.integers(ROWS))] = int(np.int64(pick(rng, NUMBERS)).astype(np.int32))
    cast = float if code == "f" else int
    rows = [struct.pack(f"<i{DIMS}{code}", n, *map(cast, row)) for n, row in zip(lengths, matrix(rng), strict=True)]
    path.write_bytes(b"".join(rows))


def write_fbin(path: Path, rng: Generator, change: bool) -> None:
    """Write values behind a shape that may be wrong."""
    shape = [ROWS, DIMS]
    if change:
        shape[int(rng.integers(2))] = pick(rng, NUMBERS) & 0xFFFFFFFF
    path.write_bytes(struct.pack("<II", *shape) + matrix(rng).tobytes())


def write_csv(path: Path, rng: Generator, change: bool) -> None:
    """Write lines of numbers, some words changed."""
    words = [[f"{value:g}" for value in row] for row in matrix(rng)]
    if rng.random() < 0.5:
        words = [["label", *(f"x{i}" for i in range(DIMS - 1))], *words]
    if change:
        odd = ["", "nan", "1e999", "-", '"', "'", "\0", "9" * 400, "é", "1,2", "\n", "\r", "0x10", "label", "1_0", "\t"]
        for _ in range(rng.integers(1, 4)):
            words[int(rng.integers(len(words)))][int(rng.integers(DIMS))] = pick(rng, odd)
    path.write_text("\n".join(",".join(line) for line in words), newline="")


def save_arrays(path: Path, arrays: dict[str, np.ndarray], rng: Generator, change: bool) -> None:
    """Write a `.npz` file, compressed or not."""
    arrays = change_arrays(arrays, rng) if change else arrays
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(path, **arrays)


def write_npz(path: Path, rng: Generator, change: bool) -> None:
    """Write dense features and labels."""
    save_arrays(path, {"features": matrix(rng), "labels": np.arange(ROWS)}, rng, change)


def write_sparse_npz(path: Path, rng: Generator, change: bool) -> None:
    """Write a sparse matrix in one of the formats of scipy."""
    form = pick(rng, ["csr", "csc", "coo"])
    X = sparse.random(ROWS, DIMS, 0.4, form, np.float32, rng)
    names = ("data", "row", "col") if form == "coo" else ("data", "indices", "indptr")
    arrays = {name: getattr(X, name) for name in names}
    form = pick(rng, ["csr", "csc", "coo", "dia", "bsr"]) if change and rng.random() < 0.2 else form
    save_arrays(path, {**arrays, "shape": np.array(X.shape), "format": np.array(form.encode())}, rng, change)


def write_parquet(path: Path, rng: Generator, change: bool) -> None:
    """Write lists of numbers, with labels, in some encoding."""
    lists = matrix(rng).tolist()
    kind = pick(rng, [pa.list_(pa.float32()), pa.list_(pa.float64(), DIMS), pa.large_list(pa.int64())])
    if pa.types.is_integer(kind.value_type):
        lists = [list(map(int, row)) for row in lists]
    labels = pa.array(range(ROWS))
    if change:
        row = int(rng.integers(ROWS))
        fixed = pa.types.is_fixed_size_list(kind)
        lists[row] = None if fixed else pick(rng, [None, [], [1] * 4, [1] * 300, [None] * DIMS])
        labels = pick(rng, [labels, pa.array(["é"] * ROWS), pa.array([None] * ROWS), pa.array([[1]] * ROWS)])
    table = pa.table({"emb": pa.array(lists, kind), "label": labels})
    compression, dictionary = pick(rng, ["snappy", "gzip", "none", "zstd"]), bool(rng.random() < 0.5)
    pq.write_table(table, path, row_group_size=5, compression=compression, use_dictionary=dictionary)


def tiny_sets(rng: Generator) -> dict[str, bytes]:
    """Return the members of the archives of all image sets, an image or two each."""
    members = {
        f"{batch}.bin": rng.bytes(2 * 3073) for batch in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
    }
    for part in ("train", "t10k"):
        images, labels = rng.bytes(2 * 784), bytes([1, 2])
        head = b"\0\0\x08\x03" + struct.pack(">3I", 2, 28, 28)
        members[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(head + images, mtime=0)
        members[f"{part}-labels-idx1-ubyte"] = b"\0\0\x08\x01" + struct.pack(">I", 2) + labels
    lines = "\n".join(json.dumps(rng.random(784).round(2).tolist()) for _ in range(2))
    members["sun.ndjson.gz"] = gzip.compress(lines.encode(), mtime=0)
    return members


def write_archive(path: Path, rng: Generator, change: bool) -> None:
    """Write an archive of images as a tar, a zip or a Debian package; members may be damaged inside a sound archive."""
    members = tiny_sets(rng)
    for name in list(members) if change else []:
        if rng.random() < 0.5:
            members[name] = change_bytes(members[name], rng)
            if name.endswith(".gz") and rng.random() < 0.3:
                members[name] = gzip.compress(change_bytes(tiny_sets(rng)[name], rng), mtime=0)
    stream, form = io.BytesIO(), pick(rng, ["w:gz", "w:xz", "w", "zip", "deb"])
    if form == "zip":
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz" if form == "deb" else form) as archive:
            for name, content in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    content = stream.getvalue()
    if form == "deb":
        header = b"data.tar.gz".ljust(16) + b"0".ljust(32) + str(len(content)).encode().ljust(10) + b"`\n"
        content = b"!<arch>\n" + header + content
    path.write_bytes(content)


def use_archive(path: Path) -> None:
    """Read an archive as every known set; none has the content of the original, so each must be refused."""
    from cbe_bench.core.errors import InputError
    from cbe_bench.data.catalogue import fetched_sets
    from cbe_bench.data.sources.fetched import read_set

    refusal = None
    for known in fetched_sets().values():
        try:
            read_set(known, path, str(path))
        except InputError as error:
            if not str(error).isprintable() or path.stem not in str(error):
                raise
            refusal = error
        else:
            raise AssertionError(f"{known.name}: accepted")
    if path.stem != "valid" and refusal is not None:
        raise refusal


def write_encoder(path: Path, rng: Generator, change: bool) -> None:
    """Write a fitted encoder; change its arrays or the text of its description, with a checksum that fits again."""
    from cbe_bench.encoders import encoder_classes, make_encoder

    name = pick(rng, sorted(encoder_classes()))
    X = np.random.default_rng(0).standard_normal((40, 16)).astype(np.float32)
    make_encoder(name, n_bits=8, random_state=0).fit(X, np.arange(40) % 2).save(path)
    if not change:
        return
    with np.load(path) as stored:
        arrays = dict(stored)
    checked = arrays.pop("__sha256__", None) is not None
    if rng.random() < 0.4:
        arrays["__head__"] = change_text(arrays["__head__"], rng)
    else:
        arrays = change_arrays(arrays, rng)
    if checked:
        from cbe_bench.encoders.saving import _checksum

        arrays["__sha256__"] = _checksum({key: np.ascontiguousarray(array) for key, array in arrays.items()})
    np.savez(path, **arrays)


def use_encoder(path: Path) -> None:
    """Load an encoder and encode with it."""
    from cbe_bench.encoders import load_encoder

    encoder = load_encoder(path)
    encoder.encode(np.random.default_rng(1).standard_normal((7, 16)).astype(np.float32))


def write_codes(path: Path, rng: Generator, change: bool) -> None:
    """Write a file of codes; change its datasets, attributes or encoder, mostly with checksums that fit again."""
    from cbe_bench.encoders import make_encoder
    from cbe_bench.vectors.code_file import _digest, write_code_file

    X = np.random.default_rng(0).standard_normal((ROWS, 16)).astype(np.float32)
    encoder = make_encoder(pick(rng, ["cbe-rand", "cbe-opt", "lsh", "hd3"]), n_bits=24, random_state=0).fit(X)
    ids = pick(rng, [None, np.arange(ROWS), np.array([b"a%d" % i for i in range(ROWS)])])
    write_code_file(path, [(encoder.encode(X), np.arange(ROWS))], ROWS, encoder, "cosine", ids, {"source": "x"})
    if not change:
        return
    with h5py.File(path, "r+") as file:
        members = [f"encoder/{name}" for name in file["encoder"]]
        if rng.random() < 0.3:
            name = pick(rng, ["n_bits", "n_features", "block_rows", "version", "metric", "format"])
            file.attrs[name] = pick(rng, [*NUMBERS, np.bytes_("l2"), 1.5, [24, 24]])
        else:
            change_hdf5(file, rng, ["codes", "ids", "checksums", "provenance", "encoder", *members])
        if rng.random() < 0.7:
            with contextlib.suppress(Exception):  # not of everything that stands there now
                stored = [file[name][:ROWS] for name in ("codes", "ids", "rows") if name in file]
                file["checksums"][:] = np.frombuffer(_digest(stored), np.uint8)[None]


def use_codes(path: Path) -> None:
    """Search a file of codes in every way, and look at what it says of itself."""
    from cbe_bench.vectors.index import CodeIndex

    queries = np.random.default_rng(1).standard_normal((2, 16)).astype(np.float32)
    with CodeIndex.open(path) as index:
        for asymmetric in (False, True):
            index.search(queries, 3, asymmetric=asymmetric)


KINDS = {
    "npy": Kind(".npy", write_npy, use_features),
    "npz": Kind(".npz", write_npz, use_features),
    "sparse-npz": Kind(".npz", write_sparse_npz, use_features),
    "h5": Kind(".h5", write_h5, use_features),
    "ann": Kind(".hdf5", write_ann, use_features),
    "sparse-h5": Kind(".h5", write_sparse_h5, use_features),
    "parquet": Kind(".parquet", write_parquet, use_features),
    "fvecs": Kind(".fvecs", write_vecs, use_features),
    "bvecs": Kind(".bvecs", write_vecs, use_features),
    "fbin": Kind(".fbin", write_fbin, use_features),
    "csv": Kind(".csv", write_csv, use_features),
    "archive": Kind(".archive", write_archive, use_archive),
    "codes": Kind(".h5", write_codes, use_codes),
    "encoder": Kind(".npz", write_encoder, use_encoder),
    "config": Kind(".yaml", texts.write_config, texts.use_config, names_itself=False),
    "set": Kind(".txt", texts.write_override, texts.use_override, names_itself=False),
    "results": Kind(".jsonl", texts.write_results, texts.use_results),
    "claims": Kind(".json", texts.write_claims, texts.use_claims),
    "cache": Kind(".bin", texts.write_cached, texts.use_cached),
}
