"""`stoker broker`: a Kafka-compatible broker in the foreground.

Its options are read by argparse: importing Typer takes about as long as the broker needs to be ready.
"""

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING

from stoker.broker.config.errors import ConfigError
from stoker.broker.config.listeners import listener_at
from stoker.broker.config.server_properties import load_broker_config, parse_overrides, report
from stoker.broker.event_loop import new_event_loop
from stoker.broker.server import Server
from stoker.cli.logging import FORMATS, LEVELS, configure_logging
from stoker.errors import StokerError

if TYPE_CHECKING:
    from stoker.broker.config.broker_config import BrokerConfig

logger = getLogger("stoker.broker")

_GARBAGE_THRESHOLDS = (20_000, 10, 10)
"""A fetch of many partitions makes thousands of objects, none of them garbage in the collector's sense."""
_CANNOT_START = 1
_BAD_USAGE = 2


def main(arguments: Sequence[str]) -> int:
    """Run a broker until Ctrl-C or SIGTERM; returns the exit code."""
    options = _parser().parse_args(arguments)
    configure_logging(options.log_format, options.log_level)
    try:
        config = _load(options)
    except ConfigError as error:
        return _failed(error, _BAD_USAGE)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(config))
    except (StokerError, OSError) as error:
        return _failed(error, _CANNOT_START)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stoker broker",
        description="Run a Kafka-compatible broker until Ctrl-C or SIGTERM.",
        epilog="Settings come from the file, then from the other options, which are stronger. Without any, the broker "
        "listens on port 9092 and keeps its data in /tmp/kafka-logs, as Kafka does.",
    )
    add = parser.add_argument
    add("-c", "--config", type=Path, metavar="FILE", help="a server.properties file, with Kafka's names")
    add("-d", "--data-dir", type=_directory, metavar="DIR", help="where the logs are kept; the same as log.dirs")
    add("-l", "--listen", metavar="HOST:PORT", help="the address to serve; port 0 takes a free one")
    add("-o", "--option", action="append", default=[], metavar="KEY=VALUE", help="one setting; may be repeated")
    add("--log-format", choices=FORMATS, default="text", help="how log lines are written (default: text)")
    add("--log-level", choices=LEVELS, default="info", help="what is logged (default: info)")
    return parser


def _directory(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(text)


def _load(options: argparse.Namespace) -> "BrokerConfig":
    overrides = parse_overrides(options.option)
    if options.listen is not None:
        overrides["listeners"] = listener_at(options.listen)
    if options.data_dir is not None:
        overrides["log.dirs"] = str(options.data_dir)
    try:
        loaded = load_broker_config(options.config, overrides)
    except OSError as error:
        raise ConfigError(f"--config {options.config} cannot be read: {error.strerror}") from error
    report(loaded)
    return loaded.config


async def _serve(config: "BrokerConfig") -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ended_by(number: signal.Signals) -> None:
        logger.info("shutting down: %s came", number.name)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended_by, number)
    server = Server(config)
    await server.startup()
    # What start-up made lives as long as this process: the garbage collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    everywhere = " (every interface)" if server.is_on_every_interface else ""
    logger.info("Stoker is ready on %s%s, data in %s", server.bootstrap_servers, everywhere, ",".join(config.log_dirs))
    await stop.wait()
    await server.shutdown()
    logger.info("all logs are on the disk; goodbye")


def _failed(error: Exception, code: int) -> int:
    print(f"stoker broker: {error}", file=sys.stderr)
    return code
