"""The help of a tool, as jopt-simple formats it: two columns in 80 characters."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from stoker.kafka_tools.options import Option

_WIDTH: Final = 80
_GAP: Final = 2
_INDENT: Final = "  "
_BEFORE, _AFTER = r"[(\[{\"']", r"[)\]}.,:;!?%\"']"
_WORDS: Final = re.compile(
    rf"""-{_BEFORE}*\d+(?:[.,]\d+)*(?:{_AFTER}+|-+)?\s*
    |(?=.){_BEFORE}*
     (?:[^\s()\[\]{{}}.,:;!?%"-]|(?<=\d)[.,](?=\d))*
     (?:{_AFTER}+|-+(?:'[.,]?)?)?
     \s*""",
    re.VERBOSE,
)
"""Where Java may break a line: behind white space, a hyphen and most punctuation, and before an opening bracket."""


class _Row(NamedTuple):
    left: str
    right: str


def help_text(options: "Sequence[Option[object]]") -> str:
    """All options by name, with a line end after the last."""
    has_required = any(option.is_required for option in options)
    rows = [
        _Row("Option (* = required)" if has_required else "Option", "Description"),
        _Row("---------------------" if has_required else "------", "-----------"),
    ]
    rows += [_Row(_left(option), _right(option)) for option in sorted(options, key=lambda option: option.names[0])]
    left_width, right_width = _widths(rows)
    fitted = [row for each in rows for row in _fitted(each, left_width, right_width)]
    left_width, right_width = _widths(fitted)
    return "".join(f"{row.left.ljust(left_width)}{' ' * _GAP}{row.right.ljust(right_width)}\n" for row in fitted)


def _widths(rows: Sequence[_Row]) -> tuple[int, int]:
    left = min((_WIDTH - _GAP) // 2, max(len(row.left) for row in rows))
    return left, min(_WIDTH - left - _GAP, max(len(row.right) for row in rows))


def _left(option: "Option[object]") -> str:
    names = ", ".join(f"{'--' if len(name) > 1 else '-'}{name}" for name in option.names)
    text = f"* {names}" if option.is_required else names
    if not option.takes_argument:
        return text
    argument = f"{option.type_name}: {option.described_as}" if option.described_as else option.type_name
    return f"{text} [{argument}]" if option.is_argument_optional else f"{text} <{argument}>"


def _right(option: "Option[object]") -> str:
    if option.default is None:
        return option.description
    return f"{option.description} (default: {option.default})".strip()


def _fitted(row: _Row, left_width: int, right_width: int) -> list[_Row]:
    left, right = _pieces(row.left, left_width), _pieces(row.right, right_width)
    count = max(len(left), len(right))
    left += [""] * (count - len(left))
    right += [""] * (count - len(right))
    return [_Row(*pair) for pair in zip(left, right, strict=True)]


def _pieces(text: str, width: int) -> list[str]:
    return [piece for line in text.strip().split("\n") for piece in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    pieces: list[str] = []
    piece = ""
    for word in filter(None, _WORDS.findall(line)):
        if len(piece) + len(word) > width:
            pieces.append(piece.rstrip())
            piece = _INDENT + word
        else:
            piece += word
    if piece:
        pieces.append(piece)
    return pieces
