"""`kafka-run-class.sh kafka.tools.GetOffsetShell ...`: a tool by the name of its Java class, of this Kafka or an older one."""

import sys
from collections.abc import Sequence
from typing import Final

from stoker.kafka_tools.table import TOOLS

_USAGE: Final = "USAGE: kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]"
_SWITCHES: Final = ("-daemon", "-loggc")


def main(arguments: Sequence[str]) -> int:
    rest = list(arguments)
    while rest and rest[0] in (*_SWITCHES, "-name"):  # of the JVM, which there is none of
        del rest[: 2 if rest[0] == "-name" else 1]
    if not rest:
        print(_USAGE)
        return 1
    from stoker.kafka_tools.running import run

    name, *rest = rest
    if not any(name in tool.classes for tool in TOOLS.values()):
        known = "\n  ".join(sorted(java_class for tool in TOOLS.values() for java_class in tool.classes))
        print(f"Error: Could not find or load main class {name}", file=sys.stderr)
        print(f"Caused by: java.lang.ClassNotFoundException: {name}", file=sys.stderr)
        print(f"The classes that Stoker has:\n  {known}", file=sys.stderr)
        return 1
    return run(name, rest)
