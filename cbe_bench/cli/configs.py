"""``cbe-bench configs``: the experiments that can be run by name."""

from typing import Any

import click

from cbe_bench.cli._output import format_option


@click.command(name="configs")
@format_option
def command(form: str) -> None:
    """List the experiments that can be run by name.

    Those of ./configs come first, then those that come with the suite. `cbe-bench run NAME --dry-run` lists the cells
    of one.

    \b
    Examples:
      cbe-bench configs
      cbe-bench configs --format json
    """
    from pathlib import Path

    import pandas as pd
    import yaml

    from cbe_bench.cli._output import brief, emit
    from cbe_bench.evaluators.configs import config_folders

    found: dict[str, dict[str, Any]] = {}
    for folder in (Path("configs"), *config_folders()):
        for path in sorted(folder.glob("*.yaml")):
            tree = yaml.safe_load(path.read_text())
            if isinstance(tree, dict) and path.stem not in found:
                data = tree.get("data")
                found[path.stem] = {
                    "name": path.stem,
                    "title": tree.get("title", ""),
                    "features": data.get("name", "") if isinstance(data, dict) else "",
                    "kind": tree.get("experiment", ""),
                    "order": tree.get("order", 0.0),
                }
    frame = pd.DataFrame(found.values()).sort_values("order").drop(columns="order")
    emit(frame, form, people=brief(frame, 3))
