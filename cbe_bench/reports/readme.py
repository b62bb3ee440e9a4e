"""Parts of a README that are made from rows: between `<!-- generated: NAME -->` and `<!-- end -->`."""

import re
from pathlib import Path

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.reports.page import PIECES, load_results, write_piece

_BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->|\Z)", re.DOTALL)


def write_readme(path: Path, folder: Path) -> list[str]:
    """Update the generated parts of a README from a folder of results.

    Parameters
    ----------
    path : Path
        The README, replaced whole.
    folder : Path
        The folder of results.

    Returns
    -------
    list of str
        The name of the README.

    Raises
    ------
    InputError
        See `updated`.
    """
    text = path.read_text(encoding="utf-8")
    with whole_file(path) as temporary:
        temporary.write_text(updated(text, folder, path), encoding="utf-8")
    return [str(path)]


def updated(text: str, folder: Path, path: Path) -> str:
    """Return the text of a README with its generated parts as the results in a folder have them.

    Parameters
    ----------
    text : str
        The text of the README.
    folder : Path
        The folder of results.
    path : Path
        Where the README is, for links and messages.

    Returns
    -------
    str
        The same text if it has no generated parts.

    Raises
    ------
    InputError
        If a generated part has an unknown name or no end, or there are no results for it.
    """
    if not _BLOCK.search(text):
        return text
    facts = load_results(folder)

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in PIECES:
            raise InputError(f"{path}: cannot generate {name!r}; {did_you_mean(name, PIECES)}")
        if not found["end"] or "<!-- generated:" in found["text"]:
            raise InputError(f"{path}: the generated part {name!r} has no <!-- end -->")
        piece = write_piece(name, facts, path.parent).strip()
        if not piece:
            raise InputError(f"{path}: {folder} has no results to make {name!r} from")
        return f"{found[1]}{piece}\n{found['end']}"

    return _BLOCK.sub(block, text)
