"""Formatting the directories of a node so that Stoker and Apache Kafka can start on them, and telling what they are."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from stoker.kafka_tools.argument_parser import TerseFailure, Values
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError
from stoker.kafka_tools.log_dumping import BOOTSTRAP_FILE
from stoker.kafka_tools.metadata_versions import (
    FEATURES,
    KRAFT_VERSION,
    LATEST_PRODUCTION,
    LATEST_TESTING,
    METADATA_VERSION,
    OLDEST,
    VERSIONS,
    default_level,
    feature_level,
    level_of_version,
)
from stoker.log.directory import META_PROPERTIES_FILE
from stoker.log.files import replace_file
from stoker.properties import read_properties
from stoker.wire import quorum_records
from stoker.wire.metadata_records import FeatureLevelRecord, encode_record
from stoker.wire.quorum_records import build_control_batch
from stoker.wire.record_batch import Record, build_batch
from stoker.wire.uuids import draw_uuid, uuid_from_text, uuid_text

_VOTERS: Final = "controller.quorum.voters"
_BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
_SNAPSHOT: Final = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
_RUNTIME: Final = "java.lang.RuntimeException"
_INVALID_CONFIG: Final = "org.apache.kafka.common.config.ConfigException"
_HIGHEST_ID: Final = 2**31 - 1
_HIGHEST_PORT: Final = 2**16 - 1
_DYNAMIC: Final = "--standalone, --initial-controllers, or --no-initial-controllers"


class _Voter(NamedTuple):
    node_id: int
    host: str
    port: int
    directory_id: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatRequest:
    """What the arguments ask for."""

    cluster_id: str
    ignore_formatted: bool
    release_version: str | None
    features: dict[str, int]
    standalone: bool
    no_initial_controllers: bool
    initial_controllers: str | None

    @classmethod
    def from_values(cls, values: Values) -> "FormatRequest":
        """Raises TerseFailure and JavaError."""
        if values["add_scram"]:
            raise TerseFailure(
                "--add-scram is not supported here: add users when the broker runs, with kafka-configs.sh of Apache Kafka."
            )
        return cls(
            cluster_id=values["cluster_id"],
            ignore_formatted=values["ignore_formatted"],
            release_version=values["release_version"],
            features=dict(_name_and_level(text) for text in values["feature"] or ()),
            standalone=values["standalone"],
            no_initial_controllers=values["no_initial_controllers"],
            initial_controllers=values["initial_controllers"],
        )


class _Node:
    """What the properties of a node say of its directories and its quorum."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises JavaError."""
        self._properties = properties
        self.log_dirs = _listed(properties.get("log.dirs") or properties.get("log.dir") or "/tmp/kafka-logs")
        if not self.log_dirs:
            raise JavaError(
                ILLEGAL_ARGUMENT,
                "requirement failed: At least one log directory must be defined via log.dirs or log.dir.",
            )
        self.metadata_dir = properties.get("metadata.log.dir", "").strip() or self.log_dirs[0]
        self.node_id = _node_id(properties)
        self.roles = _listed(properties.get("process.roles", "broker,controller"))
        self.has_voters = bool(properties.get(_VOTERS, "").strip())
        self.names_quorum = self.has_voters or bool(properties.get(_BOOTSTRAP, "").strip())
        self.controller_listener = (_listed(properties.get("controller.listener.names", "")) or ["CONTROLLER"])[0]

    @property
    def directories(self) -> list[str]:
        return sorted({*self.log_dirs, self.metadata_dir})

    def standalone_voter(self) -> _Voter:
        """Raises TerseFailure and JavaError."""
        if "controller" not in self.roles:
            raise TerseFailure("You can only use --standalone on a controller.")
        for setting in ("advertised.listeners", "listeners"):
            for listener in _listed(self._properties.get(setting, "")):
                name, _, address = listener.partition("://")
                host, _, port = address.rpartition(":")
                if name.upper() == self.controller_listener.upper() and port.isdecimal():
                    if int(port) > _HIGHEST_PORT:
                        raise JavaError(
                            _INVALID_CONFIG,
                            f"Invalid value {listener} for configuration {setting}: a port is {_HIGHEST_PORT} at most",
                        )
                    return _Voter(self.node_id, host.strip("[]") or "localhost", int(port), draw_uuid(uuid4))
        raise JavaError(_RUNTIME, "No controller listeners found.")


