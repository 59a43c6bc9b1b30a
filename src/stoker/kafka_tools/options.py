"""Options as Kafka's tools read them, with jopt-simple: `--topic orders`, `--topic=orders`, `-topic orders`.

    parser = OptionParser()
    topic = parser.option("topic", "The topic.", described_as="topic")
    options = parser.parse(arguments)
    options.value(topic)

Every parser has --help and --version. A value is converted when it is asked for, as in jopt-simple.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar, cast

from stoker.kafka_tools.failure import JavaError, UsageAsked, VersionAsked

T = TypeVar("T")

_PACKAGE: Final = "joptsimple"


class Option(Generic[T]):
    """One option, by one or more names, and what help says of it."""

    def __init__(
        self,
        names: Sequence[str],
        description: str | Callable[[], str],
        *,
        takes_argument: bool,
        described_as: str = "",
        type_name: str = "",
        convert: Callable[[str], T],
        default: T | None = None,
        is_required: bool = False,
        separator: str | None = None,
        is_argument_optional: bool = False,
    ) -> None:
        self.names = sorted(names, key=lambda name: (len(name) > 1, name))
        self._description = description
        self.takes_argument = takes_argument
        self.described_as = described_as
        self.type_name = type_name
        self.convert = convert
        self.default = default
        self.is_required = is_required
        self.separator = separator
        self.is_argument_optional = is_argument_optional

    @property
    def description(self) -> str:
        """Some are long, and made only when somebody wants to read them."""
        return self._description if isinstance(self._description, str) else self._description()

    def __str__(self) -> str:
        return f"[{', '.join(self.names)}]"


def _integer(smallest: int, largest: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdecimal()) or not smallest <= int(text) <= largest:
            raise ValueError(text)
        return int(text)

    return convert


def _plain(text: str) -> str:
    return text


_INT: Final = _integer(-(2**31), 2**31 - 1)
_LONG: Final = _integer(-(2**63), 2**63 - 1)


class OptionParser:
    """The options of a tool. Kafka's tools allow no abbreviations, but for a few, which say so."""

    def __init__(self, *, abbreviations: bool = False, has_defaults: bool = True) -> None:
        """`has_defaults`: with --help and --version, as nearly all."""
        self._abbreviations = abbreviations
        self.options: list[Option[object]] = []
        self._by_name: dict[str, Option[object]] = {}
        if has_defaults:
            self.help = self.flag("help", "Print usage information.")
            self.version = self.flag("version", "Display Kafka version.")

    # -- declaring --------------------------------------------------------------------------------------------------

    def flag(self, name: str | Sequence[str], description: str) -> Option[str]:
        """An option without an argument."""
        return self._add(Option(_names(name), description, takes_argument=False, convert=_plain))

    def option(
        self,
        name: str | Sequence[str],
        description: str | Callable[[], str],
        *,
        described_as: str = "",
        default: str | None = None,
        is_required: bool = False,
        separator: str | None = None,
        is_argument_optional: bool = False,
    ) -> Option[str]:
        """An option with a text. `separator`: what stands between several values of one argument."""
        return self._add(
            Option(
                _names(name),
                description,
                takes_argument=True,
                described_as=described_as,
                type_name="String",
                convert=_plain,
                default=default,
                is_required=is_required,
                separator=separator,
                is_argument_optional=is_argument_optional,
            )
        )

    def number(
        self,
        name: str | Sequence[str],
        description: str,
        *,
        described_as: str = "",
        default: int | None = None,
        is_long: bool = False,
        is_required: bool = False,
        separator: str | None = None,
        is_argument_optional: bool = False,
    ) -> Option[int]:
        """An option with a Java Integer, or Long."""
        return self._add(
            Option(
                _names(name),
                description,
                takes_argument=True,
                described_as=described_as,
                type_name="Long" if is_long else "Integer",
                convert=_LONG if is_long else _INT,
                default=default,
                is_required=is_required,
                separator=separator,
                is_argument_optional=is_argument_optional,
            )
        )

    def accept_quietly(self, option: Option[T]) -> None:
        """An option that Kafka has no longer, and that documents still use: read, but not in the help."""
        for name in option.names:
            self._by_name[name] = cast("Option[object]", option)

    def _add(self, option: Option[T]) -> Option[T]:
        erased = cast("Option[object]", option)
        self.options.append(erased)
        for name in option.names:
            self._by_name[name] = erased
        return option

    # -- reading ----------------------------------------------------------------------------------------------------

    def parse(self, arguments: Sequence[str]) -> "Options":
        """Raises JavaError with the words of jopt-simple."""
        options = Options(self, arguments)
        rest = list(reversed(arguments))
        while rest:
            argument = rest.pop()
            if argument == "--":
                options.non_options.extend(reversed(rest))
                break
            if argument.startswith("--"):
                self._long(argument[2:], rest, options)
            elif argument.startswith("-") and argument != "-":
                self._short(argument[1:], rest, options)
            else:
                options.non_options.append(argument)
        missing = sorted(
            {"/".join(option.names) for option in self.options if option.is_required and not options.has(option)}
        )
        if missing and not options.is_help:
            raise JavaError(
                f"{_PACKAGE}.MissingRequiredOptionsException", f"Missing required option(s) [{', '.join(missing)}]"
            )
        return options

    def usage(self, message: str) -> UsageAsked:
        """What a tool raises to print a message and its help, and to end with 1."""
        return UsageAsked(message, self)

    def help_text(self) -> str:
        from stoker.kafka_tools.usage import help_text

        return help_text(self.options)

    def _find(self, name: str) -> "Option[object] | None":
        found = self._by_name.get(name)
        if found is None and self._abbreviations and name:
            meant = {id(option): option for key, option in self._by_name.items() if key.startswith(name)}
            if len([key for key in self._by_name if key.startswith(name)]) == 1:
                (found,) = meant.values()
        return found

    def _long(self, token: str, rest: list[str], options: "Options") -> None:
        name, equals, value = token.partition("=")
        option = self._find(name)
        if option is None:
            raise _unrecognized(name)
        self._handle(option, value if equals else None, rest, options)

    def _short(self, token: str, rest: list[str], options: "Options") -> None:
        name, equals, value = token.partition("=")
        option = self._find(name)
        if option is not None:
            self._handle(option, value if equals else None, rest, options)
            return
        for letter in token:  # all are looked at before the first is taken
            option = self._find(letter)
            if option is None:
                raise _unrecognized(letter)
            if option.takes_argument:
                break
        for index, letter in enumerate(token):
            option = self._find(letter)
            assert option is not None
            if option.takes_argument and token[index + 1 :]:
                self._handle(option, token[index + 1 :], rest, options)
                return
            self._handle(option, None, rest, options)

    def _handle(self, option: "Option[object]", value: str | None, rest: list[str], options: "Options") -> None:
        if not option.takes_argument:
            options.add(option, [])
            return
        if value is None and option.is_argument_optional:
            value = rest.pop() if rest and not self._looks_like_an_option(rest[-1]) else None
            options.add(option, [] if value is None else _pieces(value, option.separator))
            return
        if value is None:
            if not rest:
                raise JavaError(
                    f"{_PACKAGE}.OptionMissingRequiredArgumentException",
                    f"Option {'/'.join(option.names)} requires an argument",
                )
            value = rest.pop()
        options.add(option, _pieces(value, option.separator))

    @staticmethod
    def _looks_like_an_option(argument: str) -> bool:
        return argument.startswith("-") and argument not in ("-", "--")


