"""`stoker schemas import`: an archive into a registry, every schema under the id it had."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from stoker.cli.failure import CommandFailed
from stoker.cli.interruption import Interruption
from stoker.cli.output import say
from stoker.cli.schema_archive import Archive, Stored, stored_in
from stoker.registry.client import RegistryClient, RegistryClientError, RegistryRefused
from stoker.registry.subjects import context_of, prefix_of

_IMPORT: Final = "IMPORT"
_PROGRESS_SECONDS: Final = 2.0


class Imported(NamedTuple):
    """How much was done, and how much was there before."""

    schemas: int
    known: int
    deleted: int
    configs: int
    modes: int


class Importer:
    """Brings what the registry lacks. What it has already is not sent again, so that a second run goes on with the first."""

    def __init__(self, registry: RegistryClient, archive: Archive, path: Path, interruption: Interruption) -> None:
        self._registry = registry
        self._archive = archive
        self._path = path
        self._interruption = interruption

    def run(self, *, force: bool) -> Imported:
        """Stops early, and rightly, when a signal comes. Raises CommandFailed with the line, RegistryUnreachable."""
        there = stored_in(self._registry, deleted=True)
        wanted = {stored.key: stored for stored in self._archive.schemas}
        for key, stored in there.items():
            if key not in wanted and not stored.deleted and not force:
                raise CommandFailed(
                    f"the registry has subject {key.subject!r} version {key.version}, which is not in {self._path}: import "
                    "into an empty registry, or into this one with --force"
                )
            if key in wanted and not self._is_same(stored, wanted[key]):
                raise self._refused(wanted[key], f"the registry has another schema there, with id {stored.schema_id}")
        missing = [stored for stored in self._archive.schemas if stored.key not in there]
        dying = [
            stored
            for stored in reversed(self._archive.schemas)  # who refers to another goes first
            if stored.deleted and (stored.key not in there or not there[stored.key].deleted)
        ]
        sent = gone = 0
        if missing:
            scopes = {prefix_of(context_of(stored.key.subject)) or None: None for stored in missing}
            with self._import_mode(scopes, force=bool(there)):
                sent = self._register(missing)
        if sent == len(missing):
            gone = self._delete(dying)
        configs = modes = 0
        if not self._interruption:
            configs, modes = self._set_up()
        return Imported(sent, len(wanted) - len(missing), gone, configs, modes)

    def _register(self, missing: list[Stored]) -> int:
        told = time.monotonic()
        for count, stored in enumerate(missing):
            if self._interruption:
                return count
            if time.monotonic() - told > _PROGRESS_SECONDS:
                told = time.monotonic()
                say(f"{count} of {len(missing)} schemas")
            try:
                self._registry.register(stored.key.subject, stored.request)
            except RegistryRefused as refused:
                raise self._refused(stored, str(refused)) from refused
        return len(missing)

    def _delete(self, dying: list[Stored]) -> int:
        for stored in dying:
            try:
                self._registry.delete_version(stored.key.subject, stored.key.version)
            except RegistryRefused as refused:
                raise self._refused(stored, f"it was not deleted: {refused}") from refused
        return len(dying)

    def _set_up(self) -> tuple[int, int]:
        """Modes come last: one of them may forbid all the rest."""
        for subject, config in self._archive.configs.items():
            self._registry.set_config(config, subject)
        modes = {subject: mode for subject, mode in self._archive.modes.items() if mode != _IMPORT}
        for subject, mode in modes.items():
            if self._registry.mode(subject) != mode:
                self._registry.set_mode(mode, subject)
        return len(self._archive.configs), len(modes)

    @contextmanager
    def _import_mode(self, scopes: Iterable[str | None], *, force: bool) -> Iterator[None]:
        """While it lasts, nobody can register a schema without an id. The mode of all subjects is not that of contexts."""
        before = {scope: self._registry.mode(scope) for scope in scopes}
        changed: list[str | None] = []
        try:
            for scope, mode in before.items():
                if mode != _IMPORT:
                    changed.append(scope)
                    self._registry.set_mode(_IMPORT, scope, force=force)
            yield
        finally:
            for scope in changed:
                self._set_back(before[scope], scope)

    def _set_back(self, mode: str | None, scope: str | None) -> None:
        try:
            if mode is None:
                self._registry.unset_mode(scope)
            else:
                self._registry.set_mode(mode, scope)
        except RegistryClientError as error:
            where = "/mode" if scope is None else f"/mode/{scope}"
            say(
                f"The registry may still be in mode {_IMPORT}, in which only `stoker schemas import` can register: {error}. "
                f'PUT {self._registry.url}{where} with {{"mode": "{mode or "READWRITE"}"}} sets it back.'
            )

    def _is_same(self, there: Stored, wanted: Stored) -> bool:
        """What was written by hand may be spelled otherwise than a registry spells it."""
        if there.schema_id != wanted.schema_id or there.schema == wanted.schema:
            return there.schema_id == wanted.schema_id
        found = self._registry.lookup(wanted.key.subject, wanted.schema, deleted=True)
        return found is not None and found["version"] == wanted.key.version

    def _refused(self, stored: Stored, reason: str) -> CommandFailed:
        subject, version = stored.key
        return CommandFailed(
            f"{self._path} line {stored.line}: subject {subject!r} version {version}, id {stored.schema_id}: {reason}"
        )
