"""The options of a read with `format("stoker")`: those of Spark's `kafka` source, and some for typed columns.

`OPTIONS` is the one list of them: what is not in it is refused, and the documentation is held against it.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, NamedTuple, TypeVar

from stoker.client.errors import InvalidClientProperty
from stoker.client.fetching import Isolation
from stoker.client.properties import BOOTSTRAP_SERVERS, ClientProperties, client_properties
from stoker.client.range_fetcher import fetch_settings
from stoker.client.topic_partition import TopicPartition
from stoker.spark.errors import InvalidOption
from stoker.spark.offsets import MalformedOffsets, Offsets, parse_offsets, parse_partitions
from stoker.spark.planning import Limits

T = TypeVar("T")
Choice = TypeVar("Choice", bound=Enum)
Side = Literal["key", "value"]

KAFKA: Final = "kafka."
BINARY: Final = "binary"
FORMATS: Final = ("avro", "json", "protobuf", "string", BINARY)
EARLIEST: Final = -2
LATEST: Final = -1


class Option(NamedTuple):
    """`default` is what holds if the option is not given; "" if nothing does."""

    name: str
    default: str
    meaning: str


OPTIONS: Final = (
    Option("kafka.bootstrap.servers", "", "The brokers to begin with, `host:port,host:port`. Required."),
    Option("subscribe", "", "The topics to read, with commas between. One of `subscribe`, `subscribePattern`, `assign` is required."),
    Option("subscribePattern", "", "A regular expression: every topic whose whole name matches is read, also those made later; internal topics are not."),
    Option("assign", "", 'Single partitions: `{"orders": [0, 1]}`.'),
    Option("startingTimestamp", "", "Begin with the first record of this time, in milliseconds. It is stronger than the two below."),
    Option("startingOffsetsByTimestamp", "", 'The same for each partition: `{"orders": {"0": 1700000000000}}`. It is stronger than `startingOffsets`.'),
    Option("startingOffsets", "latest, in a batch earliest", '`earliest`, `latest` (not in a batch) or for each partition: `{"orders": {"0": 23, "1": -2}}`, where -2 is earliest and -1 latest. A query that goes on from its checkpoint does not look at it; partitions that come later are read from their beginning.'),
    Option("startingOffsetsByTimestampStrategy", "error", "If no record is as late as the given time: `error`, or `latest` to begin at the end."),
    Option("endingTimestamp", "", "End before the first record of this time; at the end if there is none. Of a batch only, as the two below; stronger than these."),
    Option("endingOffsetsByTimestamp", "", "The same for each partition. It is stronger than `endingOffsets`."),
    Option("endingOffsets", "latest", '`latest`, or for each partition the offset behind the last one: `{"orders": {"0": 50, "1": -1}}`.'),
    Option("failOnDataLoss", "true", "Fail if records that are to be read are gone (deleted, expired, truncated); with `false` a warning is logged, and what is there is read."),
    Option("includeHeaders", "false", "Add the column `headers`."),
    Option("maxOffsetsPerTrigger", "", "Read about so many offsets in one micro-batch, of each partition in proportion to what it has."),
    Option("minOffsetsPerTrigger", "", "Wait until there are so many offsets, but no longer than `maxTriggerDelay`."),
    Option("maxTriggerDelay", "15m", "How long `minOffsetsPerTrigger` may hold back a micro-batch."),
    Option("minPartitions", "", "Cut the ranges of large partitions until there are about so many tasks."),
    Option("maxRecordsPerPartition", "", "Cut ranges into tasks of at most so many offsets."),
    Option("pushFilters", "false", "Let filters on topic, partition, offset and timestamp reach the reader, so that less is fetched; in batches, with `spark.sql.python.filterPushdown.enabled`. Spark keeps the filters with what `load()` gave: load the topic anew for each query, and for each side of a join or union, or one gets the filters of another."),
    Option("fetchOffset.numRetries", "3", "How often the end of a partition is asked for that seems to lie before what was read, until that is taken for true."),
    Option("fetchOffset.retryIntervalMs", "1000", "The pause between."),
    Option("kafka.isolation.level", "read_uncommitted", "`read_committed` leaves out what open and aborted transactions wrote."),
    Option("kafka.max.partition.fetch.bytes", "4194304", "How much is asked for at once; a record batch that is larger comes whole."),
    Option("kafka.fetch.max.wait.ms", "500", "How long a broker may wait until there is something to answer with."),
    Option("kafka.check.crcs", "true", "Check the checksum of each record batch."),
    Option("kafka.*", "", "Other properties of Kafka's clients, such as `kafka.request.timeout.ms`, `kafka.default.api.timeout.ms` (how long brokers may be away) and `kafka.client.id`."),
    Option("kafka.group.id", "", "Accepted: no consumer group is used."),
    Option("groupIdPrefix", "", "Accepted: no consumer group is used."),
    Option("kafkaConsumer.pollTimeoutMs", "", "Accepted: how long brokers may be away is `kafka.default.api.timeout.ms`."),
    Option("value.format", "binary", "Decode values: `avro`, `json`, `protobuf` or `string`; or leave them `binary`."),
    Option("key.format", "binary", "The same for keys."),
    Option("schema.registry.url", "", "The schema registry, `http://host:port`."),
    Option("schema.registry.basic.auth.user.info", "", "`name:password` for the registry."),
    Option("basic.auth.user.info", "", "The same by its shorter name."),
    Option("schema.registry.timeout.ms", "60000", "How long the registry may be away."),
    Option("value.subject", "<topic>-value", "The subject whose schema the column has."),
    Option("key.subject", "<topic>-key", "The same for keys."),
    Option("value.schema.version", "latest", "The version of it, which is found once, when the query is defined."),
    Option("key.schema.version", "latest", "The same for keys."),
    Option("value.message", "", "The message of a Protobuf schema that values are, by name; the first of it if not given."),
    Option("key.message", "", "The same for keys."),
    Option("error.record", "false", "With `on.error=column`: the column `error` also has the record itself, as `timestamp`, `key` and `value` (bytes)."),
    Option("report", "", "A directory, by path or URI, in which each task leaves a file when it has read its range: how many records, how many bad ones, and the last `streamTime`, as JSON."),
    Option("streamTime", "", "Add the column `streamTime`: the largest event time, in milliseconds, of the record and of those before it that the task reads of the partition. The event time is `timestamp`, or a field of the value, such as `value.ordered_at` (timestamp, or milliseconds as bigint)."),
    Option("on.error", "fail", "What is done about a record that cannot be decoded: `fail`; `column`: nulls, and the reason in the column `error`; `drop`: it is left out, and the task logs how many were."),
)  # fmt: skip

_NAMES: Final = {option.name.lower(): option.name for option in OPTIONS}
_OF_SPARK: Final = frozenset(["path", "serialization.format"])
"""What Spark itself adds for a table in its catalogue."""

_REFUSED: Final = {
    "auto.offset.reset": "give startingOffsets: Spark, not a consumer, keeps the offsets",
    "key.deserializer": "give key.format, or decode the column `key`",
    "value.deserializer": "give value.format, or decode the column `value`",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "interceptor.classes": "there is no Java consumer here that could run them",
}
_TIME: Final = re.compile(r"(\d{1,15})\s*(us|ms|s|m|min|h|d)?")
_MILLISECONDS: Final = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class OnError(Enum):
    FAIL = "fail"
    COLUMN = "column"
    DROP = "drop"


class NoMatch(Enum):
    """What to do if no record is as late as a time."""

    ERROR = "error"
    LATEST = "latest"


class Subscribed(NamedTuple):
    topics: tuple[str, ...]


class Matching(NamedTuple):
    pattern: str


class Assigned(NamedTuple):
    partitions: tuple[TopicPartition, ...]


Selection = Subscribed | Matching | Assigned


class Everywhere(NamedTuple):
    """EARLIEST or LATEST in every partition."""

    place: int


class AtOffsets(NamedTuple):
    """Numbers, EARLIEST or LATEST."""

    offsets: Offsets


class AtTime(NamedTuple):
    timestamp: int


class AtTimes(NamedTuple):
    timestamps: Offsets


Place = Everywhere | AtOffsets | AtTime | AtTimes


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceOptions:
    """What was asked for, checked as far as it can be without asking a broker."""

    properties: ClientProperties
    selection: Selection
    starting: Place | None
    ending: Place | None
    no_match: NoMatch
    fail_on_data_loss: bool
    include_headers: bool
    push_filters: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    limits: Limits
    offset_retries: int
    offset_retry_interval_ms: int
    isolation: Isolation
    key_format: str | None
    value_format: str | None
    on_error: OnError
    error_record: bool
    stream_time: str | None
    report: str | None
    given: Mapping[str, str] = field(repr=False)
    """By lower-case names."""

    def for_stream(self) -> "SourceOptions":
        """Raises InvalidOption for what only a batch has."""
        if self.ending is not None:
            raise InvalidOption(
                "endingOffsets, endingOffsetsByTimestamp and endingTimestamp are for batches (spark.read): a stream "
                "has no end; the trigger availableNow stops at what is there"
            )
        return self

    def for_batch(self) -> "SourceOptions":
        """Raises InvalidOption for what only a stream has."""
        starting, ending = self.starting, self.ending
        if starting == Everywhere(LATEST) or (isinstance(starting, AtOffsets) and LATEST in starting.offsets.values()):
            raise InvalidOption("startingOffsets cannot be latest (-1) in a batch: there is nothing behind it to read")
        if ending == Everywhere(EARLIEST) or (isinstance(ending, AtOffsets) and EARLIEST in ending.offsets.values()):
            raise InvalidOption("endingOffsets cannot be earliest (-2): there is nothing before it to read")
        return self


def source_options(given: Mapping[str, str]) -> SourceOptions:
    """The options by their names in any case. Raises InvalidOption."""
    options = _Given({name.lower(): value for name, value in given.items()})
    options.refuse_unknown()
    minimum = options.number("minOffsetsPerTrigger", lowest=1)
    maximum = options.number("maxOffsetsPerTrigger", lowest=1)
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InvalidOption(f"minOffsetsPerTrigger={minimum} is more than maxOffsetsPerTrigger={maximum}")
    return SourceOptions(
        properties=_properties(options),
        selection=_selection(options),
        starting=_place(options, "starting"),
        ending=_place(options, "ending"),
        no_match=options.choice("startingOffsetsByTimestampStrategy", NoMatch, NoMatch.ERROR),
        fail_on_data_loss=options.flag("failOnDataLoss", default=True),
        include_headers=options.flag("includeHeaders", default=False),
        push_filters=options.flag("pushFilters", default=False),
        max_offsets_per_trigger=maximum,
        min_offsets_per_trigger=minimum,
        max_trigger_delay_ms=_max_trigger_delay_ms(options),
        limits=Limits(
            min_partitions=options.number("minPartitions", lowest=1),
            max_records_per_partition=options.number("maxRecordsPerPartition", lowest=1),
        ),
        offset_retries=options.number_or(3, "fetchOffset.numRetries"),
        offset_retry_interval_ms=options.number_or(1000, "fetchOffset.retryIntervalMs"),
        isolation=options.choice("kafka.isolation.level", Isolation, Isolation.READ_UNCOMMITTED),
        key_format=_format(options, "key"),
        value_format=_format(options, "value"),
        on_error=options.choice("on.error", OnError, OnError.FAIL),
        error_record=options.flag("error.record", default=False),
        stream_time=options.text("streamTime") or None,
        report=options.text("report") or None,
        given=options.values,
    )


class _Given:
    """What was given, by lower-case names; each method raises InvalidOption naming the option."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def refuse_unknown(self) -> None:
        for name in self.values:
            if name in _NAMES or name in _OF_SPARK or name.startswith(KAFKA):
                continue
            close = difflib.get_close_matches(name, _NAMES, n=3)
            choices = ", ".join(_NAMES[each] for each in close or _NAMES)
            asked = "did you mean" if close else "the options are"
            raise InvalidOption(f'there is no option {name!r} of a read with format("stoker"); {asked}: {choices}')

    def text(self, name: str) -> str | None:
        value = self.values.get(name.lower())
        return value.strip() if value is not None else None

    def parsed(self, name: str, parse: Callable[[str], T]) -> T | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise InvalidOption(f"{name}={text}: {error}") from None

    def number(self, name: str, *, lowest: int) -> int | None:
        def parse(text: str) -> int:
            if not re.fullmatch(r"\d{1,18}", text) or int(text) < lowest:
                raise ValueError(f"it takes a whole number from {lowest} on")
            return int(text)

        return self.parsed(name, parse)

    def number_or(self, default: int, name: str) -> int:
        found = self.number(name, lowest=0)
        return default if found is None else found

    def flag(self, name: str, *, default: bool) -> bool:
        def parse(text: str) -> bool:
            if text.lower() not in ("true", "false"):
                raise ValueError("it takes true or false")
            return text.lower() == "true"

        found = self.parsed(name, parse)
        return default if found is None else found

    def choice(self, name: str, choices: type[Choice], default: Choice) -> Choice:
        def parse(text: str) -> Choice:
            try:
                return choices(text.lower())
            except ValueError:
                raise ValueError(f"it takes {_one_of([each.value for each in choices])}") from None

        return self.parsed(name, parse) or default


