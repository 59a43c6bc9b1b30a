"""Finds what changed from the writer's schema to the reader's, at the places and in the way Confluent's `SchemaDiff` does.

Messages of a file are compared with those of the same name. A field's message that comes from an import on either side is
compared too, once for each pair of types, whatever the number of fields that lead there: the time is linear in the number of
fields, and chains of types of any length take no stack.
"""

from typing import NamedTuple

from stoker.registry.formats.protobuf import rules, well_known
from stoker.registry.formats.protobuf.elements import (
    SCALARS,
    Enum,
    Field,
    Message,
    OneOf,
    entry_types,
    is_map_entry,
    map_types,
)
from stoker.registry.formats.protobuf.names import NamedType, Names, Scopes, inside, scopes_of
from stoker.registry.formats.protobuf.rules import INCOMPATIBLE, Change, Finding


def differences(writer: Names, reader: Names) -> list[Change]:
    """All changes, harmless ones included."""
    comparison = _Comparison(writer, reader)
    comparison.files()
    return comparison.changes()


class _Place(NamedTuple):
    """Where both schemas are being compared."""

    path: str
    writer: Scopes
    reader: Scopes
    pair: int
    """Number of the pair of types being compared, 0 for the files themselves."""

    def in_type(self, name: str) -> "_Place":
        return _Place(self._below(name), inside(self.writer, name), inside(self.reader, name), self.pair)

    def at(self, part: object) -> "_Place":
        return _Place(self._below(part), self.writer, self.reader, self.pair)

    def _below(self, part: object) -> str:
        return f"#/{part}" if self.path == "#/" else f"{self.path}/{part}"


class _Link(NamedTuple):
    """A field whose imported type is compared elsewhere."""

    place: _Place
    pair: int
    name: str


class _Fields(NamedTuple):
    """All fields of a message by their numbers, and the oneofs they are in."""

    by_number: dict[int, Field]
    oneof_of: dict[int, str]
    oneofs: dict[str, OneOf]

    @classmethod
    def of(cls, message: Message) -> "_Fields":
        by_number = {each.number: each for each in message.fields}
        oneof_of: dict[int, str] = {}
        for oneof in message.oneofs:
            for each in oneof.fields:
                by_number[each.number] = each
                oneof_of[each.number] = oneof.name
        return cls(by_number, oneof_of, {each.name: each for each in message.oneofs})


