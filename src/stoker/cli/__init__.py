"""The command line: `stoker NOUN ...`, one module a noun."""

import os
import sys

_INTERRUPTED = 130


def main() -> None:
    """The `stoker` command."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - until the end
    if "".join(sys.argv[1:2]).startswith("kafka-"):  # Kafka's tools read their options, and print, by themselves
        from stoker.kafka_tools.running import run

        sys.exit(run(sys.argv[1], sys.argv[2:]))
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        if sys.argv[1:2] == ["broker"]:  # ready in a fraction of a second: see stoker.cli.broker
            from stoker.cli.broker import main as broker

            if sys.stdout is None:  # it prints nothing, but no socket may get the number of standard output
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            sys.exit(broker(sys.argv[2:]))
        if sys.stdout is None:
            sys.exit("stoker: standard output is closed")
        from stoker.cli.application import application

        application()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
