"""Confluent's rules, each with its own examples; jsonschema says of every refusal that it was right."""

import json
from typing import Any

import pytest

from stoker.registry.formats.json_schema import JsonSchema, parse
from stoker.registry.formats.json_schema.comparison import Comparison
from stoker.registry.formats.json_schema.rules import PARDONED, REFUSED, Rule
from tests.registry.formats.json_schema.judge import can_read, is_valid
from tests.registry.formats.json_schema.rule_cases import CASES, NO_DATUM, Case


def parsed(schema: Any) -> JsonSchema:
    return parse(json.dumps(schema), {})


def _id(case: Case) -> str:
    return f"{case.rule}-{json.dumps(case.writer)[:40]}-{json.dumps(case.reader)[:40]}"


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_each_rule_is_found_where_it_applies_and_nothing_else(case: Case) -> None:
    writer, reader = parsed(case.writer), parsed(case.reader)

    found = Comparison(REFUSED).differences(writer.root, reader.root)

    rules = sorted(f"{difference.finding.rule} #/{'/'.join(difference.path)}" for difference in found)
    assert rules == sorted([f"{case.rule} {case.path}", *case.also])


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_a_refused_change_has_a_datum_that_the_reader_cannot_read(case: Case) -> None:
    incompatible = parsed(case.reader).incompatibilities(parsed(case.writer))

    assert ((case.rule, case.path) in [(each.rule, each.path) for each in incompatible]) is (case.rule in REFUSED)
    assert (case.datum is not NO_DATUM) is (case.rule in REFUSED)
    if case.datum is not NO_DATUM:
        assert is_valid(case.writer, case.datum)
        assert not can_read(case.reader, case.datum)
        assert all(each.message for each in incompatible)


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_nothing_changed_is_compatible(case: Case) -> None:
    for schema in (case.writer, case.reader):
        assert parsed(schema).incompatibilities(parsed(schema)) == []


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(Rule)


@pytest.mark.parametrize("case", [case for case in CASES if case.rule in PARDONED and not case.also], ids=_id)
def test_the_lenient_policy_lets_content_models_pass(case: Case) -> None:
    assert parsed(case.reader).incompatibilities(parsed(case.writer), lenient=True) == []
