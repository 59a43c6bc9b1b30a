"""kafka-delete-records.sh: delete the records of partitions up to the offsets of a JSON file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.failure import COMMAND_FAILED, OPERATION_FAILED, JavaError, ToolEnds, java_error
from stoker.kafka_tools.options import OptionParser
from stoker.kafka_tools.thrown import print_thrown

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster
    from stoker.client.topic_partition import TopicPartition

_JSON_FAILED: Final = "com.fasterxml.jackson.databind.JsonMappingException"


class _Options:
    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.bootstrap_server = parser.option(
            "bootstrap-server", "REQUIRED: The server to connect to.", described_as="server(s) to use for bootstrapping"
        )
        self.offset_json_file = parser.option(
            "offset-json-file",
            'REQUIRED: The JSON file with offset per partition. The format to use is:\n{"partitions":\n  [{"topic": "foo", "partition": 1, "offset": 1}],\n "version":1\n}',
            described_as="Offset json file path",
        )
        self.command_config = parser.option(
            "command-config",
            "A property file containing configs to be passed to Admin Client.",
            described_as="command config property file path",
        )
        self.given = parser.parse(arguments)
        self.given.print_help_or_version(
            "This tool helps to delete records of the given partitions down to the specified offset."
        )
        self.given.require(self.bootstrap_server, self.offset_json_file)


def main(arguments: Sequence[str]) -> int:
    try:
        options = _Options(arguments)
        with connect_with(
            options.given.value(options.bootstrap_server), options.given.value(options.command_config)
        ) as cluster:
            _delete(cluster, _offsets(_read(options.given.text(options.offset_json_file))))
    except ToolEnds:
        raise
    except StokerError as error:
        return print_thrown(java_error(error))
    return 0


def _delete(cluster: "Cluster", before: "dict[TopicPartition, int]") -> None:
    from stoker.client.admin.records import delete_records
    from stoker.client.errors import KafkaRefused
    from stoker.kafka_tools.hash_order import partition_order

    print("Executing records delete operation")
    results = delete_records(cluster, before)
    print("Records delete operation completed:")
    for partition in partition_order(before):
        result = results[partition]
        if isinstance(result, KafkaRefused):
            print(f"partition: {partition}\terror: {java_error(result).described}")
        else:
            print(f"partition: {partition}\tlow_watermark: {result}")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise JavaError("java.io.IOException", f"Unable to read file {path}") from None


def _offsets(text: str) -> "dict[TopicPartition, int]":
    """The offset of each partition. Raises JavaError."""
    from json import dumps, loads

    from stoker.client.topic_partition import TopicPartition

    try:
        document = loads(text)
    except ValueError:
        raise JavaError(OPERATION_FAILED, "The input string is not a valid JSON") from None
    if not isinstance(document, dict):
        raise JavaError(_JSON_FAILED, f"Expected JSON object, received {text.strip()}")
    version = document.get("version", 1)
    if version != 1:
        raise JavaError(OPERATION_FAILED, f"Not supported version field value {version}")
    if "partitions" not in document:
        raise JavaError(OPERATION_FAILED, "Missing partitions field")
    if not isinstance(document["partitions"], list):
        raise JavaError(_JSON_FAILED, f"Expected JSON array, received {dumps(document['partitions'])}")
    offsets: dict[TopicPartition, int] = {}
    duplicates: list[str] = []
    for each in document["partitions"]:
        topic, partition, offset = (_field(each, name) for name in ("topic", "partition", "offset"))
        key = TopicPartition(topic, partition)
        if key in offsets:
            duplicates.append(str(key))
        offsets.setdefault(key, offset)
    if duplicates:
        names = ",".join(dict.fromkeys(duplicates))
        raise JavaError(COMMAND_FAILED, f"Offset json file contains duplicate topic partitions: {names}")
    return offsets


def _field(partition: Any, name: str) -> Any:
    kind, shown = (str, "String") if name == "topic" else (int, "Integer" if name == "partition" else "Long")
    if not isinstance(partition, dict):
        raise JavaError(_JSON_FAILED, f"Expected JSON object, received {partition}")
    if name not in partition:
        raise JavaError(_JSON_FAILED, f"No such field exists: `{name}`")
    value = partition[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        from json import dumps

        raise JavaError(_JSON_FAILED, f"Expected `{shown}` value, received {dumps(value)}")
    return value