# -- info ----------------------------------------------------------------------------------------------------------------


def print_info(properties: Mapping[str, str]) -> int:
    """What the directories are; returns the exit code."""
    found: list[str] = []
    problems: list[str] = []
    first: dict[str, str] | None = None
    for directory in _Node(properties).directories:
        path = Path(directory)
        if not path.is_dir():
            problems.append(f"{path} {'is not a directory' if path.exists() else 'does not exist'}")
            continue
        found.append(str(path))
        try:
            meta = _read_meta(directory)
        except OSError as error:
            problems.append(f"Error loading {path / META_PROPERTIES_FILE}: {error.strerror}")
            continue
        if meta is None:
            problems.append(f"{path} is not formatted.")
            continue
        if first is None:
            first = meta
        elif first.get("cluster.id") != meta.get("cluster.id"):
            problems.append("Mismatched cluster IDs between storage directories.")
        elif first.get("node.id") != meta.get("node.id"):
            problems.append("Mismatched node IDs between storage directories.")
    if found:
        print("Found log directory:" if len(found) == 1 else "Found log directories:")
        print("".join(f"  {directory}\n" for directory in found))
    if first is not None:
        print("Found metadata: {" + ", ".join(f"{name}={first[name]}" for name in sorted(first)) + "}\n")
    if problems:
        print("Found problem:" if len(problems) == 1 else "Found problems:")
        print("".join(f"  {problem}\n" for problem in problems))
    return 1 if problems else 0


# -- format --------------------------------------------------------------------------------------------------------------


def format_directories(properties: Mapping[str, str], request: FormatRequest) -> None:
    """Raises TerseFailure with Kafka's words, JavaError and UnknownVersion."""
    node = _Node(properties)
    voters = _initial_voters(node, request)
    levels = _levels(node, request)
    metas: dict[str, dict[str, str] | None] = {}
    unreadable: list[str] = []
    for directory in node.directories:
        try:
            metas[directory] = _read_meta(directory)
        except OSError:
            unreadable.append(directory)
    _verify(metas, node, request)
    formatted = [directory for directory, meta in metas.items() if meta is not None]
    if formatted and not request.ignore_formatted:
        raise TerseFailure(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore this directory and "
            "format the others."
        )
    for directory in unreadable:
        print(f"I/O error trying to read log directory {directory}. Ignoring...")
    if not metas:
        raise TerseFailure("No available log directories to format.")
    empty = [directory for directory, meta in metas.items() if meta is None]
    if not empty:
        print("All of the log directories are already formatted.")
        return
    features = _feature_records(levels)
    print(f"Bootstrap metadata: {_shown(features)}")
    for directory in empty:
        _format(directory, node, request, levels, features, voters)


def _format(
    directory: str,
    node: _Node,
    request: FormatRequest,
    levels: Mapping[str, int],
    features: list[FeatureLevelRecord],
    voters: list[_Voter] | None,
) -> None:
    is_metadata = directory == node.metadata_dir
    ours = next((voter for voter in voters or () if voter.node_id == node.node_id), None) if is_metadata else None
    kind = "data directory"
    if is_metadata and voters is None:
        kind = "metadata directory"
    elif is_metadata:
        kind = "dynamic metadata directory" if ours is None else "dynamic metadata voter directory"
    print(f"Formatting {kind} {directory} with {METADATA_VERSION} {VERSIONS[levels[METADATA_VERSION]]}.")
    path = Path(directory)
    now = time.time_ns() // 1_000_000
    try:
        path.mkdir(parents=True, exist_ok=True)
        replace_file(str(path / BOOTSTRAP_FILE), _bootstrap(features, now))
        if is_metadata and voters is not None:
            snapshot = path / _SNAPSHOT
            snapshot.parent.mkdir(exist_ok=True)
            replace_file(str(snapshot), _quorum_snapshot(node, voters, levels[KRAFT_VERSION], now))
        directory_id = draw_uuid(uuid4) if ours is None else ours.directory_id
        content = (
            f"cluster.id={request.cluster_id}\ndirectory.id={uuid_text(directory_id)}\nnode.id={node.node_id}\n"
            "version=1\n"
        )
        replace_file(str(path / META_PROPERTIES_FILE), content.encode())  # the last: without it nothing is formatted
    except OSError as error:
        raise TerseFailure(f"Error while writing meta.properties file {directory}: {error}") from error


