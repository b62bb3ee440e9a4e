"""Some cases of `scripts/fuzz.py`, in this process: damaged files are read, or refused in one line."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def fuzz():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import fuzz

        yield fuzz
    finally:
        sys.path.remove(str(SCRIPTS))


CASES = {
    **dict.fromkeys(("npy", "npz", "sparse-npz", "h5", "ann", "sparse-h5", "parquet", "csv"), 30),
    **dict.fromkeys(("fvecs", "bvecs", "fbin"), 10),
    "archive": 30,
    "codes": 20,
    **dict.fromkeys(("config", "set", "claims", "cache"), 25),
    "results": 12,
}
NEVER_REFUSED = {"cache"}
"""What is damaged there counts as absent."""


@pytest.mark.parametrize("kind, cases", CASES.items())
def test_damaged_files_are_read_or_refused_in_one_line(kind, cases, fuzz, tmp_path):
    outcomes = []
    for number in range(cases):
        path = fuzz.write_case(kind, number, 0, tmp_path)
        outcome, detail = fuzz.run_case(kind, path)
        assert outcome in ("read", "refused"), f"case {number}: {outcome}: {detail}"
        outcomes.append(outcome)
    assert kind in NEVER_REFUSED or "refused" in outcomes


def test_a_crash_costs_one_case(fuzz, tmp_path, monkeypatch):
    """The child is killed by the use of one file; the case is counted, the others run."""
    script = tmp_path / "fuzz.py"
    source = Path(fuzz.__file__).read_text()
    fatal = "    if path.stem == 'case-3':\n        os.abort()\n    try:\n        with warnings"
    script.write_text(source.replace("    try:\n        with warnings", fatal))
    (tmp_path / "fuzzing").symlink_to(SCRIPTS / "fuzzing")
    monkeypatch.setattr(fuzz, "__file__", str(script))
    cases = list(fuzz.run_kind("fbin", 6, 0, tmp_path))
    assert [case.number for case in cases] == list(range(6))
    assert [case.outcome for case in cases if case.outcome not in ("read", "refused")] == ["crash (-6)"]
