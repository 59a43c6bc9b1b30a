"""Writes the reference part of docs/streams.md, methods and aggregates: python -m stoker.streams.document docs/streams.md."""

import inspect
import sys
from pathlib import Path
from typing import Final

from stoker.streams import windows
from stoker.streams.aggregates import FUNCTIONS
from stoker.streams.application import Streams
from stoker.streams.grouped import GroupedStream, GroupedTable
from stoker.streams.output import Output
from stoker.streams.processor import Context, Processor
from stoker.streams.stream import Stream
from stoker.streams.table import Table
from stoker.streams.test_driver import TestDriver

HEADING: Final = "## Reference\n"
_DOCUMENTED: Final = (Streams, Stream, GroupedStream, Table, GroupedTable, Output, Processor, Context, TestDriver)
_INTERNAL: Final = frozenset(
    {
        "declare",
        "store_name",
        "sink_name",
        "stream_like",
        "data_frame",
        "apart",
        "prepare",
        "write_changes",
        "write_dead_letters",
    }
)
"""What they need of each other."""


def reference() -> str:
    """The part of the page from its heading on."""
    parts = [HEADING, *[_methods(each) for each in _DOCUMENTED], _windows(), _aggregates()]
    return "\n".join(parts)


def _methods(kind: type) -> str:
    lines = [
        f"### {'Streams and tables' if kind is Output else kind.__name__}",
        "",
        "| method | what it does |",
        "|---|---|",
    ]
    for name, member in vars(kind).items():
        if (
            name.startswith("_")
            or name in _INTERNAL
            or not (inspect.isfunction(member) or isinstance(member, property))
        ):
            continue
        function = member.fget if isinstance(member, property) else member
        assert function is not None
        lines.append(f"| `{_signature(name, member)}` | {_first_line(function)} |")
    return "\n".join([*lines, ""])


def _signature(name: str, member: object) -> str:
    if isinstance(member, property):
        return name
    assert inspect.isfunction(member)
    shown = []
    for parameter in list(inspect.signature(member).parameters.values())[1:]:
        stars = {inspect.Parameter.VAR_POSITIONAL.name: "*", inspect.Parameter.VAR_KEYWORD.name: "**"}
        prefix = stars.get(parameter.kind.name, "")
        default = (
            ""
            if parameter.default in (parameter.empty, None) or callable(parameter.default)
            else f"={parameter.default!r}"
        )
        shown.append(f"{prefix}{parameter.name}{default}")
    return f"{name}({', '.join(shown)})"


def _first_line(member: object) -> str:
    return (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _windows() -> str:
    lines = ["### Windows", "", "| | |", "|---|---|"]
    for name in ("tumbling", "hopping", "sliding", "session"):
        function = getattr(windows, name)
        parameters = [
            parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
            for parameter in inspect.signature(function).parameters.values()
        ]
        lines.append(f"| `{name}({', '.join(parameters)})` | {_first_line(function)} |")
    return "\n".join([*lines, ""])


def _aggregates() -> str:
    lines = [
        "### Aggregates",
        "",
        'In `aggregate(name="...")`, also in expressions of several.',
        "",
        "| function | of rows | of tables | what it is |",
        "|---|---|---|---|",
    ]
    for name, function in FUNCTIONS.items():
        lines.append(f"| `{name}` | yes | {'yes' if function.subtract else 'no'} | {function.meaning} |")
    return "\n".join([*lines, ""])


def main(path: Path) -> None:
    text, _, _ = path.read_text().partition(HEADING)
    path.write_text(text + reference())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
