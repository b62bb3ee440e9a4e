"""The page: all results of a folder as one HTML file that needs nothing else, and as Markdown."""

import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

import cbe_bench
from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import DESCRIPTION_FILE, Results
from cbe_bench.evaluators.base import judge, load_experiments
from cbe_bench.reports.advice import choices, summaries
from cbe_bench.reports.answer import answer, is_own
from cbe_bench.reports.claim_summary import counts, summarise
from cbe_bench.reports.claims_table import claims_markdown, region
from cbe_bench.reports.errata import ERRATA
from cbe_bench.reports.families import families_table
from cbe_bench.reports.findings import findings, leading
from cbe_bench.reports.page.explorer import explorer_data
from cbe_bench.reports.page.figures import inline
from cbe_bench.reports.page.grid import dimensions, number, recall
from cbe_bench.reports.page.scorecard import cards, evidence_grid, interval_bar
from cbe_bench.reports.page.text import counted, duration, interval, markdown_table, math, notes
from cbe_bench.reports.page.views import KIND_NAMES, ExperimentView, page_sections, sorted_kinds

PAPER = "https://arxiv.org/abs/1511.06480"
_TITLE = "Circulant binary embedding, reproduced"
PIECES = ("summary", "claims", "advice", "table2", "findings", "failing", "choice")
"""Parts of the page that other documents may include, each a template of Markdown."""


def write_page(folder: Path, out: Path | None = None) -> list[str]:
    """Write the page of a folder of results, `index.html`, and the same in Markdown, `REPORT.md`.

    Parameters
    ----------
    folder : Path
        The folder of results.
    out : Path, optional
        Another file for the page; the Markdown file has its name, with the suffix ``.md``.

    Returns
    -------
    list of str
        The names of both files.

    Raises
    ------
    InputError
        If both would have the same name.
    """
    facts = load_results(folder)
    page, twin = out or folder / "index.html", out.with_suffix(".md") if out else folder / "REPORT.md"
    if page == twin:
        raise InputError(f"{page}: a page is HTML; its twin would have the same name")
    for template, target in (("page.html", page), ("report.md", twin)):
        text = _render(template, {**facts, "page": page, "twin": twin}, target.parent)
        with whole_file(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [str(page), str(twin)]


def write_piece(name: str, facts: dict[str, Any], base: Path) -> str:
    """Return a piece of the page as Markdown.

    Parameters
    ----------
    name : str
        The name of the template, without its suffix.
    facts : dict
        What the template shows.
    base : Path
        The folder that links are relative to.

    Returns
    -------
    str
    """
    return _render(f"{name}.md", facts, base)


def load_results(folder: Path) -> dict[str, Any]:
    """Return all that the page says about a folder of results, as its templates know it."""
    experiments = load_experiments(folder)
    if not experiments:
        raise InputError(f"{folder}: no results there: no folder in it has an {DESCRIPTION_FILE}; run `cbe-bench run`")
    scale = Counter(one.description.scale for one in experiments).most_common(1)[0][0]
    parts, others = page_sections(experiments, scale)
    sections = [view for part in parts for view in part.experiments] + others
    by_data = sorted(sections, key=lambda section: section.kinds[0] == "synthetic")
    every_choice = [choice for section in by_data for choice in choices(section.results)]
    verdicts = judge(experiments)
    claims = summarise(verdicts)
    lead = leading(experiments)
    own = [one for one in experiments if is_own(one)]
    only_own = len(own) == len(experiments)
    answers = [text for one in own if (text := answer(one))]
    sentences = answers + findings(lead, {} if only_own else counts(claims))
    return {
        "version": cbe_bench.__version__,
        "scale": scale,
        "verdicts": verdicts,
        "claims": claims,
        "counts": counts(claims),
        "families": families_table(verdicts, experiments),
        "chapters": parts,
        "others": others,
        "sections": sections,
        "names": {section.name for section in sections},
        "rows": sum(len(section.results.rows) for section in sections),
        "data": _data_by_kind(sections),
        "environments": _environments(sections),
        "ended": _last_day(experiments),
        "summaries": summaries(section.results for section in by_data),
        "choices": every_choice,
        "explorer": [found for section in by_data if (found := explorer_data(section.results))],
        "cards": cards(claims),
        "title": f"Binary codes for {', '.join(one.name for one in own)}" if only_own else _TITLE,
        "answers": answers,
        "findings": sentences,
        "lead_figures": [
            one for section in sections if section.results is lead for one in section.figures if one.name == "frontier"
        ],
        "paper": PAPER,
        "notes": notes(),
        "errata": ERRATA,
    }


def _data_by_kind(sections: list[ExperimentView]) -> dict[str, list[str]]:
    """Return the names of the data, by their kind."""
    found: dict[str, dict[str, None]] = {}
    for row in (row for section in sections for row in section.results.rows if row.data_kind):
        found.setdefault(row.data_kind, {})[row.data] = None
    return {kind: list(found[kind]) for kind in sorted_kinds(set(found))}


def _environments(sections: list[ExperimentView]) -> dict[str, dict[str, Any]]:
    return {name: machine for section in sections for name, machine in section.environments.items()}


def _last_day(experiments: list[Results]) -> str:
    """Return the day the last cell ended; nothing where none has."""
    ends = [datetime.fromisoformat(row.ended) for one in experiments for row in one.rows]
    return f"{max(ends):%-d %B %Y}" if ends else ""


def _render(template: str, facts: dict[str, Any], base: Path) -> str:
    """Fill a template; links are relative to the folder the result will lie in."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__name__),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    helpers: dict[str, Callable[..., Any]] = {
        "link": lambda path: quote(Path(os.path.relpath(path, base)).as_posix()),
        "inline": lambda path, title: Markup(inline(path, title)),
        "math": math,
        "region": region,
        "short": lambda text: text.split(" (interval")[0],
        "interval_bar": lambda verdict: Markup(interval_bar(verdict)),
        "evidence_grid": evidence_grid,
        "number": number,
        "recall": recall,
        "dimensions": dimensions,
        "duration": duration,
        "interval": interval,
        "claims_markdown": claims_markdown,
        "markdown_table": markdown_table,
        "counted": counted,
    }
    environment.globals.update(helpers, kind_names=KIND_NAMES)
    return environment.get_template(template).render(facts)


__all__ = ["PIECES", "load_results", "write_page", "write_piece"]
