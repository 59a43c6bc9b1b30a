"""Reads options: `(confluent.field_meta).doc = "x"`, and their values, which may be whole messages in text format."""

from stoker.registry.formats.protobuf.elements import Option, OptionKind, OptionValue, Primitive
from stoker.registry.formats.protobuf.tokens import END, MAX_WORD, invalid_at, tokens_of, unquoted
from stoker.registry.formats.schema import InvalidSchema

MAX_NESTED_VALUES = 64
"""Maps and lists in the value of one option. Deeper ones are refused: no option of a person's hand has them."""

_PRIMITIVES = (OptionKind.BOOLEAN, OptionKind.ENUM, OptionKind.NUMBER)


class TokenReader:
    """Goes through the tokens of a text. `at` is the number of the next one."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    def invalid(self, reason: str, token: int | None = None) -> InvalidSchema:
        """The error, placed at the token of that number; without one, at the token just read."""
        return invalid_at(self.text, self.at - 1 if token is None else token, reason)

    def expect(self, sign: str) -> None:
        found = self.tokens[self.at]
        self.at += 1
        if found != sign:
            raise self.unexpected(found, f"'{sign}'")

    def took(self, sign: str) -> bool:
        """Whether the sign came next; then it was read."""
        if self.tokens[self.at] == sign:
            self.at += 1
            return True
        return False

    def word(self, what: str) -> str:
        found = self.tokens[self.at]
        self.at += 1
        if not _is_word(found):
            raise self.unexpected(found, what)
        if len(found) > MAX_WORD:
            raise self.invalid(f"{what} has {len(found)} characters; at most {MAX_WORD} are read")
        return found

    def identifier(self, what: str) -> str:
        found = self.word(what)
        if not found.isidentifier():
            raise self.invalid(f"'{found}' cannot be {what}: a name is made of letters, digits and _, no digit first")
        return found

    def string(self, what: str) -> str:
        """A string, or several that stand next to each other and are one."""
        found = self.tokens[self.at]
        self.at += 1
        if found[:1] not in ('"', "'"):
            raise self.unexpected(found, what)
        if len(found) < 2 or found[-1] != found[0] or "\n" in found:
            raise self.invalid("a string that does not end on its line")
        result = unquoted(found)
        if self.tokens[self.at][:1] in ('"', "'"):
            parts = [result]
            while (found := self.tokens[self.at])[:1] in ('"', "'"):
                self.at += 1
                if len(found) < 2 or found[-1] != found[0] or "\n" in found:
                    raise self.invalid("a string that does not end on its line")
                parts.append(unquoted(found))
            return "".join(parts)
        return result

    def integer(self, what: str) -> int:
        found = self.tokens[self.at]
        self.at += 1
        if found == "-":
            found = "-" + self.tokens[self.at]
            self.at += 1
        try:
            if found.isdecimal() and found[0] != "0":
                value = int(found) if len(found) < 20 else 1 << 40
            else:
                value = _integer(found)
        except ValueError:
            raise self.unexpected(found, what) from None
        if not -(1 << 31) <= value < 1 << 31:
            raise self.invalid(f"{what} must fit in 32 bits, and {found[:40]} does not")
        return value

    def unexpected(self, found: str, wanted: str) -> InvalidSchema:
        if found == END:
            return self.invalid(f"the text ends where {wanted} is expected")
        if found.startswith("/*"):
            return self.invalid("a comment that does not end")
        if found[0] in "\"'" and (len(found) < 2 or found[-1] != found[0]):
            return self.invalid("a string that does not end on its line")
        return self.invalid(f"{wanted} is expected here, not {found if len(found) < 60 else found[:57] + '...'}")

    def options(self) -> list[Option]:
        """Those in brackets after a field, if there are any."""
        if self.tokens[self.at] != "[":
            return []
        self.at += 1
        found = [self.option()]
        while not self.took("]"):
            self.expect(",")
            found.append(self.option())
        return found

    def option(self) -> Option:
        """Name, `=` and value."""
        custom = self.took("(")
        name = self.word("the name of an option")
        if custom:
            self.expect(")")
        path = self._rest_of_name()
        self.expect("=")
        kind, value = self._value(1)
        for part, is_custom in reversed(path):
            value = Option(part, kind, value, is_custom)
            kind = OptionKind.OPTION
        return Option(name, kind, value, custom)

    def _rest_of_name(self) -> list[tuple[str, bool]]:
        """What follows `(a.b)`: the parts between dots, and which of them are in parentheses."""
        path: list[tuple[str, bool]] = []
        while self.tokens[self.at].startswith("."):
            parts = self.word("the name of an option")[1:].split(".")
            path.extend((part, False) for part in parts if part)
            if not parts[-1] and self.took("("):
                path.append((self.word("the name of an option"), True))
                self.expect(")")
            elif not all(parts) or len(path) > MAX_NESTED_VALUES:
                raise self.invalid("the name of an option has an empty part or too many parts")
        return path

    def _value(self, depth: int) -> tuple[OptionKind, OptionValue]:
        if depth > MAX_NESTED_VALUES:
            raise self.invalid(f"the value of an option is nested more than {MAX_NESTED_VALUES} deep")
        found = self.tokens[self.at]
        if found == "{":
            return OptionKind.MAP, self._map(depth)
        if found == "[":
            return OptionKind.LIST, self._list(depth)
        if found[:1] in ('"', "'"):
            return OptionKind.STRING, self.string("a value")
        word = self.word("a value")
        if word == "-":
            word += self.word("a number")
        if word in ("true", "false"):
            return OptionKind.BOOLEAN, word
        return (OptionKind.NUMBER if word[0] in "-0123456789" else OptionKind.ENUM), word

    def _map(self, depth: int) -> dict[str, OptionValue]:
        self.expect("{")
        entries: dict[str, OptionValue] = {}
        while not self.took("}"):
            name = self._key()
            if self.tokens[self.at] != "{":
                self.expect(":")
            value = self._element(depth)
            previous = entries.get(name)
            if previous is None:
                entries[name] = value
            elif isinstance(previous, list):
                previous.extend(value if isinstance(value, list) else [value])
            else:
                entries[name] = [previous, *(value if isinstance(value, list) else [value])]
            if not self.took(","):
                self.took(";")
        return entries

    def _key(self) -> str:
        if not self.took("["):
            return self.word("the name of a field")
        parts = [self.word("the name of an extension")]
        while self.took("/"):
            parts.append(self.word("the name of an extension"))
        self.expect("]")
        return f"[{'/'.join(parts)}]"

    def _list(self, depth: int) -> list[OptionValue]:
        self.expect("[")
        values: list[OptionValue] = []
        while not self.took("]"):
            values.append(self._element(depth))
            if not self.took(",") and self.tokens[self.at] != "]":
                raise self.unexpected(self.tokens[self.at], "',' or ']'")
        return values

    def _element(self, depth: int) -> OptionValue:
        kind, value = self._value(depth + 1)
        return Primitive(kind, value) if kind in _PRIMITIVES and isinstance(value, str) else value


def _is_word(token: str) -> bool:
    first = token[:1]
    return first.isascii() and (first.isalnum() or first in ("_", ".", "-")) and first != ""


def _integer(text: str) -> int:
    """As protoc reads it: 0x is hexadecimal, a leading 0 octal."""
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
    if not digits.isalnum() or not digits.isascii() or len(digits) > 20:
        raise ValueError(text)
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    return sign * int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)
