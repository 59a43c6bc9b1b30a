"""Names of applications, stores and sinks: they become names of topics and directories."""

import re
from typing import Final

from stoker.streams.errors import InvalidTopology

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")


def check_name(what: str, name: str) -> str:
    if not _NAME.fullmatch(name) or set(name) <= {"."}:
        raise InvalidTopology(
            f"{name!r} cannot be {what}: it takes 1 to 80 letters, digits, dots, underscores and hyphens"
        )
    return name
