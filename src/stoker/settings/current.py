"""The settings of this process, here and now."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stoker.settings.definitions import FILE_VARIABLE, PROPERTY_VARIABLES, SETTINGS
from stoker.settings.resolution import Settings, resolve
from stoker.settings.stoker_toml import find_file, read_file

_VARIABLES: Final = {each.name: each.variable for each in SETTINGS}


def current_settings(
    flags: Mapping[str, str | None] | None = None, command_config: Mapping[str, str] | None = None
) -> Settings:
    """What flags, this process's environment and the nearest stoker.toml say. Raises InvalidSettings.

    A flag that says the same as its variable may be the variable, which the command line hands over like one that was typed.
    """
    path = current_file()
    file = None if path is None else read_file(path)
    typed = {name: text for name, text in (flags or {}).items() if text != os.environ.get(_VARIABLES[name])}
    return resolve(flags=typed, command_config=command_config, environment=os.environ, file=file)


def current_file() -> Path | None:
    """The settings file that counts in this directory. Raises InvalidSettings if one is named that is not there."""
    return find_file(_directory(), os.environ)


@contextmanager
def settings_file(path: str) -> Iterator[None]:
    """This file counts, here and in processes that are started meanwhile; none if it is empty."""
    before = os.environ.get(FILE_VARIABLE)
    os.environ[FILE_VARIABLE] = path and os.path.abspath(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[FILE_VARIABLE]
        else:
            os.environ[FILE_VARIABLE] = before


def environment_without_cluster() -> dict[str, str]:
    """For a process that is told its cluster, a broker of our own: what is said of other clusters does not count there."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(PROPERTY_VARIABLES)}
    return kept | {FILE_VARIABLE: ""}


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None
