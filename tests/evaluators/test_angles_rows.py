"""Rows of experiments on angles whose tables do not fit each other are refused."""

import pytest

from cbe_bench.evaluators.angles.rows import SimulationRow

SPEC = {"method": "cbe-rand", "pair": "flat", "n_features": 8, "n_bits": (4, 8), "angles_rad": (0.5, 1.0)}
SPEC |= {"draws": 10, "delta": 0.1, "seed": 0}
TABLE = ((0.1, 0.2), (0.3, 0.4))
METRICS = {"flatness": (1.0, 1.0), "mean": (0.2, 0.3), "variance": TABLE, "kurtosis": TABLE}
METRICS |= {"n_beyond_2_sigma": (1, 2), "n_beyond_3_sigma": (0, 0), "n_beyond_theorem2": ((0, 0), (0, 0))}


def stored(**changes):
    about = {"environment": "e", "threads": 1, "peak_memory_bytes": 1, "ended": "", "key": "k", "code": "c"}
    return SimulationRow.from_json({**about, "status": "ok", **SPEC, **METRICS, **changes})


def test_a_row_as_it_is_written_is_read():
    assert stored().mean == (0.2, 0.3)
    assert stored(status="failed", **dict.fromkeys(METRICS, ())).mean == (), "a failed cell has no values"


@pytest.mark.parametrize(
    ("changes", "of"),
    [
        ({"n_beyond_2_sigma": (1,)}, "angles_rad"),
        ({"variance": TABLE[:1]}, "angles_rad"),
        ({"kurtosis": ((0.1,), (0.3,))}, "n_bits"),
    ],
)
def test_a_value_too_few_is_refused(changes, of):
    with pytest.raises(ValueError, match=f"not a value for each of {of}"):
        stored(**changes)
