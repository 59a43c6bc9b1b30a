"""`stoker groups`: list, describe and delete groups, and reset how far they have read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from stoker.cli.choices import choices
from stoker.cli.completion import complete_groups, complete_topics
from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed, no_such, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, print_json, print_table, say
from stoker.client.admin.groups import Group, delete_groups, describe_group, list_groups
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.wire.error_codes import ErrorCode

application = noun("groups", "List, describe and delete consumer groups; reset their offsets.")

_NO_GROUPS: Final = "There are no groups."
_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead", "Assigning", "Reconciling")
_OTHER_TYPES: Final = ("Share", "Streams")
"""Groups that commit nothing as consumers do, so that only `list` knows them."""
_TYPES: Final = ("Classic", "Consumer", *_OTHER_TYPES)

GroupIds = Annotated[
    list[str] | None, typer.Argument(metavar="GROUP", help="Ids of groups.", autocompletion=complete_groups)
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "-g",
        metavar="GROUP",
        help="The same as an argument; may be repeated.",
        autocompletion=complete_groups,
    ),
]
AllGroups = Annotated[bool, typer.Option("--all-groups", help="All consumer groups of the cluster.")]


@application.command(
    "list",
    epilog=examples(
        "stoker groups list", "stoker groups list --state Stable,Empty", "stoker groups list --type Consumer --json"
    ),
)
def list_(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE,...", help=f"Only these states: {', '.join(_STATES)}.")
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE,...", help=f"Only these types: {', '.join(_TYPES)}.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print only the ids, one a line.")] = False,
    json: Json = False,
) -> None:
    """List the groups of a cluster."""
    states, types = choices("--state", state, _STATES), choices("--type", type_, _TYPES)
    with connect(bootstrap_server, command_config) as cluster:
        groups = list_groups(cluster, states=states, types=types)
    if json:
        print_json([group._asdict() for group in groups])
    elif names:
        for group in groups:
            print(group.group_id)
    elif groups:
        print_table(
            ("GROUP", "TYPE", "PROTOCOL", "STATE"),
            [(each.group_id, each.type or None, each.protocol_type or None, each.state or None) for each in groups],
        )
    else:
        say("There are no such groups." if states or types else _NO_GROUPS)


@application.command(
    epilog=examples(
        "stoker groups describe payments",
        "stoker groups describe payments --members",
        "stoker groups describe --all-groups --state",
        "stoker groups describe payments --json",
    )
)
def describe(
    groups: GroupIds = None,
    group: GroupOption = None,
    all_groups: AllGroups = False,
    members: Annotated[
        bool, typer.Option("--members", help="A line for each member, with its partitions and its lag.")
    ] = False,
    state: Annotated[bool, typer.Option("--state", help="A line for each group.")] = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Show offsets, lag and members. Of each partition: what is committed, the lag, and who reads it."""
    from stoker.cli.group_description import collect, print_members, print_partitions, print_states

    if members and state:
        wrong_usage("--members and --state are two different tables: give one of them")
    with connect(bootstrap_server, command_config) as cluster:
        ids = selected_groups(cluster, [*(groups or []), *(group or [])], all_groups=all_groups)
        descriptions = [collect(cluster, existing_group(cluster, group_id)) for group_id in ids]
    if json:
        print_json([description.as_json() for description in descriptions])
        return
    for description in descriptions:
        say(description.summary)
    if state:
        print_states(descriptions)
    elif members:
        print_members(descriptions)
    else:
        print_partitions(descriptions)


