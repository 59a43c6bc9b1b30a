"""A schema becomes the next version of a subject, unless it is there already."""

from pathlib import Path
from typing import NamedTuple

from stoker.cli.failure import CommandFailed
from stoker.cli.schema_output import Verdict, lines_of
from stoker.registry.client import INCOMPATIBLE, RegistryClient, RegistryRefused
from stoker.registry.entities import Json


class Registered(NamedTuple):
    """`version` is None if an old registry does not tell it; `is_new` is False for what was there already."""

    schema_id: int
    version: int | None
    is_new: bool


def registered(registry: RegistryClient, subject: str, file: Path, request: Json, *, normalize: bool) -> Registered:
    """Raises CommandFailed, with the reasons for people, for a schema that the level of the subject forbids."""
    known = registry.lookup(subject, request, normalize=normalize)
    if known is not None and all(request.get(name, known[name]) == known[name] for name in ("id", "version")):
        return Registered(known["id"], known["version"], False)
    try:
        stored = registry.register(subject, request, normalize=normalize)
    except RegistryRefused as refused:
        if refused.status != INCOMPATIBLE:
            raise
        verdict = Verdict.of(registry.check(subject, request, normalize=normalize))
        if verdict.is_compatible:
            raise
        reasons = "\n".join(lines_of(verdict.reasons))
        raise CommandFailed(
            f"{file} is not compatible with {subject}, so it was not registered\n{reasons}"
        ) from refused
    if "version" not in stored:  # older registries tell the id alone
        stored = registry.lookup(subject, request, normalize=normalize) or stored
    return Registered(stored["id"], stored.get("version"), True)
