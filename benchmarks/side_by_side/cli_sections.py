"""The sections of the benchmark of the command line: which tasks, and what is wanted of `stoker`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from side_by_side import command_lines, group_loads, loads, tool_sections
from side_by_side.bench import Bench, Measured, Samples
from side_by_side.command_lines import CommandLine, Cost, Tools
from side_by_side.loads import Values
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.results import Row, Section, Target, at_most

TOPICS = 20
PARTITIONS = 4
RECORDS = 1_000_000
RECORD_BYTES = 100
TOPIC = "lines"
REPEATS = 5
"""A quick command runs so many times in a round, and its median counts."""


def questions(bench: Bench) -> Section:
    """Commands that ask little: what they take is their start."""
    broker, tools = _broker_and_tools(bench)
    for number in range(TOPICS):
        broker.create_topic(f"orders-{number}", PARTITIONS)
    group = group_loads.commit_once(broker, "orders-0", PARTITIONS)
    listed = _ask(bench, "topics list", tools.topics_list(), expected="orders-7")
    described = _ask(bench, "groups describe", tools.groups_describe(group), expected="orders-0")
    return Section(
        title="Questions",
        settings=f"`topics list` beside `kafka-topics.sh --list` and `kcat -L`, with {TOPICS} topics; `groups describe` "
        "beside `kafka-consumer-groups.sh --describe`, of a group with offsets and no members. From exec to exit; a "
        f"round is the median of {REPEATS} runs.",
        rows=[*_rows("topics list", listed, at_most(0.2)), *_rows("groups describe", described, at_most(0.2))],
    )


def records(bench: Bench) -> Section:
    broker, tools = _broker_and_tools(bench)
    count = bench.scaled(RECORDS)
    lines = write_lines(bench.directory / "lines", count)

    def produce(line: CommandLine) -> Measured:
        broker.create_topic(TOPIC, PARTITIONS)
        try:
            cost = command_lines.run(line, standard_input=lines, output=_output(bench))
            _check_count(line, broker.record_count(TOPIC, PARTITIONS), count)
        finally:
            broker.delete_topic(TOPIC)
        return _measured(cost)

    def consume(line: CommandLine) -> Measured:
        cost = command_lines.run(line, output=_output(bench))
        _check_count(line, _output(bench).read_bytes().count(b"\n"), count)
        return _measured(cost)

    produced = bench.alternate("produce", produce, tools.produce(TOPIC), warm_up=False)
    broker.create_topic(TOPIC, PARTITIONS)
    values = Values(size=RECORD_BYTES, codec="none", count=count)
    loads.rdkafka_produce(bench, broker, TOPIC, values, partitions=PARTITIONS)
    consumed = bench.alternate("consume", consume, tools.consume(TOPIC, count), warm_up=False)
    return Section(
        title="Records",
        settings=f"{count:,} records of {RECORD_BYTES} B on {PARTITIONS} partitions, from and to a file, with the defaults "
        "of each tool: `produce` beside `kafka-console-producer.sh` and `kcat -P`, `consume` beside "
        "`kafka-console-consumer.sh --from-beginning` (in a group, as it always is) and `kcat -C`. What arrived is "
        "counted.",
        rows=[*_rows("produce", produced, at_most(1.0)), *_rows("consume", consumed, at_most(1.0))],
    )


SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "questions": questions,
    "records": records,
    "tools": tool_sections.tools,
}


def write_lines(path: Path, count: int) -> Path:
    """A file of `count` different lines of RECORD_BYTES each."""
    with path.open("w") as file:
        for number in range(count):
            text = f'{{"order_id":{number},"customer":"customer-{number * 7919 % 10_007}","note":"paid, express, gift"'
            file.write(text.ljust(RECORD_BYTES - 1)[: RECORD_BYTES - 1] + "}\n")
    return path


def _broker_and_tools(bench: Bench) -> tuple[Peer, Tools]:
    broker = bench.peers[0]
    return broker, Tools(stoker=bench.stoker, class_path=bench.programs.class_path, server=broker.brokers)


def _ask(bench: Bench, what: str, lines: Sequence[CommandLine], *, expected: str) -> Samples:
    def ask(line: CommandLine) -> Measured:
        costs = [command_lines.run(line, output=_output(bench)) for _ in range(REPEATS)]
        if expected not in _output(bench).read_text():
            raise LoadFailed(f"{' '.join(line.words[-4:])} printed nothing of {expected}")
        return {
            "time": median(cost.seconds for cost in costs),
            "CPU": median(cost.cpu_seconds for cost in costs),
        }

    return bench.alternate(what, ask, lines, warm_up=True)


def _output(bench: Bench) -> Path:
    return bench.directory / "output"


def _check_count(line: CommandLine, found: int, wanted: int) -> None:
    if found != wanted:
        raise LoadFailed(f"{line.name}: {found} records instead of {wanted}")


def _measured(cost: Cost) -> Measured:
    return {"time": cost.seconds, "CPU": cost.cpu_seconds}


def _rows(name: str, samples: Samples, target: Target) -> list[Row]:
    return [
        Row(name=f"{name}, {quantity}", unit="s", samples=samples.of(quantity), target=target)
        for quantity in ("time", "CPU")
    ]
