"""What Kafka's tools think of a `--bootstrap-server` before they use it."""

import re
from typing import Final

_HOST_AND_PORT: Final = re.compile(r".*?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


def complaint_about(servers: str | None) -> str | None:
    """None if each address has a port."""
    if servers is None or not servers.strip():
        return "Error while validating the bootstrap address\n"
    addresses = re.sub(",+$", "", servers).split(",")
    if not all(map(_HOST_AND_PORT.fullmatch, addresses)):
        return "Please provide valid host:port like host1:9091,host2:9092\n"
    return None
