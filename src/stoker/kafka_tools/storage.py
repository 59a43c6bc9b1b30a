"""kafka-storage.sh: make the id of a cluster, format the directories of a node, and tell what they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from stoker.kafka_tools.argument_parser import (
    Action,
    Argument,
    Group,
    Parser,
    TerseFailure,
    Values,
    run,
    subcommand,
)
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.metadata_versions import FEATURES, UnknownVersion, dependencies, version_mapping
from stoker.wire.uuids import draw_uuid, uuid_text

_TOOL: Final = "kafka-storage"
_CONFIG: Final = Argument(("--config", "-c"), "The Kafka configuration file to use.", required=True)
_RELEASE: Final = Argument(
    ("--release-version", "-r"),
    "The release version to use for the initial feature settings. The minimum is 3.3-IV3; the default is 4.3-IV0",
)
PARSER: Final = Parser(
    name=_TOOL,
    description="The Kafka storage tool.",
    commands=(
        subcommand(
            _TOOL, "info", "Get information about the Kafka log directories on this node.", arguments=(_CONFIG,)
        ),
        subcommand(
            _TOOL,
            "format",
            "Format the Kafka log directories on this node.",
            arguments=(
                _CONFIG,
                Argument(("--cluster-id", "-t"), "The cluster ID to use.", required=True),
                Argument(
                    ("--add-scram", "-S"), "A SCRAM_CREDENTIAL to add to the __cluster_metadata log", Action.APPEND
                ),
                Argument(
                    ("--ignore-formatted", "-g"),
                    "When this option is passed, the format command will skip over already formatted directories "
                    "rather than failing.",
                    Action.FLAG,
                ),
                _RELEASE,
                Argument(
                    ("--feature", "-f"),
                    "The setting to use for a specific feature, in feature=level format. For example: "
                    "`kraft.version=1`.",
                    Action.APPEND,
                ),
            ),
            groups=(
                Group(
                    arguments=(
                        Argument(
                            ("--standalone", "-s"),
                            "Used to initialize a controller as a single-node dynamic quorum. When setting this flag, "
                            "the controller.quorum.voters config must not be set, and "
                            "controller.quorum.bootstrap.servers is set instead.",
                            Action.FLAG,
                        ),
                        Argument(
                            ("--no-initial-controllers", "-N"),
                            "Used to initialize a server without specifying a dynamic quorum. When setting this flag, "
                            "the controller.quorum.voters config should not be set, and "
                            "controller.quorum.bootstrap.servers is set instead.",
                            Action.FLAG,
                        ),
                        Argument(
                            ("--initial-controllers", "-I"),
                            "Used to initialize a server with the specified dynamic quorum. The argument is a "
                            "comma-separated list of id@hostname:port:directory. The same values must be used to "
                            "format all nodes.",
                        ),
                    )
                ),
            ),
        ),
        subcommand(
            _TOOL,
            "version-mapping",
            "Look up the corresponding features for a given metadata version. Using the command with no "
            "--release-version argument will return the mapping for the latest stable metadata version",
            arguments=(_RELEASE,),
        ),
        subcommand(
            _TOOL,
            "feature-dependencies",
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet "
            "defined, an error is thrown. Multiple features can be specified.",
            arguments=(
                Argument(
                    ("--feature", "-f"),
                    "The features and their versions to look up dependencies for, in feature=version format. For "
                    "example: `metadata.version=5`.",
                    Action.APPEND,
                    required=True,
                ),
            ),
        ),
        subcommand(_TOOL, "random-uuid", "Print a random UUID."),
    ),
)


def main(arguments: Sequence[str]) -> int:
    return run(PARSER, arguments, _execute, is_lazy=True)


def _execute(values: Values) -> int:
    try:
        match values["command"]:
            case "random-uuid":
                print(uuid_text(draw_uuid(uuid4)))
            case "version-mapping":
                print("\n".join(version_mapping(values["release_version"])))
            case "feature-dependencies":
                for text in values["feature"]:
                    name, level = _feature(text)
                    if name in FEATURES and level not in [each.level for each in FEATURES[name]]:
                        raise TerseFailure(f"Feature level {level} is not supported for feature {name}")
                    print("\n".join(dependencies(name, level)))
            case "info":
                from stoker.kafka_tools.storage_format import print_info

                return print_info(_properties(values["config"]))
            case _:
                from stoker.kafka_tools.storage_format import FormatRequest, format_directories

                format_directories(_properties(values["config"]), FormatRequest.from_values(values))
    except UnknownVersion as error:
        raise TerseFailure(str(error)) from error
    return 0


def _feature(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise TerseFailure(
            f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')"
        )
    try:
        return name, int(level)
    except ValueError:
        raise TerseFailure(f"Invalid version format: {level} for feature {name}") from None


def _properties(path: str) -> dict[str, str]:
    from stoker.errors import MalformedProperties
    from stoker.properties import read_properties

    try:
        return {each.name: each.value for each in read_properties(Path(path))}
    except FileNotFoundError:
        raise JavaError("java.nio.file.NoSuchFileException", path) from None
    except (OSError, MalformedProperties) as error:
        raise JavaError("java.io.IOException", f"{path}: {error}") from None
