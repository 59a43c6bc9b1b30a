"""Arguments as argparse4j reads them."""

from typing import Any

import pytest

from stoker.kafka_tools.argument_parser import Action, Argument, BadArguments, Group, HelpWanted, Parser, subcommand

PARSER = Parser(
    name="tool",
    description="A tool.",
    arguments=(
        Argument(("--count", "-n"), "How many.", kind=int, default=3),
        Argument(("--many",), "Several.", Action.REST),
    ),
    groups=(
        Group(required=True, arguments=(Argument(("--one",), "This."), Argument(("--other",), "That.", Action.FLAG))),
    ),
    commands=(
        subcommand("tool", "do", "Does.", arguments=(Argument(("--what", "-w"), "What.", Action.APPEND),)),
        subcommand("tool", "need", "Needs.", arguments=(Argument(("--id", "-i"), "Which.", required=True),)),
    ),
)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--one", "x", "do"], {"one": "x", "other": False, "count": 3, "command": "do", "what": None}),
        (["--one=x=y", "-n5", "do"], {"one": "x=y", "count": 5}),
        (["--count", "-1", "--other", "do", "-w", "a", "--what=b"], {"count": -1, "other": True, "what": ["a", "b"]}),
        (["--many", "a=1", "b=2", "--other", "do"], {"many": ["a=1", "b=2"]}),
    ],
)
def test_values_are_read(arguments: list[str], values: dict[str, Any]) -> None:
    assert PARSER.parse(arguments).items() >= values.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "too few arguments"),
        (["do"], "one of the arguments --one --other is required"),
        (["--other", "--one", "x", "do"], "argument --one: not allowed with argument --other"),
        (["--other", "dont"], "invalid choice: 'dont' (choose from 'do', 'need')"),
        (["--other", "--nope", "do"], "unrecognized arguments: '--nope'"),
        (["--other", "need"], "argument --id/-i is required"),
        (["--other", "need", "-i"], "argument --id/-i: expected one argument"),
        (["--many", "--other", "do"], "argument --many: expected at least one argument"),
        (["-n", "x", "do"], "argument --count/-n: could not convert 'x' to Integer (For input string: \"x\")"),
    ],
)
def test_what_cannot_be_read_is_told_in_its_words(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadArguments) as failed:
        PARSER.parse(arguments)
    assert str(failed.value) == message
    assert failed.value.report() == 1
    assert capsys.readouterr().err.endswith(f"tool: error: {message}\n")


def test_help_names_all_there_is() -> None:
    with pytest.raises(HelpWanted) as page:
        PARSER.parse(["--help"])
    for part in ("usage: tool [-h]", "A tool.", "do", "need", "--count", "--one", "How many."):
        assert part in str(page.value)
