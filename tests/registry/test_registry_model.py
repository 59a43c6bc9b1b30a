"""Registering, deleting, importing and setting in any order, beside a model that is a few dictionaries.

After each step the log is replayed, as it is and as compaction leaves it: every answer must be the same.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stoker.registry.errors import RegistryError
from stoker.registry.registry import LATEST, Registry
from stoker.registry.settings import Level, Mode
from stoker.registry.subjects import context_of
from tests.registry.schema_log import SchemaLog, record_text, replayed, wanted

TEXTS = [record_text("a", f"f{number}?") for number in range(4)]
SUBJECTS = st.sampled_from(["a", "b", ":.c:a"])
SCOPES = st.sampled_from([None, "a", "b", ":.c:", ":.c:a", ":.__GLOBAL:"])
MODES = [Mode.READWRITE, Mode.READONLY, Mode.IMPORT]


class Version(NamedTuple):
    text: str
    schema_id: int
    deleted: bool = False


class Refused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class Model:
    """What Confluent's registry would hold."""

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, Version]] = defaultdict(dict)
        self.highest_ids: dict[str, int] = defaultdict(int)
        self.modes: dict[str | None, Mode] = {}
        self.configs: dict[str | None, str] = {}

    def mode(self, subject: str | None) -> Mode:
        context = None if context_of(subject) == "." else f":{context_of(subject)}:"
        return next((self.modes[scope] for scope in (subject, context, ":.__GLOBAL:") if scope in self.modes), MODES[0])

    def ids(self, context: str) -> dict[int, str]:
        return {
            version.schema_id: version.text
            for subject, versions in self.subjects.items()
            if context_of(subject) == context
            for version in versions.values()
        }

    def known(self, subject: str, text: str, schema_id: int | None = None) -> int | None:
        """The newest live version with this text, of the lowest id."""
        found = [
            (-version.schema_id, number)
            for number, version in self.subjects[subject].items()
            if version.text == text and not version.deleted and schema_id in (None, version.schema_id)
        ]
        return max(found)[1] if found else None

    def register(self, subject: str, text: str, schema_id: int | None, number: int | None) -> tuple[int, int]:
        versions = self.subjects[subject]
        known = self.known(subject, text)
        if known is not None and schema_id in (None, versions[known].schema_id) and number is None:
            return versions[known].schema_id, known
        known_id = None if known is None else versions[known].schema_id
        same = None if number is None else versions.get(number)
        if number is not None and schema_id is not None and schema_id == known_id and same == Version(text, schema_id):
            return schema_id, number
        mode = self.mode(subject)
        if mode is not (Mode.READWRITE if schema_id is None else Mode.IMPORT):
            raise Refused(42205)
        known = self.known(subject, text, schema_id)
        if known is not None and number is None:
            return versions[known].schema_id, known
        ids = self.ids(context_of(subject))
        if schema_id is None:
            schema_ids = [each for each, other in ids.items() if other == text]
            schema_id = min(schema_ids, default=self.highest_ids[context_of(subject)] + 1)
        elif ids.get(schema_id, text) != text:
            raise Refused(42205)
        number = number or max(versions, default=0) + 1
        for old, version in list(versions.items()):
            if version.deleted and version.schema_id == schema_id and old < number:
                del versions[old]
        versions[number] = Version(text, schema_id)
        self.highest_ids[context_of(subject)] = max(self.highest_ids[context_of(subject)], schema_id, 1)
        return schema_id, number

    def delete_version(self, subject: str, number: int, permanent: bool) -> int:
        versions = self.subjects[subject]
        if not versions:
            raise Refused(40401)
        if number == LATEST:
            number = max((each for each, version in versions.items() if not version.deleted), default=0)
        if number not in versions:
            raise Refused(40402)
        if versions[number].deleted and not permanent:
            raise Refused(40406)
        self._refuse_if_read_only(subject)
        if permanent and not versions[number].deleted:
            raise Refused(40407)
        self._delete(subject, [number], permanent)
        return number

    def delete_subject(self, subject: str, permanent: bool) -> list[int]:
        versions = self.subjects[subject]
        live = sorted(number for number, version in versions.items() if not version.deleted)
        if not versions:
            raise Refused(40401)
        if not live and not permanent:
            raise Refused(40404)
        self._refuse_if_read_only(subject)
        if live and permanent:
            raise Refused(40405)
        gone = sorted(versions) if permanent else live
        self._delete(subject, gone, permanent)
        return gone

    def _refuse_if_read_only(self, subject: str) -> None:
        if self.mode(subject) is Mode.READONLY:
            raise Refused(42205)

    def _delete(self, subject: str, numbers: list[int], permanent: bool) -> None:
        versions = self.subjects[subject]
        for number in numbers:
            if permanent:
                del versions[number]
            else:
                versions[number] = versions[number]._replace(deleted=True)
        if not versions:
            self.modes.pop(subject, None)
            self.configs.pop(subject, None)


