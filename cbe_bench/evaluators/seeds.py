"""Seeds by name: what is drawn does not depend on the order in which things run."""

import hashlib


def derive_seed(*axes: object) -> int:
    """Return a seed that depends on what it is for, not on the order in which things run."""
    return int.from_bytes(hashlib.sha256(repr(axes).encode()).digest()[:4], "little") >> 1
