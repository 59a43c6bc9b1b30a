"""The levels of Kafka 4.3's features: metadata.version, and which levels of the others go with it."""

from typing import Final, NamedTuple

from stoker.errors import StokerError

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"

_NAMES: Final = (
    *("3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2"),
    *("3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0"),
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1"),
    *("4.3-IV0", "4.4-IV0"),
)
OLDEST: Final = 7
LATEST_PRODUCTION: Final = 30
LATEST_TESTING: Final = 31
VERSIONS: Final = dict(enumerate(_NAMES, start=OLDEST))
"""Levels of metadata.version and what they are called."""


class UnknownVersion(StokerError):
    """A version or level that Kafka 4.3 does not have; the message is Kafka's."""


class FeatureLevel(NamedTuple):
    """It is the default from a metadata.version on, and needs others."""

    level: int
    since: int
    dependencies: tuple[tuple[str, int], ...] = ()


FEATURES: Final = {
    KRAFT_VERSION: (FeatureLevel(0, OLDEST), FeatureLevel(1, 21)),
    "transaction.version": (FeatureLevel(0, OLDEST), FeatureLevel(1, 24), FeatureLevel(2, 24)),
    "group.version": (FeatureLevel(0, OLDEST), FeatureLevel(1, 22)),
    "eligible.leader.replicas.version": (
        FeatureLevel(0, OLDEST),
        FeatureLevel(1, 26, ((METADATA_VERSION, 23),)),
    ),
    "share.version": (FeatureLevel(0, OLDEST), FeatureLevel(1, 28)),
    "streams.version": (FeatureLevel(0, OLDEST), FeatureLevel(1, 29)),
}
"""In the order in which Kafka's tools print them."""


def level_of_version(text: str, *, with_unstable: bool = True) -> int:
    """The level of `4.3-IV0`, or of `4.3` and `4.3.1`, which mean the last of that release. Raises UnknownVersion."""
    latest = LATEST_TESTING if with_unstable else LATEST_PRODUCTION
    known = {name: level for level, name in VERSIONS.items()}
    for level, name in VERSIONS.items():  # the last of a release wins
        if level <= LATEST_PRODUCTION:
            known[name.partition("-")[0]] = level
    level = known.get(".".join(text.split(".")[:2]), LATEST_TESTING + 1)
    if level > latest:
        supported = ", ".join(VERSIONS[each] for each in range(OLDEST, latest + 1))
        raise UnknownVersion(f"Unknown metadata.version '{text}'. Supported metadata.version are: {supported}")
    return level


def default_level(feature: str, metadata_level: int) -> int:
    """What a feature is at unless somebody says otherwise."""
    return max(each.level for each in FEATURES[feature] if each.since <= metadata_level)


def feature_level(feature: str, level: int) -> FeatureLevel:
    """Raises UnknownVersion."""
    for each in FEATURES[feature]:
        if each.level == level:
            return each
    raise UnknownVersion(f"No feature:{feature} with feature level {level}")


def shown_level(feature: str, level: int) -> str:
    """As kafka-features.sh shows it: metadata.version by its name."""
    if feature != METADATA_VERSION:
        return str(level)
    return VERSIONS.get(level, f"UNKNOWN {level}")


def version_mapping(text: str | None) -> list[str]:
    """The lines of `version-mapping`. Raises UnknownVersion."""
    name = VERSIONS[LATEST_PRODUCTION] if text is None else text
    level = level_of_version(name)
    return [
        f"{METADATA_VERSION}={level} ({name})",
        *(f"{feature}={default_level(feature, level)}" for feature in FEATURES),
    ]


def dependencies(feature: str, level: int) -> list[str]:
    """The lines of `feature-dependencies`. Raises UnknownVersion."""
    if feature == METADATA_VERSION:
        if level not in VERSIONS:
            raise UnknownVersion(f"Unknown metadata.version {level}")
        return [f"{feature}={level} ({VERSIONS[level]}) has no dependencies."]
    if feature not in FEATURES:
        raise UnknownVersion(f"Unknown feature: {feature}")
    needed = feature_level(feature, level).dependencies
    if not needed:
        return [f"{feature}={level} has no dependencies."]
    return [
        f"{feature}={level} requires:",
        *(f"    {name}={at}" + (f" ({VERSIONS[at]})" if name == METADATA_VERSION else "") for name, at in needed),
    ]
