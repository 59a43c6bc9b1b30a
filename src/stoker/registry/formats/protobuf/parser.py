"""Reads the text of a .proto file into elements, as Wire does, by which Confluent's registry reads: proto2, proto3, and
editions besides.

What is checked here is what makes a comparison wrong or a name ambiguous: numbers, and names that are there twice. Names of
types are resolved later (names.py).
"""

from collections.abc import Callable

from stoker.registry.formats.protobuf.elements import (
    IMPLEMENTATION_NUMBERS,
    MAX_FIELD_NUMBER,
    Enum,
    EnumConstant,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    Numbers,
    OneOf,
    Option,
    ProtoFile,
    Reserved,
    Rpc,
    Service,
)
from stoker.registry.formats.protobuf.options import TokenReader
from stoker.registry.formats.protobuf.tokens import END

MAX_NESTED_MESSAGES = 32
"""As protoc's own limit."""
MAX_PACKAGE_PARTS = 32
MAX_TYPES = 10_000
"""Messages and enums of one file."""

_LABELS = ("optional", "repeated", "required")


def parse_file(text: str) -> ProtoFile:
    """The elements of a .proto text. Raises InvalidSchema with the place of the first error."""
    return _Parser(text).file()


class _Parser(TokenReader):
    __slots__ = ("labels_may_lack", "proto", "types")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.proto = ProtoFile()
        self.labels_may_lack = False
        self.types = 0

    def file(self) -> ProtoFile:
        proto = self.proto
        declare: dict[str, Callable[[], None]] = {
            "package": self._package,
            "import": self._import,
            "option": lambda: proto.options.append(self._option_statement()),
            "message": lambda: proto.types.append(self._message(1)),
            "enum": lambda: proto.types.append(self._enum()),
            "service": lambda: proto.services.append(self._service()),
            "extend": lambda: proto.extends.append(self._extend()),
        }
        self._syntax()
        while (token := self.tokens[self.at]) != END:
            self.at += 1
            if token == ";":
                continue
            if (read := declare.get(token)) is None:
                if token in ("syntax", "edition"):
                    raise self.invalid(f"'{token}' must be the first declaration of the file, and there only once")
                raise self.unexpected(token, "message, enum, service, extend, import, package or option")
            read()
        self._refuse_second([(each.name, each.token) for each in proto.types], "the file")
        self._refuse_second([(each.name, -1) for each in proto.services], "the services of the file")
        return proto

    def _syntax(self) -> None:
        keyword = self.tokens[self.at]
        if keyword not in ("syntax", "edition"):
            return
        self.at += 1
        self.expect("=")
        value = self.string(f"the {keyword} in quotes")
        if keyword == "edition":
            if not value.isalnum():
                raise self.invalid(f"unknown edition '{value}'")
            self.proto.syntax, self.proto.edition = "editions", value
        elif value in ("proto2", "proto3"):
            self.proto.syntax = value
        else:
            raise self.invalid(f"unknown syntax '{value}': there are proto2 and proto3")
        self.labels_may_lack = value != "proto2"
        self.expect(";")

    def _package(self) -> None:
        if self.proto.package is not None:
            raise self.invalid("a second package")
        package = self.word("the name of the package")
        parts = package.split(".")
        if len(parts) > MAX_PACKAGE_PARTS or not all(part.isidentifier() for part in parts):
            raise self.invalid(f"'{package}' cannot be the name of a package")
        self.proto.package = package
        self.expect(";")

    def _import(self) -> None:
        proto = self.proto
        into = proto.imports
        if self.took("public"):
            into = proto.public_imports
        elif self.took("weak"):
            into = proto.weak_imports
        into.append(self.string("the name of a file in quotes"))
        self.expect(";")

    def _option_statement(self) -> Option:
        option = self.option()
        self.expect(";")
        return option

    def _message(self, depth: int) -> Message:
        if depth > MAX_NESTED_MESSAGES:
            raise self.invalid(f"messages are nested more than {MAX_NESTED_MESSAGES} deep")
        tokens = self.tokens
        message = Message(self._type_name("a message"), token=self.at - 1)
        fields, types = message.fields, message.types
        self.expect("{")
        while (token := tokens[self.at]) != "}":
            self.at += 1
            # A keyword before `=` or a dot would be the type of a field; no one names a type so.
            if token == "message":
                types.append(self._message(depth + 1))
            elif token == "enum":
                types.append(self._enum())
            elif token == "oneof":
                message.oneofs.append(self._oneof())
            elif token == "option":
                message.options.append(self._option_statement())
            elif token == "reserved":
                message.reserved.append(self._reserved())
            elif token == "extensions":
                message.extensions.append(self._extensions())
            elif token == "extend":
                message.extends.append(self._extend())
            elif token != ";":
                field = self._field_or_group(token)
                if isinstance(field, Field):
                    fields.append(field)
                else:
                    message.groups.append(field)
        self.at += 1
        self._check_message(message)
        return message

    def _type_name(self, what: str) -> str:
        self.types += 1
        if self.types > MAX_TYPES:
            raise self.invalid(f"the file has more than {MAX_TYPES} messages and enums")
        return self.identifier(f"the name of {what}")

    def _field_or_group(self, token: str, map_allowed: bool = True) -> Field | Group:
        """A field, whose first token was read already."""
        start = self.at - 1
        label = None
        if token in _LABELS:
            label = token
            if label == "required" and self.proto.syntax in ("proto3", "editions"):
                raise self.invalid(f"a field cannot be required in {self.proto.syntax}")
            self.at += 1
        elif not self.labels_may_lack and not (token == "map" and self.tokens[self.at] == "<"):
            if token[:1].isalpha() or token[:1] == ".":
                raise self.invalid(f"'{token}' without optional, required or repeated: a field of proto2 needs one")
            raise self.unexpected(token, "a field, message, enum, oneof, option or '}'")
        self.at -= 1
        return self._rest_of_field(label, start, map_allowed)

    def _rest_of_field(self, label: str | None, start: int, map_allowed: bool) -> Field | Group:
        tokens = self.tokens
        type_name = self.word("the type of a field")
        if type_name == "group" and tokens[self.at + 1] == "=":
            return self._group(label, start)
        if type_name == "map" and tokens[self.at] == "<":
            if label is not None or not map_allowed:
                raise self.invalid("a map can be neither optional, repeated nor in a oneof or extension")
            type_name = self._map_type()
        name = self.identifier("the name of a field")
        self.expect("=")
        number = self._field_number()
        options = self.options() if tokens[self.at] == "[" else []
        self.expect(";")
        field = Field(label, type_name, name, number, options, token=start)
        if options:
            self._take_special_options(field)
        return field

    def _map_type(self) -> str:
        self.expect("<")
        key = self.word("the type of the map's keys")
        self.expect(",")
        value = self.word("the type of the map's values")
        self.expect(">")
        return f"map<{key}, {value}>"

    def _take_special_options(self, field: Field) -> None:
        """`default` and `json_name` are written as options but are none."""
        kept = []
        for option in field.options:
            if option.custom or option.name not in ("default", "json_name"):
                kept.append(option)
            elif not isinstance(option.value, str):
                raise self.invalid(f"the {option.name} of '{field.name}' must be a single value")
            elif option.name == "default":
                field.default = option.value
            else:
                field.json_name = option.value
        field.options = kept

    def _field_number(self) -> int:
        number = self.integer("the number of a field")
        if not 0 < number <= MAX_FIELD_NUMBER:
            raise self.invalid(f"{number} cannot be the number of a field: they go from 1 to {MAX_FIELD_NUMBER}")
        if number in IMPLEMENTATION_NUMBERS:
            raise self.invalid(f"{number} cannot be the number of a field: Protobuf keeps 19000 to 19999 for itself")
        return number

    def _oneof(self) -> OneOf:
        oneof = OneOf(self.identifier("the name of a oneof"), token=self.at - 1)
        self.expect("{")
        while not self.took("}"):
            self.at += 1
            if self.tokens[self.at - 1] == ";":
                continue
            if self.tokens[self.at - 1] == "option":
                oneof.options.append(self._option_statement())
                continue
            if self.tokens[self.at - 1] in _LABELS:
                raise self.invalid("a field of a oneof can be neither optional, required nor repeated")
            self.at -= 1
            field = self._rest_of_field(None, self.at, map_allowed=False)
            if isinstance(field, Field):
                oneof.fields.append(field)
            else:
                oneof.groups.append(field)
        return oneof

    def _group(self, label: str | None, start: int) -> Group:
        name = self._type_name("a group")
        self.expect("=")
        group = Group(label, name, self._field_number(), token=start)
        self.expect("{")
        while not self.took("}"):
            self.at += 1
            if self.tokens[self.at - 1] == ";":
                continue
            field = self._field_or_group(self.tokens[self.at - 1])
            if not isinstance(field, Field):
                raise self.invalid(f"the group '{name}' holds a group: only fields can be in one")
            group.fields.append(field)
        self._refuse_second([(str(each.number), each.token) for each in group.fields], f"the group '{name}'")
        return group

    def _extend(self) -> Extend:
        extend = Extend(self.word("the name of the message to extend"), token=self.at - 1)
        self.expect("{")
        while not self.took("}"):
            self.at += 1
            if self.tokens[self.at - 1] == ";":
                continue
            field = self._field_or_group(self.tokens[self.at - 1], map_allowed=False)
            if isinstance(field, Field):
                extend.fields.append(field)
            else:
                extend.groups.append(field)
        return extend

    def _numbers(self) -> Numbers:
        first = self.integer("a number")
        if not self.took("to"):
            return first
        return first, (MAX_FIELD_NUMBER if self.took("max") else self.integer("a number or max"))

    def _reserved(self) -> Reserved:
        values: list[Numbers | str] = []
        while True:
            following = self.tokens[self.at]
            if following[:1] in ('"', "'"):
                values.append(self.string("a name"))
            elif self.proto.edition is not None and following.isidentifier():
                values.append(self.identifier("a name"))
            else:
                values.append(self._numbers())
            if not self.took(","):
                break
        self.expect(";")
        return Reserved(values)

    def _extensions(self) -> Extensions:
        values = [self._numbers()]
        while self.took(","):
            values.append(self._numbers())
        options = self.options()
        self.expect(";")
        return Extensions(values, options)

    def _enum(self) -> Enum:
        tokens = self.tokens
        enum = Enum(self._type_name("an enum"), token=self.at - 1)
        self.expect("{")
        while not self.took("}"):
            token = tokens[self.at]
            is_constant = tokens[self.at + 1] == "=" if token != END else True
            if token == ";":
                self.at += 1
            elif token == "option" and not is_constant:
                self.at += 1
                enum.options.append(self._option_statement())
            elif token == "reserved" and not is_constant:
                self.at += 1
                enum.reserved.append(self._reserved())
            else:
                name = self.identifier("the name of a constant")
                self.expect("=")
                number = self.integer("the number of a constant")
                options = self.options() if tokens[self.at] == "[" else []
                self.expect(";")
                enum.constants.append(EnumConstant(name, number, options))
        if len({each.name for each in enum.constants}) != len(enum.constants):
            raise self.invalid(f"the enum '{enum.name}' has two constants of one name", enum.token)
        return enum

    def _service(self) -> Service:
        service = Service(self.identifier("the name of a service"))
        self.expect("{")
        while not self.took("}"):
            token = self.tokens[self.at]
            self.at += 1
            if token == "rpc":
                service.rpcs.append(self._rpc())
            elif token == "option":
                service.options.append(self._option_statement())
            elif token != ";":
                raise self.unexpected(token, "rpc, option or '}'")
        return service

    def _rpc(self) -> Rpc:
        start = self.at
        name = self.identifier("the name of a method")
        request_streams, request = self._rpc_type()
        self.expect("returns")
        response_streams, response = self._rpc_type()
        rpc = Rpc(name, request, response, request_streams, response_streams, token=start)
        if self.took("{"):
            while not self.took("}"):
                if self.took(";"):
                    continue
                self.expect("option")
                rpc.options.append(self._option_statement())
        else:
            self.expect(";")
        return rpc

    def _rpc_type(self) -> tuple[bool, str]:
        self.expect("(")
        streams = self.tokens[self.at] == "stream" and self.tokens[self.at + 1] != ")"
        if streams:
            self.at += 1
        type_name = self.word("the type of a message")
        self.expect(")")
        return streams, type_name

    def _check_message(self, message: Message) -> None:
        numbers: set[int] = set()
        names: set[str] = set()
        count = 0
        for each in message.fields:
            numbers.add(each.number)
            names.add(each.name)
            count += 1
        for oneof in message.oneofs:
            for each in oneof.fields:
                numbers.add(each.number)
                names.add(each.name)
                count += 1
        if len(numbers) != count or len(names) != count:
            fields = [*message.fields, *(each for oneof in message.oneofs for each in oneof.fields)]
            self._refuse_second([(str(each.number), each.token) for each in fields], f"'{message.name}'")
            self._refuse_second([(each.name, each.token) for each in fields], f"'{message.name}'")
        self._refuse_second([(each.name, each.token) for each in message.types], f"'{message.name}'")

    def _refuse_second(self, named: list[tuple[str, int]], where: str) -> None:
        seen: set[str] = set()
        for name, token in named:
            if name in seen:
                raise self.invalid(f"'{name}' is there twice in {where}", None if token < 0 else token)
            seen.add(name)
