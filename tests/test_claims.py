"""Claims judged from rows made up by hand: such as reproduce them, such as do not, and such as are missing."""

import json
import math
from pathlib import Path

import pytest
from cbe_bench.reports.claims import CLAIMS, changes, claims_markdown, judge, load_claims, verdicts_json, write_claims
from cbe_bench.reports.paper import ENCODE_MS
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.results import About, Experiment, append_row, write_about

D = 800
NAMES = [claim.id for claim in CLAIMS]


def experiment(name, rows, kind="retrieval", scale="quick", **config):
    config = {"sweep": None, "fixed": ["bits"], **config}
    rows = [{"key": str(i), "status": "ok", "reason": "", **row} for i, row in enumerate(rows)]
    labels = {row["key"]: row["label"] for row in rows}
    about = About(title=name, experiment=kind, scale=scale, command="", config=config, labels=labels)
    return Experiment(Path("results") / name, about, rows)


def cell(label, n_bits, recall, seed=0, **more):
    """A row whose recall at the last depth is `recall` points."""
    row = {"experiment": "retrieval", "encoder": label, "label": label, "params": {}, "n_bits": n_bits, "seed": seed}
    row |= {"data": "toy", "data_kind": "real", "n_features": D, "n_database": 1_000, "n_queries": 500, "n_learn": 500}
    row |= {"protocol": "paper", "environment": "here", "threads": 2, "depths": [1, 2]}
    return row | {"recall": [recall / 200, recall / 100]} | more


def calibration(label, target, n_bits, share):
    row = {
        "experiment": "calibration",
        "n_features": D,
        "encoder": label,
        "label": label,
        "params": {},
        "target_bits": target,
    }
    return row | {"n_bits": n_bits, "share": 1.0, "share_at_equal_bits": share}


def verdict_of(claim, *experiments):
    return [verdict.verdict for verdict in judge(experiments) if verdict.claim == claim]


def found_of(claim, *experiments):
    (found,) = (verdict for verdict in judge(experiments) if verdict.claim == claim)
    return found


RECALL = {"cbe-rand": 50, "lsh": 50.5, "bilinear-rand": 45, "cbe-opt": 60, "bilinear-opt": 55}
SHARES = {"cbe-rand": 1, "cbe-opt": 1, "lsh": 150, "bilinear-rand": 3, "bilinear-opt": 3}


