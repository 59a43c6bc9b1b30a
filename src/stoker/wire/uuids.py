"""UUIDs as Kafka makes them and writes them in files and tools: 22 characters of base64url."""

import base64
from collections.abc import Callable
from uuid import UUID


def draw_uuid(draw: Callable[[], UUID]) -> UUID:
    """The first whose text does not begin with a dash, which a command line would take for an option."""
    while True:
        uuid = draw()
        if not uuid_text(uuid).startswith("-"):
            return uuid


def uuid_text(uuid: UUID) -> str:
    return base64.urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode()


def uuid_from_text(text: str) -> UUID:
    """Raises ValueError."""
    return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