class _Comparison:
    def __init__(self, writer: Names, reader: Names) -> None:
        self.writer = writer
        self.reader = reader
        self._found: list[tuple[int, Change]] = []
        self._links: list[_Link] = []
        self._pairs: dict[tuple[str, str], int] = {}
        self._to_compare: list[tuple[_Place, Message, Message]] = []

    def files(self) -> None:
        writer, reader = self.writer.file, self.reader.file
        place = _Place("#/", scopes_of(writer.package), scopes_of(reader.package), 0)
        self._note(place, rules.package(writer.package, reader.package))
        self._types(place, writer.types, reader.types)
        while self._to_compare:
            self._message(*self._to_compare.pop())

    def changes(self) -> list[Change]:
        """Those found, and for each field that leads to an incompatible imported type, that its type changed."""
        broken = {pair for pair, change in self._found if change.rule in INCOMPATIBLE}
        leading_to: dict[int, list[_Link]] = {}
        for link in self._links:
            leading_to.setdefault(link.pair, []).append(link)
        to_follow = [pair for pair in broken if pair]
        while to_follow:
            for link in leading_to.pop(to_follow.pop(), ()):
                self._note(link.place, rules.imported_type_changed(link.name))
                if link.place.pair and link.place.pair not in broken:
                    broken.add(link.place.pair)
                    to_follow.append(link.place.pair)
        return [change for _, change in self._found]

    def _note(self, place: _Place, finding: Finding | None) -> None:
        if finding is not None:
            self._found.append((place.pair, Change(finding.rule, place.path, finding.message)))

    def _types(self, place: _Place, writer: list[Message | Enum], reader: list[Message | Enum]) -> None:
        if not writer and not reader:
            return
        writer_messages, writer_enums = _by_name(writer)
        reader_messages, reader_enums = _by_name(reader)
        writer_order = {name: index for index, name in enumerate(writer_messages)}
        reader_order = {name: index for index, name in enumerate(reader_messages)}
        for name in writer_messages | reader_messages:
            there = place.in_type(name)
            old, new = writer_messages.get(name), reader_messages.get(name)
            if old is not None and new is not None:
                self._message(there, old, new)
                self._note(there, rules.message_moved(name, writer_order[name], reader_order[name]))
            elif old is not None and not is_map_entry(old):
                self._note(there, rules.message_removed(name))
            elif new is not None and not is_map_entry(new):
                self._note(there, rules.message_added(name))
        for name in writer_enums | reader_enums:
            there = place.in_type(name)
            if name not in reader_enums:
                self._note(there, rules.enum_removed(name))
            elif name not in writer_enums:
                self._note(there, rules.enum_added(name))
            else:
                self._enum(there, writer_enums[name], reader_enums[name])

    def _enum(self, place: _Place, writer: Enum, reader: Enum) -> None:
        old = {each.number: each for each in writer.constants}
        new = {each.number: each for each in reader.constants}
        for number in sorted(old.keys() | new.keys()):
            self._note(place.at(number), rules.enum_constant(old.get(number), new.get(number)))

    def _message(self, place: _Place, writer: Message, reader: Message) -> None:
        old, new = _Fields.of(writer), _Fields.of(reader)
        if old.oneofs or new.oneofs:
            self._oneofs(place, old, new)
        for number in sorted(old.by_number.keys() | new.by_number.keys()):
            before, after = old.by_number.get(number), new.by_number.get(number)
            if before is not None and after is not None:
                self._field_of_both(place, number, old, new)
            elif after is not None:
                self._field_added(place, new.oneof_of.get(number), after)
            elif before is not None:
                self._field_removed(place, old, new, before)
        self._types(place, writer.types, reader.types)

    def _oneofs(self, place: _Place, old: _Fields, new: _Fields) -> None:
        for name, oneof in new.oneofs.items():
            self._note(place.at(name), rules.moved_into_oneof(oneof, old.by_number, old.oneof_of))
        for name in sorted(old.oneofs.keys() | new.oneofs.keys()):
            if name not in new.oneofs:
                self._note(place.at(name), rules.oneof_removed(name))
            elif name not in old.oneofs:
                self._note(place.at(name), rules.oneof_added(name))

    def _field_added(self, place: _Place, oneof: str | None, field: Field) -> None:
        if oneof is None:
            self._note(place.at(field.number), rules.field_added(field))
        else:
            self._note(place.at(oneof).at(field.number), rules.oneof_field_added(oneof, field))

    def _field_removed(self, place: _Place, old: _Fields, new: _Fields, field: Field) -> None:
        oneof = old.oneof_of.get(field.number)
        if oneof is None:
            self._note(place.at(field.number), rules.field_removed(field))
        elif oneof in new.oneofs or any(each.number in new.by_number for each in old.oneofs[oneof].fields):
            self._note(place.at(oneof).at(field.number), rules.oneof_field_removed(oneof, field))
        # A oneof that went with all its fields is as compatible as a field that went.

    def _field_of_both(self, place: _Place, number: int, old: _Fields, new: _Fields) -> None:
        left, joined = old.oneof_of.get(number), new.oneof_of.get(number)
        before, after = old.by_number[number], new.by_number[number]
        there = place.at(number) if joined is None else place.at(joined).at(number)
        if left is not None and joined is None:
            self._note(there, rules.moved_to_top_level(left, after))
        self._note(there, rules.field_name(before, after))
        found = len(self._found)
        self._field_types(there, before.type, after.type, before.label, after.label)
        if not any(change.rule in INCOMPATIBLE for _, change in self._found[found:]):
            self._note(there, rules.became_required(before, after))

    def _field_types(
        self, place: _Place, before: str, after: str, label_before: str | None, label_after: str | None
    ) -> None:
        old = _FieldType.of(before, self.writer, place.writer)
        new = _FieldType.of(after, self.reader, place.reader)
        finding = rules.kind(before, after, old.kind, new.kind)
        if finding is not None:
            self._note(place, finding)
        elif old.scalar is not None and new.scalar is not None:
            finding = rules.scalar_kind(old.scalar, new.scalar, (before, after))
            self._note(place, finding or rules.label(old.scalar, label_before, label_after))
        elif old.map is not None and new.map is not None:
            for key_or_value in (0, 1):
                self._field_types(place, old.map[key_or_value], new.map[key_or_value], None, None)
        else:
            self._message_types(place, (before, old), (after, new))

    def _message_types(self, place: _Place, before: "tuple[str, _FieldType]", after: "tuple[str, _FieldType]") -> None:
        old, new = before[1].named, after[1].named
        if old is None or new is None:
            self._note(place, rules.named_type(before[0], after[0]))
            return
        name = old.local_name(before[1].full_name)
        finding = rules.named_type(name, new.local_name(after[1].full_name))
        if finding is not None:
            self._note(place, finding)
        elif old.file is not None or new.file is not None:
            self._imported(place, name, (before[1].full_name, old), (after[1].full_name, new))

    def _imported(self, place: _Place, name: str, before: tuple[str, NamedType], after: tuple[str, NamedType]) -> None:
        old, new = before[1], after[1]
        if old.element is new.element and old.file in well_known.FILES:
            return
        if not isinstance(old.element, Message) or not isinstance(new.element, Message):
            return
        pair = self._pairs.get((before[0], after[0]))
        if pair is None:
            pair = self._pairs[before[0], after[0]] = len(self._pairs) + 1
            there = _Place("#/", scopes_of(old.package), scopes_of(new.package), pair)
            for part in name.split("."):
                there = there.in_type(part)
            self._to_compare.append((there, old.element, new.element))
        self._links.append(_Link(place, pair, name))


class _FieldType(NamedTuple):
    """What the type of a field is: a scalar (or ENUM), a map, or a message, which may not be known."""

    scalar: str | None = None
    map: tuple[str, str] | None = None
    named: NamedType | None = None
    full_name: str = ""

    @property
    def kind(self) -> str:
        return "a scalar" if self.scalar is not None else "a map" if self.map is not None else "a message"

    @classmethod
    def of(cls, name: str, names: Names, scopes: Scopes) -> "_FieldType":
        if name in SCALARS:
            return cls(scalar=name)
        key_and_value = map_types(name)
        if key_and_value is not None:
            return cls(map=key_and_value)
        full_name = names.resolved(name, scopes)
        named = None if full_name is None else names.type(full_name)
        if full_name is None or named is None:
            return cls()
        if isinstance(named.element, Enum):
            return cls(scalar=rules.ENUM)
        key_and_value = entry_types(named.element)
        return cls(named=named, full_name=full_name) if key_and_value is None else cls(map=key_and_value)


def _by_name(types: list[Message | Enum]) -> tuple[dict[str, Message], dict[str, Enum]]:
    return (
        {each.name: each for each in types if isinstance(each, Message)},
        {each.name: each for each in types if isinstance(each, Enum)},
    )