class Options:
    """What was given."""

    def __init__(self, parser: OptionParser, arguments: Sequence[str]) -> None:
        self.parser = parser
        self.arguments = list(arguments)
        self.non_options: list[str] = []
        self._found: dict[str, list[str]] = {}
        self.sequence: list[str] = []
        """The names of the options in the order in which they came."""

    def add(self, option: "Option[T]", values: Iterable[str]) -> None:
        self.sequence.append(option.names[0])
        self._found.setdefault(option.names[0], []).extend(values)

    @property
    def is_help(self) -> bool:
        return "help" in self._found or "version" in self._found

    def has(self, option: "Option[T]") -> bool:
        """Whether it was given; a default does not count."""
        return option.names[0] in self._found

    def has_any(self, *options: "Option[str] | Option[int]") -> bool:
        """Whether one of these was given."""
        return any(option.names[0] in self._found for option in options)

    def values(self, option: "Option[T]") -> list[T]:
        """All values, or else the default. Raises JavaError for one that cannot be converted."""
        texts = self._found.get(option.names[0])
        if not texts:
            return [] if option.default is None else [option.default]
        return [self._converted(option, text) for text in texts]

    def value(self, option: "Option[T]") -> T | None:
        """The value, or else the default. Raises JavaError if there are several."""
        values = self.values(option)
        if len(values) > 1:
            raise JavaError(
                f"{_PACKAGE}.MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {'/'.join(option.names)}, but you asked for only one",
            )
        return values[0] if values else None

    def any_value(self, option: "Option[str] | Option[int]") -> str | int | None:
        """As `value`, for who does not care of which type it is."""
        return self.value(cast("Option[str | int]", option))

    def text(self, option: "Option[str]") -> str:
        """The value of an option that is there or has a default."""
        value = self.value(option)
        assert value is not None, f"{option} is required"
        return value

    def integer(self, option: "Option[int]") -> int:
        """The value of an option that is there or has a default."""
        value = self.value(option)
        assert value is not None, f"{option} is required"
        return value

    @staticmethod
    def _converted(option: "Option[T]", text: str) -> T:
        try:
            return option.convert(text)
        except ValueError:
            raise JavaError(
                f"{_PACKAGE}.OptionArgumentConversionException",
                f"Cannot parse argument '{text}' of option {'/'.join(option.names)}",
            ) from None

    # -- what Kafka's tools check -----------------------------------------------------------------------------------

    def print_help_or_version(self, message: str) -> None:
        """Help if nothing or --help was given, the version if --version was."""
        if not self.arguments or self.has(self.parser.help):
            raise self.parser.usage(message)
        if self.has(self.parser.version):
            raise VersionAsked

    def require(self, *options: "Option[str] | Option[int]") -> None:
        for option in options:
            if option.names[0] not in self._found:
                raise self.parser.usage(f'Missing required argument "{option}"')

    def forbid(self, used: "Option[str] | Option[int]", *others: "Option[str] | Option[int]") -> None:
        """None of the others may be with the used one."""
        if used.names[0] not in self._found:
            return
        for other in others:
            if other.names[0] in self._found:
                raise self.parser.usage(f'Option "{used}" can\'t be used with option "{other}"')

    def require_one_of(self, *options: "Option[str] | Option[int]") -> None:
        if sum(option.names[0] in self._found for option in options) != 1:
            choices = ", ".join(map(str, options))
            raise self.parser.usage(f"Exactly one of the following arguments is required: {choices}")


def key_values(arguments: Iterable[str], *, accept_missing: bool = True) -> dict[str, str]:
    """`key=value` arguments; a value may hold an equals sign, and be empty if that is accepted."""
    found: dict[str, str] = {}
    for argument in arguments:
        key, _, value = argument.partition("=")
        if not value and not accept_missing:
            raise JavaError("java.lang.IllegalArgumentException", f"Missing value for key {key}}}")
        found[key] = value
    return found


def _names(name: str | Sequence[str]) -> Sequence[str]:
    return (name,) if isinstance(name, str) else name


def _pieces(value: str, separator: str | None) -> list[str]:
    if separator is None:
        return [value]
    return [piece for piece in value.split(separator) if piece] or [value]


def _unrecognized(name: str) -> JavaError:
    return JavaError(f"{_PACKAGE}.UnrecognizedOptionException", f"{name} is not a recognized option")
