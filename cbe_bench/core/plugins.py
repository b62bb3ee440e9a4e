"""Parts that other packages add through entry points."""

import logging
from importlib.metadata import EntryPoint, entry_points
from typing import Any

logger = logging.getLogger(__name__)

_loaded: dict[EntryPoint, Any] = {}
"""What entry points loaded to; None for those that could not be loaded."""


def load_plugins(group: str) -> dict[str, Any]:
    """Return what the entry points of a group load to, by name; one that cannot be loaded is skipped with a warning.

    Parameters
    ----------
    group : str
        The entry-point group, such as ``cbe_bench.formats``.

    Returns
    -------
    dict of str to object
        Each loaded once per process; packages installed meanwhile are found.
    """
    found = {entry.name: _load(entry) for entry in entry_points(group=group)}
    return {name: part for name, part in found.items() if part is not None}


def _load(entry: EntryPoint) -> Any:
    if entry not in _loaded:
        try:
            _loaded[entry] = entry.load()
        except Exception as error:
            logger.warning("entry point %s of %s cannot be loaded: %s", entry.name, entry.group, error)
            _loaded[entry] = None
    return _loaded[entry]
