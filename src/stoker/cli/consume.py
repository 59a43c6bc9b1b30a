"""`stoker consume`: records become lines."""

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stoker.cli.connection import BootstrapServer, CommandConfig, properties_of
from stoker.cli.escapes import unescape
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.interruption import Interruption
from stoker.cli.moments import MalformedMoment, parse_moment
from stoker.cli.noun import examples, noun
from stoker.cli.output import say
from stoker.cli.record_format import (
    BlockFormatter,
    MalformedFormat,
    columns_format,
    each,
    json_format,
    parse_format,
    value_format,
)
from stoker.cli.record_selection import Selection
from stoker.cli.starting_points import (
    AtOffsets,
    AtTime,
    Beginning,
    End,
    Last,
    MalformedOffset,
    Partition,
    StartingPoint,
    offsets_to_begin_at,
    parse_offset,
)
from stoker.cli.stopping_points import AtEnds, AtMoment, Never, StoppingPoint

if TYPE_CHECKING:
    from stoker.cli.consuming import Output, Reader

application = noun("consume", "Read records from topics.")


@application.command(
    epilog=examples(
        "stoker consume orders",
        "stoker consume orders --from-beginning --until end --json",
        "stoker consume orders --last 10 --show key,timestamp",
        'stoker consume orders --from -2h --grep \'"status": *"failed"\'',
        "stoker consume orders --partition 0 --offset 100 --max 10",
        "stoker consume orders --format '%T %p %o %k %s\\n'",
        "stoker consume orders payments --group audit --from-beginning",
        "stoker consume '^orders-.*' --group audit",
    )
)
def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="What is read; with --group also '^PATTERN'.")],
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    from_beginning: Annotated[
        bool,
        typer.Option("--from-beginning", help="Begin with the oldest record; with --group where nothing is committed."),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="N|P:N,...",
            help="Begin at an offset; -N is N before the end; P:N,... reads those.",
        ),
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Begin at a time: 2026-02-01T12:30 (UTC), -2h, epoch ms."),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            "--last", metavar="N", min=1, help="Begin with the last N records of all partitions, in order of time."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="end|TIME", help="Stop at what is the end now, or before records of that time."
        ),
    ] = None,
    max_records: Annotated[
        int | None, typer.Option("--max", "-n", metavar="N", min=1, help="Stop after N records.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0, help="Stop when no record has come for so long."),
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", metavar="N", min=0, help="Only this partition; repeatable.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", "-g", metavar="NAME", help="Read as a member of this group, and commit what was written."
        ),
    ] = None,
    group_protocol: Annotated[
        Literal["classic", "consumer"] | None,
        typer.Option("--group-protocol", show_default="classic", help="How the members of the group agree (KIP-848)."),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="NAMES", help="Before the value: timestamp,topic,partition,offset,headers,key."),
    ] = None,
    record_format: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", metavar="TEXT", help="As kcat: %t %p %o %T %k %K %s %S %R %h, \\n \\t \\0 \\xNN."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with all there is to know.")] = False,
    null_value: Annotated[
        str | None,
        typer.Option(
            "--null-value", metavar="TEXT", show_default="null; nothing in --format", help="What stands for null."
        ),
    ] = None,
    grep: Annotated[
        str | None, typer.Option("--grep", metavar="PATTERN", help="Only records whose value has a match.")
    ] = None,
    grep_key: Annotated[
        str | None, typer.Option("--grep-key", metavar="PATTERN", help="Only records whose key has a match.")
    ] = None,
    isolation: Annotated[
        Literal["read_uncommitted", "read_committed"] | None,
        typer.Option(
            "--isolation",
            show_default="read_uncommitted",
            help="Whether records of open and aborted transactions count.",
        ),
    ] = None,
    consumer_property: Annotated[
        list[str] | None,
        typer.Option(
            "--consumer-property", "-X", metavar="NAME=VALUE", help="A property of Kafka's consumer; repeatable."
        ),
    ] = None,
) -> None:
    """Read records and write them to standard output, one a line; follow until Ctrl-C.

    Without --group nothing is committed and nobody is disturbed. Ctrl-C is the normal end of following: exit code 0. Where
    --until, --max or --timeout say what the end is, ending before it is exit code 130.
    """
    selection = _selection(grep, grep_key, max_records)
    formatter = _formatter(show, record_format, json, null_value)
    start = _starting_point(from_beginning, offset, from_time, last)
    _check_group(group, topics, start, partition)
    until_ms = None if until is None or until == "end" else _moment("--until", until)
    properties = properties_of(bootstrap_server, command_config)

    from stoker.cli.consuming import Output, Reader, copy_records
    from stoker.cli.record_client import explained, parse_property

    own = dict(map(parse_property, consumer_property or []))
    if "group.id" in own:
        wrong_usage("--consumer-property group.id: --group NAME says which group reads")
    if group is None and "group.id" in properties.given:
        say("group.id of the file is left aside: --group NAME joins a group")
    if group_protocol is not None:
        own["group.protocol"] = group_protocol
    settings = _settings(group, start, isolation, until)
    with Interruption() as interruption, explained():
        reader = Reader(properties, own, settings, group=group, interruption=interruption)
        try:
            stop = _stopping_point(until, until_ms, reader)
            output = Output(formatter)
            if group is not None:
                _join(reader, topics, stop)
            else:
                begins = _begins(reader, topics, partition, start)
                if isinstance(start, Last):
                    _write_last(reader, begins, start.count, selection, output)
                stop.assign(begins)
                reader.read_from(begins)
            copy_records(reader, stop, selection, output, timeout=timeout, mark=group is not None)
        finally:
            reader.close()
    say(_count(selection))
    is_bounded = until is not None or max_records is not None or timeout is not None
    raise typer.Exit(interruption.exit_code if is_bounded else 0)


