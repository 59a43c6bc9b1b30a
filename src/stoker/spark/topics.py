"""Which partitions there are to read, and where they begin and end: what is asked of the brokers to plan a batch."""

import difflib
import logging
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from stoker.client.admin.offsets import READ_COMMITTED, READ_UNCOMMITTED, UNKNOWN_OFFSET, list_offsets
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, as_error_code
from stoker.client.fetching import Isolation
from stoker.client.topic_partition import TopicPartition
from stoker.spark.errors import InvalidOption
from stoker.spark.offsets import Offsets, shown
from stoker.spark.options import (
    EARLIEST,
    LATEST,
    Assigned,
    AtOffsets,
    AtTime,
    AtTimes,
    Everywhere,
    Matching,
    NoMatch,
    Place,
    SourceOptions,
    Subscribed,
)
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.wire.messages.metadata import MetadataResponseTopic

_LOGGER: Final = logging.getLogger(__name__)

_LOOKS_FOR_MISSING: Final = 3
"""How often a topic or partition is looked for until it is taken to be gone: a broker that just started may not know it."""

_GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Topics:
    """The topics that a query reads; opens connections when it is first asked, and is to be closed.

    Brokers that are away are waited for as long as `default.api.timeout.ms` says. Every method raises ClientError then.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster = Cluster(options.properties, on_retry=lambda reason: _LOGGER.warning("asking again: %s", reason))
        self._isolation_level = READ_COMMITTED if options.isolation is Isolation.READ_COMMITTED else READ_UNCOMMITTED

    def close(self) -> None:
        self._cluster.close()

    def partitions(self, expected: Iterable[TopicPartition] | None = None) -> list[TopicPartition]:
        """The selected partitions that are there; the `expected` ones, or all that were named, are looked for more than once."""
        wanted: set[TopicPartition | str] = set(expected) if expected is not None else self._named()
        found: list[TopicPartition] = []
        for look, attempt in enumerate(self._cluster.attempts(), start=1):
            topics = self._described()
            found = self._select(topics)
            settling = [topic for topic in topics if _is_settling(topic)]
            there = {*found, *(each.topic for each in found)}
            missing = not wanted.issubset(there) and look < _LOOKS_FOR_MISSING
            if attempt.is_last or not (settling or missing):
                _raise_if_withheld(topics if not isinstance(self._options.selection, Matching) else [])
                break
        return found

    def existing_partitions(self) -> list[TopicPartition]:
        """The same to begin with. Raises InvalidOption if a topic or partition that was named is not there."""
        selection = self._options.selection
        found = self.partitions()
        if isinstance(selection, Subscribed):
            missing_topics = set(selection.topics) - {each.topic for each in found}
            if missing_topics:
                raise InvalidOption(f"subscribe: {self._not_there(missing_topics)}")
        elif isinstance(selection, Assigned):
            missing = set(selection.partitions) - set(found)
            if missing:
                raise InvalidOption(f"assign: there is no partition {shown(missing)}")
        return found

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where they begin; without those that are gone."""
        return self._ask(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where they end, for a reader of this isolation level; without those that are gone."""
        return self._ask(dict.fromkeys(partitions, LATEST))

    def ends(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The same for a reader of any: what open transactions have written is before it."""
        return self._ask(dict.fromkeys(partitions, LATEST), isolation_level=READ_UNCOMMITTED)

    def resolve(self, place: Place, partitions: list[TopicPartition], *, is_start: bool) -> Offsets:
        """The place as numbers, for each of the partitions. Raises InvalidOption."""
        if isinstance(place, Everywhere):
            return self._ask(dict.fromkeys(partitions, place.place))
        if isinstance(place, AtOffsets):
            self._must_name_each(place.offsets, partitions, "Offsets", is_start)
            open_ones = {partition: offset for partition, offset in place.offsets.items() if offset < 0}
            return place.offsets | self._ask(open_ones)
        if isinstance(place, AtTimes):
            self._must_name_each(place.timestamps, partitions, "OffsetsByTimestamp", is_start)
            return self._at_times(place.timestamps, is_start=is_start)
        assert isinstance(place, AtTime)
        return self._at_times(dict.fromkeys(partitions, place.timestamp), is_start=is_start)

    def first_at(self, timestamp: int, partitions: Iterable[TopicPartition]) -> Offsets:
        """Before these offsets every record is older; the end where none is as late."""
        found = self._ask(dict.fromkeys(partitions, timestamp))
        return found | self.latest(partition for partition, offset in found.items() if offset == UNKNOWN_OFFSET)

    def _at_times(self, timestamps: Offsets, *, is_start: bool) -> Offsets:
        found = self._ask(timestamps)
        unmatched = [partition for partition, offset in found.items() if offset == UNKNOWN_OFFSET]
        if unmatched and is_start and self._options.no_match is NoMatch.ERROR:
            raise InvalidOption(
                f"no record is as late as the starting time in {shown(unmatched)}; "
                "startingOffsetsByTimestampStrategy=latest begins at the end there"
            )
        return found | self.latest(unmatched)

    def _must_name_each(self, named: Offsets, partitions: list[TopicPartition], option: str, is_start: bool) -> None:
        option = ("starting" if is_start else "ending") + option
        missing, extra = set(partitions) - set(named), set(named) - set(partitions)
        if missing:
            raise InvalidOption(f"{option} must name every partition that is read; missing: {shown(missing)}")
        if extra:
            raise InvalidOption(f"{option} names what is not there or not selected: {shown(extra)}")

    def _named(self) -> set[TopicPartition | str]:
        selection = self._options.selection
        if isinstance(selection, Subscribed):
            return set(selection.topics)
        return set(selection.partitions) if isinstance(selection, Assigned) else set()

    def _described(self) -> "list[MetadataResponseTopic]":
        selection = self._options.selection
        if isinstance(selection, Matching):
            return self._cluster.metadata().topics
        if isinstance(selection, Subscribed):
            return self._cluster.metadata(selection.topics).topics
        return self._cluster.metadata(sorted({each.topic for each in selection.partitions})).topics

    def _select(self, topics: "list[MetadataResponseTopic]") -> list[TopicPartition]:
        selection = self._options.selection
        pattern = re.compile(selection.pattern) if isinstance(selection, Matching) else None
        there = [
            TopicPartition(topic.name or "", partition.partition_index)
            for topic in topics
            if pattern is None or (pattern.fullmatch(topic.name or "") and not topic.is_internal)
            for partition in topic.partitions
        ]
        return sorted(set(there).intersection(selection.partitions) if isinstance(selection, Assigned) else there)

    def _ask(self, wanted: Mapping[TopicPartition, int], isolation_level: int | None = None) -> Offsets:
        """Offsets of the partitions that are there. A leader that is missing is waited for."""
        if isolation_level is None:
            isolation_level = self._isolation_level
        found: Offsets = {}
        pending = dict(wanted)
        refusals: dict[TopicPartition, KafkaRefused] = {}
        for look, attempt in enumerate(self._cluster.attempts() if wanted else (), start=1):
            refusals = {}
            answers = list_offsets(self._cluster, pending, isolation_level=isolation_level)
            for partition, answer in answers.items():
                if isinstance(answer, KafkaRefused):
                    refusals[partition] = answer
                else:
                    found[partition] = answer.offset
            if look >= _LOOKS_FOR_MISSING:
                refusals = {each: refusal for each, refusal in refusals.items() if refusal.error_code not in _GONE}
            pending = {partition: wanted[partition] for partition in refusals}
            if attempt.is_last or any(not refusal.error_code.retriable for refusal in refusals.values()) or not pending:
                break
        for partition, refusal in refusals.items():
            raise KafkaRefused(refusal.error_code, f"where partition {partition} begins and ends: {refusal.message}")
        return found

    def _not_there(self, missing: set[str]) -> str:
        names = {topic.name or "" for topic in self._cluster.metadata().topics if not topic.is_internal}
        first = min(missing)
        close = difflib.get_close_matches(first, names, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "create it first, or give a subscribePattern"
        return f"there is no topic {', '.join(map(repr, sorted(missing)))}; {hint}"


def _is_settling(topic: "MetadataResponseTopic") -> bool:
    """Whether a topic tells an error that passes, as one without a leader yet."""
    code = as_error_code(topic.error_code)
    return bool(code) and code not in _GONE and code.retriable


def _raise_if_withheld(topics: "list[MetadataResponseTopic]") -> None:
    for topic in topics:
        if topic.error_code and as_error_code(topic.error_code) not in _GONE:
            refused = KafkaRefused(topic.error_code)
            raise KafkaRefused(refused.error_code, f"topic {topic.name!r}: {refused.message}")
