"""What `stoker cluster` and `stoker spark` have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from stoker.cli.output import say

HIGHEST_PORT: Final = 65535

Timeout = Annotated[
    float,
    typer.Option("--timeout", min=1.0, metavar="SECONDS", help="How long to wait until all that is started is ready."),
]


@contextmanager
def told_how_to_go_on(noun: str) -> Iterator[None]:
    """To who presses Ctrl-C while something is stopped, which ends all the same."""
    try:
        yield
    except KeyboardInterrupt:
        say(
            f"Interrupted: what was told to stop does. `stoker {noun} status` shows it, `stoker {noun} up` starts it again."
        )
        raise