def figure(name="toy", kind="real", scale="quick", seeds=(0, 1), shares=SHARES, at_equal_time=40, **recall):
    """Figures 1 to 3 at 100 and 200 bits of 800 dimensions; others have a tenth of the bits in equal time."""
    rows = []
    for target in (100, 200):
        for label, value in (RECALL | {key.replace("_", "-"): value for key, value in recall.items()}).items():
            for seed in seeds:
                rows.append(cell(label, target, value + target / 100 + seed / 10, seed, data_kind=kind))
                if not label.startswith("cbe"):
                    rows.append(cell(label, target // 10, at_equal_time + seed / 10, seed, data_kind=kind))
            n_bits = target if label.startswith("cbe") else target // 10
            rows.append(calibration(label, target, n_bits, shares[label]))
    return experiment(name, rows, scale=scale, fixed=["time", "bits"], bits=[100, 200])


def test_real_data_come_first_and_smoke_scale_is_not_judged_by():
    both = judge([figure("a", "synthetic"), figure("b", "real")])
    assert [verdict.experiment for verdict in both if verdict.claim == "F-time"] == ["b", "a"]
    small = found_of("F-bits-lsh", figure(scale="smoke"))
    assert small.verdict == "not tested" and small.found.startswith("smoke scale is too small to judge by; largest")


# Learning


def sweep(parameter, values, recall, **more):
    """An experiment over a parameter: recall (or any metric) as a function of it."""
    rows = [
        cell(f"{parameter} {value}", bits, recall(value), seed, encoder="cbe-opt", params={parameter: value}, **more)
        for value in values
        for bits in (100, 200)
        for seed in (0, 1)
    ]
    return experiment(parameter, rows, sweep=parameter)


FALLING = [9.0, 5.0, 4.0, 4.0]
TURNS = (1, 5, 10, 20)


def learnings(seconds, sizes=((500, 1_000), (5_000, 1_000), (5_000, 64_000))):
    rows = [
        cell("cbe-opt", 100, 50, n_learn=n, n_features=d, objective=[1.0] * 11, fit_seconds=10 * seconds(n, d))
        for n, d in sizes
    ]
    return experiment("toy", rows)


# Figures 4 and 5


def few_dimensions(leads, **recall):
    values = {"cbe-opt": 50, "lsh": 40, "sh": 30, "sklsh": 20, "aqbc": 50.5} | recall
    rows = [cell(label, bits, value) for label, value in values.items() for bits in (100, 200)]
    rows += [cell("itq", bits, 50 + lead) for bits, lead in zip((100, 200), leads, strict=True)]
    return experiment("toy", rows, bits=[100, 200])


def hadamard(rand=50.0, opt=60.0, fbe=45.0, median=None, seconds=2.0):
    values = {"cbe-rand": rand, "cbe-opt": opt, "fbe": fbe, "fjlt-1": 40}
    more = {} if median is None else {"recall_median": [median / 100]}
    rows = [
        cell(label, 100, value, encode_seconds=1.0 if label == "cbe-rand" else seconds, encoded_bits=100)
        | (more if label == "fbe" else {})
        for label, value in values.items()
    ]
    return experiment("hadamard", rows, bits=[100])


# Tables 1 and 2


def time_row(encoder, d, k, seconds, space=None, **more):
    row = {"experiment": "time", "encoder": encoder, "label": encoder, "params": {}, "n_features": d, "n_bits": k}
    row |= {"batch": 1, "threads": 1, "seconds": seconds, "seconds_quartiles": [0.9 * seconds, 1.1 * seconds]}
    return row | {"parameter_bytes": space or d} | more


def growth(circulant=1.0, bilinear=0.5, full=1.0):
    """Times of codes of d bits, and of d/4 to 4d bits, by the laws; the exponents may be others."""
    sizes = [(2**p, 2**p) for p in range(10, 15)] + [(2**14, 2**p) for p in (12, 13, 15, 16)]
    rows = []
    for d, k in sizes:
        rows.append(time_row("cbe-rand", d, k, 1e-9 * max(d, k) ** circulant * math.log(d), max(d, k)))
        rows.append(time_row("bilinear-rand", d, k, 1e-9 * d * k**bilinear, math.sqrt(d * k)))
        rows.append(time_row("lsh", d, k, 1e-9 * d * k**full, d * k))
    return experiment("growth", rows, kind="time")


@pytest.mark.parametrize("claim", ["T1-circ", "T1-bil", "T1-full", "T1-kgtd", "S3-kltd"])
def test_table_1(claim):
    assert verdict_of(claim, growth()) == ["reproduced"]
    assert verdict_of(claim, growth(circulant=1.4, bilinear=0.9, full=0.5)) == (
        ["reproduced"] if claim == "S3-kltd" else ["not reproduced"]
    )


def test_exponents():
    found = found_of("T1-full", growth())
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    assert "time as k^1.00 (d k: 1.00) for k = 4,096 to 16,384" in found.found


def test_fewer_bits_that_cost_less():
    rows = [time_row("cbe-rand", 2**14, k, k * 1e-9) for k in (2**12, 2**13, 2**14)]
    found = found_of("S3-kltd", experiment("growth", rows, kind="time"))
    assert (found.verdict, found.value) == ("not reproduced", 0.25)
    small = [row | {"n_features": row["n_features"] // 16, "n_bits": row["n_bits"] // 16} for row in rows]
    assert verdict_of("S3-kltd", experiment("growth", small, kind="time")) == ["not tested"]


def table_2(factor=1.0, full_fits=(2**15,), dims=tuple(ENCODE_MS)):
    rows = []
    for d in dims:
        printed = ENCODE_MS[d]["bilinear-rand"] / ENCODE_MS[d]["cbe-rand"]
        rows += [time_row("cbe-rand", d, d, 1.0), time_row("bilinear-rand", d, d, factor * printed)]
        full = time_row("lsh", d, d, 1.0)
        rows.append(full if d in full_fits else {k: v for k, v in full.items() if "seconds" not in k})
        rows[-1]["status"] = "ok" if d in full_fits else "skipped"
    return experiment("time", rows, kind="time")


def test_table_2():
    assert verdict_of("T2-ratio", table_2()) == ["reproduced"]
    assert found_of("T2-ratio", table_2()).value == pytest.approx(268_000 / 8_150)
    assert "fails: bilinear / circulant 1.54 (paper 2.57)" in found_of("T2-ratio", table_2(0.6)).found
    fits = found_of("T2-ratio", table_2(full_fits=(2**15, 2**17))).found
    assert "fails: a full projection fits at d = 32,768, 131,072 of" in fits
    assert verdict_of("T2-ratio", table_2(dims=(2**15,))) == ["not tested"]


# Whatever there is


def test_every_claim_is_judged_once_where_nothing_was_run():
    verdicts = judge([])
    assert [verdict.claim for verdict in verdicts] == NAMES
    assert len(set(NAMES)) == 27
    assert {verdict.verdict for verdict in verdicts} == {"not tested"}
    assert all(verdict.found and verdict.where and verdict.rule for verdict in verdicts)


EVERYTHING = [figure(), growth(), table_2(), few_dimensions((10, 4)), hadamard(), learnings(lambda n, d: 1.0)]
EVERYTHING += [
    sweep("max_iter", TURNS, lambda turns: 60, objective=FALLING),
    sweep("mu", (0, 1), lambda mu: 50, auc=0.5),
    sweep("lam", (0.1, 1, 10), lambda lam: 50),
]
RESULTS = ("recall", "seconds", "seconds_quartiles", "share", "share_at_equal_bits", "parameter_bytes", "fit_seconds")


@pytest.mark.parametrize("status", ["failed", "skipped", "timeout"])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_rows_that_did_not_end_well_are_no_trouble(status, step):
    spoilt = []
    for one in EVERYTHING:
        rows = [
            {**{k: v for k, v in row.items() if k not in RESULTS}, "status": status} if i % step == 0 else row
            for i, row in enumerate(one.rows)
        ]
        spoilt.append(Experiment(one.folder, one.about, rows))
    assert {verdict.claim for verdict in judge(spoilt)} == set(NAMES)
    for i in range(len(EVERYTHING)):
        for keep in (0, 1, 7):
            few = [Experiment(one.folder, one.about, one.rows[:keep]) for one in EVERYTHING[i:]]
            assert {verdict.claim for verdict in judge(few)} == set(NAMES)


def test_verdicts_survive_a_file(tmp_path):
    verdicts = judge(EVERYTHING)
    files = write_claims(verdicts, tmp_path)
    assert {Path(name).name for name in files} == {"claims.json", "claims.csv", "claims.md"}
    again = load_claims(tmp_path / "claims.json")
    assert verdicts_json(again) == verdicts_json(verdicts)
    assert changes(verdicts, again) == []
    markdown = claims_markdown(verdicts)
    assert "| F-bits-lsh | With equal bits cbe-rand is almost identical to LSH." in markdown
    assert len(markdown.splitlines()) == 2 + len(verdicts)


def test_what_has_changed():
    before, now = judge([figure(), growth()]), judge([figure(lsh=60), figure("new")])
    found = {str(change) for change in changes(before, now)}
    assert "F-bits-lsh on toy: was reproduced, is not reproduced" in found
    assert "F-bits-lsh on new: was not there, is reproduced" in found
    assert "T1-full on growth: was reproduced, is not there" in found
    assert not any(text.startswith("F-std on toy") for text in found)


# Through the command line


def write(folder, *experiments):
    for one in experiments:
        for row in one.rows:
            append_row(folder / one.name / "rows.jsonl", row)
        write_about(folder / one.name, one.about)
    return folder


def call(*args, code=0):
    result = CliRunner().invoke(main, [*map(str, args)])
    assert result.exit_code == code, result.output
    return result


def test_claims_are_shown_and_change_nothing(tmp_path):
    folder = write(tmp_path / "quick", figure(lsh=60))
    files = sorted(folder.rglob("*"))
    result = call("claims", folder)
    assert "F-bits-lsh on toy is not reproduced: fails: largest difference of 2: cbe-rand - lsh -10.00" in result.output
    assert "5 reproduced, 1 not reproduced, 21 not tested" in result.output
    found = json.loads(call("claims", folder, "--json").stdout)
    assert [one["claim"] for one in found] == NAMES
    assert found[0]["value"] is None
    assert sorted(folder.rglob("*")) == files


def test_strict_tells_changed_verdicts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    committed = write(Path("results/reference/quick"), figure())
    assert "results/quick is not here" in call("claims").stderr
    assert "claims.json: no such file" in call("claims", "--strict", code=2).stderr
    write_claims(judge([figure()]), committed)
    assert "verdicts that were committed stand" in call("claims", "--strict").stderr
    write(Path("results/quick"), figure(lsh=60))
    assert "F-bits-lsh on toy: was reproduced, is not reproduced" in call("claims", "--strict", code=1).stderr
    other = tmp_path / "other.json"
    other.write_text(verdicts_json(judge([figure(lsh=60)])))
    call("claims", "--strict", "--against", other)
    other.write_text('[{"claim": 1}]')
    assert "holds no verdicts" in call("claims", "--strict", "--against", other, code=2).stderr


def test_compare_tells_what_changed_beyond_noise(tmp_path):
    first = write(tmp_path / "a", figure(), growth(), hadamard())
    second = write(tmp_path / "b", figure(lsh=52), growth())
    found = json.loads(call("compare", first, second, "--json").stdout)
    assert {(one["experiment"], one["subject"], one["metric"]) for one in found["changed"]} == {
        ("toy", f"lsh, d = 800, {bits} bits, 500 rows to learn from", "recall, points") for bits in (100, 200)
    }
    assert found["changed"][0]["before"]["value"] == pytest.approx(51.55)
    assert found["only_first"][0] == "hadamard: cbe-rand, d = 800, 100 bits, 500 rows to learn from"
    assert len(found["only_first"]) == 4 and found["only_second"] == []
    text = call("compare", first, second).output
    assert "Changed beyond noise" in text
    assert "only in" in text and "hadamard: fjlt-1" in text
    same = call("compare", first, first).output
    assert same == f"0 of {found['compared'] + 4} measurements changed beyond noise\n"


def test_compare_takes_single_experiments_and_times(tmp_path):
    slower = growth()
    for row in slower.rows:
        if row["encoder"] == "lsh":
            row["seconds"], row["seconds_quartiles"] = 2 * row["seconds"], [2 * end for end in row["seconds_quartiles"]]
    first, second = write(tmp_path / "a", growth()), write(tmp_path / "b", slower)
    found = json.loads(call("compare", first / "growth", second / "growth", "--json").stdout)
    assert {one["subject"].split(",")[0] for one in found["changed"]} == {"lsh"}
    assert len(found["changed"]) == 9
    assert "no experiment" in call("compare", first / "growth", tmp_path, code=2).stderr
    assert "no such folder" in call("compare", first, tmp_path / "none", code=2).stderr
