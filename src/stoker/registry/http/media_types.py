"""Which media types the API speaks, and which of them an answer has."""

from functools import lru_cache
from typing import Final

V1: Final = "application/vnd.schemaregistry.v1+json"
_OFFERED: Final = ((V1, 1.0), ("application/vnd.schemaregistry+json", 0.9), ("application/json", 0.5))
"""With the preference of Confluent's registry among those that a client likes equally."""
NAMES: Final = tuple(name for name, _ in _OFFERED)
_CONSUMED: Final = frozenset({*NAMES, "application/octet-stream"})


@lru_cache(maxsize=256)
def negotiated(accept: str | None) -> str | None:
    """The media type of the answer, or None if the client takes none of ours."""
    if not accept or not accept.strip():
        return V1
    best: tuple[float, float] = (0.0, 0.0)
    chosen = None
    for part in accept.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        quality = _quality(parameters)
        for offer, preference in _OFFERED:
            if quality > 0 and (quality, preference) > best and _matches(name, offer):
                best, chosen = (quality, preference), offer
    return chosen


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


def _matches(name: str, offer: str) -> bool:
    return name in ("*/*", "*", "application/*", offer)


@lru_cache(maxsize=256)
def is_consumed(content_type: str | None) -> bool:
    """Without a type, and with the one that says nothing, a body is taken for JSON."""
    return content_type is None or content_type.partition(";")[0].strip().lower() in _CONSUMED
