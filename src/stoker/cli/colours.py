"""Colours, on a terminal and nowhere else; NO_COLOR (https://no-color.org) and TERM=dumb turn them off."""

import os
from enum import Enum
from typing import TextIO


class Colour(Enum):
    """Codes of ANSI terminals."""

    BOLD = "1"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    BLUE = "34"
    MAGENTA = "35"
    CYAN = "36"


def has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, colour: Colour, stream: TextIO) -> str:
    """The text as it goes to that stream."""
    return f"\x1b[{colour.value}m{text}\x1b[0m" if has_colours(stream) else text
