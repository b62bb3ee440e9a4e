"""The one exception a user is meant to read: what is wrong, where, and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input, described in one line; the command line shows it and exits with code 2.

    What a user wrote may be part of the message; line breaks in it become spaces.
    """

    def __init__(self, message: object) -> None:
        super().__init__(" ".join(str(message).splitlines()))


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Return the tail of a message about an unknown name: the nearest valid choice and all of them."""
    choices = sorted(allowed)
    nearest = get_close_matches(found, choices, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}allowed: {', '.join(choices)}"
