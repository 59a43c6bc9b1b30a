"""kafka-consumer-groups.sh --reset-offsets: which partitions, to where, and what is printed of it."""

import csv
import io
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.client.admin.group_offsets import alter_committed_offsets, committed_offsets
from stoker.client.admin.groups import DEAD, EMPTY, describe_group
from stoker.client.admin.offset_targets import Offsets, at_or_after, fitted, offsets_at
from stoker.client.admin.offsets import EARLIEST, LATEST
from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError, java_error
from stoker.kafka_tools.group_actions import parse_partitions
from stoker.kafka_tools.hash_order import partition_order
from stoker.kafka_tools.thrown import log_warning
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.kafka_tools.consumer_groups import Known
    from stoker.kafka_tools.options import OptionParser, Options

_RUNTIME: Final = "java.lang.RuntimeException"
_ERRORS: Final = "org.apache.kafka.common.errors"
_DATE_TIME: Final = re.compile(
    r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)(Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?)"
)
_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WIDTH: Final = 15
_LOGGER: Final = "org.apache.kafka.tools.OffsetsUtils"


def reset(
    cluster: Cluster, group_ids: Sequence[str], parser: "OptionParser", options: "Options", known: "Known"
) -> None:
    """Plan and, with --execute, commit for each group; then print. Raises ClientError, JavaError, UsageAsked."""
    plan = _Reset(cluster, parser, options, known)
    results = {group_id: plan.of_group(group_id) for group_id in dict.fromkeys(group_ids)}
    if options.has(known.export):
        print(_as_csv(results, is_of_one_group=len(options.values(known.group)) == 1))
    else:
        _print(results)


class _Reset:
    """What the options ask for, for one group after the other."""

    def __init__(self, cluster: Cluster, parser: "OptionParser", options: "Options", known: "Known") -> None:
        self._cluster = cluster
        self._parser = parser
        self._options = options
        self._known = known

    def of_group(self, group_id: str) -> Offsets:
        """Where the group goes; a group with members is refused, and stays."""
        try:
            state = describe_group(self._cluster, group_id).state
        except KafkaRefused as refused:
            if refused.error_code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise JavaError(_RUNTIME, f"java.util.concurrent.{_executing(refused)}") from refused
            state = DEAD
        if state not in (EMPTY, DEAD):
            print(
                f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, but the current state "
                f"is {state}."
            )
            return {}
        try:
            offsets = self._planned(group_id, self._scope(group_id))
            if self._options.has(self._known.execute) and not self._options.has(self._known.dry_run) and offsets:
                self._commit(group_id, offsets)
        except KafkaRefused as refused:
            raise java_error(refused) from refused
        return offsets

    def _commit(self, group_id: str, offsets: Offsets) -> None:
        for refused in alter_committed_offsets(self._cluster, group_id, offsets).values():
            if refused is not None:
                raise refused

    def _committed(self, group_id: str) -> Offsets:
        return {each: committed.offset for each, committed in committed_offsets(self._cluster, group_id).items()}

    def _scope(self, group_id: str) -> list[TopicPartition]:
        options, known = self._options, self._known
        if options.has(known.all_topics):
            return list(self._committed(group_id))
        if options.has(known.topic):
            texts = options.values(known.topic)
            found = [partition for text in texts if ":" in text for partition in parse_partitions(text)]
            for topic in self._topics([text for text in texts if ":" not in text]):
                found += [TopicPartition(topic.name, each.partition) for each in topic.partitions]
            return found
        if not options.has(known.from_file):
            raise self._parser.usage("One of the reset scopes should be defined: --all-topics, --topic.")
        return []

    def _topics(self, names: Iterable[str]) -> list[Topic]:
        found = []
        wanted = list(dict.fromkeys(names))
        for topic in describe_topics(self._cluster, wanted) if wanted else ():
            if isinstance(topic, KafkaRefused):
                raise topic
            found.append(topic)
        return found

    def _check(self, partitions: Sequence[TopicPartition]) -> None:
        leaders = {
            TopicPartition(topic.name, each.partition): each.leader
            for topic in self._topics(partition.topic for partition in partitions)
            for each in topic.partitions
        }
        for problem, error, missing in (
            ("do not exist", "UnknownTopicOrPartitionException", [each for each in partitions if each not in leaders]),
            (
                "have no leader",
                "LeaderNotAvailableException",
                [each for each in partitions if leaders.get(each) is None],
            ),
        ):
            if missing:
                listed = ",".join(map(str, missing))
                raise JavaError(f"{_ERRORS}.{error}", f'The partitions "{listed}" {problem}')

    def _planned(self, group_id: str, scope: Sequence[TopicPartition]) -> Offsets:
        self._check(scope)
        cluster, options, known = self._cluster, self._options, self._known
        if options.has(known.to_offset):
            return self._fitted(dict.fromkeys(scope, options.integer(known.to_offset)))
        if options.has(known.to_earliest):
            return offsets_at(cluster, scope, EARLIEST)
        if options.has(known.to_latest):
            return offsets_at(cluster, scope, LATEST)
        if options.has(known.shift_by):
            return self._shifted(scope, self._committed(group_id), options.integer(known.shift_by))
        if options.has(known.to_datetime):
            return self._at(scope, parse_date_time(options.text(known.to_datetime)))
        if options.has(known.by_duration):
            return self._at(scope, _now_ms() - parse_duration_ms(options.text(known.by_duration)))
        if options.has(known.from_file):
            return self._from_file(group_id)
        if options.has(known.to_current):
            committed = self._committed(group_id)
            ends = offsets_at(cluster, [each for each in scope if each not in committed], LATEST)
            return {each: committed[each] if each in committed else ends[each] for each in scope}
        scenarios = ", ".join(map(str, known.scenarios))
        raise self._parser.usage(
            f"Option '{known.reset_offsets}' requires one of the following scenarios: [{scenarios}]"
        )

    def _at(self, scope: Sequence[TopicPartition], timestamp: int) -> Offsets:
        found, late = at_or_after(self._cluster, scope, max(0, timestamp))
        for partition in partition_order(late):
            print(
                f"\nWarn: Partition {partition.partition} from topic {partition.topic} is empty. Falling back to "
                "latest known offset."
            )
        return found

    def _shifted(self, scope: Sequence[TopicPartition], committed: Offsets, count: int) -> Offsets:
        for partition in scope:
            if partition not in committed:
                raise JavaError(
                    ILLEGAL_ARGUMENT,
                    f"Cannot shift offset for partition {partition} since there is no current committed offset",
                )
        return self._fitted({partition: committed[partition] + count for partition in scope})

    def _fitted(self, wanted: Offsets) -> Offsets:
        found = fitted(self._cluster, wanted)
        for partition in partition_order(found):
            asked, offset = found[partition]
            if asked != offset:
                which = "higher than latest" if asked > offset else "lower than earliest"
                log_warning(
                    f"New offset ({asked}) is {which} offset for topic partition {partition}. Value will be set to {offset}",
                    _LOGGER,
                )
        return {partition: offset for partition, (_, offset) in found.items()}

    def _from_file(self, group_id: str) -> Offsets:
        plans = _read_plan(self._options.text(self._known.from_file), self._options.values(self._known.group))
        if group_id not in plans:
            print(f"\nError: No reset plan for group {group_id} found")
            return {}
        return self._fitted(plans[group_id])


