"""kafka-consumer-groups.sh: list, describe and delete consumer groups, and reset or delete their offsets."""

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError
from stoker.kafka_tools.connection import connect, load_properties
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError, java_error
from stoker.kafka_tools.options import Option, OptionParser, Options

_HELP: Final = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset "
    "consumer group offsets."
)
_NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)
_UNAVAILABLE: Final = "joptsimple.UnavailableOptionException"


class Known(NamedTuple):
    """The options of the tool."""

    bootstrap_server: Option[str]
    group: Option[str]
    topic: Option[str]
    all_topics: Option[str]
    list: Option[str]
    describe: Option[str]
    all_groups: Option[str]
    delete: Option[str]
    timeout: Option[int]
    command_config: Option[str]
    reset_offsets: Option[str]
    delete_offsets: Option[str]
    dry_run: Option[str]
    execute: Option[str]
    export: Option[str]
    to_offset: Option[int]
    from_file: Option[str]
    to_datetime: Option[str]
    by_duration: Option[str]
    to_earliest: Option[str]
    to_latest: Option[str]
    to_current: Option[str]
    shift_by: Option[int]
    members: Option[str]
    verbose: Option[str]
    offsets: Option[str]
    state: Option[str]
    type: Option[str]
    validate_regex: Option[str]

    @property
    def scenarios(self) -> tuple[Option[str] | Option[int], ...]:
        """Where offsets may be reset to."""
        return (
            self.to_offset,
            self.to_datetime,
            self.by_duration,
            self.to_earliest,
            self.to_latest,
            self.to_current,
            self.shift_by,
            self.from_file,
        )


def main(arguments: Sequence[str]) -> int:
    parser = OptionParser()
    known = _declared(parser)
    options = parser.parse(arguments)
    _check_availability(options, known)
    options.print_help_or_version(_HELP)
    _check(parser, options, known)
    actions = (
        known.list,
        known.describe,
        known.delete,
        known.reset_offsets,
        known.delete_offsets,
        known.validate_regex,
    )
    if sum(options.has(action) for action in actions) != 1:
        names = ", ".join(f"--{action.names[0]}" for action in actions)
        raise parser.usage(f"Command must include exactly one action: {names}")
    if options.has(known.validate_regex):
        _validate_regex(options.text(known.validate_regex))
        return 0
    try:
        _run(parser, options, known)
    except JavaError as error:
        if error.java_class == ILLEGAL_ARGUMENT:
            raise parser.usage(error.message) from error
        _print_failure(error)
    except ClientError as error:
        _print_failure(java_error(error), is_wrapped=True)
    return 0  # as Kafka's own: what failed is printed, and the exit code says nothing of it


def _print_failure(error: JavaError, *, is_wrapped: bool = False) -> None:
    message = error.described if is_wrapped else error.message
    print(f"\nError: Executing consumer group command failed due to {message}")
    sys.stdout.flush()
    wrapper = "java.util.concurrent.ExecutionException: " if is_wrapped else ""
    print(f"{wrapper}{error.described}", file=sys.stderr)


def _run(parser: OptionParser, options: Options, known: Known) -> None:
    config = options.value(known.command_config)
    properties = {} if config is None else load_properties(config)
    properties["default.api.timeout.ms"] = str(options.integer(known.timeout))
    with connect(options.value(known.bootstrap_server), properties) as cluster:
        if options.has(known.list):
            _list(cluster, options, known)
        elif options.has(known.describe):
            _describe(cluster, options, known)
        elif options.has(known.delete):
            from stoker.kafka_tools.group_actions import delete_groups

            delete_groups(cluster, _named(cluster, options, known))
        elif options.has(known.delete_offsets):
            from stoker.kafka_tools.group_actions import delete_offsets

            delete_offsets(cluster, options.text(known.group), options.values(known.topic))
        else:
            from stoker.kafka_tools.offset_reset import reset

            reset(cluster, _named(cluster, options, known), parser, options, known)


def _named(cluster: Cluster, options: Options, known: Known) -> list[str]:
    if not options.has(known.all_groups):
        return list(dict.fromkeys(options.values(known.group)))
    from stoker.kafka_tools.group_listing import consumer_groups

    return [group.group_id for group in consumer_groups(cluster)]


def _list(cluster: Cluster, options: Options, known: Known) -> None:
    from stoker.kafka_tools.group_listing import consumer_groups, parse_states, parse_types, print_groups

    with_type, with_state = options.has(known.type), options.has(known.state)
    types = parse_types(options.value(known.type) or "") if with_type else ()
    states = parse_states(options.value(known.state) or "") if with_state else ()
    groups = consumer_groups(cluster, types=types, states=states)
    if with_type or with_state:
        print_groups(groups, with_type=with_type, with_state=with_state)
    else:
        for group in groups:
            print(group.group_id)


