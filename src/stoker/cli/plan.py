"""`stoker plan`: how many brokers, partitions and executors a load needs, by which formula."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from stoker.capacity import ImpossiblePlan, Load, Machines, Plan, planned
from stoker.capacity.figure import Figure
from stoker.capacity.machines import SOURCES
from stoker.capacity.measured import WORK
from stoker.capacity.options import option, shown_field
from stoker.cli.choices import choices
from stoker.cli.durations import parse_duration_ms
from stoker.cli.failure import wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, print_json, print_table
from stoker.cli.quantities import parse_bytes, parse_event_rate, parse_rate, parse_throughput

application = noun("plan", "Work out brokers, partitions, disks, network and executors for a load.")

FOREVER: Final = "forever"
_REMARK_WIDTH: Final = 118


@application.command(
    epilog=examples(
        "stoker plan --throughput 100MB/s --retention 7d",
        "stoker plan --throughput 200000events/s --record-size 500B --peak 3 --compression 4 --consumers 3",
        "stoker plan --throughput 5MB/s --retention forever --keys 10000000 --state-keys 10000000",
        "stoker plan --throughput 1MB/s --replication-factor 1 --failures 0 --json",
    )
)
def plan(
    throughput: Annotated[
        str,
        typer.Option(
            "--throughput",
            metavar="RATE",
            help="What producers send on average, before compression: 100MB/s, 100MiB/s, 50GB/d, 200000events/s.",
        ),
    ],
    record_size: Annotated[
        str, typer.Option("--record-size", metavar="SIZE", help="Key and value of a record, on average.")
    ] = "1KB",
    peak: Annotated[
        float, typer.Option("--peak", min=1, metavar="FACTOR", help="The highest rate over the average.")
    ] = 1.0,
    compression: Annotated[
        float,
        typer.Option("--compression", min=1, metavar="RATIO", help="Bytes before compression over bytes after it."),
    ] = 1.0,
    retention: Annotated[
        str,
        typer.Option("--retention", metavar="TIME", help="How long records stay: 7d, 12h; forever with --keys."),
    ] = "7d",
    keys: Annotated[
        int | None,
        typer.Option("--keys", min=1, metavar="N", help="Keys of compacted topics, with --retention forever."),
    ] = None,
    topics: Annotated[
        int, typer.Option("--topics", min=1, metavar="N", help="Topics that share the load equally.")
    ] = 1,
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", min=1, metavar="N", help="Copies of each partition.")
    ] = 3,
    failures: Annotated[
        int,
        typer.Option(
            "--failures", min=0, metavar="N", help="Brokers, executors, registries down while the peak is carried."
        ),
    ] = 1,
    consumers: Annotated[
        int, typer.Option("--consumers", min=0, metavar="N", help="Groups that each read everything.")
    ] = 1,
    group_size: Annotated[
        int, typer.Option("--group-size", min=1, metavar="N", help="Consumers at work in the largest group.")
    ] = 1,
    headroom: Annotated[
        float,
        typer.Option("--headroom", min=1, metavar="FACTOR", help="Plan rates this many times as high as the peak."),
    ] = 2.0,
    target_producer_rate: Annotated[
        str, typer.Option("--target-producer-rate", metavar="RATE", help="What one partition can be written with.")
    ] = "10MB/s",
    target_consumer_rate: Annotated[
        str,
        typer.Option("--target-consumer-rate", metavar="RATE", help="What the slowest consumer does of one partition."),
    ] = "50MB/s",
    partitions_per_broker: Annotated[
        int, typer.Option("--partitions-per-broker", min=1, metavar="N", help="Replicas that one broker may have.")
    ] = 4000,
    broker_disk: Annotated[
        str, typer.Option("--broker-disk", metavar="SIZE", help="The largest disk that a broker may have.")
    ] = "16TB",
    broker_write: Annotated[
        str, typer.Option("--broker-write", metavar="RATE", help="What a broker's disks take.")
    ] = "125MB/s",
    broker_network: Annotated[
        str, typer.Option("--broker-network", metavar="RATE", help="A broker's network, each way.")
    ] = "200MB/s",
    broker_memory: Annotated[
        str, typer.Option("--broker-memory", metavar="SIZE", help="A broker's memory; 6 GB of it are heap.")
    ] = "32GB",
    broker_cores: Annotated[int, typer.Option("--broker-cores", min=1, metavar="N", help="A broker's cores.")] = 4,
    work: Annotated[
        str, typer.Option("--work", metavar="KIND", help=f"What Spark does with a record: {', '.join(WORK)}.")
    ] = "streams",
    spark_core_rate: Annotated[
        str | None,
        typer.Option(
            "--spark-core-rate", metavar="RATE", help="Measured by you, in place of --work: 50000events/s for one core."
        ),
    ] = None,
    executor_cores: Annotated[
        int, typer.Option("--executor-cores", min=1, metavar="N", help="Cores of one executor of Spark.")
    ] = 4,
    state_keys: Annotated[
        int,
        typer.Option("--state-keys", min=0, metavar="N", help="Keys, or keys times windows, that streams remember."),
    ] = 0,
    state_bytes: Annotated[
        str, typer.Option("--state-bytes", metavar="SIZE", help="What streams remember of each.")
    ] = "100B",
    sources: Annotated[
        bool, typer.Option("--sources", help="Also print what was assumed, and where the defaults come from.")
    ] = False,
    json: Json = False,
) -> None:
    """Work out brokers, partitions, disks, network, memory and executors for a load: each number with its formula, and which
    demand decides it. Nothing is connected to."""
    record_bytes = parse_bytes("--record-size", record_size)
    try:
        made = planned(
            Load(
                throughput=parse_throughput("--throughput", throughput, record_bytes),
                record_bytes=record_bytes,
                peak=peak,
                compression=compression,
                retention_seconds=_retention_seconds(retention, keys),
                keys=keys,
                topics=topics,
                replication_factor=replication_factor,
                failures=failures,
                consumers=consumers,
                group_size=group_size,
                state_keys=state_keys,
                state_bytes=parse_bytes("--state-bytes", state_bytes),
            ),
            Machines(
                headroom=headroom,
                partition_write=parse_rate("--target-producer-rate", target_producer_rate),
                partition_read=parse_rate("--target-consumer-rate", target_consumer_rate),
                partitions_per_broker=partitions_per_broker,
                broker_disk=parse_bytes("--broker-disk", broker_disk),
                broker_write=parse_rate("--broker-write", broker_write),
                broker_network=parse_rate("--broker-network", broker_network),
                broker_memory=parse_bytes("--broker-memory", broker_memory),
                broker_cores=broker_cores,
                work=_work(work),
                core_rate=None if spark_core_rate is None else parse_event_rate("--spark-core-rate", spark_core_rate),
                executor_cores=executor_cores,
            ),
        )
    except ImpossiblePlan as error:
        wrong_usage(str(error))
    if json:
        print_json(_document(made))
        return
    print_table(("PART", "WHAT", "NUMBER", "DECIDED BY", "FORMULA"), _rows(made))
    print()
    for remark in made.remarks:
        print(textwrap.fill(remark, _REMARK_WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False))
    if sources:
        print()
        print_table(("ASSUMED", "VALUE", "SOURCE OF THE DEFAULT"), _assumed(made))


def _retention_seconds(text: str, keys: int | None) -> float | None:
    if text.strip().lower() == FOREVER:
        if keys is None:
            wrong_usage(
                "--retention forever: what keeps everything outgrows any disk; give the number of --keys of a compacted topic, "
                "or a time such as 7d"
            )
        return None
    if keys is not None:
        wrong_usage(f"--keys {keys}: only a compacted topic is as large as its keys; give --retention forever with it")
    seconds = parse_duration_ms("--retention", text) / 1000
    if not seconds:
        wrong_usage(f"--retention {text}: must be more than 0; write 7d, 12h, or forever with --keys")
    return seconds


def _work(text: str) -> str:
    chosen = choices("--work", text, WORK)
    if len(chosen) != 1:
        wrong_usage(f"--work {text}: choose one of {', '.join(WORK)}")
    return chosen[0]


def _rows(made: Plan) -> Iterator[tuple[str, ...]]:
    part = None
    for each in made.figures:
        yield ("" if each.part == part else each.part, each.name, each.shown, each.decided_by or "", each.formula)
        part = each.part
        for demand in each.demands:
            yield ("", f"  {demand.name}", f"  {demand.count:,}", "", f"  {demand.formula}")


def _assumed(made: Plan) -> Iterator[tuple[str, str, str]]:
    given = asdict(made.load) | asdict(made.machines)
    return ((option(name), shown_field(name, given[name]), source) for name, source in SOURCES.items())


def _document(made: Plan) -> dict[str, Any]:
    return {
        "load": asdict(made.load),
        "machines": asdict(made.machines),
        "figures": [_figure(each) for each in made.figures],
        "remarks": made.remarks,
        "sources": SOURCES,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "part": figure.part,
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit.value,
        "decided_by": figure.decided_by,
        "formula": figure.formula,
        "demands": [asdict(each) for each in figure.demands],
    }
