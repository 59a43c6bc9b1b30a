"""Whether ours prints what Kafka's own tool prints, but for what differs from call to call."""

import re
from typing import Final, NamedTuple

from tests.clients.drivers.java import JavaClients
from tests.kafka_tools.comparison import Ran, original, ours

_TRACE: Final = re.compile(r"^\s+at .*|^Caused by: .*|^\s*\.\.\. \d+ more|^\s+Suppressed: .*")
_USAGE: Final = re.compile(r"usage: .*?(?=\n[\w.-]+:\s+error:)", re.DOTALL)
_SUGGESTION: Final = re.compile(r"\n*Did you mean:.*", re.DOTALL)
_ERROR: Final = re.compile(r"^[\w.-]+:\s+error:", re.MULTILINE)
_MASKS: Final = (
    (re.compile(r"(HighWatermark:|Epoch:|MaxFollowerLagTimeMs:|MaxFollowerLag:)\s+-?\d+"), r"\1 N"),
    (re.compile(r"\b1[78]\d{11}\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"), "TIME"),
    (re.compile(r"(Valid states are: |following scenarios: |takes one of these options: )(.*)"), r"\1CHOICES"),
    (re.compile(r"(takes the following options: )(.*)"), r"\1CHOICES"),
)
"""Times and counts that go on, and sets that Java prints in an order of its own each time."""


_IN_ANY_ORDER: Final = ("kafka-consumer-groups.sh",)


class Pair(NamedTuple):
    kafka: Ran
    ours: Ran


def run_both(java: JavaClients, address: str, script: str, *arguments: str) -> Pair:
    return Pair(original(java, script, *arguments), ours(address, script, *arguments))


def assert_same(java: JavaClients, address: str, script: str, *arguments: str) -> Pair:
    """Output, errors and exit code; returns both as they were."""
    pair = run_both(java, address, script, *arguments)
    in_any_order = script in _IN_ANY_ORDER
    kafkas, our = (comparable(each, in_any_order=in_any_order) for each in pair)
    assert our == kafkas, f"{script} {' '.join(arguments)}\nKafka's: {kafkas}\nours:    {our}"
    return pair


def comparable(ran: Ran, *, in_any_order: bool = False) -> Ran:
    """`in_any_order`: the lines come from a hash table of Java's."""
    output = _masked(ran.output)
    if in_any_order:
        output = "\n".join(sorted(output.splitlines()))
    return Ran(ran.code, output, _masked(ran.normalised().error))


def _masked(text: str) -> str:
    if _ERROR.search(text):  # argparse4j justifies its lines with spaces, and breaks them anywhere
        text = " ".join(_SUGGESTION.sub("", _USAGE.sub("", text)).split()).replace("- ", "-").replace(" -", "-")
    lines = [line.rstrip() for line in text.splitlines() if not _TRACE.match(line)]
    text = "\n".join(lines).strip("\n")
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text
