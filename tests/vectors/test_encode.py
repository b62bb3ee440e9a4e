"""Files of codes: what they hold, resuming to the same bytes, and what is refused."""

import hashlib
import json

import h5py
import numpy as np
import pytest

from cbe_bench import encode_file, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.vectors import blocks
from cbe_bench.vectors.code_file import CodeFile


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


class StoppedError(Exception):
    pass


def test_h5py_alone_reads_the_codes_of_every_row_but_zeros(codes, vectors):
    with h5py.File(codes) as file:
        assert (file.attrs["format"], file.attrs["version"], file.attrs["n_bits"]) == (b"cbe-bench codes", 1, 100)
        stored, ids, digests = file["codes"][:], file["ids"][:], file["checksums"][:]
        about = json.loads(file["provenance"][:].tobytes())
        assert file["codes"].chunks is None, "codes can be mapped"
    kept = np.delete(np.arange(500), 123)
    assert np.array_equal(ids, kept)
    assert about["skipped_rows"] == 1 and about["source"] == "vectors.npy" and about["sampled_rows"] == 499
    assert hashlib.sha256(stored.tobytes() + ids.tobytes()).digest() == digests[0].tobytes()
    own = make_encoder("cbe-rand", n_bits=100, center=True, random_state=0).fit(unit(vectors[kept]))
    signs = np.unpackbits(stored, axis=1, bitorder="little", count=100)
    values = own.project(unit(vectors[kept]))
    clear = np.abs(values) > 1e-5  # norms are rounded here and there
    assert clear.mean() > 0.99
    assert np.array_equal(signs[clear], (values >= 0)[clear])


def test_the_encoder_of_a_file_is_the_one_that_made_its_codes(codes, vectors):
    with CodeFile(codes) as file:
        rows = unit(np.delete(vectors, 123, axis=0)).astype(np.float32)
        assert np.mean(file.encoder.encode(rows) == file.codes()) > 0.999
        assert file.encoder.n_bits_ == 100


@pytest.mark.parametrize("stop_at", [1, 4, 8])
def test_a_call_that_was_stopped_resumes_to_the_same_bytes(source, codes, tmp_path, stop_at):
    out, lines = tmp_path / "again.cbe.h5", []

    def stop(done, total, before):
        if done >= 64 * stop_at or done == total:
            raise StoppedError

    with pytest.raises(StoppedError):
        encode_file(source, out, method="cbe-rand", n_bits=100, rows_done=stop)
    assert not out.exists()
    summary = encode_file(source, out, method="cbe-rand", n_bits=100, message=lines.append)
    assert summary.resumed > 0 and "resuming" in lines[1]
    assert out.read_bytes() == codes.read_bytes()
    assert not out.with_name(out.name + ".partial").exists()


def test_how_large_is_said_first_and_how_long_once(source, tmp_path, small_blocks):
    said, lines = [], []
    out = tmp_path / "c.cbe.h5"
    encode_file(source, out, method="cbe-rand", n_bits=100, message=lines.append, foreseen=said.append)
    (seconds,) = said
    assert 0 < seconds < 60
    assert lines[0].startswith("encoding 500 rows x ") and lines[0].endswith("to 100 bits each: 6 KiB of codes")


def test_a_damaged_block_is_encoded_again(source, codes, tmp_path):
    out = tmp_path / "again.cbe.h5"

    def stop(done, total, before):
        if done == total:
            raise StoppedError

    with pytest.raises(StoppedError):
        encode_file(source, out, method="cbe-rand", n_bits=100, rows_done=stop)
    stored = sorted((tmp_path / "again.cbe.h5.partial").glob("*/*.npz"))
    content = bytearray(stored[2].read_bytes())
    content[200] ^= 1
    stored[2].write_bytes(content)
    stored[3].write_bytes(stored[3].read_bytes()[:50])
    encode_file(source, out, method="cbe-rand", n_bits=100)
    assert out.read_bytes() == codes.read_bytes()


def test_other_options_do_not_mix_with_what_was_begun(source, tmp_path, small_blocks):
    def stop(done, total, before):
        raise StoppedError

    with pytest.raises(StoppedError):
        encode_file(source, tmp_path / "x.h5", method="cbe-rand", n_bits=64, rows_done=stop)
    with pytest.raises(InputError, match="begun with another n_bits"):
        encode_file(source, tmp_path / "x.h5", method="cbe-rand", n_bits=90)
    encode_file(source, tmp_path / "x.h5", method="cbe-rand", n_bits=90, overwrite=True)
    with CodeFile(tmp_path / "x.h5") as file:
        assert file.n_bits == 90