def _bootstrap(features: Iterable[FeatureLevelRecord], now: int) -> bytes:
    """What a controller begins its metadata log with."""
    records = [Record(0, now, None, encode_record(each), ()) for each in features]
    header = quorum_records.SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0)
    footer = quorum_records.SnapshotFooterRecord(version=0)
    return (
        build_control_batch([(quorum_records.SNAPSHOT_HEADER, header)], base_offset=0, timestamp=now)
        + build_batch(records, base_offset=1, leader_epoch=0)
        + build_control_batch([(quorum_records.SNAPSHOT_FOOTER, footer)], base_offset=1 + len(records), timestamp=now)
    )


def _quorum_snapshot(node: _Node, voters: list[_Voter], kraft_version: int, now: int) -> bytes:
    """Who the first voters of a dynamic quorum are (KIP-853)."""
    listed = [
        quorum_records.QuorumVoter(
            voter_id=voter.node_id,
            voter_directory_id=voter.directory_id,
            endpoints=[quorum_records.QuorumEndpoint(name=node.controller_listener, host=voter.host, port=voter.port)],
            k_raft_version_feature=quorum_records.KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
        )
        for voter in voters
    ]
    head = build_control_batch(
        [
            (
                quorum_records.SNAPSHOT_HEADER,
                quorum_records.SnapshotHeaderRecord(version=0, last_contained_log_timestamp=now),
            ),
            (
                quorum_records.KRAFT_VERSION,
                quorum_records.KRaftVersionRecord(version=0, k_raft_version=kraft_version),
            ),
            (quorum_records.KRAFT_VOTERS, quorum_records.VotersRecord(version=0, voters=listed)),
        ],
        base_offset=0,
        timestamp=now,
    )
    footer = quorum_records.SnapshotFooterRecord(version=0)
    return head + build_control_batch([(quorum_records.SNAPSHOT_FOOTER, footer)], base_offset=3, timestamp=now)


# -- what is asked for, checked ------------------------------------------------------------------------------------------


def _initial_voters(node: _Node, request: FormatRequest) -> list[_Voter] | None:
    """None for a quorum whose voters the properties name, or that is joined later."""
    if node.has_voters and (request.initial_controllers is not None or request.standalone):
        raise TerseFailure(
            f"You cannot specify {_VOTERS} and format the node with --initial-controllers or --standalone. If you want "
            f"to use dynamic quorum, please remove {_VOTERS} and specify {_BOOTSTRAP} instead."
        )
    if request.initial_controllers is not None:
        return [_voter(text) for text in _listed(request.initial_controllers)]
    if request.standalone:
        return [node.standalone_voter()]
    # A node whose properties name no quorum is one that only Stoker starts on: it needs none.
    is_controller = "controller" in node.roles
    if not request.no_initial_controllers and is_controller and node.names_quorum and not node.has_voters:
        raise TerseFailure(
            f"Because {_VOTERS} is not set on this controller, you must specify one of the following: {_DYNAMIC}."
        )
    return None


def _voter(text: str) -> _Voter:
    node_id, _, rest = text.partition("@")
    address, _, directory = rest.rpartition(":")
    host, _, port = address.rpartition(":")
    try:
        voter = _Voter(int(node_id), host.strip("[]"), int(port), uuid_from_text(directory))
    except ValueError:
        raise TerseFailure(
            f"--initial-controllers {text}: the form is id@hostname:port:directory, such as "
            "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg"
        ) from None
    if not (0 <= voter.node_id <= _HIGHEST_ID and 0 <= voter.port <= _HIGHEST_PORT):
        raise TerseFailure(
            f"--initial-controllers {text}: an id is from 0 to {_HIGHEST_ID}, a port from 0 to {_HIGHEST_PORT}"
        )
    return voter


