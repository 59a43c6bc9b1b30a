"""Log lines for a terminal or, as JSON, for a machine; always on stderr."""

import json
import logging
import sys
import time
from typing import Final

FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")


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
    """Write the logs of `stoker` to stderr, in one of FORMATS, from one of LEVELS on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logger = logging.getLogger("stoker")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
