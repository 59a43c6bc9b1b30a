"""`stoker produce`: lines, files or JSON become records."""

import errno
import os
import sys
import time
from contextlib import ExitStack
from functools import partial
from io import UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from stoker.cli.connection import BootstrapServer, CommandConfig, properties_of
from stoker.cli.escapes import unescape
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.interruption import Interruption
from stoker.cli.moments import MalformedMoment, parse_moment
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, print_json, say
from stoker.cli.pace import Pace
from stoker.cli.record_input import (
    ANY_PARTITION,
    NOW,
    MalformedRecord,
    NewRecord,
    Parser,
    Read,
    blocks_of_lines,
    checked_timestamp,
    json_parser,
    line_parser,
    parse_header,
    whole,
)
from stoker.errors import StokerError

if TYPE_CHECKING:
    from stoker.cli.producing import Outcome, Sender

_BLOCK_BYTES: Final = 256 * 1024
_STANDARD_INPUT: Final = Path("-")
_IDLE_SECONDS: Final = 0.5

application = noun("produce", "Write records to a topic.")


@application.command(
    epilog=examples(
        "echo 'hello' | stoker produce greetings",
        "stoker produce orders orders.txt --key-separator :",
        "stoker produce orders --json-lines < orders.jsonl",
        "stoker consume orders --from-beginning --until end --json | stoker produce copy --json-lines",
        "stoker produce images *.png --whole-file --header source=camera",
        "yes tick | stoker produce ticks --rate 10",
    )
)
def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where the records go.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="What is read; - or nothing is standard input.")
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-K", metavar="TEXT", help="Lines are KEY TEXT VALUE; \\t is a tab."),
    ] = None,
    parse_headers: Annotated[
        bool, typer.Option("--parse-headers", help="Lines begin with NAME:VALUE,NAME:VALUE and a tab.")
    ] = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json-lines", help="Lines are JSON objects: value, and if wanted key, headers, partition, timestamp."
        ),
    ] = False,
    whole_file: Annotated[bool, typer.Option("--whole-file", help="Each file is one record.")] = False,
    null_value: Annotated[
        str | None, typer.Option("--null-value", metavar="TEXT", help="A value (or key) that is TEXT is null.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", metavar="TEXT", help="The key of every record.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header of every record; repeatable."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", metavar="N", min=0, help="The partition of every record.")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", metavar="TIME", help="The time of every record: 2026-02-01T12:30, -2h, ..."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="No more than N records a second, evenly spread.")
    ] = None,
    compression: Annotated[
        Literal["none", "gzip", "snappy", "lz4", "zstd"] | None,
        typer.Option("--compression", "-z", show_default="none", help="How batches are compressed."),
    ] = None,
    acks: Annotated[
        Literal["all", "1", "0"] | None,
        typer.Option(
            "--acks", show_default="all", help="Who must have a record: all replicas in sync, the leader, nobody."
        ),
    ] = None,
    producer_property: Annotated[
        list[str] | None,
        typer.Option(
            "--producer-property", "-X", metavar="NAME=VALUE", help="A property of Kafka's producer; repeatable."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write records to a topic: one a line, from files or standard input.

    A record that comes twice by a fault is written once (the producer is idempotent), and equal keys go to the partition
    where Kafka's own producer puts them. Ctrl-C sends what was read, says how much that was, and exits with 130.
    """
    template = _template(key, header or [], partition, timestamp)
    parser = _parser(template, key_separator, parse_headers, json_lines, whole_file, null_value)
    if rate is not None and rate <= 0:
        wrong_usage("--rate must be more than 0")
    properties = properties_of(bootstrap_server, command_config)

    from stoker.cli.producing import Progress, Sender
    from stoker.cli.record_client import explained, parse_property

    _check_readable(files or [])
    own = dict(map(parse_property, producer_property or []))
    own |= {name: value for name, value in {"compression.type": compression, "acks": acks}.items() if value is not None}
    with Interruption() as interruption, explained():
        sources = files or [_STANDARD_INPUT]
        is_typed = _STANDARD_INPUT in sources and sys.stdin.isatty()
        progress = Progress(wanted=sys.stderr.isatty() and not is_typed)
        pace = None if rate is None else Pace(rate, time.monotonic)
        sender = Sender(properties, own, topic=topic, pace=pace, interruption=interruption, progress=progress)
        sender.find_topic(template.partition)
        failure: StokerError | None = None
        try:
            _send(sender, sources, template, parser, whole_file, interruption)
        except StokerError as error:
            failure = error  # what was read before it is sent all the same
        outcome = sender.finish()
        progress.clear()
    _report(topic, outcome, json)
    if failure is not None:
        raise failure
    if outcome.failures and not interruption:
        raise CommandFailed(_failures(outcome))
    if outcome.failures:
        say(_failures(outcome))
    raise typer.Exit(interruption.exit_code)


# Options ------------------------------------------------------------------------------------------------------------


def _template(key: str | None, headers: list[str], partition: int | None, timestamp: str | None) -> NewRecord:
    """What the command line says of every record."""
    try:
        return NewRecord(
            None,
            None if key is None else key.encode("utf-8", "surrogateescape"),
            tuple([parse_header(header) for header in headers]),
            ANY_PARTITION if partition is None else partition,
            NOW if timestamp is None else checked_timestamp(parse_moment(timestamp, _now_ms())),
        )
    except (MalformedRecord, MalformedMoment) as error:
        wrong_usage(str(error))


def _parser(
    template: NewRecord,
    key_separator: str | None,
    parse_headers: bool,
    json_lines: bool,
    whole_file: bool,
    null_value: str | None,
) -> Parser | None:
    """What a line means; None if it is the value as it stands."""
    of_a_line = [
        name
        for name, given in {
            "--key-separator": key_separator is not None,
            "--parse-headers": parse_headers,
            "--json-lines": json_lines,
        }.items()
        if given
    ]
    if whole_file and of_a_line:
        wrong_usage(f"--whole-file and {of_a_line[0]} exclude each other: a file that is one record has no lines")
    if json_lines and (len(of_a_line) > 1 or null_value is not None):
        wrong_usage("--json-lines says all of a record: it excludes --key-separator, --parse-headers and --null-value")
    if key_separator is not None and template.key is not None:
        wrong_usage("--key and --key-separator exclude each other: the key is in the line or it is not")
    if key_separator == "":
        wrong_usage("--key-separator is empty")
    if json_lines:
        return json_parser(template, now_ms=_now_ms)
    if not of_a_line and null_value is None:
        return None
    return line_parser(
        template,
        key_separator=None if key_separator is None else unescape(key_separator),
        with_headers=parse_headers,
        null=None if null_value is None else unescape(null_value),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# Input --------------------------------------------------------------------------------------------------------------


def _check_readable(files: list[Path]) -> None:
    """Before anything is sent: half of the records of several files help nobody."""
    for path in files:
        if path == _STANDARD_INPUT:
            continue
        try:
            path.stat()
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None


def _send(
    sender: "Sender",
    files: list[Path],
    template: NewRecord,
    parser: Parser | None,
    whole_file: bool,
    interruption: Interruption,
) -> None:
    for path in files:
        with ExitStack() as stack:
            read = _reader(path, stack, sender, interruption)
            blocks = whole(read) if whole_file else blocks_of_lines(read)
            if parser is None:
                sender.send_values(blocks, template)
            else:
                sender.send_parsed(blocks, parser, partial(_place, path))
        if interruption:
            return


def _place(path: Path, line: int) -> str:
    return f"line {line} of {'standard input' if path == _STANDARD_INPUT else path}"


def _reader(path: Path, stack: ExitStack, sender: "Sender", interruption: Interruption) -> Read:
    """Gives what there is to read as soon as it is there."""
    try:
        if path == _STANDARD_INPUT:
            descriptor = sys.stdin.fileno()
            if sys.stdin.isatty():
                say("One record a line; Ctrl-D ends.")
        else:
            descriptor = stack.enter_context(path.open("rb", buffering=0)).fileno()
    except UnsupportedOperation:  # standard input is no file: this command runs inside another program
        return partial(sys.stdin.buffer.read, _BLOCK_BYTES)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None

    def read() -> bytes | None:
        while not interruption.wait_until_readable(descriptor, _IDLE_SECONDS):
            if interruption:
                return None
            sender.look_around()
        try:
            return os.read(descriptor, _BLOCK_BYTES)
        except OSError as error:
            raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None

    return read


# The end ------------------------------------------------------------------------------------------------------------


def _report(topic: str, outcome: "Outcome", json: bool) -> None:
    if json:
        print_json(
            {
                "topic": topic,
                "produced": outcome.produced,
                "failed": outcome.failed,
                "seconds": round(outcome.seconds, 3),
            }
        )
        return
    records = "1 record" if outcome.produced == 1 else f"{outcome.produced} records"
    say(f"produced {records} to {topic} ({outcome.seconds:.1f} s)")


def _failures(outcome: "Outcome") -> str:
    reasons = sorted(outcome.failures.items(), key=lambda reason: -reason[1])
    if len(reasons) == 1:
        return f"{outcome.failed} of {outcome.read} records were not delivered: {reasons[0][0]}"
    listed = "; ".join(f"{count}: {reason}" for reason, count in reasons)
    return f"{outcome.failed} of {outcome.read} records were not delivered: {listed}"
