"""What `stoker schemas delete` takes away, found out before anyone is asked whether it may."""

from typing import NamedTuple

from stoker.cli.failure import CommandFailed, no_such
from stoker.cli.schema_versions import no_such_version, versions_of
from stoker.registry.client import LATEST, RegistryClient


class Deletion(NamedTuple):
    """`live` are those of `versions` that are not softly deleted yet: only after that they can go for good."""

    registry: RegistryClient
    subject: str
    versions: list[int]
    live: list[int]
    permanent: bool
    whole: bool

    def run(self) -> None:
        """Raises RegistryRefused, for instance if other schemas refer to one of these."""
        steps = [(self.live, False)] if self.live else []
        if self.permanent:
            steps.append((self.versions, True))
        for versions, permanent in steps:
            if self.whole:
                self.registry.delete_subject(self.subject, permanent=permanent)
            else:
                for version in versions:
                    self.registry.delete_version(self.subject, version, permanent=permanent)


def deletion_of(registry: RegistryClient, subject: str, version: str | None, *, permanent: bool) -> Deletion:
    """Raises CommandFailed for what is not there, or is deleted already."""
    live = versions_of(registry, subject)
    every = versions_of(registry, subject, deleted=True) if permanent or not live else live
    if not every:
        raise no_such("subject", subject, registry.subjects())
    chosen = every if permanent else live
    if version is not None:
        number = max(chosen, default=0) if version.lower() == LATEST else _number(version)
        if number not in every:
            raise no_such_version(subject, version, every)
        chosen = [number] if number in chosen else []
    if not chosen:
        raise CommandFailed(f"subject {subject!r} is deleted already; --permanent deletes it for good")
    return Deletion(
        registry, subject, chosen, [each for each in chosen if each in live], permanent, whole=version is None
    )


def _number(version: str) -> int:
    return int(version) if version.isdecimal() and len(version) <= 10 else -1