def _describe(cluster: Cluster, options: Options, known: Known) -> None:
    from stoker.kafka_tools.group_description import print_members, print_offsets, print_states

    show = print_offsets
    if options.has(known.members):
        show = print_members
    elif options.has(known.state):
        show = print_states
    show(cluster, _named(cluster, options, known), verbose=options.has(known.verbose))


def _validate_regex(pattern: str) -> None:
    """By RE2, whose syntax brokers know: it has no backreferences and does not look around."""
    import re2  # type: ignore[import-untyped]  # it ships without types

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        print(f"The regular expression `{pattern}` is invalid: {error.args[0].decode(errors='replace')}.")
    except UnicodeEncodeError:
        print(f"The regular expression `{pattern}` is invalid: it is not Unicode text.")
    else:
        print(f"The regular expression `{pattern}` is valid.")


def _check_availability(options: Options, known: Known) -> None:
    """Options that are known only beside others."""
    if options.is_help:
        return
    needed: tuple[tuple[Option[str], tuple[Option[str], ...]], ...] = (
        (known.members, (known.describe,)),
        (known.verbose, (known.describe,)),
        (known.offsets, (known.describe,)),
        (known.state, (known.describe, known.list)),
        (known.type, (known.list,)),
    )
    for option, others in needed:
        if options.has(option) and not any(options.has(other) for other in others):
            raise JavaError(
                _UNAVAILABLE, f"Option(s) [{option.names[0]}] are unavailable given other options on the command line"
            )


