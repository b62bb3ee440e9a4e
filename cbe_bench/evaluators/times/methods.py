"""What is timed for a method: methods that encode by the same operations share a measurement."""

import json
from dataclasses import dataclass
from typing import Any

from cbe_bench.encoders import Encoder, encoder_classes, make_encoder
from cbe_bench.evaluators.timers import TIMED_PARAMS


@dataclass(frozen=True)
class TimedMethod:
    """The method and the parameters that decide how long encoding takes."""

    encoder: str
    params: dict[str, Any]

    @classmethod
    def of(cls, encoder: str, params: dict[str, Any]) -> "TimedMethod":
        """Return what is timed for a method: one that encodes by the same operations, if there is one.

        Parameters
        ----------
        encoder : str
            The name of the method; one that is not installed is timed as itself.
        params : dict
            Its parameters; those the timed method does not have are left out.

        Returns
        -------
        TimedMethod
        """
        classes = encoder_classes()
        if encoder not in classes:
            return cls(encoder, params)
        name = classes[encoder].encodes_as or encoder
        known = {*classes[name]().get_params(), "precondition"}
        kept = {key: value for key, value in params.items() if key in known}
        return cls(name, kept | TIMED_PARAMS.get(name, {}))

    @property
    def key(self) -> str:
        """A text that methods have in common only if they are timed alike."""
        return json.dumps([self.encoder, self.params], sort_keys=True)

    def make(self, n_bits: int) -> Encoder:
        """Return the encoder of a code length, not fitted."""
        return make_encoder(self.encoder, n_bits=n_bits, **self.params)
