"""The broker's loggers as Kafka's clients see them: a BROKER_LOGGER resource with log4j's level names."""

import logging
from typing import Final

ROOT: Final = "root"
_NAMES: Final = (ROOT, "stoker", "stoker.broker", "stoker.log")
_TO_KAFKA: Final = {
    logging.CRITICAL: "FATAL",
    logging.ERROR: "ERROR",
    logging.WARNING: "WARN",
    logging.INFO: "INFO",
    logging.DEBUG: "DEBUG",
}
_FROM_KAFKA: Final = {name: level for level, name in _TO_KAFKA.items()} | {"TRACE": logging.DEBUG}


def logger_levels() -> dict[str, str]:
    """Each logger with the level in force."""
    return {name: _TO_KAFKA.get(_logger(name).getEffectiveLevel(), "INFO") for name in _NAMES}


def set_logger_level(name: str, level: str | None) -> None:
    """None gives a logger its parent's level."""
    _logger(name).setLevel(logging.NOTSET if level is None else _FROM_KAFKA[level])


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
