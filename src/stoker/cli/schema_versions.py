"""Subjects and versions by the names that were typed; for those that do not exist, what was perhaps meant."""

from collections.abc import Sequence

from stoker.cli.failure import CommandFailed, no_such
from stoker.registry.client import SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, RegistryClient, RegistryRefused
from stoker.registry.entities import Json


def existing_version(registry: RegistryClient, subject: str, version: str) -> Json:
    """Raises CommandFailed for what does not exist."""
    try:
        return registry.version(subject, version)
    except RegistryRefused as refused:
        if refused.code == SUBJECT_NOT_FOUND:
            raise no_such("subject", subject, registry.subjects()) from refused
        if refused.code == VERSION_NOT_FOUND:
            raise no_such_version(subject, version, registry.versions(subject)) from refused
        raise


def existing_versions(registry: RegistryClient, subject: str) -> list[int]:
    """Those that are not deleted, oldest first. Raises CommandFailed if the subject does not exist."""
    found = versions_of(registry, subject)
    if not found:
        raise no_such("subject", subject, registry.subjects())
    return found


def versions_of(registry: RegistryClient, subject: str, *, deleted: bool = False) -> list[int]:
    """None at all if the subject does not exist."""
    try:
        return registry.versions(subject, deleted=deleted)
    except RegistryRefused as refused:
        if refused.code == SUBJECT_NOT_FOUND:
            return []
        raise


def no_such_version(subject: str, version: str, there: Sequence[int]) -> CommandFailed:
    return CommandFailed(f"subject {subject!r} has no version {version}, only {', '.join(map(str, there))}")
