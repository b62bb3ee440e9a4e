"""Figures as part of the page."""

import base64
import io
from pathlib import Path

_COLOURS = 128
"""Enough for lines, bands and the edges of letters; a third of the bytes of full colour."""


def data_address(path: Path) -> tuple[str, int, int]:
    """Return a figure as an address that holds all of it, and its width and height."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}", small.width, small.height
