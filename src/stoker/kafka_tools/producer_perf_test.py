"""kafka-producer-perf-test.sh: how fast records can be produced, by librdkafka, in Kafka's own words."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from stoker.kafka_tools.argument_parser import (
    Action,
    Argument,
    BadArguments,
    Group,
    Parser,
    TerseFailure,
    Values,
    run,
)
from stoker.kafka_tools.connection import load_properties
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError
from stoker.kafka_tools.patterns import compiled, scan
from stoker.kafka_tools.perf_stats import Stats, now_ms
from stoker.kafka_tools.printing import print_each_line_at_once
from stoker.wire.uuids import uuid_text

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PAYLOAD: Final = "Note that you must provide exactly one of --record-size, --payload-file or --payload-monotonic."
PARSER: Final = Parser(
    name="kafka-producer-perf-test",
    description="This tool is used to verify the producer performance. To enable transactions, you can specify a "
    "transactional id or set a transaction duration using --transaction-duration-ms. There are three ways to specify "
    "the transactional id: set transactional.id=<id> via --command-property, set transactional.id=<id> in the config "
    "file via --command-config, or use --transactional-id <id>.",
    arguments=(
        Argument(
            ("--bootstrap-server",),
            "The server(s) to connect to. This config takes precedence over bootstrap.servers specified via "
            "--command-property or --command-config.",
            metavar="BOOTSTRAP-SERVER",
        ),
        Argument(("--topic",), "Produce records to this topic.", required=True),
        Argument(
            ("--num-records",),
            "Number of records to produce.",
            kind=int,
            java_type="Long",
            required=True,
            metavar="NUM-RECORDS",
        ),
        Argument(
            ("--payload-delimiter",),
            "Provides the delimiter to be used when --payload-file is provided. Defaults to new line.",
            default="\\n",
            metavar="PAYLOAD-DELIMITER",
        ),
        Argument(
            ("--throughput",),
            "Throttle maximum record throughput to *approximately* THROUGHPUT records/sec. Set this to -1 to disable "
            "throttling.",
            kind=float,
            java_type="Double",
            required=True,
        ),
        Argument(
            ("--producer-props",),
            "(DEPRECATED) Kafka producer related configuration properties like client.id. Use --command-property "
            "instead.",
            Action.REST,
            metavar="PROP-NAME=PROP-VALUE",
        ),
        Argument(
            ("--command-property",),
            "Kafka producer related configuration properties like client.id. These configs take precedence over those "
            "passed via --command-config or --producer.config.",
            Action.REST,
            metavar="PROP-NAME=PROP-VALUE",
        ),
        Argument(
            ("--producer.config",),
            "(DEPRECATED) Producer config properties file. Use --command-config instead.",
            metavar="CONFIG-FILE",
        ),
        Argument(("--command-config",), "Producer config properties file.", metavar="CONFIG-FILE"),
        Argument(("--print-metrics",), "Print out metrics at the end of the test.", Action.FLAG),
        Argument(("--transactional-id",), "The transactional id to use.", metavar="TRANSACTIONAL-ID"),
        Argument(
            ("--transaction-duration-ms",),
            "The maximum duration of each transaction, 3000 by default.",
            kind=int,
            java_type="Long",
            metavar="TRANSACTION-DURATION",
        ),
        Argument(
            ("--warmup-records",),
            "The number of records to treat as warmup: they are not in the steady-state statistics.",
            kind=int,
            java_type="Long",
            default=0,
            metavar="WARMUP-RECORDS",
        ),
        Argument(
            ("--reporting-interval",),
            "Interval in milliseconds at which to print progress info.",
            kind=int,
            java_type="Long",
            default=5000,
            metavar="INTERVAL-MS",
        ),
    ),
    groups=(
        Group(
            required=True,
            arguments=(
                Argument(("--record-size",), f"Record size in bytes. {_PAYLOAD}", kind=int, metavar="RECORD-SIZE"),
                Argument(
                    ("--payload-file",),
                    f"File to read the record payloads from, UTF-8 text. {_PAYLOAD}",
                    metavar="PAYLOAD-FILE",
                ),
                Argument(
                    ("--payload-monotonic",), f"Payload is a monotonically increasing integer. {_PAYLOAD}", Action.FLAG
                ),
            ),
        ),
    ),
)
_TRANSACTION_MS: Final = 3000
_LETTERS: Final = bytes(range(65, 91))
_PAUSE_SECONDS: Final = 0.001


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print(PARSER.page)
        return 0
    print_each_line_at_once()
    return run(PARSER, arguments, _execute, is_lazy=True)


def _execute(values: Values) -> int:
    _check(values)
    payloads = read_payloads(values)
    properties = _properties(values)
    from confluent_kafka import KafkaException, Producer

    from stoker.kafka_tools.console_producer import DEFAULT_MAX_REQUEST_SIZE
    from stoker.kafka_tools.rdkafka import Errors, open_client

    properties.setdefault("max.request.size", DEFAULT_MAX_REQUEST_SIZE)
    transactional_id = properties.pop("transactional.id", None)
    own = {} if transactional_id is None else {"transactional.id": transactional_id}
    producer: Producer = open_client(Producer, properties, Errors(), own)
    try:
        if transactional_id is not None:
            producer.init_transactions(60)
        _Test(producer, values, payloads, is_transactional=transactional_id is not None).run()
    except KafkaException as error:
        raise JavaError("org.apache.kafka.common.KafkaException", error.args[0].str()) from None
    return 0


class _Test:
    """One run: records, as fast as may be, and what became of them."""

    def __init__(self, producer: "Producer", values: Values, payloads: list[bytes], *, is_transactional: bool) -> None:
        self._producer = producer
        self._values = values
        self._payloads = payloads
        self._is_transactional = is_transactional
        self._random = Random(0)  # the same records each time, as Kafka's
        self._stats = Stats(values["num_records"], values["reporting_interval"])
        self._steady: Stats | None = None

    def run(self) -> None:
        values, producer = self._values, self._producer
        warmup = max(0, values["warmup_records"])
        if warmup:
            print(f"Warmup first {warmup} records. Steady state results will print after the complete test summary.")
        duration = values["transaction_duration_ms"] or _TRANSACTION_MS
        begun = 0
        start = time.monotonic()
        for index in range(values["num_records"]):
            if self._is_transactional and not begun:
                producer.begin_transaction()
                begun = now_ms()
            if warmup and index == warmup:
                self._steady = Stats(values["num_records"] - warmup, values["reporting_interval"], is_steady_state=True)
                self._stats.is_silent = True
            self._send(self._payload(index))
            if begun and now_ms() - begun >= duration:
                producer.commit_transaction()
                begun = 0
            self._keep_pace(index + 1, start)
        if begun:
            producer.commit_transaction()
        producer.flush()
        print(self._stats.total_line())
        if self._steady is not None:
            print(self._steady.total_line())
        if values["print_metrics"]:
            print("\nMetric Name   Value\nproducer-metrics:record-send-total : " + f"{self._stats.count:.3f}")

    def _send(self, payload: bytes) -> None:
        sent, steady = now_ms(), self._steady

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                print(f"org.apache.kafka.common.KafkaException: {error}", file=sys.stderr)
                return
            now = now_ms()
            self._stats.record(now - sent, len(payload), now)
            if steady is not None:
                steady.record(now - sent, len(payload), now)

        while True:
            try:
                self._producer.produce(self._values["topic"], payload, on_delivery=delivered)
                break
            except BufferError:  # as many as may wait do so
                self._producer.poll(0.1)
        self._producer.poll(0)

    def _payload(self, index: int) -> bytes:
        if self._payloads:
            return self._payloads[self._random.randrange(len(self._payloads))]
        size = self._values["record_size"]
        if size is None:
            return str(index).encode()
        return self._random.randbytes(size).translate(_AS_LETTERS)

    def _keep_pace(self, count: int, start: float) -> None:
        throughput = self._values["throughput"]
        if throughput > 0:
            while (ahead := count / throughput - (time.monotonic() - start)) > _PAUSE_SECONDS:
                self._producer.poll(min(ahead, 0.1))


_AS_LETTERS: Final = bytes(_LETTERS[number % len(_LETTERS)] for number in range(256))


def _check(values: Values) -> None:
    def refuse(message: str) -> None:
        raise BadArguments(PARSER.name, PARSER.usage, message)

    if values["num_records"] <= 0:
        refuse("--num-records should be greater than zero.")
    if max(0, values["warmup_records"]) >= values["num_records"]:
        refuse(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, "
            "--num-records."
        )
    if values["record_size"] is not None and values["record_size"] <= 0:
        refuse("--record-size should be greater than zero.")
    sources = ("bootstrap_server", "command_property", "producer_props", "producer_config", "command_config")
    if all(values[name] is None for name in sources):
        refuse(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified."
        )
    if values["command_property"] is not None and values["producer_props"] is not None:
        refuse("--command-property and --producer-props cannot be specified together.")
    if values["command_config"] is not None and values["producer_config"] is not None:
        refuse("--command-config and --producer.config cannot be specified together.")
    if values["transaction_duration_ms"] is not None and values["transaction_duration_ms"] <= 0:
        refuse("--transaction-duration-ms should be greater than zero.")
    if values["reporting_interval"] <= 0:
        refuse("--reporting-interval should be greater than zero.")


def read_payloads(values: Values) -> list[bytes]:
    """Of `--payload-file`, if it is given. Raises JavaError."""
    if values["payload_file"] is None:
        return []
    path = Path(values["payload_file"])
    print(f"Reading payloads from: {path.absolute()}")
    if not path.exists() or not path.stat().st_size:
        raise JavaError(ILLEGAL_ARGUMENT, "File does not exist or empty file provided.")
    found = scan(compiled(values["payload_delimiter"]), path.read_bytes().decode("utf-8", "replace"))
    print(f"Number of records read: {len(found)}")
    if not found:
        raise JavaError(ILLEGAL_ARGUMENT, "no payload File Path or record Size or payload-monotonic option provided")
    return [each.encode() for each in found]


def _properties(values: Values) -> dict[str, str]:
    """Raises TerseFailure and JavaError."""
    config, given = values["command_config"], values["command_property"]
    if values["producer_props"] is not None:
        print(
            "Option --producer-props has been deprecated and will be removed in a future version. Use "
            "--command-property instead."
        )
        given = values["producer_props"]
    if values["producer_config"] is not None:
        print(
            "Option --producer.config has been deprecated and will be removed in a future version. Use "
            "--command-config instead."
        )
        config = values["producer_config"]
    properties = {} if config is None else load_properties(config)
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or "=" in value:
            raise JavaError(ILLEGAL_ARGUMENT, f"Invalid property: {text}")
        properties[name] = value
    properties.setdefault("client.id", "perf-producer-client")
    if values["bootstrap_server"] is not None:
        properties["bootstrap.servers"] = values["bootstrap_server"]
    if "bootstrap.servers" not in properties:
        raise TerseFailure('Missing required configuration "bootstrap.servers" which has no default value.')
    if values["transactional_id"] is not None:
        properties["transactional.id"] = values["transactional_id"]
    elif values["transaction_duration_ms"] is not None:
        properties.setdefault("transactional.id", f"performance-producer-{uuid_text(uuid4())}")
    return properties
