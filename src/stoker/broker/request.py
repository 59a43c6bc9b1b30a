"""What a handler may know of a request besides its body."""

from dataclasses import dataclass

from stoker.broker.connection import Connection


@dataclass(frozen=True, slots=True)
class RequestContext:
    connection: Connection
    api_version: int
    client_id: str | None
