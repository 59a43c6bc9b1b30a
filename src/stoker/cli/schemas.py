"""`stoker schemas`: the schemas of a registry, listed, registered, checked, compared, deleted, carried elsewhere."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stoker.cli.completion import complete_subjects
from stoker.cli.failure import FAILED, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, counted, print_json, print_table, say
from stoker.cli.registry_connection import RegistryUrl, User, connect_registry

application = noun("schemas", "List, register, check, compare and delete the schemas of a registry.")

_NO_SUBJECTS: Final = "There are no subjects. `stoker schemas register SUBJECT FILE` makes one."
_LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
_HIGHEST: Final = 2**31 - 1

Subject = Annotated[
    str, typer.Argument(metavar="SUBJECT", help="The name of a subject.", autocompletion=complete_subjects)
]
SchemaFile = Annotated[Path, typer.Argument(metavar="FILE", help="A file with a schema; - is standard input.")]
Version = Annotated[str | None, typer.Option("--version", "-v", metavar="N|latest", help="A version; else the latest.")]
SchemaType = Annotated[
    str | None,
    typer.Option(
        "--type", "-t", metavar="TYPE", help="AVRO, JSON or PROTOBUF; else .avsc, .json or .proto of the file says it."
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that it refers to; may be repeated."),
]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="Schemas that differ in order or spelling only count as one.")
]


@application.command(
    "list",
    epilog=examples(
        "stoker schemas list", "stoker schemas list --prefix orders- --json", "stoker schemas list --deleted --names"
    ),
)
def list_(
    registry_url: RegistryUrl = None,
    user: User = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="TEXT", help="Only subjects whose names begin so.")
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Show softly deleted subjects too.")] = False,
    names: Annotated[bool, typer.Option("--names", help="Print only the names, one a line.")] = False,
    json: Json = False,
) -> None:
    """List the subjects: their latest version, its id and type, and the level of compatibility in force."""
    from stoker.cli.schema_archive import for_each
    from stoker.registry.client import ALL_CONTEXTS, level_of, type_of

    wanted = ALL_CONTEXTS if prefix is None else prefix
    with connect_registry(registry_url, user) as registry:
        if names and not json:
            for name in registry.subjects(wanted, deleted=deleted):
                print(name)
            return
        latest = {each["subject"]: each for each in registry.schemas(wanted, latest_only=True)}
        live = set(latest)
        if deleted:
            for each in registry.schemas(wanted, deleted=True):  # oldest first: the latest of a subject stays
                if each["subject"] not in live:
                    latest[each["subject"]] = each
        configs = for_each(lambda subject: registry.config(subject, or_global=True), latest)
    rows = [
        {
            "subject": subject,
            "version": each["version"],
            "id": each["id"],
            "type": type_of(each),
            "level": level_of(configs[subject]),
            "deleted": subject not in live,
        }
        for subject, each in sorted(latest.items())
    ]
    if json:
        print_json(rows)
    elif rows:
        columns = ["subject", "version", "id", "type", "level"]
        table = [[row[name] for name in columns] + (["yes" if row["deleted"] else "no"] * deleted) for row in rows]
        print_table([name.upper() for name in columns + ["deleted"] * deleted], table)
    else:
        say(_NO_SUBJECTS)


@application.command(
    epilog=examples(
        "stoker schemas show orders-value",
        "stoker schemas show orders-value --version 1 --raw > orders.avsc",
        "stoker schemas show --id 1",
    )
)
def show(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help="The name of a subject.", autocompletion=complete_subjects),
    ] = None,
    registry_url: RegistryUrl = None,
    user: User = None,
    version: Version = None,
    schema_id: Annotated[
        int | None, typer.Option("--id", min=1, max=_HIGHEST, metavar="N", help="The schema with this id.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the schema alone, exactly as it is stored.")] = False,
    json: Json = False,
) -> None:
    """Show a schema: a version of a subject, or the one with an id."""
    from stoker.cli.schema_output import print_raw, print_schema_of_id, print_version
    from stoker.cli.schema_versions import existing_version
    from stoker.registry.client import LATEST, level_of

    if (subject is None) == (schema_id is None) or (schema_id is not None and version is not None):
        wrong_usage("name either a subject, perhaps with --version, or an --id")
    with connect_registry(registry_url, user) as registry:
        if subject is not None:
            schema = existing_version(registry, subject, version or LATEST)
            level = level_of(registry.config(subject, or_global=True))
            users = None
        else:
            assert schema_id is not None
            schema, level, users = registry.schema(schema_id), None, registry.versions_of_id(schema_id)
    if json:
        told = {"level": level} if users is None else {"id": schema_id, "versions": users}
        print_json(schema | told)
    elif raw:
        print_raw(str(schema["schema"]))
    elif users is None:
        print_version(schema, level)
    else:
        assert schema_id is not None
        print_schema_of_id(schema_id, schema, users)


@application.command(
    epilog=examples(
        "stoker schemas register payments-value payment.avsc",
        "stoker schemas register invoices-value invoice.avsc --reference shop.Customer=customers-value:1",
        "cat payment.avsc | stoker schemas register payments-value - --type AVRO --normalize",
    )
)
def register(
    subject: Subject,
    file: SchemaFile,
    registry_url: RegistryUrl = None,
    user: User = None,
    type_: SchemaType = None,
    reference: References = None,
    normalize: Normalize = False,
    schema_id: Annotated[
        int | None,
        typer.Option("--id", min=1, max=_HIGHEST, metavar="N", help="The id it gets; needs the mode IMPORT."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", "-v", min=1, max=_HIGHEST, metavar="N", help="The version it gets."),
    ] = None,
    json: Json = False,
) -> None:
    """Register a schema as the next version of a subject, unless the subject has it already."""
    from stoker.cli.schema_files import read_schema
    from stoker.cli.schema_registration import registered

    request = read_schema(file, type_, reference or [])
    request |= {name: number for name, number in (("id", schema_id), ("version", version)) if number is not None}
    with connect_registry(registry_url, user) as registry:
        done = registered(registry, subject, file, request, normalize=normalize)
    if json:
        print_json({"subject": subject, "version": done.version, "id": done.schema_id, "registered": done.is_new})
    elif done.is_new:
        print(f"Registered {subject} version {done.version or 'unknown'}, id {done.schema_id}.")
    else:
        print(f"{subject} has this schema already: version {done.version}, id {done.schema_id}.")


@application.command(
    epilog=examples(
        "stoker schemas check orders-value order.avsc",
        "stoker schemas check orders-value order.avsc --version 1 --json",
    )
)
def check(
    subject: Subject,
    file: SchemaFile,
    registry_url: RegistryUrl = None,
    user: User = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            "-v",
            metavar="N|latest",
            help="Compare with this version alone; else with those that the level of the subject demands.",
        ),
    ] = None,
    type_: SchemaType = None,
    reference: References = None,
    normalize: Normalize = False,
    json: Json = False,
) -> None:
    """Ask whether a schema may follow those of a subject. Registers nothing; exit code 0 if it may, 1 if not."""
    from stoker.cli.schema_files import read_schema
    from stoker.cli.schema_output import Verdict, lines_of
    from stoker.registry.client import level_of

    request = read_schema(file, type_, reference or [])
    with connect_registry(registry_url, user) as registry:
        verdict = Verdict.of(registry.check(subject, request, version, normalize=normalize))
        level = level_of(registry.config(subject, or_global=True))
    if json:
        told = {"subject": subject, "level": level, "is_compatible": verdict.is_compatible}
        print_json(told | {"reasons": verdict.reasons})
    else:
        against = subject if version is None else f"{subject} version {version}"
        print(f"{file} is {'' if verdict.is_compatible else 'not '}compatible with {against} (level {level}).")
        for line in lines_of(verdict.reasons):
            print(line)
    if not verdict.is_compatible:
        raise typer.Exit(FAILED)


@application.command(
    epilog=examples(
        "stoker schemas diff orders-value",
        "stoker schemas diff orders-value 1 2",
        "stoker schemas diff orders-value order.avsc",
        "stoker schemas diff orders-value 1 order.avsc --json",
    )
)
def diff(
    subject: Subject,
    old: Annotated[
        str | None, typer.Argument(metavar="VERSION", help="The old schema; else the last but one, or the latest.")
    ] = None,
    new: Annotated[str | None, typer.Argument(metavar="VERSION|FILE", help="The new schema; else the latest.")] = None,
    registry_url: RegistryUrl = None,
    user: User = None,
    type_: SchemaType = None,
    reference: References = None,
    json: Json = False,
) -> None:
    """Show what changes between two versions, or from the latest to a file; who can read whom, and who upgrades first."""
    from stoker.cli.schema_diff import Sides, as_json, compare, print_diff

    with connect_registry(registry_url, user) as registry:
        before, after = Sides(registry, subject, type_, reference or []).found(old, new)
    found = compare(before, after)
    if json:
        print_json(as_json(subject, before, after, found))
    else:
        print_diff(subject, before, after, found)


@application.command(
    epilog=examples(
        "stoker schemas compat",
        "stoker schemas compat orders-value",
        "stoker schemas compat orders-value FULL_TRANSITIVE",
        "stoker schemas compat orders-value --unset",
        "stoker schemas compat --global FULL",
    )
)
def compat(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help="The name of a subject.", autocompletion=complete_subjects),
    ] = None,
    level: Annotated[str | None, typer.Argument(metavar="LEVEL", help=f"One of {', '.join(_LEVELS)}.")] = None,
    registry_url: RegistryUrl = None,
    user: User = None,
    everywhere: Annotated[
        bool, typer.Option("--global", help="The level of all subjects that have none of their own.")
    ] = False,
    unset: Annotated[bool, typer.Option("--unset", help="The subject has no level of its own any longer.")] = False,
    json: Json = False,
) -> None:
    """Show or set the level of compatibility of a subject, or of all. Without arguments, explain the levels."""
    from stoker.cli.schema_output import levels, print_levels
    from stoker.registry.client import level_of

    if everywhere:
        if level is not None:
            wrong_usage(f"--global means all subjects, so that {subject} cannot be named too")
        subject, level = None, subject
    if unset and (level is not None or (subject is None and not everywhere)):
        wrong_usage("--unset takes the level from a subject, or from all with --global")
    chosen = _level(level)
    with connect_registry(registry_url, user) as registry:
        if unset:
            registry.unset_config(subject)
        elif chosen is not None:
            registry.set_config({"compatibility": chosen}, subject)
        own = level_of(registry.config(subject)) if subject is not None else None
        in_force = own or level_of(registry.config())
    told: dict[str, Any] = {"subject": subject, "level": in_force, "own": own is not None}
    explained = subject is None and chosen is None and not everywhere
    if json:
        print_json(told | {"levels": levels()} if explained else told)
        return
    if subject is None:
        print(f"All subjects without a level of their own: {in_force}.")
    else:
        print(f"{subject}: {in_force}{'' if own else ', as all that have no level of their own'}.")
    if explained:
        print()
        print_levels()


@application.command(
    epilog=examples(
        "stoker schemas delete orders-value --version 1",
        "stoker schemas delete orders-value",
        "stoker schemas delete orders-value --permanent --yes",
    )
)
def delete(
    subject: Subject,
    registry_url: RegistryUrl = None,
    user: User = None,
    version: Annotated[
        str | None, typer.Option("--version", "-v", metavar="N|latest", help="This version alone; else all of them.")
    ] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For good; else the ids can still be read, and the subject come back.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a subject, or one version of it."""
    from stoker.cli.schema_deletion import deletion_of

    with connect_registry(registry_url, user) as registry:
        deletion = deletion_of(registry, subject, version, permanent=permanent)
        listed = ", ".join(map(str, deletion.versions))
        what = f"version{'' if len(deletion.versions) == 1 else 's'} {listed} of {subject!r}"
        confirm(f"Delete {what}{' for good' if permanent else ''}?", yes=yes)
        deletion.run()
    if json:
        print_json({"subject": subject, "deleted": deletion.versions, "permanent": permanent})
    else:
        say(f"Deleted {what}{' for good' if permanent else ''}.")


