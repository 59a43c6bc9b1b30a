"""Properties of a client that say one thing in several words, Java's and librdkafka's: who says it in one has said it.

A login by `sasl.jaas.config` in a file that counts more must not be undone by the `sasl.username` of one that counts less.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

V = TypeVar("V")

PROBED: Final = "probe"
"""Librdkafka's word in `ssl.ca.location` for what the system trusts."""

_MATTERS: Final = (
    (("sasl.mechanism",), ("sasl.mechanisms",)),
    (("sasl.jaas.config",), ("sasl.username", "sasl.password")),
    (
        ("ssl.truststore.location", "ssl.truststore.password"),
        ("ssl.truststore.certificates",),
        ("ssl.ca.location",),
        ("ssl.ca.pem",),
    ),
    (
        ("ssl.keystore.location", "ssl.keystore.password"),
        ("ssl.keystore.key", "ssl.keystore.certificate.chain"),
        ("ssl.key.location", "ssl.certificate.location"),
        ("ssl.key.pem", "ssl.certificate.pem"),
    ),
)
"""Of each the alternatives, and of these the names that go together."""


def overlaid(weaker: Mapping[str, V], stronger: Mapping[str, V], prefix: str = "") -> dict[str, V]:
    """Both, the stronger one where they speak of the same. `prefix` is in front of Kafka's names."""
    given = {name.removeprefix(prefix) for name in stronger if name.startswith(prefix)}
    unsaid = {
        f"{prefix}{name}"
        for alternatives in _MATTERS
        for said in alternatives
        if given.intersection(said)
        for other in alternatives
        if other is not said
        for name in other
    }
    return {name: value for name, value in weaker.items() if name not in unsaid} | dict(stronger)


def contradiction(given: Mapping[str, str]) -> tuple[str, str] | None:
    """Two names in one place that say the same thing in different words, and maybe not the same."""
    for alternatives in _MATTERS:
        said = [name for names in alternatives for name in names[:1] if given.get(name)]
        if len({given[name] for name in said}) > 1:
            return said[0], said[1]
    return None
