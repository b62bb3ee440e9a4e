"""Tables of retrieval experiments: recall of every method and code length, at equal time, and over a parameter."""

from collections.abc import Iterable, Sequence

import pandas as pd

from cbe_bench.core.results import DATA_KINDS, Row
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes, brackets, rows_at_bits
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows
from cbe_bench.evaluators.times.rows import encode_rows

_DEPTHS_SHOWN = (1, 10, 50, 100)
MEDIAN = ", median"
"""Added to the label of a curve of recall by the median over blocks."""
_CURVES = (
    ("recall", "", "symmetric"),
    ("recall_median", MEDIAN, "symmetric"),
    ("recall_asymmetric", "", "asymmetric"),
)
"""Recalls of a row, what is added to the label of their curve, and how they are scored."""


def data_label(rows: Sequence[RetrievalRow]) -> str:
    """Say in one line which data the rows are about."""
    row = rows[0]
    seeds = len({one.seed for one in rows if one.ok})
    how = f"neighbours by {row.metric}; protocol: {row.protocol}"
    return (
        f"{row.data}, {DATA_KINDS[row.data_kind]}: {row.n_database:,} database rows, {row.n_queries:,} queries, "
        f"d = {row.n_features:,}; {seeds} seed{'s' if seeds > 1 else ''}; {how}"
    )


def named_synthetic(title: str, rows: Sequence[RetrievalRow]) -> str:
    """Return the title of a figure; what is about synthetic data begins with that word.

    Parameters
    ----------
    title : str
        The title without it.
    rows : sequence of RetrievalRow
        At least one.

    Returns
    -------
    str
    """
    return f"Synthetic data: {title}" if rows[0].data_kind == "synthetic" else title


def recall_curves(rows: Sequence[Row]) -> pd.DataFrame:
    """Return mean and standard deviation over seeds of recall at every depth, in long form.

    Where codes have a distance of their own, the median over blocks, it makes a further curve of the encoder.
    """
    points = [
        (row.data, row.data_kind, row.label + suffix, row.n_bits, scoring, depth, value)
        for row in recall_rows(rows)
        if row.ok
        for name, suffix, scoring in _CURVES
        for depth, value in zip(row.depths, getattr(row, name), strict=False)
    ]
    keys = ["data", "data_kind", "encoder", "n_bits", "scoring", "depth"]
    grouped = pd.DataFrame(points, columns=[*keys, "recall"]).groupby(keys, sort=False)["recall"]
    return grouped.agg(mean="mean", std=lambda values: values.std(ddof=1), seeds="count").reset_index()


def recall_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one line per encoder and code length: recall at a few depths, cost, and how its cells ended.

    Cost is the median over seeds of the seconds to train or draw the parameters, and of the microseconds to encode a
    vector on all threads.
    """
    groups: dict[tuple[int, str], list[RetrievalRow]] = {}
    for row in recall_rows(rows):
        groups.setdefault((row.n_bits, row.label), []).append(row)
    return pd.DataFrame([_line(groups[key]) for key in sorted(groups, key=lambda key: key[0])])


def _line(cells: list[RetrievalRow]) -> dict[str, object]:
    first, done = cells[0], [row for row in cells if row.ok]
    return {
        "data": first.data,
        "data_kind": first.data_kind,
        "metric": first.metric,
        "n_bits": first.n_bits,
        "encoder": first.label,
        "seeds": len(done),
        **_recalls(done),
        "fit_s": _median(row.fit_s for row in done),
        "encode_us_per_vector": _median(row.encode_us_per_vector for row in done),
        "not_ok": "; ".join(sorted({f"{row.status}: {row.reason}" for row in cells if not row.ok})),
    }


def _recalls(done: list[RetrievalRow]) -> dict[str, object]:
    """Return recall at the depths that are shown, mean and standard deviation over seeds."""
    found: dict[str, object] = {}
    for name in ("recall", "recall_asymmetric", "recall_median"):
        curves = [dict(zip(row.depths, getattr(row, name), strict=False)) for row in done]
        for depth in (depth for depth in _DEPTHS_SHOWN if curves and all(depth in curve for curve in curves)):
            values = pd.Series([curve[depth] for curve in curves])
            found[f"{name}@{depth}"], found[f"{name}@{depth}_std"] = values.mean(), values.std(ddof=1)
    return found


def _median(values: Iterable[float]) -> float:
    return float(pd.Series(list(values), dtype=float).median())


def equal_time_table(rows: Sequence[Row], reference: str, lengths: Iterable[int]) -> pd.DataFrame:
    """Return, for each code length of the reference, the length each method reaches in its time, and its recall.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one experiment.
    reference : str
        The label of the reference.
    lengths : iterable of int
        The code lengths of the reference.

    Returns
    -------
    DataFrame
        A line for each method and code length of the reference: the mean over rounds of the length in equal time, the
        lengths it is interpolated between, the ratio of times at equal code length with its interval, and recall.
    """
    recall, times = [row for row in recall_rows(rows) if row.ok], EncodeTimes(rows)
    lines = []
    for target in sorted(lengths):
        for label in dict.fromkeys(row.label for row in recall):
            if rounds := times.bits(reference, target, label):
                line = _equal_time_line(times, label, reference, target, rounds)
                lines.append(line | _recalls(rows_at_bits(recall, label, rounds)))
    return pd.DataFrame(lines)


def _equal_time_line(
    times: EncodeTimes, label: str, reference: str, target: int, rounds: list[float]
) -> dict[str, object]:
    bracket, ratio = brackets(times.ladder(label), rounds), times.ratio(label, reference, target)
    own = times.row(reference, target)
    return {
        "target_bits": target,
        "encoder": label,
        "is_reference": label == reference,
        "n_bits": sum(rounds) / len(rounds),
        "n_bits_shorter": bracket[0],
        "n_bits_longer": bracket[-1],
        "time_ratio_at_equal_bits": ratio.value,
        "time_ratio_low": ratio.low,
        "time_ratio_high": ratio.high,
        "reference_us_per_vector": own.encode_us_per_vector if own else float("nan"),
    }


def times_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return encode times as methods x code lengths: microseconds per vector, the median over rounds."""
    done = sorted((row for row in encode_rows(rows) if row.ok), key=lambda row: row.n_bits)
    lines: dict[str, dict[str, object]] = {}
    for row in done:
        line = lines.setdefault(row.label, {"encoder": row.label})
        line[f"us_at_{row.n_bits}_bits"] = row.encode_us_per_vector
    names = dict.fromkeys(f"us_at_{row.n_bits}_bits" for row in done)
    return pd.DataFrame(lines.values(), columns=["encoder", *names] if done else None)


