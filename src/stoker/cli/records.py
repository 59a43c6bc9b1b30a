"""`stoker records`: delete records from the start of partitions."""

from pathlib import Path
from typing import Annotated

import typer

from stoker.cli.completion import complete_topics
from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, print_json, print_table
from stoker.cli.partition_scope import partitions_in
from stoker.client.admin.offsets import UNKNOWN_OFFSET, ListedOffset, list_offsets_of
from stoker.client.admin.records import HIGH_WATERMARK, delete_records
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode

application = noun("records", "Delete records from the start of partitions.")


@application.callback()
def records() -> None:
    """Delete records from the start of partitions."""


@application.command(
    epilog=examples(
        "stoker records delete orders --all",
        "stoker records delete orders:0,1 --before-offset 500 --yes",
        "stoker records delete orders --before-datetime 2026-02-01",
        "stoker records delete --offset-json-file offsets.json",
    )
)
def delete(
    partitions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC[:0,1]", help="Topics, or some of their partitions.", autocompletion=complete_topics
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All records that are there now.")] = False,
    before_offset: Annotated[
        int | None, typer.Option("--before-offset", min=0, metavar="N", help="Records before this offset.")
    ] = None,
    before_datetime: Annotated[
        str | None,
        typer.Option("--before-datetime", metavar="TIME", help="Records before a time: 2026-02-01T12:30 (UTC), -7d."),
    ] = None,
    offset_json_file: Annotated[
        Path | None,
        typer.Option("--offset-json-file", metavar="FILE", help="What to delete, in the form of Kafka's own tool."),
    ] = None,
    yes: Yes = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Delete records for good: partitions then begin at a later offset."""
    chosen = [all_, before_offset is not None, before_datetime is not None, offset_json_file is not None]
    if sum(chosen) != 1:
        wrong_usage("give one of --all, --before-offset, --before-datetime, --offset-json-file")
    if bool(partitions) == (offset_json_file is not None):
        wrong_usage("name topics, or give --offset-json-file, which names them itself")
    timestamp = None if before_datetime is None else _timestamp(before_datetime)
    with connect(bootstrap_server, command_config) as cluster:
        if offset_json_file is not None:
            before = _from_json(cluster, offset_json_file)
        elif timestamp is not None:
            before = _before(cluster, partitions_in(cluster, partitions or []), timestamp)
        else:
            offset = HIGH_WATERMARK if before_offset is None else before_offset
            before = dict.fromkeys(partitions_in(cluster, partitions or []), offset)
        confirm(_question(before), yes=yes)
        results = delete_records(cluster, before)
    deleted = {partition: low for partition, low in results.items() if isinstance(low, int)}
    if json:
        print_json([{**partition._asdict(), "earliest": low} for partition, low in deleted.items()])
    elif deleted:
        print_table(("TOPIC", "PARTITION", "EARLIEST"), [(*partition, low) for partition, low in deleted.items()])
    refused = [_explained(each, why) for each, why in results.items() if not isinstance(why, int)]
    if refused:
        raise CommandFailed(f"not deleted: {'; '.join(refused)}")


def _timestamp(text: str) -> int:
    import time

    from stoker.cli.moments import MalformedMoment, parse_moment

    try:
        return max(0, parse_moment(text, time.time_ns() // 1_000_000))  # below 0 are the protocol's special values
    except MalformedMoment as error:
        wrong_usage(f"--before-datetime: {error}")


def _before(cluster: Cluster, partitions: list[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
    """The first offset that stays; where no record is as late as that, all go."""
    before = {}
    for partition, found in list_offsets_of(cluster, partitions, timestamp).items():
        if not isinstance(found, ListedOffset):
            raise CommandFailed(f"the offsets of {partition} are not known: {found}")
        before[partition] = HIGH_WATERMARK if found.offset == UNKNOWN_OFFSET else found.offset
    return before


def _from_json(cluster: Cluster, path: Path) -> dict[TopicPartition, int]:
    """`{"partitions": [{"topic": "orders", "partition": 0, "offset": 500}], "version": 1}`."""
    import json

    try:
        given = json.loads(path.read_bytes())
        before = {
            TopicPartition(str(each["topic"]), int(each["partition"])): int(each["offset"])
            for each in given["partitions"]
        }
    except OSError as error:
        raise CommandFailed(f"--offset-json-file {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        form = '{"partitions": [{"topic": "orders", "partition": 0, "offset": 500}], "version": 1}'
        raise CommandFailed(f"--offset-json-file {path} has not the form {form}") from error
    partitions_in(cluster, [f"{each.topic}:{each.partition}" for each in before])
    return before


def _explained(partition: TopicPartition, refused: KafkaRefused) -> str:
    if refused.error_code is not ErrorCode.POLICY_VIOLATION:
        return f"{partition}: {refused}"
    return (
        f"{partition}: the cleanup.policy of topic {partition.topic!r} has no 'delete' ({refused.error_code.name}); "
        f"`stoker configs alter --topic {partition.topic} --append cleanup.policy=delete` adds it, "
        "and then retention.ms and retention.bytes delete records too"
    )


def _question(before: dict[TopicPartition, int]) -> str:
    shown = [f"{each} before {'the end' if offset == HIGH_WATERMARK else offset}" for each, offset in before.items()]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return f"Delete the records of {', '.join(shown[:5])}{more}?"