def _properties(options: _Given) -> ClientProperties:
    given = {name.removeprefix(KAFKA): value for name, value in options.values.items() if name.startswith(KAFKA)}
    if not given.get(BOOTSTRAP_SERVERS, "").strip():
        raise InvalidOption(
            f"the option {KAFKA}{BOOTSTRAP_SERVERS} is missing: it says where the brokers are, as in localhost:9092"
        )
    for name, instead in _REFUSED.items():
        if name in given:
            raise InvalidOption(f"{KAFKA}{name} cannot be given: {instead}")
    try:
        properties = client_properties(given=given)
        fetch_settings(properties)
        return properties
    except InvalidClientProperty as error:
        raise InvalidOption(f"{KAFKA}{error}") from None


def _selection(options: _Given) -> Selection:
    ways: dict[str, Callable[[str], Selection]] = {
        "subscribe": _subscribed,
        "subscribePattern": _matching,
        "assign": lambda text: Assigned(_some(parse_partitions(text))),
    }
    found = {name: options.parsed(name, parse) for name, parse in ways.items()}
    selections = [selection for selection in found.values() if selection is not None]
    if len(selections) != 1:
        given = " and ".join(name for name, selection in found.items() if selection is not None)
        what = f"{given} cannot be given together" if given else "it is not said which topics to read"
        raise InvalidOption(f"{what}: give one of {', '.join(ways)}")
    return selections[0]


