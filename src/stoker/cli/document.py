"""Writes the reference part of docs/cli.md, the help of every command: python -m stoker.cli.document docs/cli.md."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from stoker.cli.application import ENTRIES, application

HEADING: Final = "## Reference\n"
_WIDTH: Final = 100


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words; `broker`, whose options argparse reads, is not among them."""
    root = get_command(application)
    context = root.make_context("stoker", [], resilient_parsing=True)
    for name in ENTRIES:
        _, command, _ = root.resolve_command(context, [name])  # type: ignore[attr-defined]
        yield from _below(f"stoker {name}", command)


def reference() -> str:
    """The part of the page from its heading on."""
    sections = [f"### {words}\n\n```text\n{_help(words, command)}\n```\n" for words, command in commands()]
    intro = "What `--help` says of each command; `stoker broker --help` tells of the broker's own.\n"
    return "\n".join([HEADING, intro, *sections])


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    subcommands = getattr(command, "commands", None)
    if not subcommands:
        yield words, command
        return
    for name, subcommand in subcommands.items():
        yield from _below(f"{words} {name}", subcommand)


def _help(words: str, command: Any) -> str:
    settings = {"help_option_names": ["-h", "--help"], "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = command.make_context(words, [], resilient_parsing=True, **settings)
    return str(command.get_help(context)).rstrip()


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
