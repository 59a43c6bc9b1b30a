"""How Kafka's tools tell of an exception: the message, then the stack trace, of which only the first line is of use here."""

import sys
import time

from stoker.kafka_tools.failure import JavaError


def print_thrown(error: JavaError, *, before: str = "") -> int:
    """On stderr; returns the exit code, 1."""
    sys.stdout.flush()
    print(f"{before}{error.message}", file=sys.stderr)
    print(error.described, file=sys.stderr)
    return 1


def log_error(text: str, logger: str) -> None:
    _log("ERROR", text, logger)


def log_warning(text: str, logger: str) -> None:
    _log("WARN", text, logger)


def _log(level: str, text: str, logger: str) -> None:
    """A line as log4j writes it with the settings that come with Kafka's tools, on stderr."""
    now = time.time()
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    sys.stdout.flush()
    print(f"[{moment},{int(now * 1000) % 1000:03d}] {level} {text} ({logger})", file=sys.stderr)
