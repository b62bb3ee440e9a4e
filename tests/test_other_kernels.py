"""Codes and data under the kernels of other processors, in child processes; all of them: `make test-portable`."""

import importlib.util
import subprocess
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "scripts" / "portability.py"
_spec = importlib.util.spec_from_file_location("portability", PATH)
portability = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(portability)

CHOICES = portability.choices()
COMPILER = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")


@pytest.fixture(scope="module")
def here():
    return portability.fingerprints(small=True)


def cases():
    """Yield what libraries choose as on other processors; as numba chooses too, everything is compiled again."""
    for name in ("Prescott", "Haswell", "generic"):
        if name in CHOICES:
            libraries = {key: value for key, value in CHOICES[name].items() if key not in COMPILER}
            yield pytest.param(libraries, id=f"{name} libraries")
            yield pytest.param(CHOICES[name], id=name, marks=pytest.mark.slow)


@pytest.mark.parametrize("variables", list(cases()))
def test_data_are_equal_and_few_bits_flip_under_other_kernels(variables, here, tmp_path):
    path = tmp_path / "there.npz"
    portability.under(variables, str(PATH), "worker", str(path), "--small", check=True, stderr=subprocess.PIPE)
    there = dict(np.load(path))
    assert there.keys() == here.keys()
    for key, value in here.items():
        kind, what, *parameters = key.split("/")
        if kind == "data":
            assert there[key] == value, f"{what} differ"
            continue
        flipped = int(np.bitwise_count(there[key] ^ value).sum())
        if what == "lsh":
            assert flipped == 0
        elif parameters == ["untrained"]:
            assert flipped <= 1, f"{what}: {flipped} of {8 * value.size} bits"  # about one in a million are expected
        else:
            assert flipped <= 0.01 * 8 * value.size, f"{what}: {flipped} of {8 * value.size} bits"
