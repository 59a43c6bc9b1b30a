"""Writes the reference part of docs/sql.md, formats, properties and functions: python -m stoker.streams.sql.document docs/sql.md."""

import sys
from pathlib import Path
from typing import Final

from stoker.streams.sql.calls import Function, FunctionKind
from stoker.streams.sql.catalogue import FORMATS, KEY_FORMATS
from stoker.streams.sql.functions import FUNCTIONS
from stoker.streams.sql.types import PRIMITIVES

HEADING: Final = "## Reference\n"

_TITLES: Final = {
    FunctionKind.SCALAR: "Functions of a row",
    FunctionKind.AGGREGATE: "Aggregates",
    FunctionKind.TABLE: "Functions that give several rows",
}


def reference() -> str:
    """The part of the page from its heading on."""
    return "\n".join([HEADING, _formats(), *[_functions(kind) for kind in _TITLES]])


def _formats() -> str:
    types = ", ".join(str(each) for each in PRIMITIVES)
    lines = [
        "### Formats and types\n",
        f"`VALUE_FORMAT`: {', '.join(FORMATS)}. `KEY_FORMAT`: {', '.join(KEY_FORMATS)}. `FORMAT` is both.\n",
        f"Types: {types}, DECIMAL, ARRAY, MAP, STRUCT, and those of CREATE TYPE.\n",
    ]
    return "\n".join(lines)


def _functions(kind: FunctionKind) -> str:
    found = [each for each in FUNCTIONS.values() if each.kind is kind]
    is_aggregate = kind is FunctionKind.AGGREGATE
    lines = [f"### {_TITLES[kind]}\n"]
    lines += ["| function | in a running query | what it is |" if is_aggregate else "| function | what it is |"]
    lines += ["|---|---|---|" if is_aggregate else "|---|---|"]
    lines += [_line(each, is_aggregate) for each in found]
    return "\n".join(lines) + "\n"


def _line(function: Function, is_aggregate: bool) -> str:
    kept = f" {'yes' if function.streams is not None else 'refused'} |" if is_aggregate else ""
    return f"| `{_cell(function.signature)}` |{kept} {_cell(function.description)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
