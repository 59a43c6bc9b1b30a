"""The form of a schema that is the same whatever the order and spelling of its text, as Confluent's `normalize=true`.

Names of types are written in full, fields are in the order of their numbers, options and imports in that of their names;
synthetic messages of maps become maps. Messages keep their order: serializers count on it.

Numbers are written without needless digits. Confluent's rounds them to three decimal places, and so makes 0 of a default of
0.0001; here a number that this would change stays as it was written.
"""

from decimal import Decimal, InvalidOperation

from stoker.registry.formats.protobuf.elements import (
    SCALARS,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    Numbers,
    OneOf,
    Option,
    OptionKind,
    OptionValue,
    Primitive,
    ProtoFile,
    Reserved,
    Rpc,
    Service,
    entry_types,
    map_types,
)
from stoker.registry.formats.protobuf.names import Names, Scopes, inside, scopes_of
from stoker.registry.formats.protobuf.option_merger import OptionMerger, as_map
from stoker.registry.formats.protobuf.printer import options_with_special

_DECIMAL_PLACES = 3
_MAX_EXPONENT = 400
"""Beyond what a double holds; a number that is larger is left as it is, as writing it out would take all memory."""


def normalized(names: Names) -> ProtoFile:
    """The elements to print. Defaults and JSON names are among the options there, so this is for printing alone."""
    file = names.file
    normalizer = _Normalizer(names)
    scopes = scopes_of(file.package)
    return ProtoFile(
        syntax=None if file.syntax == "proto2" else file.syntax,
        edition=file.edition,
        package=file.package,
        imports=sorted(set(file.imports)),
        public_imports=sorted(set(file.public_imports)),
        weak_imports=sorted(set(file.weak_imports)),
        options=normalizer.options(file.options, scopes),
        types=normalizer.types(file.types, scopes),
        extends=normalizer.extends(file.extends, scopes),
        services=[normalizer.service(each, scopes) for each in file.services],
    )