@pytest.mark.parametrize("threads", [1, 3])
def test_codes_do_not_depend_on_threads(source, codes, tmp_path, threads):
    from cbe_bench.core.resources import Resources

    encode_file(source, tmp_path / "t.h5", method="cbe-rand", n_bits=100, resources=Resources(threads))
    assert (tmp_path / "t.h5").read_bytes() == codes.read_bytes()


def test_codes_do_not_depend_on_the_size_of_blocks(source, codes, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_MOST_ROWS", 1000)
    encode_file(source, tmp_path / "t.h5", method="cbe-rand", n_bits=100)
    assert (tmp_path / "t.h5").read_bytes() == codes.read_bytes()


def test_given_ids_are_stored_with_the_rows_they_belong_to(source, vectors, tmp_path):
    names = np.array([f"näme {i}" for i in range(500)])
    np.save(tmp_path / "ids.npy", names)
    encode_file(source, tmp_path / "c.h5", method="sign", ids=tmp_path / "ids.npy")
    with CodeFile(tmp_path / "c.h5") as file:
        assert np.array_equal(file.ids(), np.delete(names, 123))
        assert np.array_equal(file.rows(np.array([122, 123])), [122, 124])
        assert file.read(0).shape == (499, 3)
    np.save(tmp_path / "ids.npy", names[:-1])
    with pytest.raises(InputError, match="500 rows need as many"):
        encode_file(source, tmp_path / "d.h5", ids=tmp_path / "ids.npy")


@pytest.mark.parametrize(("value", "row"), [(np.nan, 321), (np.inf, 0)])
def test_a_row_that_is_not_finite_is_named_and_nothing_is_written(source, vectors, tmp_path, small_blocks, value, row):
    vectors[row, 5] = value
    np.save(source, vectors)
    with pytest.raises(InputError, match=f"row {row}: NaN or infinite"):
        encode_file(source, tmp_path / "c.h5", method="cbe-rand", n_bits=100, n_train=2)
    assert not (tmp_path / "c.h5").exists()


def test_nothing_but_zeros_is_refused(tmp_path):
    np.save(tmp_path / "zeros.npy", np.zeros((10, 4), np.float32))
    with pytest.raises(InputError, match="only zeros"):
        encode_file(tmp_path / "zeros.npy", tmp_path / "c.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["zeros.npy"], "nothing is left behind"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "cbe-rnd"}, "did you mean 'cbe-rand'"),
        ({"metric": "cosin"}, "did you mean 'cosine'"),
        ({"method": "itq", "n_bits": 100}, "n_bits"),
        ({"params": {"nothing": 1}}, "no parameter 'nothing'"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(source, tmp_path, options, match):
    with pytest.raises(InputError, match=match):
        encode_file(source, tmp_path / "c.h5", **options)
    assert not list(tmp_path.glob("c.h5*"))


def damage(path, name):
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = {"codes": file["codes"].id.get_offset() + 700, "ids": file["ids"].id.get_offset() + 8}
    if name in place:
        content[place[name]] ^= 4
    path.write_bytes(content[: len(content) // 2] if name == "truncated" else content)


@pytest.mark.parametrize(("what", "match"), [("codes", "checksum"), ("ids", "checksum"), ("truncated", "codes.cbe.h5")])
def test_a_damaged_file_is_refused_in_one_line(codes, what, match):
    damage(codes, what)
    with pytest.raises(InputError, match=match) as error, CodeFile(codes) as file:
        for _ in file.blocks():
            pass
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda file: file.attrs.__setitem__("version", 9), "version 9"),
        (lambda file: file.attrs.__setitem__("format", np.bytes_("x")), "not a file of codes"),
        (lambda file: file.attrs.__setitem__("n_bits", 2000), "/codes is uint8"),
        (lambda file: file.attrs.__setitem__("n_bits", -1), "positive integer"),
        (lambda file: file.__delitem__("ids"), "no dataset /ids"),
        (lambda file: file.__delitem__("checksums"), "no dataset /checksums"),
        (lambda file: (file.__delitem__("codes"), file.__setitem__("codes", h5py.ExternalLink("a", "b"))), "link"),
        (lambda file: file.attrs.__setitem__("n_bits", 99), "not the encoder of these codes"),
        (lambda file: file["encoder/__sha256__"].__setitem__(0, 1), "checksum does not fit"),
        (lambda file: file.__delitem__("encoder"), "encoder"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(codes, change, match):
    with h5py.File(codes, "a") as file:
        change(file)
    with pytest.raises(InputError, match=match) as error, CodeFile(codes) as file:
        file.encoder.encode(np.zeros((1, 24), np.float32))
    assert "\n" not in str(error.value)


def test_a_file_of_another_kind_is_refused(source, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        CodeFile(tmp_path / "none.h5")
    with pytest.raises(InputError, match="not a file of codes"):
        CodeFile(source)
