"""How a command fails: one line on stderr, a right exit code, and never a traceback for what was foreseen.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C, 141 the reader of the output went away.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import typer

from stoker.cli.output import say
from stoker.client.errors import CannotConnect, InvalidClientProperty
from stoker.errors import StokerError
from stoker.settings.errors import InvalidSettings

FAILED: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""What a shell reports of a program that SIGPIPE ended."""


class CommandFailed(StokerError):
    """A command could not do what it was asked; the message names the thing, the cause and the choices."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to be put behind a message: the known name closest to `name`, or nothing."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def no_such(kind: str, name: str, known: Iterable[str]) -> CommandFailed:
    """For a name that is none: topic 'ordrs' does not exist; did you mean 'orders'?"""
    return CommandFailed(f"{kind} {name!r} does not exist{did_you_mean(name, known)}")


class WrongUsage(typer.BadParameter):
    """Options that do not fit together; shown below the usage, with exit code 2."""

    def format_message(self) -> str:
        return self.message


def wrong_usage(message: str) -> NoReturn:
    """End with the usage and this message, exit code 2."""
    raise WrongUsage(message)


@contextmanager
def reported(context: typer.Context) -> Iterator[None]:
    """Turn what was foreseen into a line on stderr, `stoker topics: ...`, and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        if error.filename is not None:
            raise
        _discard_output()
        say(f"{context.info_name} {context.invoked_subcommand}: standard output cannot be written: {error.strerror}")
        raise typer.Exit(FAILED) from None
    except StokerError as error:
        say(f"{context.info_name} {context.invoked_subcommand}: {_explained(error)}")
        raise typer.Exit(BAD_USAGE if isinstance(error, InvalidClientProperty | InvalidSettings) else FAILED) from None


def _discard_output() -> None:
    """What Python flushes at exit goes nowhere. The client's own sockets raise ConnectionLost, so it was stdout that failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explained(error: StokerError) -> str:
    if isinstance(error, CannotConnect) and error.advertised_by is not None:
        return f"{error}. The broker's advertised.listeners must be addresses that are reached from here."
    if isinstance(error, CannotConnect):
        return (
            f"{error}. Is a broker running there?{_named_by_file(str(error))} --bootstrap-server or "
            "STOKER_BOOTSTRAP_SERVER names another address."
        )
    return str(error)


def _named_by_file(problem: str) -> str:
    """Who has typed no address may wonder where it comes from."""
    from stoker.settings.current import current_settings

    try:
        named = current_settings().bootstrap_servers
    except InvalidSettings:
        return ""
    addresses = [each.strip() if ":" in each else f"{each.strip()}:9092" for each in str(named.text).split(",")]
    is_from_there = named.file is not None and any(f" {each}: " in problem for each in addresses)
    return f" {named.origin} names {'it' if len(addresses) == 1 else 'them'};" if is_from_there else ""