def lengths_table(rows: Sequence[Row], lengths: Iterable[int]) -> pd.DataFrame:
    """Return recall at the greatest depth as methods x code lengths: mean and standard deviation over seeds.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one experiment.
    lengths : iterable of int
        The code lengths.

    Returns
    -------
    DataFrame
        A line for each method.
    """
    done = [row for row in recall_rows(rows) if row.ok and row.n_bits in set(lengths)]
    lines = []
    for label in dict.fromkeys(row.label for row in done):
        line: dict[str, object] = {"encoder": label}
        for k in sorted({row.n_bits for row in done}):
            values = pd.Series([row.recall[-1] for row in done if (row.label, row.n_bits) == (label, k)], dtype=float)
            line[f"k={k:,}"], line[f"k={k:,}_std"] = values.mean(), values.std(ddof=1)
        lines.append(line)
    return pd.DataFrame(lines)


COUNTS = ("max_iter", "n_iter")
"""Parameters that count iterations."""


def sweep_table(rows: Sequence[Row], parameter: str) -> pd.DataFrame:
    """Return recall at the greatest depth, and what else was measured, for each value of a parameter.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one experiment.
    parameter : str
        The parameter of the encoder.

    Returns
    -------
    DataFrame
        A line for each code length, size of the training set and value: means, standard deviations and the number of
        seeds; the median time of training, and the mean objective at its end.
    """
    lines = [
        (
            row.n_bits,
            row.n_train,
            _swept(row, parameter),
            row.recall[-1],
            row.averaged_auc,
            row.fit_s,
            _last(row),
            _rho(row),
        )
        for row in recall_rows(rows)
        if row.ok and parameter in row.params
    ]
    keys = ["n_bits", "n_train", parameter]
    grouped = pd.DataFrame(lines, columns=[*keys, "recall", "auc", "fit_s", "objective", "rho"]).groupby(keys)
    table = pd.DataFrame({"recall": grouped["recall"].mean(), "recall_std": grouped["recall"].std()})
    table["averaged_auc"], table["averaged_auc_std"] = grouped["auc"].mean(), grouped["auc"].std()
    table["seeds"] = grouped["recall"].count()
    table["fit_s"], table["objective"] = grouped["fit_s"].median(), grouped["objective"].mean()
    if parameter == "precondition":
        table["flatness"] = grouped["rho"].median()
    unmeasured = [name for name in table if table[name].isna().all() and not str(name).endswith("_std")]
    return table.drop(
        columns={*unmeasured, *(["averaged_auc_std"] if "averaged_auc" in unmeasured else [])}
    ).reset_index()


def _swept(row: RetrievalRow, parameter: str) -> object:
    """Return the value of the parameter that a row was measured with."""
    value = row.params[parameter]
    return "none" if value is None else value


def _rho(row: RetrievalRow) -> float:
    """Return the median flatness of what was encoded; NaN where it was not measured."""
    return row.flatness[1] if row.flatness else float("nan")


def _last(row: RetrievalRow) -> float:
    """Return the objective after the last iteration of training; NaN without one."""
    return row.objective_history[-1] if row.objective_history else float("nan")


def objective_table(rows: Sequence[Row], parameter: str = "max_iter") -> pd.DataFrame:
    """Return the objective after each iteration of training, relative to that after the first.

    Before the first iteration, at random parameters, the objective is larger by orders of magnitude and says nothing.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one experiment.
    parameter : str
        The parameter it sweeps over: each value has its own lines, unless it is the number of iterations.

    Returns
    -------
    DataFrame
        A line for each code length, size of the training set, value and iteration: mean, least and largest over rows.
    """
    apart = parameter not in COUNTS
    lines = [
        (row.n_bits, row.n_train, _swept(row, parameter) if apart else 0, iteration, value / row.objective_history[1])
        for row in recall_rows(rows)
        if row.ok and parameter in row.params
        for iteration, value in enumerate(row.objective_history)
        if iteration > 0
    ]
    columns = ["n_bits", "n_train", parameter, "iteration", "objective"]
    keys = [name for name in columns[:-1] if apart or name != parameter]
    frame = pd.DataFrame(lines, columns=columns)
    return frame.groupby(keys)["objective"].agg(["mean", "min", "max"]).reset_index()
