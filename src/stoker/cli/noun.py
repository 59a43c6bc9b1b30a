"""How nouns and commands are declared, so that all look and behave alike."""

from typing import Any

import typer


def noun(name: str, explanation: str, **settings: Any) -> typer.Typer:
    """An application for the commands of one noun, or for one command that has no noun."""
    return typer.Typer(
        name=name,
        help=explanation,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help is printed sooner, and examples stay as they are written
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        **settings,
    )


def examples(*commands: str) -> str:
    """The end of a command's help."""
    lines = "\n".join(f"  {command}" for command in commands)
    return f"\b\nExamples:\n{lines}"
