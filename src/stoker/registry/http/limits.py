"""How much of anything from outside is taken, and how long is waited for it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    max_request_bytes: int = 4 * 1024 * 1024
    """A record of a megabyte, all quotes and accents of which are escaped, is three."""
    max_values: int = 20_000
    """In the JSON of a request, at all depths: a record of a megabyte has fewer that mean something."""
    max_address_bytes: int = 8 * 1024
    """Of path and query together."""
    max_schema_characters: int = 1_000_000
    """A record of `_schemas` must fit into Kafka's default of about 1 MB for a message."""
    max_references: int = 1_000
    body_timeout: float = 30.0
    """Seconds within which a body must be there once it was announced."""
    patience: float = 30.0
    """Seconds that are spent on comparing a schema with others."""
    forward_timeout: float = 60.0
    """Seconds for an answer of the instance that takes the writes."""
    connect_timeout: float = 5.0
    """... and for the connection to it."""