def answers(registry: Registry) -> dict[str, Any]:
    """All that can be asked, but for the next id: that of a schema which is gone for good is known as long as its
    tombstone is."""
    state = registry.state
    return {
        "versions": {
            (name, version.version): Version(version.entity.text, version.schema_id, version.deleted)
            for name, subject in state.subjects.items()
            for version in subject.versions.values()
        },
        "latest": {name: subject.latest() is not None for name, subject in state.subjects.items()},
        "schemas": {
            (name, schema_id, entity.text, entity.guid)
            for name, context in state.contexts.items()
            for schema_id, entity in context.schemas.items()
        },
        "users": {
            (name, schema_id): sorted((user.subject, user.version) for user in state.users_of(name, schema_id))
            for name, context in state.contexts.items()
            for schema_id in context.schemas
        },
        "ids": {(text, name): state.ids_of(name, wanted(text).entity) for text in TEXTS for name in state.contexts},
        "found": {
            (name, text): found and found.version
            for name in state.subjects
            for text in TEXTS
            for found in (registry.find(name, wanted(text), deleted=True),)
        },
        "configs": state.configs,
        "modes": state.modes,
        "contexts": set(state.contexts),
    }


class RegistryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.log = SchemaLog()
        self.model = Model()

    def both(self, real: Callable[[], object], modelled: Callable[[], object]) -> None:
        try:
            expected = modelled()
        except Refused as refused:
            code = refused.code
        else:
            assert real() == expected
            return
        with pytest.raises(RegistryError) as problem:
            real()
        assert problem.value.code == code

    @rule(subject=SUBJECTS, text=st.sampled_from(TEXTS))
    def register(self, subject: str, text: str) -> None:
        self.both(
            lambda: self.log.register(subject, text),
            lambda: self.model.register(subject, text, None, None),
        )

    @rule(
        subject=SUBJECTS,
        text=st.sampled_from(TEXTS),
        schema_id=st.integers(0, 6),
        number=st.none() | st.integers(1, 5),
    )
    def import_schema(self, subject: str, text: str, schema_id: int, number: int | None) -> None:
        self.both(
            lambda: self.log.register(subject, text, schema_id=schema_id, version=number),
            lambda: self.model.register(subject, text, schema_id, number),
        )

    @rule(subject=SUBJECTS, number=st.sampled_from([LATEST, 1, 2, 3]), permanent=st.booleans())
    def delete_version(self, subject: str, number: int, permanent: bool) -> None:
        self.both(
            lambda: self.log.delete(subject, number, permanent=permanent),
            lambda: self.model.delete_version(subject, number, permanent),
        )

    @rule(subject=SUBJECTS, permanent=st.booleans())
    def delete_subject(self, subject: str, permanent: bool) -> None:
        self.both(
            lambda: self.log.delete(subject, permanent=permanent),
            lambda: self.model.delete_subject(subject, permanent),
        )

    @rule(scope=SCOPES, mode=st.sampled_from(MODES))
    def set_mode(self, scope: str | None, mode: Mode) -> None:
        self.log.set_mode(scope, mode, force=True)
        self.model.modes[scope] = mode

    @rule(scope=SCOPES)
    def unset_mode(self, scope: str | None) -> None:
        self.log.set_mode(scope, None)
        self.model.modes.pop(scope, None)

    @rule(subject=SUBJECTS)
    def prepare_import(self, subject: str) -> None:
        """Without force: what was softly deleted is forgotten."""
        versions = self.model.subjects[subject]
        is_there_already = self.model.mode(subject) is Mode.IMPORT
        if not is_there_already and any(not version.deleted for version in versions.values()):
            with pytest.raises(RegistryError, match="Cannot import since found existing subjects"):
                self.log.set_mode(subject, Mode.IMPORT)
            return
        self.log.set_mode(subject, Mode.IMPORT)
        self.model.modes[subject] = Mode.IMPORT
        if not is_there_already:
            versions.clear()

    @rule(scope=SCOPES, level=st.sampled_from(list(Level)))
    def configure(self, scope: str | None, level: Level) -> None:
        if self.model.mode(scope) is Mode.READONLY:
            with pytest.raises(RegistryError, match="is in read-only mode"):
                self.log.configure(scope, compatibility=level.name)
            return
        self.log.configure(scope, compatibility=level.name)
        self.model.configs[scope] = level.name

    @invariant()
    def every_answer_is_the_models_and_survives_replay_and_compaction(self) -> None:
        told = answers(self.log.registry)
        assert told["versions"] == {
            (subject, number): version
            for subject, versions in self.model.subjects.items()
            for number, version in versions.items()
        }
        assert told["modes"] == self.model.modes
        assert told["configs"] == {scope: {"compatibilityLevel": level} for scope, level in self.model.configs.items()}
        for context, highest in self.model.highest_ids.items():
            assert self.log.registry.state.next_id(context) == max(highest, 1) + 1
        assert answers(replayed(self.log.records)) == told
        assert answers(replayed(self.log.compacted())) == told


RegistryMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestRegistryModel = RegistryMachine.TestCase
