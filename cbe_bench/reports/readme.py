"""Parts of a README that are made from rows: between `<!-- generated: NAME -->` and `<!-- end -->`."""

import re
from pathlib import Path

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.reports.page import PIECES, load_results, write_piece

_BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->|\Z)", re.DOTALL)


def write_readme(path: Path, folder: Path) -> list[str]:
    """Bring the generated parts of a README up to date with a folder of results; return the names of the files."""
    text = path.read_text(encoding="utf-8")
    with whole_file(path) as temporary:
        temporary.write_text(updated(text, folder, path), encoding="utf-8")
    return [str(path)]


def updated(text: str, folder: Path, path: Path) -> str:
    """Return the text of a README with its generated parts as the results in a folder have them."""
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
