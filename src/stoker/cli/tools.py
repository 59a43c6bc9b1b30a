"""`stoker tools`: Kafka's own command lines, as `stoker kafka-topics.sh ...` or as scripts in a directory."""

from pathlib import Path
from typing import Annotated

import typer

from stoker.cli.failure import CommandFailed
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, counted, print_json, print_table, say
from stoker.kafka_tools.installation import install
from stoker.kafka_tools.table import TOOLS

application = noun(
    "tools",
    "Install and list Kafka's own tools: kafka-topics.sh and the others. Each also runs as `stoker kafka-topics.sh ...`.",
)


@application.command("list", epilog=examples("stoker tools list", "stoker tools list --json"))
def list_tools(json: Json = False) -> None:
    """List Kafka's tools: the names of the scripts, and what each does."""
    if json:
        print_json(
            [
                {"name": name, "explanation": tool.explanation, "classes": list(tool.classes)}
                for name, tool in TOOLS.items()
            ]
        )
        return
    print_table(("TOOL", "WHAT IT DOES"), [(name, tool.explanation) for name, tool in TOOLS.items()])


@application.command(
    "install",
    epilog=examples("stoker tools install ~/.local/bin", "stoker tools install /opt/kafka/bin"),
)
def install_tools(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; it is made if it is not there.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace scripts of these names that are not Stoker's, such as Kafka's own.")
    ] = False,
) -> None:
    """Write kafka-topics.sh and the others into a directory: scripts that run Stoker's."""
    try:
        written, foreign = install(directory, force=force)
    except OSError as error:
        raise CommandFailed(f"{directory} cannot be written: {error.strerror}") from None
    if foreign:
        names = ", ".join(foreign)
        raise CommandFailed(
            f"{directory} has scripts that are not Stoker's, and nothing was written: {names}. --force replaces them."
        )
    say(f"Wrote {counted(written, 'script')} to {directory}.")
