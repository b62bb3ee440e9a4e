"""An experiment of the suite on a user's own file.

The paper's protocol takes as many rows as the scale says, and does not centre. On a file that was asked for by name,
all rows but the queries are the database, a sample of them the training set; vectors are encoded less the mean of the
training set; code lengths keep their ratio to the dimension, and some are beyond it; the methods that short vectors
allow for are among those compared. Whatever is set by hand stays.
"""

from typing import Any

from cbe_bench.core.remote import as_path
from cbe_bench.core.yaml_files import set_key
from cbe_bench.data.formats import open_features
from cbe_bench.encoders.base import N_TRAIN

_TRAIN_BYTES = 1 << 28
"""Rows that methods are trained on are fewer than this."""
_MOST_ROWS = 2**31 - 1
_BEYOND = (2, 4)
"""Code lengths beyond the dimension, as multiples of it."""
_LONGEST_BEYOND = 4096
"""They are at most this long."""
_LONG_ENOUGH = 512
"""A code length that short vectors are encoded with too."""
_MOST_DIMS = {"sign": 1 << 16, "itq": 4096}
"""Methods that are compared too, on vectors of this many dimensions at most."""


def adapt_to_own_file(tree: dict[str, Any], chosen: dict[str, Any]) -> None:
    """Make an experiment one on a file that was asked for by name.

    No surrogate takes its place, and results are named after it.

    Parameters
    ----------
    tree : dict
        The values of the configuration, changed in place.
    chosen : dict
        What was set by hand, by dotted key.
    """
    if chosen.get("data.file") is None:
        return
    file = as_path(str(chosen["data.file"]))
    named = {"name": file.stem, "title": file.stem, "data.name": file.stem, "data.synthetic": False, "data.own": True}
    for key, value in named.items():
        set_key(tree, key, value, "--set")
    data = tree.get("data")
    if not isinstance(data, dict) or ("data.dim" in chosen and not file.exists()):
        return
    with open_features(file, part=chosen.get("data.dataset")) as features:
        n_rows, n_features = features.n_rows, features.n_features
    before, data["dim"] = data.get("dim"), n_features
    if _is_count(kept := data.get("keep_dims")):
        data["keep_dims"] = None
    if "n_database" in tree:
        _take_all_rows(tree, chosen, n_rows)
    numbers = all(_is_count(value) for value in (before, kept, chosen.get("data.keep_dims")) if value is not None)
    compares = tree.get("experiment") in ("retrieval", "search") and not tree.get("sweep")
    if "n_bits" not in chosen and before is not None and numbers and isinstance(tree.get("n_bits"), list):
        now = min(n_features, chosen.get("data.keep_dims") or n_features)
        tree["n_bits"] = _lengths(tree["n_bits"], now / min(before, kept or before), now if compares else None)
    if isinstance(tree.get("encoders"), list):
        _choose_encoders(tree, n_features, more=compares)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _take_all_rows(tree: dict[str, Any], chosen: dict[str, Any], n_rows: int) -> None:
    """Make all rows the database, less the queries, and a sample of them the training set."""
    least = tree["n_database"] if _is_count(tree["n_database"]) else 1
    tree["n_database"] = min(max(n_rows, least), _MOST_ROWS)
    database = chosen.get("n_database", tree["n_database"])
    if _is_count(database):
        tree["n_train"] = min(database, N_TRAIN, max(1, _TRAIN_BYTES // (4 * tree["data"]["dim"])))


def _lengths(lengths: list[Any], ratio: float, n_features: int | None) -> list[int]:
    """Return code lengths of the same ratio to the dimension, and some beyond it where it is given."""
    found = {max(1, round(value * ratio)) for value in lengths if isinstance(value, int)}
    if n_features is not None:
        longest = max((k for k in (m * n_features for m in _BEYOND) if k <= _LONGEST_BEYOND), default=n_features)
        found |= {m * n_features for m in _BEYOND if m * n_features <= longest}
        found |= {_LONG_ENOUGH} if longest < _LONG_ENOUGH else set()
    return sorted(found)


def _choose_encoders(tree: dict[str, Any], n_features: int, *, more: bool) -> None:
    """Centre, unless encoders are compared with and without it; add methods that are missing."""
    entries = [entry for entry in tree["encoders"] if isinstance(entry, dict)]
    if not any("center" in (entry.get("params") or {}) for entry in entries):
        tree.setdefault("center", True)
    names = {entry.get("name") for entry in entries}
    if more:
        tree["encoders"] += [
            {"name": name, "label": name}
            for name, most in _MOST_DIMS.items()
            if name not in names and n_features <= most
        ]