def _read_plan(path: str, groups: Sequence[str]) -> dict[str, Offsets]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise JavaError(_RUNTIME, f"java.nio.file.NoSuchFileException: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise JavaError(_RUNTIME, f"java.io.IOException: {path}: {error}") from None
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    plans: dict[str, Offsets] = {}
    for row in rows:
        *group, topic, partition, offset = row if len(row) in (3, 4) else ["", "", "", ""]
        if not (partition.strip().isdigit() and offset.strip().isdigit()) or (not group and len(groups) != 1):
            raise JavaError(
                _RUNTIME,
                f"{path}: {','.join(row)!r} is neither topic,partition,offset nor group,topic,partition,offset",
            )
        name = group[0] if group else groups[0]
        plans.setdefault(name, {})[TopicPartition(topic, int(partition))] = int(offset)
    return plans


def parse_date_time(text: str) -> int:
    """Milliseconds since 1970, as Kafka reads `2026-02-01T00:00:00.000`: UTC where no zone is given. Raises JavaError."""
    date, _, clock = text.partition("T")
    if not clock:
        raise JavaError(
            _RUNTIME,
            "java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
        )
    with_zone = text if any(mark in clock for mark in "+-Z") else f"{text}Z"
    match = _DATE_TIME.match(with_zone)
    try:
        if match is None:
            raise ValueError(date)
        year, month, day, hour, minute, second, milliseconds = (int(match.group(index)) for index in range(1, 8))
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(match))
    except (ValueError, OverflowError):
        raise JavaError(_RUNTIME, f'java.text.ParseException: Unparseable date: "{with_zone}"') from None
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + milliseconds


def _zone(match: re.Match[str]) -> timezone:
    if match["sign"] is None:
        return UTC
    shift = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
    return timezone(-shift if match["sign"] == "-" else shift)


def parse_duration_ms(text: str) -> int:
    """Milliseconds of `PT2H`, `P7D`, `PT1.5S`, as java.time.Duration reads them. Raises JavaError."""
    match = _DURATION.fullmatch(text)
    parts = {name: match[name] for name in ("days", "hours", "minutes", "seconds") if match[name]} if match else {}
    if match is None or not parts or (match["time"] or "").upper() == "T":
        raise JavaError("java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration")
    units = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}
    total = sum(int(number) * units[name] for name, number in parts.items())
    fraction = int((match["fraction"] or "").ljust(9, "0")[:3])
    total += -fraction if (match["seconds"] or "").startswith("-") else fraction
    return -total if match["sign"] == "-" else total


def _print(results: Mapping[str, Offsets]) -> None:
    group_width = max((_WIDTH, *map(len, results)))
    topic_width = max((_WIDTH, *(len(each.topic) for offsets in results.values() for each in offsets)))
    rows: list[tuple[str, str, object, object]] = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")] if results else []
    for group_id, offsets in results.items():
        rows += [
            (group_id, each.topic, each.partition, offset)
            for each in partition_order(offsets)
            for offset in [offsets[each]]
        ]
    for group, topic, partition, offset in rows:
        sys.stdout.write(f"\n{group:<{group_width}} {topic:<{topic_width}} {partition!s:<10} {offset}")
    print()


def _as_csv(results: Mapping[str, Offsets], *, is_of_one_group: bool) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for group_id, offsets in results.items():
        for partition in partition_order(offsets):
            writer.writerow([*(() if is_of_one_group else (group_id,)), *partition, offsets[partition]])
    return file.getvalue()


def _executing(refused: KafkaRefused) -> str:
    return f"ExecutionException: {java_error(refused).described}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
