"""Some points of `scripts/kill.py`: commands that are killed and started again end as if nothing had happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
POINTS = {"run": 8, "make": 8, "make-synthetic": 6, "encode": 8, "reproduce": 3}


@pytest.fixture(scope="module")
def kill():
    if sys.platform != "linux":
        pytest.skip("needs fork and /proc")
    sys.path.insert(0, str(SCRIPTS))
    try:
        import kill

        yield kill
    finally:
        sys.path.remove(str(SCRIPTS))


def test_every_verb_is_killed(kill):
    assert POINTS.keys() == kill.VERBS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("verb, points", POINTS.items())
def test_killed_and_resumed_a_command_ends_as_if_undisturbed(verb, points):
    """In a process of its own, from which commands are forked."""
    command = [sys.executable, SCRIPTS / "kill.py", "--verb", verb, "--points", str(points), "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    killed = int(done.stdout.splitlines()[1].split()[2])
    assert killed >= points / 2


@pytest.mark.parametrize("fault, noticed", [("", ""), ("leave", "own-"), ("value", "rows.jsonl k"), ("exit", "ended")])
def test_what_is_wrong_after_a_kill_is_noticed(fault, noticed, kill, monkeypatch):
    """A command that leaves a file under another name when killed, resumes with another value, or cannot resume."""

    def command(arguments):
        resumed = Path("begun").exists()
        if fault == "exit" and resumed:
            raise SystemExit(3)
        temporary = Path(f"own-{os.getpid()}" if fault == "leave" else "own")
        temporary.write_text(json.dumps({"key": "k", "recall": 1 + (resumed and fault == "value"), "wall_s": resumed}))
        Path("begun").write_text("")
        temporary.replace("rows.jsonl")

    monkeypatch.setattr(kill, "cbe_bench", command)
    monkeypatch.setattr(kill, "VERBS", {"toy": kill.Verb((), lambda: None, spawns=True)})
    killed, wrong = kill.attack("toy", 8, 0)
    assert killed
    assert any(noticed in one for one in wrong) if fault else not wrong


COLD = """
import sys
from cbe_bench.cli import main
main(["run", "configs/tiny.yaml", "--scale", "smoke"])
"""


@pytest.mark.slow
def test_two_processes_with_cold_caches_agree_to_the_bit(kill, tmp_path, monkeypatch):
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        kill.write_config()
        environment = {**os.environ, "CBE_BENCH_CACHE": str(tmp_path / name / "cache")}
        subprocess.run([sys.executable, "-c", COLD], env=environment, check=True, capture_output=True)
        found.append(kill.content(tmp_path / name))
    assert found[0] == found[1]
    assert sum("rows.jsonl " in name for name in found[0]) == 12
