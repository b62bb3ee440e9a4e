"""Methods that learn a rotation by alternating minimisation: its iterations, and at most as many bits as features."""

from typing import Any

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import Encoder

_TASK_VALUES = 1 << 19


class LearnedRotation(Encoder):
    """Codes from a rotation that is improved alternately with the codes of the training set."""

    data_dependent = True

    def __init__(self, n_bits: int | None = None, *, n_iter: int = 50, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.n_iter = n_iter

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        self._check_count("n_iter")
        if self.bits(n_features) > n_features:
            raise InputError(f"{self.name}: n_bits = {self.n_bits}; at most the number of features, {n_features}")

    def _task_rows(self) -> int:
        """Return the number of rows of a task."""
        return max(32, _TASK_VALUES // self.n_bits_)
