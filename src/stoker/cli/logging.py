"""Log lines for a terminal or, as JSON, for a machine; always on stderr."""

import json
import logging
import sys
import time
from typing import Final

from stoker.errors import StokerError

FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")


class BadLogOption(StokerError):
    """A log format or level there is not."""


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC, ISO 8601), level, logger, message, and the exception if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    default_msec_format = "%s.%03d"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")


def configure_logging(log_format: str, level: str) -> None:
    """Write the logs of `stoker` to stderr. Raises BadLogOption, naming the choices."""
    if log_format not in FORMATS:
        raise BadLogOption(f"--log-format {log_format}: the choices are {', '.join(FORMATS)}")
    if level.lower() not in LEVELS:
        raise BadLogOption(f"--log-level {level}: the choices are {', '.join(LEVELS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logger = logging.getLogger("stoker")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
