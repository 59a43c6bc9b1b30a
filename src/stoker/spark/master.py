"""Spark's master, looked at before a JVM is started for it: Spark itself tells of a wrong one a minute later, in Java's words."""

import socket
import time
from typing import Final

from stoker.spark.errors import SparkCannotStart

_STANDALONE: Final = "spark://"
_OTHERS: Final = ("local", "k8s://")
_SECONDS: Final = 10.0
"""A master that is starting has so long."""
_POLL_SECONDS: Final = 0.25
_NAMED: Final = "`stoker config show` tells where it is named"


def check_master(master: str, seconds: float = _SECONDS) -> None:
    """Raises SparkCannotStart if it is none, or nobody answers there."""
    if master == "yarn" or master.startswith(_OTHERS):
        return
    if not master.startswith(_STANDALONE):
        raise SparkCannotStart(
            f"Spark's master is {master!r}, which is none: the choices are local[N], spark://HOST:PORT, yarn and k8s://... ({_NAMED})"
        )
    deadline = time.monotonic() + seconds
    while (reason := _unreachable(master.removeprefix(_STANDALONE).split(","))) is not None:
        if time.monotonic() > deadline:
            raise SparkCannotStart(
                f"nobody answers at Spark's master {master}: {reason} ({_NAMED}; `stoker spark up` starts one on this machine)"
            )
        time.sleep(_POLL_SECONDS)


def _unreachable(addresses: list[str]) -> str | None:
    """Why none of them answers; None if one does: there may be masters that stand by."""
    reason = "no answer"
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
            return None
        except (ValueError, UnicodeError, OverflowError):
            raise SparkCannotStart(
                f"{address} in Spark's master is no address: the form is spark://HOST:PORT ({_NAMED})"
            ) from None
        except OSError as error:
            reason = error.strerror or str(error)
    return reason
