"""The keys of retrieval experiments that are well-formed but cannot work."""

from pathlib import Path

import pytest

from cbe_bench.core.config import SCALES
from cbe_bench.core.errors import InputError
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.retrieval.config import RetrievalConfig

CONFIG = Path(__file__).parents[2] / "configs" / "flickr.yaml"


@pytest.mark.parametrize("scale", SCALES)
def test_sizes_are_those_of_the_scale_unless_the_file_has_others(scale):
    config = load_config(CONFIG, scale, ["n_queries=30"])
    assert isinstance(config, RetrievalConfig)
    assert config.n_queries == 30
    assert config.time_budget_s == RetrievalConfig.sizes[scale].get("time_budget_s", 0.3)
    assert config.time_rounds == {"smoke": 1, "quick": 1, "paper": 5}[scale]
    assert config.rows_needed == config.n_database + 30


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("n_train=20000", "n_train: found 20000; the database it is drawn from has 1000 rows"),
        ("encoders=[{name: cbe-opt, n_train: 501}, cbe-rand]", "encoders.cbe-opt.n_train: found 501"),
        ("depth=1001", "n_database: found 1000; n_neighbours and depth need at least 1001 rows"),
        ("n_neighbours=1001", "n_database: found 1000"),
        ("depth=9", "depth: found 9"),
        ("fixed=[bits, bits]", "fixed: bits given more than once"),
        ("fixed=[]", "fixed: .*at least 1"),
        ("time_reference=cbe-rnd", "time_reference: found 'cbe-rnd'; did you mean 'cbe-rand'"),
        ("encoders=[lsh]", "time_reference: found 'cbe-rand'"),
        ("time_budget_s=0", "time_budget_s: found 0"),
        ("time_rounds=0", "time_rounds: found 0"),
        ("protocol=papers", "protocol: found 'papers'; input should be 'paper' or 'released-code'"),
    ],
)
def test_what_cannot_work_is_reported_with_its_key(override, message):
    with pytest.raises(InputError, match=message) as caught:
        load_config(CONFIG, "smoke", [override])
    assert "\n" not in str(caught.value)


def test_a_reference_is_needed_only_where_time_is_fixed():
    assert load_config(CONFIG, "smoke", ["encoders=[lsh]", "fixed=[bits]"]).fixed == ("bits",)