def _check(parser: OptionParser, options: Options, known: Known) -> None:
    if not options.has(known.validate_regex):
        options.require(known.bootstrap_server)
    has_scope = options.has(known.group) or options.has(known.all_groups)
    scopes = f"{known.group}, {known.all_groups}"
    if options.has(known.describe):
        if not has_scope:
            raise parser.usage(f"Option {known.describe} takes one of these options: {scopes}")
        views = (known.members, known.offsets, known.state)
        if sum(options.has(view) for view in views) > 1:
            listed = ", ".join(map(str, views))
            raise parser.usage(f"Option {known.describe} takes at most one of these options: {listed}")
        if options.has(known.state) and options.value(known.state) is not None:
            raise parser.usage(f"Option {known.describe} does not take a value for {known.state}")
    if options.has(known.delete):
        if not has_scope:
            raise parser.usage(f"Option {known.delete} takes one of these options: {scopes}")
        if options.has(known.topic):
            raise parser.usage("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.has(known.delete_offsets) and not (options.has(known.group) and options.has(known.topic)):
        raise parser.usage(f"Option {known.delete_offsets} takes the following options: {known.group}, {known.topic}")
    if options.has(known.reset_offsets):
        if options.has(known.dry_run) and options.has(known.execute):
            raise parser.usage(f"Option {known.reset_offsets} only accepts one of {known.execute} and {known.dry_run}")
        if not options.has(known.dry_run) and not options.has(known.execute):
            print(_NO_ACTION, file=sys.stderr)
        if not has_scope:
            raise parser.usage(f"Option {known.reset_offsets} takes one of these options: {scopes}")
        for scenario in known.scenarios:
            options.forbid(scenario, *(other for other in known.scenarios if other is not scenario))
    options.forbid(known.group, known.all_groups)
    options.forbid(known.group, known.list)
    options.forbid(known.topic, known.list, known.describe)


def _declared(parser: OptionParser) -> Known:
    return Known(
        bootstrap_server=parser.option(
            "bootstrap-server",
            "The server(s) to connect to. REQUIRED for all options except for --validate-regex.",
            described_as="server to connect to",
        ),
        group=parser.option("group", "The consumer group we wish to act on.", described_as="consumer group"),
        topic=parser.option(
            "topic",
            "The topic whose consumer group information should be deleted or topic whose should be included in the "
            "reset offset process. In `reset-offsets` case, partitions can be specified using this format: "
            "`topic1:0,1,2`, where 0,1,2 are the partition to be included in the process. Reset-offsets also supports "
            "multiple topic inputs.",
            described_as="topic",
        ),
        all_topics=parser.flag("all-topics", "Consider all topics assigned to a group in the `reset-offsets` process."),
        list=parser.flag("list", "List all consumer groups."),
        describe=parser.flag(
            "describe",
            "Describe consumer group and list offset lag (number of messages not yet processed) related to given group.",
        ),
        all_groups=parser.flag("all-groups", "Apply to all consumer groups."),
        delete=parser.flag(
            "delete",
            "Pass in groups to delete topic partition offsets and ownership information over the entire consumer "
            "group. For instance --group g1 --group g2",
        ),
        timeout=parser.number(
            "timeout",
            "The timeout that can be set for some use cases. For example, it can be used when describing the group to "
            "specify the maximum amount of time in milliseconds to wait before the group stabilizes (when the group is "
            "just created, or is going through some changes).",
            described_as="timeout (ms)",
            default=30_000,
            is_long=True,
        ),
        command_config=parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client and Consumer.",
            described_as="command config property file",
        ),
        reset_offsets=parser.flag(
            "reset-offsets",
            "Reset offsets of consumer group. Supports one consumer group at the time, and instances should be "
            "inactive\n"
            "Has 2 execution options: --dry-run (the default) to plan which offsets to reset, and --execute to update "
            "the offsets. Additionally, the --export option is used to export the results to a CSV format.\n"
            "You must choose one of the following reset specifications: --to-datetime, --by-duration, --to-earliest, "
            "--to-latest, --shift-by, --from-file, --to-current, --to-offset.\n"
            "To define the scope use --all-topics or --topic. One scope must be specified unless you use "
            "'--from-file'.",
        ),
        delete_offsets=parser.flag(
            "delete-offsets",
            "Delete offsets of consumer group. Supports one consumer group at the time, and multiple topics.",
        ),
        dry_run=parser.flag(
            "dry-run",
            "Only show results without executing changes on Consumer Groups. Supported operations: reset-offsets.",
        ),
        execute=parser.flag("execute", "Execute operation. Supported operations: reset-offsets."),
        export=parser.flag("export", "Export operation execution to a CSV file. Supported operations: reset-offsets."),
        to_offset=parser.number(
            "to-offset", "Reset offsets to a specific offset.", described_as="offset", is_long=True
        ),
        from_file=parser.option(
            "from-file", "Reset offsets to values defined in CSV file.", described_as="path to CSV file"
        ),
        to_datetime=parser.option(
            "to-datetime",
            "Reset offsets to offset from datetime. Format: 'YYYY-MM-DDThh:mm:ss.sss'",
            described_as="datetime",
        ),
        by_duration=parser.option(
            "by-duration",
            "Reset offsets to offset by duration from current timestamp. Format: 'PnDTnHnMnS'",
            described_as="duration",
        ),
        to_earliest=parser.flag("to-earliest", "Reset offsets to earliest offset."),
        to_latest=parser.flag("to-latest", "Reset offsets to latest offset."),
        to_current=parser.flag("to-current", "Reset offsets to current offset."),
        shift_by=parser.number(
            "shift-by",
            "Reset offsets shifting current offset by 'n', where 'n' can be positive or negative.",
            described_as="number-of-offsets",
            is_long=True,
        ),
        members=parser.flag(
            "members",
            "Describe members of the group. This option may be used with '--describe' and '--bootstrap-server' options "
            "only.\nExample: --bootstrap-server localhost:9092 --describe --group group1 --members",
        ),
        verbose=parser.flag(
            "verbose",
            "Provide additional information, if any, when describing the group. This option may be used with "
            "'--offsets'/'--members'/'--state' and '--bootstrap-server' options only.\n"
            "Example: --bootstrap-server localhost:9092 --describe --group group1 --members --verbose",
        ),
        offsets=parser.flag(
            "offsets",
            "Describe the group and list all topic partitions in the group along with their offset lag. This is the "
            "default sub-action of and may be used with '--describe' and '--bootstrap-server' options only.\n"
            "Example: --bootstrap-server localhost:9092 --describe --group group1 --offsets",
        ),
        state=parser.option(
            "state",
            "When specified with '--describe', includes the state of the group.\n"
            "Example: --bootstrap-server localhost:9092 --describe --group group1 --state\n"
            "When specified with '--list', it displays the state of all groups. It can also be used to list groups "
            "with specific states.\n"
            "Example: --bootstrap-server localhost:9092 --list --state stable,empty\n"
            "This option may be used with '--describe', '--list' and '--bootstrap-server' options only.",
            is_argument_optional=True,
        ),
        type=parser.option(
            "type",
            "When specified with '--list', it displays the types of all the groups. It can also be used to list groups "
            "with specific types.\n"
            "Example: --bootstrap-server localhost:9092 --list --type classic,consumer\n"
            "This option may be used with the '--list' option only.",
            is_argument_optional=True,
        ),
        validate_regex=parser.option(
            "validate-regex",
            "Validate that the syntax of the provided regular expression is valid according to the RE2 format.",
            described_as="regex",
        ),
    )