@application.command(
    epilog=examples("stoker schemas export schemas.jsonl", "stoker schemas export --deleted | gzip > schemas.jsonl.gz")
)
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; else standard output.")] = Path("-"),
    registry_url: RegistryUrl = None,
    user: User = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Softly deleted versions too.")] = False,
) -> None:
    """Write all schemas, configs and modes of a registry to a file: one JSON object a line."""
    from stoker.cli.schema_archive import archive_of, write_archive

    with connect_registry(registry_url, user) as registry:
        archive = archive_of(registry, deleted=deleted)
    write_archive(archive, file)
    configs, modes = counted(len(archive.configs), "config"), counted(len(archive.modes), "mode")
    say(f"Exported {counted(len(archive.schemas), 'schema')}, {configs} and {modes}.")


@application.command("import", epilog=examples("stoker schemas import schemas.jsonl --force"))
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `export` wrote; - is standard input.")],
    registry_url: RegistryUrl = None,
    user: User = None,
    force: Annotated[bool, typer.Option("--force", help="The registry may have other schemas already.")] = False,
) -> None:
    """Bring what `export` wrote into an empty registry, each schema with the id it had; a second run goes on."""
    from stoker.cli.interruption import Interruption
    from stoker.cli.schema_archive import read_archive
    from stoker.cli.schema_import import Importer

    archive = read_archive(file)
    with connect_registry(registry_url, user) as registry, Interruption() as interruption:
        done = Importer(registry, archive, file, interruption).run(force=force)
    say(
        f"Imported {counted(done.schemas, 'schema')}, {done.known} of the file there already; "
        f"{counted(done.deleted, 'version')} deleted, {counted(done.configs, 'config')}, {counted(done.modes, 'mode')}."
    )
    if interruption:
        say("Stopped before the end: run it again to go on.")
        raise typer.Exit(interruption.exit_code)


def _level(text: str | None) -> str | None:
    from stoker.cli.choices import choices

    chosen = choices("level", text, _LEVELS)
    return chosen[0] if chosen else None
