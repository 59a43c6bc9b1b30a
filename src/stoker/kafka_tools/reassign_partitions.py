"""kafka-reassign-partitions.sh: generate, execute, verify, cancel and list moves of replicas."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from stoker.client.errors import ClientError
from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect, load_properties
from stoker.kafka_tools.failure import JavaError, UsageAsked, VersionAsked, java_error
from stoker.kafka_tools.options import Option, OptionParser, Options
from stoker.kafka_tools.reassignment_json import InvalidReassignment, read_reassignment
from stoker.kafka_tools.reassignments import TerseFailure, cancel, execute, generate, list_moves, verify

_HELP: Final = "This tool helps to move topic partitions between replicas."
_NO_THROTTLE: Final = -1


class _Known(NamedTuple):
    verify: Option[str]
    generate: Option[str]
    execute: Option[str]
    cancel: Option[str]
    list: Option[str]
    bootstrap_server: Option[str]
    command_config: Option[str]
    reassignment_json_file: Option[str]
    topics_to_move_json_file: Option[str]
    broker_list: Option[str]
    bootstrap_controller: Option[str]
    disable_rack_aware: Option[str]
    throttle: Option[int]
    replica_alter_log_dirs_throttle: Option[int]
    timeout: Option[int]
    additional: Option[str]
    preserve_throttles: Option[str]
    disallow_replication_factor_change: Option[str]


def main(arguments: Sequence[str]) -> int:
    parser = OptionParser()
    known = _declared(parser)
    options = parser.parse(arguments)
    options.print_help_or_version(_HELP)
    _check(parser, options, known)
    try:
        _run(options, known)
    except (UsageAsked, VersionAsked):
        raise
    except TerseFailure as failure:
        print(failure)
        return 1
    except (ClientError, JavaError, InvalidReassignment) as failure:
        thrown = _thrown(failure)
        if isinstance(failure, ClientError):
            print(f"Error: {thrown.described}\njava.util.concurrent.ExecutionException: {thrown.described}\n")
        else:
            print(f"Error: {thrown.message}\n{thrown.described}\n")
        return 1
    return 0


def _thrown(failure: StokerError) -> JavaError:
    if isinstance(failure, InvalidReassignment):
        return JavaError(failure.java_class, str(failure))
    return java_error(failure)


def _run(options: Options, known: _Known) -> None:
    if options.has(known.bootstrap_controller):
        raise TerseFailure(
            "--bootstrap-controller is not supported here: give --bootstrap-server, which every broker answers."
        )
    config = options.value(known.command_config)
    properties = {"client.id": "reassign-partitions-tool"} | ({} if config is None else load_properties(config))
    with connect(options.value(known.bootstrap_server), properties) as cluster:
        if options.has(known.list):
            list_moves(cluster)
            return
        if options.has(known.generate):
            topics = _read(options.text(known.topics_to_move_json_file))
            with_racks = not options.has(known.disable_rack_aware)
            generate(cluster, topics, options.text(known.broker_list), with_racks=with_racks)
            return
        file = read_reassignment(_read(options.text(known.reassignment_json_file)))
        if options.has(known.verify):
            verify(cluster, file, keep_throttles=options.has(known.preserve_throttles))
        elif options.has(known.cancel):
            cancel(
                cluster,
                file,
                keep_throttles=options.has(known.preserve_throttles),
                timeout_ms=options.integer(known.timeout),
            )
        else:
            execute(
                cluster,
                file,
                additional=options.has(known.additional),
                throttle=options.integer(known.throttle),
                log_dirs_throttle=options.integer(known.replica_alter_log_dirs_throttle),
                timeout_ms=options.integer(known.timeout),
                allow_replication_factor_change=not options.has(known.disallow_replication_factor_change),
            )
        sys.stdout.flush()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise JavaError("java.io.IOException", f"Unable to read file {path}") from None


def _check(parser: OptionParser, options: Options, known: _Known) -> None:
    actions = (known.generate, known.execute, known.verify, known.cancel, known.list)
    given = [action for action in actions if options.has(action)]
    if len(given) != 1:
        names = ", ".join(f"--{action.names[0]}" for action in actions)
        raise parser.usage(f"Command must include exactly one action: {names}")
    (action,) = given
    has_server, has_controller = options.has(known.bootstrap_server), options.has(known.bootstrap_controller)
    if has_server and has_controller:
        raise parser.usage("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not has_server and not has_controller:
        raise parser.usage("Please specify either --bootstrap-server or --bootstrap-controller")
    required: tuple[Option[str], ...] = (known.reassignment_json_file,)
    if action is known.generate:
        required = (known.topics_to_move_json_file, known.broker_list)
    elif action is known.list:
        required = ()
    options.require(*required)
    server = known.bootstrap_server if has_server else known.bootstrap_controller
    permitted: dict[int, tuple[Option[str] | Option[int], ...]] = {
        id(known.verify): (known.bootstrap_server, known.preserve_throttles),
        id(known.generate): (known.bootstrap_server, known.disable_rack_aware),
        id(known.execute): (
            known.additional,
            known.bootstrap_server,
            known.throttle,
            known.replica_alter_log_dirs_throttle,
            known.timeout,
            known.disallow_replication_factor_change,
        ),
        id(known.cancel): (server, known.preserve_throttles, known.timeout),
        id(known.list): (server,),
    }
    allowed = {id(each) for each in (action, known.command_config, *required, *permitted[id(action)])}
    for option in _in_order_given(options, known):
        if id(option) not in allowed:
            raise parser.usage(f'Option "{option}" can\'t be used with action "{action}"')


def _in_order_given(options: Options, known: _Known) -> list[Option[str] | Option[int]]:
    """Kafka complains of the first that was typed."""
    by_name: dict[str, Option[str] | Option[int]] = {option.names[0]: option for option in known}
    typed = [argument.lstrip("-").partition("=")[0] for argument in options.arguments if argument.startswith("-")]
    return [by_name[name] for name in dict.fromkeys(typed) if name in by_name]


def _declared(parser: OptionParser) -> _Known:
    return _Known(
        verify=parser.flag(
            "verify",
            "Verify if the reassignment completed as specified by the --reassignment-json-file option. If there is a "
            "throttle engaged for the replicas specified, and the rebalance has completed, the throttle will be removed",
        ),
        generate=parser.flag(
            "generate",
            "Generate a candidate partition reassignment configuration. Note that this only generates a candidate "
            "assignment, it does not execute it.",
        ),
        execute=parser.flag(
            "execute", "Kick off the reassignment as specified by the --reassignment-json-file option."
        ),
        cancel=parser.flag("cancel", "Cancel an active reassignment."),
        list=parser.flag("list", "List all active partition reassignments."),
        bootstrap_server=parser.option(
            "bootstrap-server",
            "the server(s) to use for bootstrapping.",
            described_as="Server(s) to use for bootstrapping",
            is_argument_optional=True,
        ),
        command_config=parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client.",
            described_as="Admin client property file",
        ),
        reassignment_json_file=parser.option(
            "reassignment-json-file",
            "The JSON file with the partition reassignment configurationThe format to use is - \n"
            '{"partitions":\n\t[{"topic": "foo",\n\t  "partition": 1,\n\t  "replicas": [1,2,3],\n\t  "log_dirs": '
            '["dir1","dir2","dir3"] }],\n"version":1\n}\n'
            'Note that "log_dirs" is optional. When it is specified, its length must equal the length of the replicas '
            'list. The value in this list can be either "any" or the absolution path of the log directory on the '
            "broker. If absolute log directory path is specified, the replica will be moved to the specified log "
            "directory on the broker.",
            described_as="manual assignment json file path",
        ),
        topics_to_move_json_file=parser.option(
            "topics-to-move-json-file",
            "Generate a reassignment configuration to move the partitions of the specified topics to the list of "
            "brokers specified by the --broker-list option. The format to use is - \n"
            '{"topics":\n\t[{"topic": "foo"},{"topic": "foo1"}],\n"version":1\n}',
            described_as="topics to reassign json file path",
        ),
        broker_list=parser.option(
            "broker-list",
            'The list of brokers to which the partitions need to be reassigned in the form "0,1,2". This is required '
            "if --topics-to-move-json-file is used to generate reassignment configuration",
            described_as="brokerlist",
        ),
        bootstrap_controller=parser.option(
            "bootstrap-controller",
            "The controller to use for reassignment. By default, the tool will get the quorum controller. This option "
            "supports the actions --cancel and --list.",
            described_as="bootstrap controller to connect to",
            is_argument_optional=True,
        ),
        disable_rack_aware=parser.flag("disable-rack-aware", "Disable rack aware replica assignment"),
        throttle=parser.number(
            "throttle",
            "The movement of partitions between brokers will be throttled to this value (bytes/sec). This option can "
            "be included with --execute when a reassignment is started, and it can be altered by resubmitting the "
            "current reassignment along with the --additional flag. The throttle rate should be at least 1 KB/s.",
            described_as="throttle",
            default=_NO_THROTTLE,
            is_long=True,
        ),
        replica_alter_log_dirs_throttle=parser.number(
            "replica-alter-log-dirs-throttle",
            "The movement of replicas between log directories on the same broker will be throttled to this value "
            "(bytes/sec). This option can be included with --execute when a reassignment is started, and it can be "
            "altered by resubmitting the current reassignment along with the --additional flag. The throttle rate "
            "should be at least 1 KB/s.",
            described_as="replicaAlterLogDirsThrottle",
            default=_NO_THROTTLE,
            is_long=True,
        ),
        timeout=parser.number(
            "timeout",
            "The maximum time in ms to wait for log directory replica assignment to begin.",
            described_as="timeout",
            default=10_000,
            is_long=True,
        ),
        additional=parser.flag(
            "additional",
            "Execute this reassignment in addition to any other ongoing ones. This option can also be used to change "
            "the throttle of an ongoing reassignment.",
        ),
        preserve_throttles=parser.flag("preserve-throttles", "Do not modify broker or topic throttles."),
        disallow_replication_factor_change=parser.flag(
            "disallow-replication-factor-change",
            "Denies the ability to change a partition's replication factor as part of this reassignment through "
            "adding validation against it.",
        ),
    )