class _Normalizer:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.merger = OptionMerger(names)

    def types(self, types: list[Message | Enum], scopes: Scopes) -> list[Message | Enum]:
        found: list[Message | Enum] = []
        for each in types:
            if isinstance(each, Enum):
                found.append(self.enum(each, inside(scopes, each.name)))
            elif entry_types(each) is None:
                found.append(self.message(each, inside(scopes, each.name)))
        return found

    def message(self, message: Message, scopes: Scopes) -> Message:
        return Message(
            message.name,
            fields=self.fields(message.fields, scopes),
            oneofs=self.oneofs(message.oneofs, scopes),
            groups=self.groups(message.groups, scopes),
            types=self.types(message.types, scopes),
            options=self.options(message.options, scopes),
            reserved=_reserved(message.reserved),
            extensions=self.extensions(message.extensions, scopes),
            extends=self.extends(message.extends, scopes),
        )

    def fields(self, fields: list[Field], scopes: Scopes) -> list[Field]:
        return [self.field(each, scopes) for each in sorted(fields, key=lambda field: field.number)]

    def field(self, field: Field, scopes: Scopes) -> Field:
        label, type_name = field.label, field.type
        if type_name not in SCALARS:
            key_and_value = map_types(type_name)
            if key_and_value is None:
                full_name = self.full_name(type_name, scopes)
                named = self.names.type(full_name[1:])
                key_and_value = (
                    entry_types(named.element) if named is not None and isinstance(named.element, Message) else None
                )
                type_name = full_name
            if key_and_value is not None:
                key, value = key_and_value
                type_name = f"map<{key}, {value if value in SCALARS else self.full_name(value, scopes)}>"
                label = None
        plain = Field(label, type_name, field.name, field.number, field.options, field.default, field.json_name)
        options = options_with_special(plain)
        return Field(label, type_name, field.name, field.number, self.options(options, scopes) if options else [])

    def full_name(self, name: str, scopes: Scopes) -> str:
        resolved = self.names.resolved(name, scopes)
        return name if resolved is None else f".{resolved}"

    def oneofs(self, oneofs: list[OneOf], scopes: Scopes) -> list[OneOf]:
        found = [
            OneOf(
                each.name,
                self.fields(each.fields, scopes),
                self.groups(each.groups, scopes),
                self.options(each.options, scopes),
            )
            for each in oneofs
            if each.fields or each.groups
        ]
        return sorted(found, key=lambda oneof: (oneof.fields[0] if oneof.fields else oneof.groups[0]).number)

    def groups(self, groups: list[Group], scopes: Scopes) -> list[Group]:
        return [
            Group(each.label, each.name, each.number, self.fields(each.fields, inside(scopes, each.name)))
            for each in sorted(groups, key=lambda group: group.number)
        ]

    def extensions(self, extensions: list[Extensions], scopes: Scopes) -> list[Extensions]:
        found = [
            Extensions([_plain(value)], self.options(each.options, scopes))
            for each in extensions
            for value in each.values
        ]
        return sorted(found, key=lambda each: _first(each.values[0]))

    def extends(self, extends: list[Extend], scopes: Scopes) -> list[Extend]:
        """One declaration for each message that is extended."""
        found: dict[str, Extend] = {}
        for each in extends:
            if not each.fields and not each.groups:
                continue
            name = self.full_name(each.name, scopes)
            extend = found.setdefault(name, Extend(name))
            extend.fields.extend(each.fields)
            extend.groups.extend(each.groups)
        for extend in found.values():
            extend.fields = self.fields(extend.fields, scopes)
            extend.groups = self.groups(extend.groups, scopes)
        return list(found.values())

    def enum(self, enum: Enum, scopes: Scopes) -> Enum:
        constants = sorted(enum.constants, key=lambda each: (each.number, each.name))
        return Enum(
            enum.name,
            [type(each)(each.name, each.number, self.options(each.options, scopes)) for each in constants],
            self.options(enum.options, scopes),
            _reserved(enum.reserved),
        )

    def service(self, service: Service, scopes: Scopes) -> Service:
        rpcs = [
            Rpc(
                each.name,
                self.full_name(each.request, scopes),
                self.full_name(each.response, scopes),
                each.request_streams,
                each.response_streams,
                self.options(each.options, scopes),
            )
            for each in service.rpcs
        ]
        return Service(service.name, rpcs, self.options(service.options, scopes))

    def options(self, options: list[Option], scopes: Scopes) -> list[Option]:
        """In the order of their names, custom ones by their full names, and the parts of one value together."""
        if not options:
            return []
        qualified = sorted((self._qualified(each, scopes) for each in options), key=lambda option: option.name)
        return [self._tidy(each, scopes) for each in self.merger.merged(qualified, scopes)]

    def _qualified(self, option: Option, scopes: Scopes) -> Option:
        if not option.custom:
            return option
        full_name = self.names.resolved_extension(option.name, scopes)
        if full_name is None:
            return option
        return as_map(Option(full_name, option.kind, option.value, custom=True))

    def _tidy(self, option: Option, scopes: Scopes) -> Option:
        value = option.value
        if isinstance(value, Option):
            value = self._tidy(value, scopes)
        elif isinstance(value, dict):
            value = self._tidy_map(value, scopes)
        elif isinstance(value, list):
            value = [self._tidy_value(each, scopes) for each in value]
        elif option.kind is OptionKind.NUMBER and isinstance(value, str):
            value = plain_number(value)
        return Option(option.name, option.kind, value, option.custom)

    def _tidy_value(self, value: OptionValue, scopes: Scopes) -> OptionValue:
        if isinstance(value, Primitive):
            return Primitive(value.kind, plain_number(value.value)) if value.kind is OptionKind.NUMBER else value
        if isinstance(value, dict):
            return self._tidy_map(value, scopes)
        if isinstance(value, list):
            return (
                self._tidy_value(value[0], scopes)
                if len(value) == 1
                else [self._tidy_value(each, scopes) for each in value]
            )
        return self._tidy(value, scopes) if isinstance(value, Option) else value

    def _tidy_map(self, entries: dict[str, OptionValue], scopes: Scopes) -> dict[str, OptionValue]:
        found: dict[str, OptionValue] = {}
        for key, value in entries.items():
            if value == []:
                continue
            if key[:1] == "[":
                full_name = self.names.resolved_extension(key[1:-1], scopes)
                key = key if full_name is None else f"[{full_name}]"
            found.setdefault(key, value)
        return {key: self._tidy_value(found[key], scopes) for key in sorted(found)}


def _reserved(reserved: list[Reserved]) -> list[Reserved]:
    """One declaration for each value: numbers first, then names."""
    values = [_plain(value) if not isinstance(value, str) else value for each in reserved for value in each.values]
    return [Reserved([value]) for value in sorted(values, key=_reserved_order)]


def _reserved_order(value: Numbers | str) -> tuple[int, str]:
    if isinstance(value, str):
        return 0x7FFFFFFF, value
    return _first(value), str(value) if isinstance(value, int) else f"{value[0]}..{value[1]}"


def _first(value: Numbers) -> int:
    return value if isinstance(value, int) else value[0]


def _plain(value: Numbers) -> Numbers:
    return value[0] if isinstance(value, tuple) and value[0] == value[1] else value


def plain_number(text: str) -> str:
    """The number in plain decimals; anything else, such as `inf`, as it is."""
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text)
    try:
        if digits[:2] in ("0x", "0X"):
            return f"{sign}{int(digits, 16)}"
        if len(digits) > 1 and digits[0] == "0" and digits.isdecimal():
            return f"{sign}{int(digits, 8)}"
        number = Decimal(digits[:-1] if digits[-1:] in "fFdD" and digits[:1].isdecimal() else digits)
    except (InvalidOperation, ValueError):
        return text
    if not number.is_finite() or number.adjusted() > _MAX_EXPONENT or len(digits) > _MAX_EXPONENT:
        return text
    if -int(number.normalize().as_tuple().exponent) > _DECIMAL_PLACES:
        return text
    exact = f"{number:f}"
    return sign + (exact.rstrip("0").rstrip(".") if "." in exact else exact)
