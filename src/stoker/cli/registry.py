"""`stoker registry`: a schema registry in the foreground."""

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.cli.logging import FORMATS, LEVELS, configure_logging
from stoker.errors import StokerError
from stoker.registry.config import (
    BOOTSTRAP_SERVERS,
    HANDED_ON,
    InvalidRegistryConfig,
    load_registry_config,
    parse_options,
)
from stoker.settings import definitions
from stoker.settings.current import current_settings
from stoker.settings.errors import InvalidSettings

if TYPE_CHECKING:
    from stoker.registry.config import RegistryConfig
    from stoker.registry.server import RegistryServer

logger = getLogger("stoker.registry")

_CANNOT_START: Final = 1
_BAD_USAGE: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Run a registry until Ctrl-C or SIGTERM; returns the exit code."""
    options = _parser().parse_args(arguments)
    configure_logging(options.log_format, options.log_level)
    try:
        config, without_effect = load_registry_config(options.config, _overrides(options), _defaults)
    except (InvalidRegistryConfig, InvalidSettings) as error:
        return _failed(error, _BAD_USAGE)
    if without_effect:
        logger.warning("these settings have no effect here: %s", ", ".join(without_effect))
    from stoker.broker.event_loop import new_event_loop

    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(config))
    except (StokerError, OSError) as error:
        return _failed(error, _CANNOT_START)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stoker registry",
        description="Run a schema registry until Ctrl-C or SIGTERM.",
        epilog="Settings come from the file, then from the other options, which are stronger. Where none names a cluster, "
        "STOKER_BOOTSTRAP_SERVER or stoker.toml does. Without any, the registry serves port 8081 and keeps its schemas in the "
        "topic _schemas of localhost:9092.",
    )
    add = parser.add_argument
    add(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="the cluster: one broker of it, or more with commas between",
    )
    add("-c", "--config", type=Path, metavar="FILE", help="a schema-registry.properties file, with Confluent's names")
    add(
        "-l",
        "--listen",
        metavar="HOST:PORT",
        help="the address to serve (default: 0.0.0.0:8081); port 0 takes a free one",
    )
    add("--advertised-url", metavar="URL", help="where other instances reach this one, such as http://registry-1:8081")
    add("--auth-file", metavar="FILE", help="users and bcrypt hashes, as `htpasswd -B` writes them: who may ask")
    add("--read-only", action="store_true", help="refuse every write")
    add("-o", "--option", action="append", default=[], metavar="KEY=VALUE", help="one setting; may be repeated")
    add("--log-format", choices=FORMATS, default="text", help="how log lines are written (default: text)")
    add("--log-level", choices=LEVELS, default="info", help="what is logged (default: info)")
    return parser


def _overrides(options: argparse.Namespace) -> dict[str, str]:
    given = {
        BOOTSTRAP_SERVERS: options.bootstrap_server,
        "listeners": options.listen,
        "advertised.url": options.advertised_url,
        "authentication.file": options.auth_file,
        "read.only": "true" if options.read_only else None,
    }
    return parse_options(options.option) | {name: value for name, value in given.items() if value is not None}


def _defaults(bootstrap_servers: str | None) -> dict[str, str]:
    """What variables and stoker.toml say of the cluster."""
    settings = current_settings({definitions.BOOTSTRAP_SERVERS.name: bootstrap_servers})
    handed_on = {name: text for name, text in settings.properties.items() if name.startswith(HANDED_ON)}
    return {BOOTSTRAP_SERVERS: str(settings.bootstrap_servers.text)} | {
        f"kafkastore.{name}": text for name, text in handed_on.items()
    }


async def _serve(config: "RegistryConfig") -> None:
    from stoker.registry.server import RegistryServer

    server = RegistryServer(config)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ended_by(number: signal.Signals) -> None:
        logger.info("shutting down: %s came", number.name)
        stop.set()
        server.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended_by, number)
    starting = asyncio.ensure_future(server.startup())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            _say_ready(server, config)
            await server.serve()
    finally:
        starting.cancel()
        stopping.cancel()
        await server.shutdown()
    logger.info("goodbye")


def _say_ready(server: "RegistryServer", config: "RegistryConfig") -> None:
    gc.collect()
    gc.freeze()  # what start-up made lives as long as this process
    logger.info(
        "the schema registry is ready on %s, schemas in the topic %s of %s",
        server.url,
        config.topic,
        config.bootstrap_servers,
    )


def _failed(error: Exception, code: int) -> int:
    print(f"stoker registry: {error}", file=sys.stderr)
    return code
