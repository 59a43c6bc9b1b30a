"""Arguments as Kafka reads them with argparse4j, in the tools that have subcommands: the same forms, messages, exit codes."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from textwrap import wrap
from typing import Any, Final

from stoker.errors import StokerError

_WIDTH: Final = 75
_HELP_COLUMN: Final = 25
_HELP_FLAGS: Final = ("-h", "--help")


class BadArguments(StokerError):
    """Arguments that cannot be read; the message is argparse4j's, and `usage` is to be shown with it."""

    def __init__(self, tool: str, usage: str, message: str) -> None:
        super().__init__(message)
        self.tool = tool
        self.usage = usage

    def report(self) -> int:
        """Usage and message on stderr; returns the exit code."""
        print(f"{self.usage}\n{self.tool}: error: {self}", file=sys.stderr)
        return 1


class HelpWanted(Exception):
    """--help was among the arguments; the text is the page."""


class TerseFailure(StokerError):
    """What Kafka's tool says in one line, without a stack trace."""


class Action(Enum):
    STORE = "a value, the last of them counts"
    APPEND = "a value each time"
    FLAG = "no value"
    REST = "one value or more, up to the next flag"


@dataclass(frozen=True, slots=True)
class Argument:
    """Its flags, the longest first; without flags it is positional."""

    flags: tuple[str, ...]
    help: str
    action: Action = Action.STORE
    kind: type[int] | type[float] | type[str] = str
    required: bool = False
    default: Any = None
    metavar: str = ""
    java_type: str = "Integer"

    @property
    def name(self) -> str:
        return self.flags[0].lstrip("-").replace("-", "_").replace(".", "_")

    @property
    def shown(self) -> str:
        return "/".join(self.flags)

    @property
    def form(self) -> str:
        if self.action is Action.FLAG:
            return self.flags[0]
        placeholder = self.metavar or self.name.upper()
        if self.action is Action.REST:
            return f"{self.flags[0]} {placeholder} [{placeholder} ...]"
        return f"{self.flags[0]} {placeholder}"

    def converted(self, text: str, fail: "Any") -> Any:
        if self.kind is str:
            return text
        try:
            return self.kind(text)
        except ValueError:
            fail(
                f"argument {self.shown}: could not convert '{text}' to {self.java_type} (For input string: \"{text}\")"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Arguments of which no two may be given."""

    arguments: tuple[Argument, ...]
    required: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Parser:
    """A tool or one of its subcommands."""

    name: str
    description: str = ""
    arguments: tuple[Argument, ...] = ()
    groups: tuple[Group, ...] = ()
    commands: tuple["Parser", ...] = ()
    parents: tuple[str, ...] = field(default=())
    """The names that come before its own in the usage."""

    @property
    def tool(self) -> str:
        return self.parents[0] if self.parents else self.name

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """Values by the names of the arguments with underscores, and `command`. Raises BadArguments and HelpWanted."""
        return _Parsing(self).run(list(arguments))

    def _every(self) -> list[Argument]:
        return [*self.arguments, *(each for group in self.groups for each in group.arguments)]

    @property
    def usage(self) -> str:
        parts = ["[-h]"]
        parts += [each.form if each.required else f"[{each.form}]" for each in self.arguments]
        for group in self.groups:
            forms = [f"{each.form} |" for each in group.arguments[:-1]] + [group.arguments[-1].form]
            opening, closing = "()" if group.required else "[]"
            parts += [opening + forms[0], *forms[1:-1], forms[-1] + closing]
        if self.commands:
            parts += ["{" + ",".join(command.name for command in self.commands) + "}", "..."]
        start = f"usage: {' '.join((*self.parents, self.name))} "
        indent = " " * (len("usage: ") + len(self.tool) + 1)
        lines, line = [], start + parts[0]
        for part in parts[1:]:
            if len(line) + 1 + len(part) > _WIDTH:
                lines.append(line)
                line = indent + part
            else:
                line += " " + part
        return "\n".join((*lines, line))

    @property
    def page(self) -> str:
        lines = [self.usage, ""]
        if self.description:
            lines += [*wrap(self.description, _WIDTH), ""]
        if self.commands:
            lines += ["positional arguments:", "  {" + ",".join(each.name for each in self.commands) + "}"]
            for command in self.commands:
                lines += _entry(f"    {command.name}", command.description)
            lines.append("")
        lines.append("named arguments:")
        lines += _entry("  -h, --help", "show this help message and exit")
        for each in self._every():
            placeholder = "" if each.action is Action.FLAG else f" {each.metavar or each.name.upper()}"
            lines += _entry("  " + ", ".join(f"{flag}{placeholder}" for flag in each.flags), each.help)
        return "\n".join(lines)


def _entry(left: str, text: str) -> list[str]:
    wrapped = wrap(text, _WIDTH - _HELP_COLUMN) or [""]
    if len(left) < _HELP_COLUMN - 1:
        first, *rest = wrapped
        return [left.ljust(_HELP_COLUMN) + first, *(" " * _HELP_COLUMN + line for line in rest)]
    return [left, *(" " * _HELP_COLUMN + line for line in wrapped)]


class _Parsing:
    """One reading of arguments by one parser; a subcommand is another."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._by_flag = {flag: each for each in parser._every() for flag in each.flags}
        self._values: dict[str, Any] = {}
        self._given: dict[str, Argument] = {}

    def fail(self, message: str) -> None:
        raise BadArguments(self._parser.tool, self._parser.usage, message)

    def run(self, arguments: list[str]) -> dict[str, Any]:
        for each in self._parser._every():
            self._values[each.name] = False if each.action is Action.FLAG else each.default
        while arguments:
            first = arguments.pop(0)
            if first in _HELP_FLAGS:
                raise HelpWanted(self._parser.page)
            if first.startswith("-") and len(first) > 1:
                self._take(first, arguments)
            elif self._parser.commands:
                self._hand_on(first, arguments)
                arguments = []
            else:
                self.fail(f"unrecognized arguments: '{first}'")
        self._check()
        return self._values

    def _hand_on(self, name: str, arguments: list[str]) -> None:
        for command in self._parser.commands:
            if command.name == name:
                self._values |= command.parse(arguments)
                self._values["command"] = name
                return
        names = ", ".join(f"'{command.name}'" for command in self._parser.commands)
        self.fail(f"invalid choice: '{name}' (choose from {names})")

    def _take(self, text: str, arguments: list[str]) -> None:
        flag, equals, value = text.partition("=")
        argument = self._by_flag.get(flag)
        if argument is None and not text.startswith("--") and (argument := self._by_flag.get(text[:2])) is not None:
            flag, equals, value = text[:2], "=", text[2:]  # -tVALUE
        if argument is None:
            self.fail(f"unrecognized arguments: '{flag}'")
            return
        self._refuse_rival(argument)
        self._given[argument.name] = argument
        if argument.action is Action.FLAG:
            self._values[argument.name] = True
            return
        if argument.action is Action.REST:
            self._values[argument.name] = self._all_up_to_next_flag(argument, value if equals else None, arguments)
            return
        if not equals:
            if not arguments or _looks_like_flag(arguments[0]):
                self.fail(f"argument {argument.shown}: expected one argument")
            value = arguments.pop(0)
        converted = argument.converted(value, self.fail)
        if argument.action is Action.APPEND:
            self._values[argument.name] = [*(self._values[argument.name] or ()), converted]
        else:
            self._values[argument.name] = converted

    def _all_up_to_next_flag(self, argument: Argument, first: str | None, arguments: list[str]) -> list[Any]:
        found = [] if first is None else [first]
        while arguments and not _looks_like_flag(arguments[0]):
            found.append(arguments.pop(0))
        if not found:
            self.fail(f"argument {argument.shown}: expected at least one argument")
        return [argument.converted(each, self.fail) for each in found]

    def _refuse_rival(self, argument: Argument) -> None:
        for group in self._parser.groups:
            if argument in group.arguments:
                for other in group.arguments:
                    if other is not argument and other.name in self._given:
                        self.fail(f"argument {argument.shown}: not allowed with argument {other.shown}")

    def _check(self) -> None:
        if self._parser.commands and "command" not in self._values:
            self.fail("too few arguments")
        for each in self._parser.arguments:
            if each.required and each.name not in self._given:
                self.fail(f"argument {each.shown} is required")
        for group in self._parser.groups:
            if group.required and not any(each.name in self._given for each in group.arguments):
                listed = " ".join(each.shown for each in group.arguments)
                self.fail(f"one of the arguments {listed} is required")


def _looks_like_flag(text: str) -> bool:
    return text.startswith("-") and len(text) > 1 and not text[1:].replace(".", "", 1).isdigit()


def subcommand(tool: str, name: str, description: str, **parts: Any) -> Parser:
    """One of the commands of a tool."""
    return Parser(name=name, description=description, parents=(tool,), **parts)


Values = Mapping[str, Any]
"""What was read."""


def run(parser: Parser, arguments: Sequence[str], execute: Callable[[Values], int], *, is_lazy: bool = False) -> int:
    """What `execute` makes of the arguments, as an exit code; what went wrong is told on stderr.

    A lazy tool catches only what it foresaw: a JavaError is left to Java.
    """
    from stoker.client.errors import ClientError, KafkaRefused
    from stoker.kafka_tools.failure import JavaError, java_error

    try:
        return execute(parser.parse(arguments))
    except HelpWanted as page:
        print(page)
        return 0
    except BadArguments as bad:
        return bad.report()
    except KafkaRefused as refused:
        described = java_error(refused).described
        print(f"{described}\njava.util.concurrent.ExecutionException: {described}", file=sys.stderr)
    except TerseFailure as failure:
        print(failure, file=sys.stderr)
    except (ClientError, JavaError) as failure:
        if is_lazy:
            raise
        print(java_error(failure).message, file=sys.stderr)
    return 1
