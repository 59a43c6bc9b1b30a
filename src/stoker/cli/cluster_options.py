"""What `stoker cluster` and `stoker spark` have in common."""

from typing import Annotated, Final

import typer

HIGHEST_PORT: Final = 65535

Timeout = Annotated[
    float,
    typer.Option("--timeout", min=1.0, metavar="SECONDS", help="How long to wait until all that is started is ready."),
]