def _levels(node: _Node, request: FormatRequest) -> dict[str, int]:
    if request.release_version is not None:
        if METADATA_VERSION in request.features:
            raise TerseFailure("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
        metadata = level_of_version(request.release_version, with_unstable=False)
    else:
        metadata = request.features.get(METADATA_VERSION, LATEST_PRODUCTION)
    unknown = [name for name in request.features if name not in FEATURES and name != METADATA_VERSION]
    if unknown:
        raise TerseFailure(f"Unsupported feature: {unknown[0]}. Supported features are: {', '.join(sorted(FEATURES))}")
    if metadata > LATEST_PRODUCTION:
        raise TerseFailure(f"{METADATA_VERSION} {VERSIONS.get(metadata, metadata)} is not yet stable.")
    if metadata < OLDEST:
        raise JavaError(
            ILLEGAL_ARGUMENT,
            f"No MetadataVersion with feature level {metadata}. Valid feature levels are from {OLDEST} to "
            f"{LATEST_TESTING}.",
        )
    levels = {name: default_level(name, metadata) for name in FEATURES} | request.features
    levels[METADATA_VERSION] = metadata
    levels[KRAFT_VERSION] = request.features.get(KRAFT_VERSION, 0 if node.has_voters else 1)
    for name in FEATURES:
        for needed, level in feature_level(name, levels[name]).dependencies:
            if levels[needed] < level:
                raise JavaError(
                    ILLEGAL_ARGUMENT,
                    f"{name} could not be set to {levels[name]} because it depends on {needed} level {level}",
                )
    return levels


def _feature_records(levels: Mapping[str, int]) -> list[FeatureLevelRecord]:
    """metadata.version first; kraft.version is no record, and what is off is none."""
    others = sorted(name for name in FEATURES if name != KRAFT_VERSION and levels[name] > 0)
    return [FeatureLevelRecord(name=name, feature_level=levels[name]) for name in (METADATA_VERSION, *others)]


def _shown(features: Iterable[FeatureLevelRecord]) -> str:
    records = [
        f"ApiMessageAndVersion(FeatureLevelRecord(name='{each.name}', featureLevel={each.feature_level}) at version 0)"
        for each in features
    ]
    level = next(iter(features)).feature_level
    return f"BootstrapMetadata(records=[{', '.join(records)}], metadataVersionLevel={level}, source=format command)"


def _verify(metas: Mapping[str, Mapping[str, str] | None], node: _Node, request: FormatRequest) -> None:
    for directory, meta in metas.items():
        path = f"{directory}/{META_PROPERTIES_FILE}"
        if meta is None:
            continue
        if meta.get("cluster.id") != request.cluster_id:
            raise JavaError(
                _RUNTIME,
                f"Invalid cluster.id in: {path}. Expected {request.cluster_id}, but read {meta.get('cluster.id')}",
            )
        if meta.get("node.id") != str(node.node_id):
            raise JavaError(
                _RUNTIME,
                f"Stored node id {meta.get('node.id')} doesn't match previous node id {node.node_id} in {path}. If you "
                "moved your data, make sure your configured node id matches. If you intend to create a new node, you "
                "should remove all data in your data directories.",
            )


def _read_meta(directory: str) -> dict[str, str] | None:
    """None for a directory that is not formatted. Raises OSError and MalformedProperties."""
    try:
        return {each.name: each.value for each in read_properties(Path(directory) / META_PROPERTIES_FILE)}
    except FileNotFoundError:
        return None


def _node_id(properties: Mapping[str, str]) -> int:
    name = "node.id" if "node.id" in properties or "broker.id" not in properties else "broker.id"
    text = properties.get(name, "1")
    problem = "Not a number of type INT"
    try:
        number = int(text)
    except ValueError:
        pass
    else:
        if 0 <= number <= _HIGHEST_ID:
            return number
        if -_HIGHEST_ID <= number < 0:
            problem = "Value must be at least 0"
    raise JavaError(_INVALID_CONFIG, f"Invalid value {text} for configuration {name}: {problem}")


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise JavaError(_RUNTIME, f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        return name, int(level)
    except ValueError:
        raise JavaError(
            _RUNTIME, f"Can't parse feature=level string {text}: unable to parse {level} as a short."
        ) from None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
