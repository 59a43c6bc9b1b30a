"""What a handler may know of a request besides its body."""

from typing import NamedTuple

from stoker.broker.connection import Connection


class RequestContext(NamedTuple):
    connection: Connection
    api_version: int
    client_id: str | None