@application.command(
    epilog=examples("stoker groups delete old-group", "stoker groups delete --group one --group two --yes")
)
def delete(
    groups: GroupIds = None,
    group: GroupOption = None,
    all_groups: AllGroups = False,
    yes: Yes = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Delete groups that have no members. Their committed offsets go with them."""
    with connect(bootstrap_server, command_config) as cluster:
        ids = selected_groups(cluster, [*(groups or []), *(group or [])], all_groups=all_groups)
        for group_id in ids:
            existing_group(cluster, group_id)
        if ids:
            listed = ", ".join(repr(group_id) for group_id in ids)
            confirm(f"Delete {'group' if len(ids) == 1 else 'groups'} {listed} with the committed offsets?", yes=yes)
        results = delete_groups(cluster, ids)
    failures = {group_id: refused for group_id, refused in results.items() if refused is not None}
    for group_id in ids:
        if group_id not in failures:
            say(f"Deleted group {group_id!r}.")
    if json:
        print_json({"deleted": [group_id for group_id in ids if group_id not in failures]})
    if failures:
        raise CommandFailed("; ".join(f"group {name!r} was not deleted: {why}" for name, why in failures.items()))


@application.command(
    epilog=examples(
        "stoker groups reset-offsets --group payments --topic orders --to-earliest",
        "stoker groups reset-offsets --group payments --topic orders:0,1 --to-offset 500 --execute",
        "stoker groups reset-offsets --group payments --all-topics --to-datetime 2026-02-01T00:00:00.000 --execute",
        "stoker groups reset-offsets --group payments --all-topics --by-duration PT2H --execute",
        "stoker groups reset-offsets --group payments --all-topics --to-current --export > offsets.csv",
        "stoker groups reset-offsets --group payments --from-file offsets.csv --execute",
        "stoker groups reset-offsets --all-groups --all-topics --to-current --export > all.csv",
        "stoker groups reset-offsets --from-file all.csv --execute",
    )
)
def reset_offsets(
    groups: GroupIds = None,
    group: GroupOption = None,
    all_groups: AllGroups = False,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="A topic, or some of its partitions; may be repeated.",
            autocompletion=complete_topics,
        ),
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All that the group has committed.")] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record there is.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="To what is committed now, or else to the end.")
    ] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, metavar="N", help="To this offset.")] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", metavar="N", help="So many records on or, if negative, back.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime",
            metavar="TIME",
            help="To the first record at or after a time: 2026-02-01T00:00:00.000 (UTC).",
        ),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option("--by-duration", metavar="DURATION", help="To the first record of the last PT2H, P7D, 90m..."),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from-file",
            metavar="CSV",
            help="To what a file says: [group,]topic,partition,offset lines; - is standard input.",
        ),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it: without this nothing is changed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done, the default.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Print CSV for --from-file instead of a table.")] = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Set how far groups have read. Shows what would be done; --execute does it. A group with members is refused, also without --execute."""
    from stoker.cli.offset_reset import ResetRequest, reset

    if execute and dry_run:
        wrong_usage("--execute and --dry-run contradict each other")
    if json and export:
        wrong_usage("--json and --export are two different forms: give one of them")
    request = ResetRequest.from_options(
        topics=topic or [],
        all_topics=all_topics,
        execute=execute,
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        to_offset=to_offset,
        shift_by=shift_by,
        to_datetime=to_datetime,
        by_duration=by_duration,
        from_file=from_file,
    )
    named = [*(groups or []), *(group or [])]
    meant = named if named or all_groups else request.groups_of_file
    with connect(bootstrap_server, command_config) as cluster:
        outcome = reset(cluster, selected_groups(cluster, meant, all_groups=all_groups), request, all_groups=all_groups)
    outcome.print(as_json=json, as_csv=export, several_groups=len(named) != 1)
    if not execute and outcome.resets:
        say("This was a dry run: nothing is changed without --execute.")
    if outcome.failures:
        raise CommandFailed("; ".join(outcome.failures))


def selected_groups(cluster: Cluster, named: Sequence[str], *, all_groups: bool) -> list[str]:
    """The named groups or all of them, which is said if there are none; neither or both is wrong usage."""
    if bool(named) == all_groups:
        wrong_usage("name one or more groups, or give --all-groups")
    if not all_groups:
        return list(dict.fromkeys(named))
    found = [group.group_id for group in list_groups(cluster) if group.type not in _OTHER_TYPES]
    if not found:
        say(_NO_GROUPS)
    return found


def existing_group(cluster: Cluster, group_id: str) -> Group:
    """The group. Raises CommandFailed, with what was perhaps meant, if there is none."""
    group = find_group(cluster, group_id)
    if group is None:
        raise no_such("group", group_id, [each.group_id for each in list_groups(cluster)])
    return group


def find_group(cluster: Cluster, group_id: str) -> Group | None:
    """The group, or None if there is none. Raises CommandFailed if it is not of consumers, or may not be seen."""
    try:
        return describe_group(cluster, group_id)
    except KafkaRefused as refused:
        if refused.error_code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise CommandFailed(f"group {group_id!r}: {refused}") from refused
        types = {each.group_id: each.type for each in list_groups(cluster)}
        if group_id in types:
            raise CommandFailed(
                f"group {group_id!r} is not a consumer group, but of type {types[group_id]}"
            ) from refused
        return None