# Options ------------------------------------------------------------------------------------------------------------


def _selection(grep: str | None, grep_key: str | None, limit: int | None) -> Selection:
    try:
        return Selection(value=grep, key=grep_key, limit=limit)
    except re.error as error:
        wrong_usage(f"{str(error.pattern)!r} is no regular expression: {error}")


def _formatter(show: str | None, text: str | None, json: bool, null_value: str | None) -> BlockFormatter:
    if (show is not None) + (text is not None) + json > 1:
        wrong_usage("--show, --format and --json exclude each other")
    if json and null_value is not None:
        wrong_usage("--null-value and --json exclude each other: JSON has its own null")
    null = None if null_value is None else unescape(null_value)
    try:
        if json:
            return each(json_format)
        if text is not None:
            return each(parse_format(text, null or b""))
        null = b"null" if null is None else null
        if show is not None:
            return each(columns_format([name.strip() for name in show.split(",")], null))
        return value_format(null)
    except MalformedFormat as error:
        wrong_usage(str(error))


def _starting_point(from_beginning: bool, offset: str | None, from_time: str | None, last: int | None) -> StartingPoint:
    if from_beginning + (offset is not None) + (from_time is not None) + (last is not None) > 1:
        wrong_usage("--from-beginning, --offset, --from and --last exclude each other")
    if from_beginning:
        return Beginning()
    if offset is not None:
        try:
            return parse_offset(offset)
        except MalformedOffset as error:
            wrong_usage(f"--offset: {error}")
    if from_time is not None:
        return AtTime(milliseconds=_moment("--from", from_time))
    return End() if last is None else Last(count=last)


def _moment(option: str, text: str) -> int:
    try:
        return parse_moment(text, _now_ms())
    except MalformedMoment as error:
        wrong_usage(f"{option}: {error}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _check_group(
    group: str | None, topics: Sequence[str], start: StartingPoint, partitions: Sequence[int] | None
) -> None:
    if group is None:
        if patterns := [topic for topic in topics if topic.startswith("^")]:
            wrong_usage(f"the pattern {patterns[0]!r} needs --group: only a group learns of topics that come later")
        return
    if partitions:
        wrong_usage("--partition and --group exclude each other: a group shares the partitions out itself")
    if not isinstance(start, Beginning | End):
        wrong_usage(
            "a group begins where it has committed: --group excludes --offset, --from and --last "
            "(stoker groups reset-offsets moves it)"
        )


def _settings(group: str | None, start: StartingPoint, isolation: str | None, until: str | None) -> dict[str, Any]:
    settings: dict[str, Any] = {"isolation.level": isolation or "read_uncommitted"}
    # A partition whose oldest records are deleted while it is read goes on with the oldest that are left.
    settings["auto.offset.reset"] = "latest" if group is not None and isinstance(start, End) else "earliest"
    if until is not None:
        settings["fetch.wait.max.ms"] = 100  # the sooner it is known that a partition has no more
    return settings


# Reading ------------------------------------------------------------------------------------------------------------


def _stopping_point(until: str | None, until_ms: int | None, reader: "Reader") -> StoppingPoint:
    if until_ms is not None:
        return AtMoment(until_ms, _now_ms)
    return Never() if until is None else AtEnds(reader.ends)


def _join(reader: "Reader", topics: Sequence[str], stop: StoppingPoint) -> None:
    reader.partitions([topic for topic in topics if not topic.startswith("^")])  # those that are named must exist
    reader.subscribe(topics, stop)


def _begins(
    reader: "Reader", topics: Sequence[str], numbers: Sequence[int] | None, start: StartingPoint
) -> dict[Partition, int]:
    partitions = reader.partitions(topics)
    if isinstance(start, AtOffsets):
        if numbers:
            wrong_usage("--partition and --offset P:N,... exclude each other: both say what is read")
        numbers = list(start.by_partition)
    if numbers:
        partitions = [_existing(topic, number, partitions) for topic in dict.fromkeys(topics) for number in numbers]
    return offsets_to_begin_at(start, partitions, reader)


def _existing(topic: str, number: int, partitions: Sequence[Partition]) -> Partition:
    if Partition(topic, number) in partitions:
        return Partition(topic, number)
    highest = max(each.number for each in partitions if each.topic == topic)
    there_are = f"partitions 0 to {highest}" if highest else "only partition 0"
    raise CommandFailed(f"topic {topic!r} has no partition {number}; it has {there_are}")


def _write_last(
    reader: "Reader", ends: dict[Partition, int], count: int, selection: Selection, output: "Output"
) -> None:
    from stoker.cli.consuming import last_records

    chosen, _ = selection.choose(last_records(reader, reader.beginnings(ends), ends, count))
    output.write(chosen)


def _count(selection: Selection) -> str:
    consumed = "consumed 1 record" if selection.seen == 1 else f"consumed {selection.seen} records"
    return f"{consumed}, {selection.chosen} of them matched" if selection.is_choosy else consumed
