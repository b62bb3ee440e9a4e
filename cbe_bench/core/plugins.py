"""Parts that other packages add through entry points."""

import logging
from functools import cache
from importlib.metadata import entry_points
from typing import Any

logger = logging.getLogger(__name__)


@cache
def load_plugins(group: str) -> dict[str, Any]:
    """Return what the entry points of a group load to, by name; one that cannot be imported is left out with a warning.

    Parameters
    ----------
    group : str
        The entry-point group, such as ``cbe_bench.formats``.

    Returns
    -------
    dict of str to object
        Loaded once per process.
    """
    loaded = {}
    for entry in entry_points(group=group):
        try:
            loaded[entry.name] = entry.load()
        except Exception as error:
            logger.warning("entry point %s of %s cannot be loaded: %s", entry.name, group, error)
    return loaded
