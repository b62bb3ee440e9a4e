"""Verdicts as a table, as Markdown and as JSON, and how two sets of verdicts differ."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from cbe_bench.core.cache import whole_file
from cbe_bench.core.claims import INCONCLUSIVE, NOT_REPRODUCED, OUTCOMES, REPRODUCED, Evidence, Verdict
from cbe_bench.core.errors import InputError, first_line
from cbe_bench.core.report import save_table

CLAIMS_FILE = "claims.json"


def measured(verdict: Verdict, *, named: bool = True, digits: int = 3) -> str:
    """Format the value of a verdict with its interval and, if `named`, what it is.

    Parameters
    ----------
    verdict : Verdict
        What was found.
    named : bool
        Whether to add its measure.
    digits : int
        Significant digits.

    Returns
    -------
    str
        Empty if there is no value.
    """
    if math.isnan(verdict.value):
        return ""
    ends = (verdict.low, verdict.high)
    known = all(map(math.isfinite, ends)) and ends != (verdict.value, verdict.value)
    interval = f" [{_number(ends[0], digits)}, {_number(ends[1], digits)}]" if known else ""
    return f"{_number(verdict.value, digits)}{interval} {verdict.measure if named else ''}".strip()


def region(verdict: Verdict) -> str:
    """Write which values agree with the claim; nothing where its rule does not bound the value."""
    least, most = (None if math.isnan(bound) else _number(bound) for bound in (verdict.least, verdict.most))
    if least and most:
        return f"{least} to {most}"
    return f"≥ {least}" if least else f"≤ {most}" if most else ""


def evidence_table(verdict: Verdict) -> pd.DataFrame:
    """Return the evidence of a verdict as comparisons x code lengths.

    A * marks what fails, a ? what is open, a ~ what does not count.
    """
    found: dict[str, dict[str, str]] = {}
    for one in sorted(verdict.evidence, key=lambda one: one.n_bits):
        mark = {REPRODUCED: "", NOT_REPRODUCED: " *", INCONCLUSIVE: " ?"}.get(one.outcome, " ~")
        found.setdefault(one.subject, {})[f"{one.n_bits:,}"] = f"{_number(one.value)}{mark}"
    return pd.DataFrame([{"compared": subject, **cells} for subject, cells in found.items()]).fillna("")


def _number(value: float, digits: int = 3) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def claims_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return verdicts as a table, one line each."""
    names = [field.name for field in fields(Verdict) if field.name != "evidence"]
    return pd.DataFrame([asdict(verdict) for verdict in verdicts], columns=names)


def claims_markdown(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as a compact Markdown table: what the paper says, what was measured, on what, and the verdict."""
    lines = ["| claim | the paper says | measured | data | verdict |", "|---|---|---|---|---|"]
    before = ""
    for verdict in verdicts:
        says = f"{verdict.statement} ({verdict.where})" if verdict.statement != before else ""
        before = verdict.statement
        cells = (verdict.claim, says, measured(verdict) or verdict.found, verdict.data, f"**{verdict.outcome}**")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def verdicts_json(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as JSON; what is no finite number is null."""
    return json.dumps([{key: _plain(value) for key, value in asdict(one).items()} for one in verdicts], indent=1)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_claims(verdicts: Sequence[Verdict], folder: Path) -> list[str]:
    """Write verdicts as JSON, CSV and Markdown into a folder of results; return the names of the files.

    Parameters
    ----------
    verdicts : sequence of Verdict
        What is written.
    folder : Path
        The folder of results.

    Returns
    -------
    list of str
        The names of the three files.
    """
    texts = {CLAIMS_FILE: verdicts_json(verdicts) + "\n", "claims.md": claims_markdown(verdicts)}
    for name, text in texts.items():
        with whole_file(folder / name) as temporary:
            temporary.write_text(text)
    return [*(str(folder / name) for name in texts), save_table(claims_table(verdicts), folder / "claims")]


def load_claims(path: Path) -> list[Verdict]:
    """Read the verdicts of a claims.json."""
    from pydantic import TypeAdapter

    try:
        values = [asdict(Verdict(**_with_numbers(one))) for one in json.loads(path.read_text())]
        found: list[Verdict] = TypeAdapter(list[Verdict]).validate_python(values)
        return found
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `cbe-bench reproduce` writes it") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: holds no verdicts ({first_line(error)})") from None


def _with_numbers(plain: dict[str, Any]) -> dict[str, Any]:
    found = {key: math.nan if value is None else value for key, value in plain.items()}
    return found | {"evidence": tuple(Evidence(*one) for one in plain.get("evidence", ()))}


@dataclass(frozen=True)
class Change:
    """A verdict that is not what it was: nothing where it is new, or is gone."""

    claim: str
    experiment: str
    before: str
    now: str

    def __str__(self) -> str:
        on = f" on {self.experiment}" if self.experiment else ""
        return f"{self.claim}{on}: was {self.before or 'not there'}, is {self.now or 'not there'}"


def changes(before: Iterable[Verdict], now: Iterable[Verdict]) -> list[Change]:
    """Return the verdicts that differ; of the same claim and side of it, on the same experiments.

    Parameters
    ----------
    before, now : iterable of Verdict
        The verdicts of two reports.

    Returns
    -------
    list of Change
        An outcome is empty where a report has no such verdict.
    """
    old, new = (_by_subject(verdicts) for verdicts in (before, now))
    subjects = list(dict.fromkeys([*old, *new]))
    found = [Change(s[0], s[2], old.get(s, ""), new.get(s, "")) for s in subjects if old.get(s) != new.get(s)]
    return sorted(found, key=lambda change: OUTCOMES.index(change.now) if change.now else -1)


def _by_subject(verdicts: Iterable[Verdict]) -> dict[tuple[Any, ...], str]:
    """Key verdicts by what they are about; one that rests on many experiments does not depend on which there are."""
    return {(v.claim, v.statement, v.kind if "," in v.experiment else v.experiment): v.outcome for v in verdicts}
