"""`stoker broker`: a Kafka-compatible broker in the foreground."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stoker.broker.config.broker_config import BrokerConfig

_CANNOT_START = 1
_BAD_USAGE = 2


def broker(
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="A server.properties file, with Kafka's names."),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", "-d", metavar="DIR", help="Where the logs are kept; the same as log.dirs."),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", "-l", metavar="HOST:PORT", help="The address to serve; port 0 takes a free one."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="One setting; may be repeated.")
    ] = None,
    log_format: Annotated[
        str, typer.Option("--log-format", metavar="text|json", help="How log lines are written.")
    ] = "text",
    log_level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error.")
    ] = "info",
) -> None:
    """Run a Kafka-compatible broker until Ctrl-C or SIGTERM.

    Settings come from the file, then from the other options, which are stronger. Without any, the broker listens on
    port 9092 and keeps its data in /tmp/kafka-logs, as Kafka does.
    """
    from stoker.cli.logging import BadLogOption, configure_logging
    from stoker.errors import StokerError

    try:
        configure_logging(log_format, log_level)
    except BadLogOption as error:
        _fail(str(error), _BAD_USAGE)
    try:
        settings = _load(config, data_dir, listen, option or [])
    except (StokerError, OSError) as error:
        _fail(str(error), _BAD_USAGE)
    try:
        _run(settings)
    except (StokerError, OSError) as error:
        _fail(str(error), _CANNOT_START)


def _load(config: Path | None, data_dir: Path | None, listen: str | None, options: list[str]) -> "BrokerConfig":
    from logging import getLogger

    from stoker.broker.config.server_properties import load_broker_config, parse_overrides

    overrides = parse_overrides(options)
    if listen is not None:
        overrides["listeners"] = f"PLAINTEXT://{_host_and_port(listen)}"
    if data_dir is not None:
        overrides["log.dirs"] = str(data_dir)
    loaded = load_broker_config(config, overrides)
    for warning in loaded.warnings:
        getLogger("stoker.broker").warning("%s", warning)
    return loaded.config


def _host_and_port(listen: str) -> str:
    from stoker.errors import StokerError

    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal():
        raise StokerError(f"--listen {listen}: the form is HOST:PORT, such as 127.0.0.1:9092 or :9092")
    # Kafka writes every interface as no host at all, and refuses to advertise 0.0.0.0 to clients.
    return f"{'' if host in ('0.0.0.0', '*') else host}:{port}"


def _run(config: "BrokerConfig") -> None:
    from stoker.broker.event_loop import new_event_loop

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(config))


async def _serve(config: "BrokerConfig") -> None:
    from logging import getLogger

    from stoker.broker.server import Server

    logger = getLogger("stoker.broker")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = Server(config)
    await server.startup()
    addresses = ",".join(f"{host}:{port}" for host, port in server.addresses)
    logger.info("Stoker is ready on %s, data in %s", addresses, ",".join(config.log_dirs))
    await stop.wait()
    logger.info("shutting down")
    await server.shutdown()
    logger.info("all logs are on the disk; goodbye")


def _fail(message: str, code: int) -> None:
    print(f"stoker broker: {message}", file=sys.stderr)
    raise typer.Exit(code)
