"""How much of anything from outside is taken, and how long is waited for it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    max_request_bytes: int = 10 * 1024 * 1024
    max_address_bytes: int = 8 * 1024
    """Of path and query together."""
    max_schema_characters: int = 1_000_000
    """A record of `_schemas` must fit into Kafka's default of about 1 MB for a message."""
    max_references: int = 1_000
    body_timeout: float = 30.0
    """Seconds within which a body that was begun must be there."""
    forward_timeout: float = 60.0
    """Seconds for an answer of the instance that takes the writes."""
    connect_timeout: float = 5.0
    """... and for the connection to it."""
