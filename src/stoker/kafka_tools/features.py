"""kafka-features.sh: the levels of a cluster's features, and how to raise, lower and disable them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from stoker.client.admin.features import FeatureUpdate, UpgradeType, describe_features, update_features
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.kafka_tools.argument_parser import (
    Action,
    Argument,
    BadArguments,
    Group,
    HelpWanted,
    Parser,
    TerseFailure,
    Values,
    subcommand,
)
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.failure import JavaError, java_error
from stoker.kafka_tools.metadata_versions import (
    FEATURES,
    METADATA_VERSION,
    UnknownVersion,
    default_level,
    dependencies,
    level_of_version,
    shown_level,
    version_mapping,
)

_TOOL: Final = "kafka-features"
_METADATA: Final = Argument(
    ("--metadata",), "DEPRECATED -- The level to which the metadata should be brought. For example, 3.3-IV3."
)
_RELEASE: Final = Argument(
    ("--release-version",),
    "The release version to bring all features to. For example, 3.9-IV0 will set metadata.version=21 and "
    "kraft.version=1. Use the version-mapping command to learn which features will be set for any given version.",
)
_FEATURE: Final = Argument(
    ("--feature",), "A feature, in feature=level format. For example: `metadata.version=5`.", Action.APPEND
)
_UNSAFE: Final = Argument(("--unsafe",), "Do it even if it may irreversibly destroy metadata.", Action.FLAG)
_DRY_RUN: Final = Argument(("--dry-run",), "Validate this change, but do not perform it.", Action.FLAG)
PARSER: Final = Parser(
    name=_TOOL,
    description="This tool manages feature flags in Kafka.",
    arguments=(Argument(("--command-config",), "Property file containing configs to be passed to Admin Client."),),
    groups=(
        Group(
            arguments=(
                Argument(
                    ("--bootstrap-server",),
                    "A comma-separated list of host:port pairs to use for establishing the connection to the Kafka "
                    "cluster.",
                ),
                Argument(
                    ("--bootstrap-controller",),
                    "A comma-separated list of host:port pairs to use for establishing the connection to the KRaft "
                    "quorum.",
                ),
            )
        ),
    ),
    commands=(
        subcommand(
            _TOOL,
            "describe",
            "Describes the current active feature flags.",
            arguments=(
                Argument(
                    ("--node-id",),
                    "The node id to which the requests should be sent. If not specified, the requests will be sent to "
                    "an arbitrary controller/broker.",
                    kind=int,
                ),
            ),
        ),
        subcommand(
            _TOOL,
            "upgrade",
            "Upgrade one or more feature flags.",
            arguments=(_METADATA, _RELEASE, _FEATURE, _DRY_RUN),
        ),
        subcommand(
            _TOOL,
            "downgrade",
            "Downgrade one or more feature flags.",
            arguments=(_METADATA, _RELEASE, _FEATURE, _UNSAFE, _DRY_RUN),
        ),
        subcommand(
            _TOOL,
            "disable",
            "Disable one or more feature flags. This is the same as downgrading the version to zero.",
            arguments=(Argument(("--feature",), "A feature flag to disable.", Action.APPEND), _UNSAFE, _DRY_RUN),
        ),
        subcommand(
            _TOOL,
            "version-mapping",
            "Look up the corresponding features for a given metadata version. Using the command with no "
            "--release-version argument will return the mapping for the latest stable metadata version",
            arguments=(Argument(("--release-version",), "The release version to look up; the minimum is 3.3-IV3."),),
        ),
        subcommand(
            _TOOL,
            "feature-dependencies",
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet "
            "defined, an error is thrown. Multiple features can be specified.",
            arguments=(
                Argument(
                    ("--feature",),
                    "The feature and version to look up dependencies for, in feature=version format.",
                    Action.APPEND,
                    required=True,
                ),
            ),
        ),
    ),
)
_LARGEST_LEVEL: Final = 2**15 - 1


def main(arguments: Sequence[str]) -> int:
    try:
        _execute(PARSER.parse(arguments))
    except HelpWanted as page:
        print(page)
    except BadArguments as bad:
        sys.stderr.write(f"Command line error: {bad}. Type --help for help.")
        return 1
    except (TerseFailure, UnknownVersion) as failure:
        print(failure, file=sys.stderr)
        return 1
    except (ClientError, JavaError) as failure:
        print(java_error(failure).message, file=sys.stderr)
        return 1
    return 0


def _execute(values: Values) -> None:
    command = values["command"]
    if command == "version-mapping":
        print("\n".join(version_mapping(values["release_version"])))
        return
    if command == "feature-dependencies":
        for text in values["feature"]:
            print("\n".join(dependencies(*_name_and_level(text))))
        return
    if values["bootstrap_controller"] is not None:
        raise TerseFailure(
            "--bootstrap-controller is not supported here: give --bootstrap-server, which every broker answers."
        )
    if values["bootstrap_server"] is None:
        raise BadArguments(_TOOL, PARSER.usage, "You must specify either --bootstrap-controller or --bootstrap-server.")
    with connect_with(values["bootstrap_server"], values["command_config"]) as cluster:
        if command == "describe":
            _describe(cluster, values["node_id"])
        else:
            _update(cluster, command, _updates(command, values), dry_run=values["dry_run"])


def _describe(cluster: Cluster, node_id: int | None) -> None:
    if node_id is not None and node_id < 0:
        raise TerseFailure(f"Invalid node id {node_id}: must be non-negative.")
    features = describe_features(cluster, node_id)
    for name, (lowest, highest) in sorted(features.supported.items()):
        finalized = shown_level(name, features.finalized.get(name, 0))
        print(
            f"Feature: {name:<40}  SupportedMinVersion: {shown_level(name, lowest):<15}  "
            f"SupportedMaxVersion: {shown_level(name, highest):<15}  FinalizedVersionLevel: {finalized:<15}  "
            f"Epoch: {'-' if features.epoch is None else features.epoch}"
        )


def _updates(command: str, values: Values) -> dict[str, FeatureUpdate]:
    if command == "upgrade":
        kind = UpgradeType.UPGRADE
    else:
        kind = UpgradeType.UNSAFE_DOWNGRADE if values["unsafe"] else UpgradeType.SAFE_DOWNGRADE
    named: Sequence[str] | None = values["feature"]
    if command == "disable":
        return _unique([(name, 0) for name in named or ()], kind)
    release, metadata = values["release_version"], values["metadata"]
    if release is not None:
        if metadata is not None or named is not None:
            raise TerseFailure("Can not specify `release-version` with other feature flags.")
        level = level_of_version(release)
        levels = {METADATA_VERSION: level} | {name: default_level(name, level) for name in FEATURES}
        return {
            name: FeatureUpdate(each, kind) for name, each in levels.items() if each or kind is not UpgradeType.UPGRADE
        }
    wanted: list[tuple[str, int]] = []
    if metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        wanted.append((METADATA_VERSION, level_of_version(metadata)))
    return _unique([*wanted, *map(_name_and_level, named or ())], kind)


def _unique(levels: Sequence[tuple[str, int]], kind: UpgradeType) -> dict[str, FeatureUpdate]:
    found: dict[str, FeatureUpdate] = {}
    for name, level in levels:
        if name in found:
            raise TerseFailure(f"Feature {name} was specified more than once.")
        found[name] = FeatureUpdate(level, kind)
    return found


def _update(cluster: Cluster, command: str, updates: Mapping[str, FeatureUpdate], *, dry_run: bool) -> None:
    if not updates:
        raise TerseFailure(f"You must specify at least one feature to {command}")
    try:
        refused = {
            name: why for name, why in update_features(cluster, dict(updates), validate_only=dry_run).items() if why
        }
    except KafkaRefused as all_of_them:
        refused = dict.fromkeys(updates, all_of_them)
    for name, update in sorted(updates.items()):
        if name in refused:
            what = f"disable {name}" if command == "disable" else f"{command} {name} to {update.level}"
            print(f"{'Can not' if dry_run else 'Could not'} {what}. {java_error(refused[name]).message}")
        else:
            done = "disabled." if command == "disable" else f"{command}d to {update.level}."
            print(f"{name} {'can be' if dry_run else 'was'} {done}")
    if refused:
        raise TerseFailure(f"{len(refused)} out of {len(updates)} operation(s) failed.")


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise TerseFailure(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = _LARGEST_LEVEL + 1
    if not -_LARGEST_LEVEL <= number <= _LARGEST_LEVEL:
        raise TerseFailure(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number