def _subscribed(text: str) -> Subscribed:
    return Subscribed(_some(tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))))


def _matching(text: str) -> Matching:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"it is no regular expression ({error})") from None
    return Matching(_some(text))


def _some(found: T) -> T:
    if not found:
        raise ValueError("it names no topic")
    return found


def _place(options: _Given, which: Literal["starting", "ending"]) -> Place | None:
    """By Spark's order: one time for all, times, offsets."""
    timestamp = options.number(f"{which}Timestamp", lowest=0)
    if timestamp is not None:
        return AtTime(timestamp)
    timestamps = options.parsed(f"{which}OffsetsByTimestamp", parse_offsets)
    if timestamps is not None:
        return AtTimes(timestamps)
    return options.parsed(f"{which}Offsets", _offsets)


def _offsets(text: str) -> Place:
    if text.lower() in ("earliest", "latest"):
        return Everywhere(EARLIEST if text.lower() == "earliest" else LATEST)
    try:
        return AtOffsets(parse_offsets(text, lowest=EARLIEST))
    except MalformedOffsets as error:
        raise ValueError(f'it takes earliest, latest or JSON such as {{"orders": {{"0": 23}}}}; {error}') from None


def _format(options: _Given, side: Side) -> str | None:
    """None for what stays binary."""
    text = options.text(f"{side}.format") or BINARY
    if text.lower() not in FORMATS:
        raise InvalidOption(f"{side}.format={text}: it takes {_one_of(FORMATS)}")
    return text.lower() if text.lower() != BINARY else None


def _max_trigger_delay_ms(options: _Given) -> int:
    found = options.parsed("maxTriggerDelay", _milliseconds)
    return _milliseconds("15m") if found is None else found


def _milliseconds(text: str) -> int:
    match = _TIME.fullmatch(text.lower())
    if match is None:
        raise ValueError("it takes a time such as 500ms, 30s, 15m or 1h")
    return int(int(match[1]) * _MILLISECONDS[match[2] or "ms"])


def _one_of(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}"
