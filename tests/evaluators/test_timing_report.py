"""Tables, figures and claims of timing, from rows made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cbe_bench.core.results import Description, Results
from cbe_bench.evaluators.times.rows import LearningRow, TimingRow
from cbe_bench.evaluators.timing.claims import CLAIMS
from cbe_bench.evaluators.timing.figures import growth_figure, timing_report
from cbe_bench.evaluators.timing.learning import LEARNING_LAWS, learning_growth_table
from cbe_bench.evaluators.timing.paper import ENCODE_MS
from cbe_bench.evaluators.timing.tables import table1, table2, times


def timed(encoder, d, k, seconds, parameter_bytes=1, **values):
    us = 1e6 * seconds
    return TimingRow(
        **{
            "encoder": encoder,
            "label": encoder,
            "params": {},
            "n_features": d,
            "n_bits": k,
            "batch": 1,
            "threads": 1,
            "dtype": "float32",
            "environment": "here",
            "encode_us_per_vector": us,
            "encode_us_quartiles": (0.9 * us, 1.1 * us),
            "samples_us": (us,),
            "rounds_us": tuple(us * (1 + 1e-4 * i) for i in range(5)),
            "memory_estimate_bytes": 4 * d * k,
            "parameter_bytes": parameter_bytes,
            "key": f"{encoder}-{d}-{k}",
            "code": "",
            "status": "ok",
            "peak_memory_bytes": 0,
            "ended": "",
        }
        | values
    )


def skipped(encoder, d, memory_bytes=2**36):
    return timed(encoder, d, d, math.nan, status="skipped", reason="large", memory_estimate_bytes=memory_bytes)


def test_table2_by_hand():
    d = 2**15
    rows = [timed("lsh", d, d, 0.2), timed("bilinear-rand", d, d, 0.0003), timed("cbe-rand", d, d, 0.0001)]
    rows += [skipped("lsh", 2**17), timed("cbe-rand", 2**17, 2**17, 0.0005)]
    first, second = table2(rows).to_dict("records")
    assert (first["full_ms"], first["full_ms_paper"]) == (200.0, 544)
    assert first["full_ratio"] == pytest.approx(2000)
    assert first["bilinear_ratio"] == pytest.approx(3)
    assert first["bilinear_ratio_paper"] == pytest.approx(2.85 / 1.11)
    assert second["full_ms"] == "- (64.0 GiB)"
    assert np.isnan(second["full_ratio"])


def test_the_paper_is_cited_for_its_own_sizes_alone():
    (square, longer) = table2([timed("cbe-rand", 2**16, 2**16, 1e-3), timed("cbe-rand", 2**15, 2**14, 1e-3)]).to_dict(
        "records"
    )
    assert square["circulant_ms_paper"] is None
    assert longer["circulant_ms_paper"] is None


def by_the_laws():
    dims = [2**power for power in range(10, 15)]
    rows = [timed("lsh", d, d, 1e-9 * d**2, 4 * d * d) for d in dims]
    rows += [timed("cbe-rand", d, d, 1e-9 * d * np.log(d), 5 * d) for d in dims]
    for m in (2, 4):
        seconds = 1e-9 * m * dims[-1] * np.log(dims[-1])
        rows.append(timed("cbe-rand", dims[-1], m * dims[-1], seconds, 5 * m * dims[-1]))
    return rows


def test_table1_finds_known_exponents():
    lines = {(line["encoder"], line["regime"]): line for line in table1(by_the_laws()).to_dict("records")}
    assert lines["lsh", "k = d"]["time"] == pytest.approx(2)
    assert lines["cbe-rand", "k = d"]["time"] == pytest.approx(lines["cbe-rand", "k = d"]["time_expected"])
    assert lines["cbe-rand", "k > d = 16,384"]["time"] == pytest.approx(1)
    assert lines["cbe-rand", "k > d = 16,384"]["space_expected"] == pytest.approx(1)


def test_times_have_a_line_for_every_cell():
    table = times([timed("lsh", 64, 64, 1e-3), skipped("lsh", 128)])
    assert table["encode_ms"].tolist()[0] == pytest.approx(1)
    assert table["status"].tolist() == ["ok", "skipped"]
    assert math.isnan(table["encode_ms"].tolist()[1])


def test_figures_have_a_panel_for_what_was_varied():
    assert len(growth_figure(by_the_laws()).axes) == 3
    assert len(growth_figure([row for row in by_the_laws() if row.n_bits == row.n_features]).axes) == 2
    assert growth_figure([timed("cbe-rand", 256, 64, 1e-3)]) is None, "a single point is no figure"
    assert growth_figure([skipped("lsh", 64)]) is None


def test_reports_leave_out_tables_without_lines():
    report = timing_report([timed("cbe-rand", 64, 64, 1e-3)])
    assert [table.name for table in report.tables] == ["table2", "times"]
    assert timing_report([]).tables == ()


def learned(encoder, n, d, seconds, **values):
    return LearningRow(
        **{
            "encoder": encoder,
            "label": encoder,
            "params": {},
            "n_features": d,
            "n_bits": d,
            "n_train": n,
            "threads": 1,
            "environment": "here",
            "fit_s": seconds,
            "rounds_s": (seconds,) * 5,
            "rounds": 5,
            "key": f"{encoder}-{n}-{d}",
            "code": "",
            "status": "ok",
            "peak_memory_bytes": 0,
            "ended": "",
        }
        | values
    )


def learning(powers=(1.0, 1.0), methods=tuple(LEARNING_LAWS)):
    """Rows whose times follow the laws to a power in N, and to another in d."""
    in_rows, in_dims = powers
    rows = []
    for name in methods:
        law = LEARNING_LAWS[name].of
        for n in (500, 1000, 2000):
            for d in (2**12, 2**14, 2**16):
                seconds = 1e-9 * law(1e5, d, d) ** in_dims * (n / 1e5) ** in_rows
                rows.append(learned(name, n, d, seconds))
    return rows


def test_exponents_of_training_are_relative_to_the_law():
    separable = learning((0.9, 1.1), ("cbe-opt", "bilinear-opt"))
    for line in learning_growth_table(separable).to_dict("records"):
        assert line["exponent_in_rows"] == pytest.approx(0.9)
        assert line["exponent_in_dims"] == pytest.approx(1.1)
    exact = [learned("itq", n, d, 1e-9 * (n * d**2 + d**3)) for n in (100, 400) for d in (64, 1024)]
    (line,) = learning_growth_table(exact).to_dict("records")
    assert (line["exponent_in_rows"], line["exponent_in_dims"]) == pytest.approx((1, 1))
    one_size = learning_growth_table([row for row in separable if row.n_train == 500])
    assert one_size["exponent_in_rows"].isna().all()
    report = timing_report(separable)
    assert [table.name for table in report.tables] == ["learning-growth", "learning"]
    assert len(report.table("learning")) == len(separable)


def results(rows, folder):
    description = Description(
        name=folder.name, title="Toy", kind="timing", scale="quick", command="", config={}, labels={}
    )
    return Results(folder, description, rows)


@pytest.fixture
def verdict(tmp_path):
    """Return the one verdict on a claim by the rows of some experiments."""

    def verdict(claim_id, *experiments):
        (claim,) = (claim for claim in CLAIMS if claim.id == claim_id)
        (found,) = claim.verdicts([results(rows, tmp_path / f"run{i}") for i, rows in enumerate(experiments)])
        return found

    return verdict


def growth(circulant=1.0, bilinear=0.5, full=1.0, noise=0.0, rounds=5):
    """Return times of codes of d bits, and of d/16 to 8d bits at one d, by the laws or by other exponents."""
    rng = np.random.default_rng(0)
    sizes = [(2**p, 2**p) for p in range(8, 16)] + [(2**14, 2**p) for p in (10, 11, 12, 13, 15, 16, 17)]
    rows = []
    for d, k in sizes:
        seconds = {
            "cbe-rand": (1e-9 * max(d, k) ** circulant * math.log(d), 5 * max(d, k)),
            "bilinear-rand": (1e-9 * d * k**bilinear, 8 * max(k, math.isqrt(d * k))),
            "lsh": (1e-9 * d * k**full, 4 * d * k),
        }
        for name, (time, size) in seconds.items():
            times = 1e6 * time * np.exp(noise * rng.standard_normal(rounds))
            rows.append(timed(name, d, k, time, size, rounds_us=tuple(times), batch=16))
    return rows


@pytest.mark.parametrize("claim", ["T1-time-circ", "T1-time-bil", "T1-time-full", "T1-kgtd", "S3-kltd"])
def test_table_1(claim, verdict):
    assert verdict(claim, growth()).outcome == "reproduced"
    assert verdict(claim, growth(noise=0.02)).outcome == "reproduced"
    other = verdict(claim, growth(circulant=1.4, bilinear=0.9, full=0.5)).outcome
    assert other == ("reproduced" if claim == "S3-kltd" else "not reproduced")
    assert verdict(claim, growth(noise=3.0)).outcome in ("inconclusive", "not reproduced")
    few = verdict(claim, growth(rounds=4))
    assert few.outcome == "not tested", "fewer than five rounds have no interval"
    assert math.isfinite(few.value)
    assert verdict(claim).outcome == "not tested"


def test_too_few_sizes_give_no_exponent(verdict):
    narrow = [row for row in growth() if row.n_features >= 2**10]
    assert verdict("T1-time-circ", narrow).outcome == "not tested"
    in_d_alone = [row for row in growth() if row.n_bits == row.n_features]
    assert verdict("T1-time-circ", in_d_alone).outcome == "reproduced"
    assert verdict("T1-time-full", in_d_alone).outcome == "not tested", "the exponent in k is part of it"


def test_exponents_are_relative_to_the_law(verdict):
    found = verdict("T1-time-full", growth())
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1), abs=1e-6)
    assert found.kind == "machine"
    assert "batches of 16, 1 thread, 5 rounds" in found.data
    in_k = verdict("T1-time-bil", growth(bilinear=0.8))
    assert "in k alone decides" in in_k.found
    assert in_k.value == pytest.approx(1.6, abs=0.01)


def test_space_is_exact(verdict):
    for claim, name in (("T1-space-circ", "cbe-rand"), ("T1-space-bil", "bilinear-rand"), ("T1-space-full", "lsh")):
        assert verdict(claim, growth()).outcome == "reproduced"
        more = [replace(row, parameter_bytes=row.parameter_bytes * row.n_features) for row in growth()]
        found = verdict(claim, more)
        assert (found.outcome, found.value) == ("not reproduced", pytest.approx(2**7))
        assert name in {row.encoder for row in more}


def test_shorter_codes_that_cost_less(verdict):
    rows = [timed("cbe-rand", 2**14, k, k * 1e-9) for k in (2**9, 2**12, 2**13, 2**14)]
    rows += [timed("cbe-rand-strided", 2**14, 2**12, 1e-7)]
    found = verdict("S3-kltd", rows)
    assert (found.outcome, found.value) == ("not reproduced", pytest.approx(0.25))
    assert "on a stride, which are ours, take" in found.found
    assert verdict("S3-kltd", rows[:1]).outcome == "not tested", "d/32 does not count"


def table_2(factor=1.0, dims=tuple(ENCODE_MS), power=1.0):
    rows = []
    for d in dims:
        printed = ENCODE_MS[d]["bilinear-rand"] / ENCODE_MS[d]["cbe-rand"]
        rows += [timed("cbe-rand", d, d, 1.0), timed("bilinear-rand", d, d, factor * printed**power)]
        rows.append(timed("lsh", d, d, 490.0) if d == 2**15 else skipped("lsh", d, 4 * d * d))
    return rows


def test_table_2(verdict):
    for claim in ("T2-faster", "T2-grows", "T2-memory"):
        assert verdict(claim, table_2()).outcome == "reproduced"
    assert verdict("T2-faster", table_2()).value == pytest.approx(2.85 / 1.11)
    assert verdict("T2-faster", table_2(0.2)).outcome == "not reproduced"
    assert verdict("T2-grows", table_2(0.2)).outcome == "reproduced"
    assert verdict("T2-grows", table_2(power=-1)).outcome == "not reproduced"
    assert verdict("T2-grows", table_2(dims=(2**15,))).outcome == "not tested"
    small = [replace(row, memory_estimate_bytes=1) for row in table_2()]
    assert verdict("T2-memory", small).outcome == "not reproduced"
    assert verdict("T2-memory", table_2(dims=(2**15,))).outcome == "not tested"


def test_cost_model(verdict):
    d = 2**15
    by_the_model = [("lsh", d**2), ("bilinear-rand", d**1.5), ("cbe-rand", 5 * d * 15)]
    rows = [timed(name, d, d, 1e-9 * cost) for name, cost in by_the_model]
    found = verdict("S7-model", rows)
    assert (found.outcome, found.value) == ("reproduced", pytest.approx(1))
    slower = [replace(row, rounds_us=tuple(4 * us for us in row.rounds_us)) for row in rows[1:2]]
    assert verdict("S7-model", [rows[0], *slower, rows[2]]).outcome == "not reproduced"


def figures_1_to_3(bilinear=3.0, full=300.0, batch=1):
    rows = []
    for k in (3200, 25_600):
        for name, ratio in (("cbe-rand", 1), ("bilinear-rand", bilinear), ("lsh", full)):
            seconds = 1e-4 * (ratio if k == 25_600 else max(1, ratio / 8))
            rows.append(timed(name, 25_600, k, seconds, batch=batch))
    return rows


def test_captions(verdict):
    for claim, value in (("F-bits-speed-bil", 3), ("F-bits-speed-lsh", 300)):
        found = verdict(claim, figures_1_to_3(), figures_1_to_3(4.0, 400.0, 64))
        assert (found.outcome, found.value) == ("reproduced", pytest.approx(value)), "the smaller ratio decides"
        assert [one.outcome for one in found.evidence].count("") == 2, "fewer bits are listed"
        assert "batches of 1 and 64" in found.data
        assert verdict(claim, figures_1_to_3(), figures_1_to_3(1.5, 50.0, 64)).outcome == "not reproduced"
        assert verdict(claim, [row for row in figures_1_to_3() if row.n_bits < 25_600]).outcome == "not tested"


def figure_5(fbe=3.0, fjlt=3.0):
    rows = []
    for k in (5000, 10_000):
        rows += [timed("cbe-rand", 25_600, k, 1e-4), timed("fbe", 25_600, k, 1e-4 * fbe)]
        rows += [timed("fjlt", 25_600, k, 1e-4 * fjlt * p, label=f"fjlt-{p}") for p in (1, 5)]
    return rows


def test_methods_of_figure_5(verdict):
    assert verdict("F5-speed", figure_5()).outcome == "reproduced"
    slow = verdict("F5-speed", figure_5(fjlt=1.0))
    assert (slow.outcome, slow.value) == ("not reproduced", pytest.approx(1))
    assert "fjlt-1 / circulant" in slow.found
    assert verdict("F5-speed", [row for row in figure_5() if row.encoder != "fbe"]).outcome == "not tested"


@pytest.mark.parametrize(("claim", "name"), [("circ", "cbe-opt"), ("bil", "bilinear-opt"), ("full", "itq")])
def test_growth_of_training(claim, name, verdict):
    by_law = [learned(name, n, d, 1e-9 * float(LEARNING_LAWS[name].of(n, d, d))) for n, d in TRAINED]
    assert verdict(f"T1-learn-{claim}", by_law).outcome == "reproduced"
    quadratic = [learned(name, n, d, 1e-9 * float(n * LEARNING_LAWS[name].of(n, d, d))) for n, d in TRAINED]
    found = verdict(f"T1-learn-{claim}", quadratic)
    assert found.outcome == "not reproduced"
    assert "in N decides" in found.found
    assert verdict(f"T1-learn-{claim}", by_law[:3]).outcome == "not tested"
    once = [replace(row, rounds_s=row.rounds_s[:1]) for row in by_law]
    assert verdict(f"T1-learn-{claim}", once).outcome == "not tested"


def test_training_and_encoding_are_judged_apart(tmp_path):
    both = [results(growth(), tmp_path / "encoding"), results(learning(), tmp_path / "training")]
    apart = {claim.id: claim.verdicts(both[:1]) + claim.verdicts(both[1:]) for claim in CLAIMS}
    together = {claim.id: claim.verdicts(both) for claim in CLAIMS}
    for name, found in together.items():
        tested = [one for one in apart[name] if one.outcome != "not tested"]
        assert [one.outcome for one in found] == [one.outcome for one in tested or found]
    assert together["T1-learn-circ"][0].experiment == "training"
    assert together["T1-time-circ"][0].experiment == "encoding"


TRAINED = [(n, d) for n in (500, 2000) for d in (2**6, 2**8, 2**10)]


def on_devices(speed_up, is_gpu=True, **values):
    """Return times of the processor, and of a device that is so many times as fast at the larger of two sizes."""
    rows = []
    for d, ratio in ((2**15, 1.5), (2**17, speed_up)):
        host = timed("cbe-rand", d, d, 1e-3, **values)
        device = timed("cbe-rand", d, d, 1e-3 / ratio, device="cuda", device_is_gpu=is_gpu, device_model="G", **values)
        rows += [host, replace(device, key=f"device-{d}", transfer_us_per_vector=5.0)]
    return rows


@pytest.mark.parametrize(
    ("speed_up", "outcome"), [(30, "reproduced"), (10, "not reproduced"), (20, "inconclusive"), (19, "inconclusive")]
)
def test_the_largest_ratio_on_a_graphics_processor_decides(speed_up, outcome, verdict):
    found = verdict("S7-gpu", on_devices(speed_up))
    assert (found.outcome, found.value) == (outcome, pytest.approx(speed_up))
    assert (found.low, found.high) == pytest.approx((0.9 / 1.1 * speed_up, 1.1 / 0.9 * speed_up))
    assert "131,072" in found.found and "copying adds 5 us" in found.found and "G" in found.data


def test_without_a_graphics_processor_the_claim_says_what_to_run(verdict):
    rows = on_devices(30)
    for untested in (growth(), on_devices(30, is_gpu=False), on_devices(30, threads=2), rows[1::2]):
        found = verdict("S7-gpu", untested)
        assert found.outcome == "not tested"
        assert found.found.startswith("no device found") and "cbe-bench time --device gpu" in found.found


def test_times_on_devices_stay_out_of_the_other_tables_and_claims(verdict):
    rows = growth() + [replace(row, device="cuda", encode_us_per_vector=1.0, key=f"x{row.key}") for row in growth()]
    assert verdict("T1-time-circ", rows) == verdict("T1-time-circ", growth())
    report = timing_report(rows)
    assert report.table("table1").equals(timing_report(growth()).table("table1"))
    table = report.table("devices")
    assert len(table) == len(growth()) and len(report.table("times")) == 2 * len(growth())
    assert table["speed_up"].tolist() == pytest.approx([row.encode_us_per_vector for row in growth()])
