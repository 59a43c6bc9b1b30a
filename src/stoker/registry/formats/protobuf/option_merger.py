"""Puts the parts of one custom option together: `(o).a = 1` and `(o).b = 2` are `(o) = { a: 1, b: 2 }`."""

from itertools import groupby

from stoker.registry.formats.protobuf.elements import Field, Message, Option, OptionKind, OptionValue, Primitive
from stoker.registry.formats.protobuf.names import Names, Scopes

_PRIMITIVES = (OptionKind.BOOLEAN, OptionKind.ENUM, OptionKind.NUMBER)


def as_map(option: Option) -> Option:
    """An option of a dotted name as one whose value is a map; others as they are."""
    if not isinstance(option.value, Option):
        return option
    return Option(option.name, OptionKind.MAP, _map_of(option.value), option.custom)


def _map_of(inner: Option) -> dict[str, OptionValue]:
    value = inner.value
    if isinstance(value, Option):
        value = _map_of(value)
    elif inner.kind in _PRIMITIVES and isinstance(value, str):
        value = Primitive(inner.kind, value)
    return {inner.name: value}


class OptionMerger:
    def __init__(self, names: Names) -> None:
        self.names = names

    def merged(self, options: list[Option], scopes: Scopes) -> list[Option]:
        """Options in the order of their names; those that set parts of one value, which is not repeated, put together."""
        found: list[Option] = []
        for name, group in groupby(options, key=lambda option: option.name):
            same = list(group)
            extension = self.names.extension(name) if same[0].custom and len(same) > 1 else None
            if extension is None or extension.label == "repeated":
                found.extend(same)
            else:
                found.append(self._one(extension, same, scopes))
        return found

    def _one(self, extension: Field, options: list[Option], scopes: Scopes) -> Option:
        result = as_map(options[0])
        merger = _MapMerger(self, scopes)
        for option in map(as_map, options[1:]):
            if isinstance(result.value, dict) and isinstance(option.value, dict):
                merged = merger.merge(extension, result.value, option.value)
                result = Option(option.name, OptionKind.MAP, merged, option.custom)
            else:
                result = option
        return result

    def message_of(self, field: Field | None, scopes: Scopes) -> Message | None:
        full_name = self.names.resolved(field.type, scopes) if field is not None else None
        named = self.names.type(full_name) if full_name is not None else None
        return named.element if named is not None and isinstance(named.element, Message) else None


class _MapMerger:
    """Merges maps into copies that it owns, so that many small parts take no more than the time to read them."""

    def __init__(self, options: OptionMerger, scopes: Scopes) -> None:
        self._options = options
        self._scopes = scopes
        self._owned: dict[int, dict[str, OptionValue]] = {}
        self._collected: dict[int, tuple[list[OptionValue], set[str]]] = {}

    def merge(
        self, container: Field | None, existing: dict[str, OptionValue], added: dict[str, OptionValue]
    ) -> dict[str, OptionValue]:
        if id(existing) not in self._owned:
            existing = dict(existing)
            self._owned[id(existing)] = existing
        message = self._options.message_of(container, self._scopes)
        for key, value in added.items():
            existing[key] = value if key not in existing else self._value(_field(message, key), existing[key], value)
        return existing

    def _value(self, field: Field | None, existing: OptionValue, added: OptionValue) -> OptionValue:
        if field is not None and field.label != "repeated":
            is_message = self._options.message_of(field, self._scopes) is not None
            if is_message and isinstance(existing, dict) and isinstance(added, dict):
                return self.merge(field, existing, added)
            return added
        collected, seen = self._collected.get(id(existing)) or ([], set())
        values = [] if collected else (existing if isinstance(existing, list) else [existing])
        for each in [*values, *(added if isinstance(added, list) else [added])]:
            if (key := repr(each)) not in seen:
                seen.add(key)
                collected.append(each)
        self._collected[id(collected)] = collected, seen
        return collected


def _field(message: Message | None, name: str) -> Field | None:
    if message is None:
        return None
    fields = [*message.fields, *(each for oneof in message.oneofs for each in oneof.fields)]
    return next((each for each in fields if each.name == name), None)
