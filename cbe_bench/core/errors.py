"""The one exception a user is meant to read: what is wrong, where, and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input, described in one line; the command line shows it and exits with code 2.

    What a user or a file says may be part of the message; line breaks and control characters in it become spaces.
    """

    def __init__(self, message: object) -> None:
        super().__init__(printable(message))


def printable(text: object) -> str:
    """Return a text that comes from a user or a file as one line without control characters."""
    return "".join(char if char.isprintable() else " " for char in str(text)).strip()


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Return the tail of a message about an unknown name: the nearest valid choice and all of them."""
    choices = sorted(allowed)
    nearest = get_close_matches(found, choices, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}allowed: {', '.join(choices)}"
