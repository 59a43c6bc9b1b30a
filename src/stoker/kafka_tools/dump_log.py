"""kafka-dump-log.sh: what is in segments, indexes and snapshots, of Stoker and of Apache Kafka."""

import sys
from collections.abc import Sequence
from pathlib import Path
from struct import Struct as Layout
from typing import Final, NamedTuple

from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.options import Option, OptionParser, Options
from stoker.kafka_tools.record_json import (
    RecordDecoder,
    Shown,
    decode_metadata,
    decode_offsets,
    decode_transactions,
)
from stoker.wire.record_batch import Record

_HELP: Final = (
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment."
)
_ALL: Final = 2**31 - 1
_STRING_DECODER: Final = "org.apache.kafka.tools.api.StringDecoder"
_NUMBERS: Final = {
    "org.apache.kafka.tools.api.IntegerDecoder": Layout(">i"),
    "org.apache.kafka.tools.api.LongDecoder": Layout(">q"),
}


class _Known(NamedTuple):
    print_data_log: Option[str]
    verify_index_only: Option[str]
    index_sanity_check: Option[str]
    files: Option[str]
    max_message_size: Option[int]
    max_bytes: Option[int]
    deep_iteration: Option[str]
    value_decoder_class: Option[str]
    key_decoder_class: Option[str]
    offsets_decoder: Option[str]
    transaction_log_decoder: Option[str]
    cluster_metadata_decoder: Option[str]
    remote_log_metadata_decoder: Option[str]
    share_group_state_decoder: Option[str]
    skip_record_metadata: Option[str]


def main(arguments: Sequence[str]) -> int:
    parser = OptionParser()
    known = _declared(parser)
    options = parser.parse(arguments)
    options.print_help_or_version(_HELP)
    options.require(known.files)
    from stoker.kafka_tools.log_dumping import LogDump

    decoder = _decoder(options, known)
    logs = LogDump(
        is_deep=options.has(known.deep_iteration) or decoder is not None,
        decoder=decoder,
        with_metadata=not options.has(known.skip_record_metadata),
        max_bytes=options.integer(known.max_bytes),
    )
    indexes = None
    for name in options.text(known.files).split(","):
        path = Path(name)
        print(f"Dumping {path}")
        match path.suffix:
            case ".log" | ".checkpoint":
                logs.print(path)
                continue
            case ".index" | ".timeindex" | ".txnindex" | ".snapshot":
                pass
            case _:
                sys.stdout.flush()
                print(f"Ignoring unknown file {path}", file=sys.stderr)
                continue
        from stoker.kafka_tools.index_dumping import IndexDump, print_producers, print_transactions

        indexes = indexes or IndexDump(options.has(known.index_sanity_check), options.has(known.verify_index_only))
        {
            ".index": indexes.print_offsets,
            ".timeindex": indexes.print_times,
            ".txnindex": print_transactions,
            ".snapshot": print_producers,
        }[path.suffix](path)
    sys.stdout.flush()
    if indexes is not None:
        indexes.print_errors()
    for file, jumps in logs.jumps.items():
        print(f"Non-consecutive offsets in {file}", file=sys.stderr)
        for offset, following in sorted(jumps.items()):
            print(f"  {offset} is followed by {following}", file=sys.stderr)
    return 0


def _decoder(options: Options, known: _Known) -> RecordDecoder | None:
    """None if contents are not to be printed."""
    for option, decoder in (
        (known.offsets_decoder, decode_offsets),
        (known.transaction_log_decoder, decode_transactions),
        (known.cluster_metadata_decoder, decode_metadata),
    ):
        if options.has(option):
            return decoder
    for option in (known.remote_log_metadata_decoder, known.share_group_state_decoder):
        if options.has(option):
            raise JavaError(
                "java.lang.UnsupportedOperationException",
                f"--{option.names[0]} is not supported here: neither remote storage nor share groups are. "
                "--print-data-log shows the bytes.",
            )
    if not any(
        options.has(option) for option in (known.print_data_log, known.value_decoder_class, known.key_decoder_class)
    ):
        return None
    key_class, value_class = options.value(known.key_decoder_class), options.value(known.value_decoder_class)

    def decode(record: Record) -> Shown:
        return Shown(
            None if record.key is None else _decoded(key_class or _STRING_DECODER, record.key),
            None if record.value is None else _decoded(value_class or _STRING_DECODER, record.value),
        )

    for name in (key_class, value_class):
        _decoded(name or _STRING_DECODER, b"")
    return decode


