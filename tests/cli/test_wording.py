"""What the program says, in one file: `wording.txt` has commands and all that they print.

To accept new wording, run ``python tests/cli/test_wording.py`` and read the difference.
"""

import os
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from cbe_bench.cli import main

CONFIGS = Path(__file__).parents[2] / "configs"
TRANSCRIPT = Path(__file__).with_name("wording.txt")


def lay_out_files() -> None:
    """Write the files that the commands name into the working directory."""
    X = np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32)
    np.save("rows.npy", X)
    X[12, 3] = np.nan
    np.save("nan.npy", X)
    Path("reference").mkdir()
    Path("cut.npy").write_bytes(Path("rows.npy").read_bytes()[:200])
    Path("note.txt").write_text("not features\n")
    Path("broken.yaml").write_text("title: [\n")
    Path("typo.yaml").write_text("title: T\nexperiment: retrieval\nencoder: [lsh]\n")
    Path("method.yaml").write_text("title: T\nexperiment: angles\nencoders: [cbe-rnd]\n")


def transcript(commands: list[str]) -> str:
    """Return the commands, what each prints, and its exit code unless that is zero."""
    text = []
    for command in commands:
        words = command.split()
        assert words[0] == "cbe-bench"
        result = CliRunner().invoke(main, words[1:], terminal_width=100)
        code = f"[exit {result.exit_code}]\n" if result.exit_code else ""
        output = result.output.replace(f"{CONFIGS}/", "")
        text.append(f"$ {command}\n{output}{code}\n")
    return "".join(text)


def commands() -> list[str]:
    return [line[2:] for line in TRANSCRIPT.read_text().splitlines() if line.startswith("$ ")]


def test_wording_is_as_written_down(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    lay_out_files()
    assert transcript(commands()) == TRANSCRIPT.read_text()


if __name__ == "__main__":
    import tempfile

    os.environ["COLUMNS"] = "100"
    with tempfile.TemporaryDirectory() as folder:
        asked = commands()
        os.chdir(folder)
        lay_out_files()
        TRANSCRIPT.write_text(transcript(asked))
