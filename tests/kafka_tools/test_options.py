"""Options as jopt-simple reads them."""

import pytest

from stoker.kafka_tools.failure import JavaError, UsageAsked, VersionAsked
from stoker.kafka_tools.options import Option, OptionParser, Options, key_values


class _Declared:
    """A parser with an option of each kind."""

    def __init__(self, *, abbreviations: bool = False) -> None:
        self.parser = OptionParser(abbreviations=abbreviations)
        self.list_ = self.parser.flag("list", "List.")
        self.topic = self.parser.option("topic", "The topic.", described_as="topic")
        self.partitions = self.parser.number("partitions", "How many.", default=3)
        self.size = self.parser.number("size", "In bytes.", is_long=True)
        self.codec = self.parser.option("codec", "With gzip if there is no word.", is_argument_optional=True)
        self.keys = self.parser.option("keys", "Some.", separator=",")
        self.config = self.parser.option(("c", "config"), "A file.")

    def parse(self, line: str) -> Options:
        return self.parser.parse(line.split())


@pytest.mark.parametrize(
    ("line", "topic", "partitions"),
    [
        ("--topic orders", "orders", 3),
        ("--topic=orders --partitions=12", "orders", 12),
        ("-topic orders --list", "orders", 3),
        ("--topic --list", "--list", 3),
        ("--topic a=b --partitions -1", "a=b", -1),
        ("--list", None, 3),
    ],
)
def test_values(line: str, topic: str | None, partitions: int) -> None:
    declared = _Declared()
    given = declared.parse(line)
    assert (given.value(declared.topic), given.value(declared.partitions)) == (topic, partitions)


def test_what_was_given_and_in_which_order() -> None:
    declared = _Declared()
    given = declared.parse("--topic a --list --topic b x -- --list y")
    assert given.values(declared.topic) == ["a", "b"]
    assert given.sequence == ["topic", "list", "topic"]
    assert given.non_options == ["x", "--list", "y"]
    assert not given.has(declared.partitions), "a default is not given"


@pytest.mark.parametrize(
    ("line", "codec", "keys"),
    [
        ("--codec --keys a,b,,c", [], ["a", "b", "c"]),
        ("--codec zstd --keys a", ["zstd"], ["a"]),
        ("--codec=lz4 --keys=a --keys b,c", ["lz4"], ["a", "b", "c"]),
    ],
)
def test_values_that_may_be_missing_or_many(line: str, codec: list[str], keys: list[str]) -> None:
    declared = _Declared()
    given = declared.parse(line)
    assert (given.values(declared.codec), given.values(declared.keys)) == (codec, keys)


def test_a_short_name_and_a_long_one_are_one_option() -> None:
    declared = _Declared()
    assert [declared.parse(line).value(declared.config) for line in ("-c f", "--config f", "-cf")] == ["f"] * 3
    assert str(declared.config) == "[c, config]"


def test_abbreviations_are_for_parsers_that_allow_them() -> None:
    strict, lenient = _Declared(), _Declared(abbreviations=True)
    assert lenient.parse("--top orders").value(lenient.topic) == "orders"
    with pytest.raises(JavaError, match="top is not a recognized option"):
        strict.parse("--top orders")
    with pytest.raises(JavaError, match="co is not a recognized option"):
        lenient.parse("--co x")  # codec or config


@pytest.mark.parametrize(
    ("line", "java_class", "message"),
    [
        ("--nosuch", "UnrecognizedOptionException", "nosuch is not a recognized option"),
        ("-x", "UnrecognizedOptionException", "x is not a recognized option"),
        ("--topic", "OptionMissingRequiredArgumentException", "Option topic requires an argument"),
        ("-c", "OptionMissingRequiredArgumentException", "Option c/config requires an argument"),
    ],
)
def test_what_cannot_be_read(line: str, java_class: str, message: str) -> None:
    with pytest.raises(JavaError) as raised:
        _Declared().parse(line)
    assert raised.value.described == f"joptsimple.{java_class}: {message}"


@pytest.mark.parametrize("text", ["many", "", "1.5", "2147483648", "0x10", "1_000"])
def test_a_number_is_one_of_java(text: str) -> None:
    declared = _Declared()
    given = declared.parser.parse(["--partitions", text])
    with pytest.raises(JavaError, match=f"Cannot parse argument '{text}' of option partitions"):
        given.value(declared.partitions)
    assert declared.parser.parse(["--size", "9223372036854775807"]).value(declared.size) == 2**63 - 1


def test_one_value_is_wanted_and_there_are_two() -> None:
    declared = _Declared()
    with pytest.raises(JavaError, match="Found multiple arguments for option topic, but you asked for only one"):
        declared.parse("--topic a --topic b").value(declared.topic)


def test_a_required_option() -> None:
    parser = OptionParser()
    parser.option("topic", "", is_required=True)
    with pytest.raises(JavaError, match=r"Missing required option\(s\) \[topic\]"):
        parser.parse([])
    parser.parse(["--help"])


def test_checks_of_kafkas_tools() -> None:
    declared = _Declared()
    given = declared.parse("--topic a --list")
    with pytest.raises(UsageAsked, match=r'Missing required argument "\[partitions\]"'):
        given.require(declared.topic, declared.partitions)
    with pytest.raises(UsageAsked, match=r'Option "\[topic\]" can\'t be used with option "\[list\]"'):
        given.forbid(declared.topic, declared.partitions, declared.list_)
    with pytest.raises(UsageAsked, match=r"Exactly one of the following arguments is required: \[topic\], \[list\]"):
        given.require_one_of(declared.topic, declared.list_)
    given.forbid(declared.partitions, declared.list_)
    with pytest.raises(UsageAsked, match="This tool"):
        declared.parse("").print_help_or_version("This tool")
    with pytest.raises(VersionAsked):
        declared.parse("--version").print_help_or_version("This tool")


def test_an_option_of_old_is_read_but_not_told_of() -> None:
    parser = OptionParser()
    old = Option[str](["broker-list"], "", takes_argument=True, convert=str)
    parser.accept_quietly(old)
    assert parser.parse(["--broker-list", "a:1"]).value(old) == "a:1"
    assert "broker-list" not in parser.help_text()


def test_pairs() -> None:
    assert key_values(["a=1", "b=x=y", "c"]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(JavaError, match="Missing value for key c"):
        key_values(["c"], accept_missing=False)