def _decoded(decoder: str, data: bytes) -> str:
    if decoder == _STRING_DECODER:
        return data.decode(errors="replace")
    layout = _NUMBERS.get(decoder)
    if layout is None:
        known = ", ".join((_STRING_DECODER, *_NUMBERS))
        raise JavaError(
            "java.lang.RuntimeException",
            f"Failed to load decoder class {decoder}: there is no JVM here. Known are {known}.",
        )
    return str(layout.unpack(data)[0]) if len(data) == layout.size else ""


def _declared(parser: OptionParser) -> _Known:
    return _Known(
        print_data_log=parser.flag(
            "print-data-log",
            "If set, printing the messages content when dumping data logs. Automatically set if any decoder option is "
            "specified.",
        ),
        verify_index_only=parser.flag(
            "verify-index-only", "If set, just verify the index log without printing its content."
        ),
        index_sanity_check=parser.flag(
            "index-sanity-check",
            "If set, just checks the index sanity without printing its content. This is the same check that is "
            "executed on broker startup to determine if an index needs rebuilding or not.",
        ),
        files=parser.option(
            "files",
            "REQUIRED: The comma separated list of data and index log files to be dumped.",
            described_as="file1, file2, ...",
        ),
        max_message_size=parser.number(
            "max-message-size", "Size of largest message.", described_as="size", default=5 * 1024 * 1024
        ),
        max_bytes=parser.number(
            "max-bytes",
            "Limit the amount of total batches read in bytes avoiding reading the whole .log file(s).",
            described_as="size",
            default=_ALL,
        ),
        deep_iteration=parser.flag(
            "deep-iteration",
            "If set, uses deep instead of shallow iteration. Automatically set if print-data-log is enabled.",
        ),
        value_decoder_class=parser.option(
            "value-decoder-class",
            "If set, used to deserialize the messages. This class should implement org.apache.kafka.tools.api.Decoder "
            "trait. Custom jar should be available in kafka/libs directory.",
            default=_STRING_DECODER,
            is_argument_optional=True,
        ),
        key_decoder_class=parser.option(
            "key-decoder-class",
            "If set, used to deserialize the keys. This class should implement org.apache.kafka.tools.api.Decoder "
            "trait. Custom jar should be available in kafka/libs directory.",
            default=_STRING_DECODER,
            is_argument_optional=True,
        ),
        offsets_decoder=parser.flag(
            "offsets-decoder", "If set, log data will be parsed as offset data from the __consumer_offsets topic."
        ),
        transaction_log_decoder=parser.flag(
            "transaction-log-decoder",
            "If set, log data will be parsed as transaction metadata from the __transaction_state topic.",
        ),
        cluster_metadata_decoder=parser.flag(
            "cluster-metadata-decoder", "If set, log data will be parsed as cluster metadata records."
        ),
        remote_log_metadata_decoder=parser.flag(
            "remote-log-metadata-decoder",
            "If set, log data will be parsed as TopicBasedRemoteLogMetadataManager (RLMM) metadata records. Instead, "
            "the value-decoder-class option can be used if a custom RLMM implementation is configured.",
        ),
        share_group_state_decoder=parser.flag(
            "share-group-state-decoder",
            "If set, log data will be parsed as share group state data from the __share_group_state topic.",
        ),
        skip_record_metadata=parser.flag(
            "skip-record-metadata", "Skip metadata when printing records. This flag also skips control records."
        ),
    )
