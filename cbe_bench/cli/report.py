"""``cbe-bench report``: all results of a folder as a page."""

from pathlib import Path

import click

from cbe_bench.cli._options import folder_argument, make_folder, results_folder
from cbe_bench.cli._output import say


@click.command(name="report")
@folder_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page; default: FOLDER/index.html, and beside it REPORT.md. Links are relative to it.",
)
@click.option(
    "--readme",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write no page; bring what stands between <!-- generated: NAME --> and <!-- end --> in FILE up to date.",
)
def command(folder: Path | None, out: Path | None, readme: Path | None) -> None:
    """Write results as one HTML page, and as Markdown.

    FOLDER has a folder for each experiment, as `cbe-bench run` and `cbe-bench time` write them; default:
    results/paper, results/quick, or where both are absent the results that came with the suite. The page has a
    verdict on each claim of the paper, what to use for data like these, every table and figure of the paper with
    ours, and how to make each again. What has not been run is listed with its command.

    \b
    Examples:
      cbe-bench report
      cbe-bench report results/smoke --out page.html
      cbe-bench report results/reference/paper --readme README.md
    """
    from cbe_bench.reports.page import write_page
    from cbe_bench.reports.readme import write_readme

    chosen = results_folder(folder)
    if out is not None:
        make_folder(out.parent)
    for name in write_readme(readme, chosen) if readme else write_page(chosen, out):
        say(f"wrote {name}")
