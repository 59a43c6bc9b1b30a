"""The text of a schema is what Java writes: java_texts.json was recorded from Avro 1.12.1, which Confluent's registry 8 uses."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from stoker.registry.formats import avro
from tests.registry.formats.avro.evolutions import Evolution, evolutions

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "java_texts.json").read_text())


def parse(case: dict[str, Any]) -> avro.AvroSchema:
    return avro.parse(case["schema"], {f"reference {n}": text for n, text in enumerate(case.get("references", []))})


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_as_java_writes_it(case: dict[str, Any]) -> None:
    schema = parse(case)
    assert schema.text == case["text"]
    assert schema.formatted("resolved") == schema.formatted("RESOLVED") == case.get("resolved", case["text"])
    assert [schema.formatted(form) for form in ("", "default", "pretty")] == [case["text"]] * 3


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_normalized_as_confluent_does(case: dict[str, Any]) -> None:
    schema = parse(case).normalized()
    if "normalized" in case:  # else Confluent's changes the name of the type
        assert schema.text == case["normalized"]
    assert schema.normalized().text == schema.text
    assert parse({**case, "schema": schema.text}).normalized().text == schema.text


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_the_text_is_a_schema_with_the_same_text(case: dict[str, Any]) -> None:
    schema = parse(case)
    again = parse({**case, "schema": schema.text})
    assert again.text == schema.text
    assert again.incompatibilities(schema) == schema.incompatibilities(again) == []


@hypothesis.given(evolution=evolutions())
def test_any_text_is_a_schema_with_the_same_text(evolution: Evolution) -> None:
    for given in evolution:
        schema = avro.parse(json.dumps(given), {})
        for text in (schema.text, schema.normalized().text):
            again = avro.parse(text, {})
            assert again.text == text
            assert again.incompatibilities(schema) == []


def test_normalizing_keeps_what_confluents_loses() -> None:
    """The default of a later branch of a union, and the name of a type outside of all namespaces."""
    text = (
        '{"type":"record","name":"R","namespace":"n","fields":['
        '{"name":"a","type":["int","string"],"default":"x"},'
        '{"name":"b","type":{"type":"record","name":"N","namespace":"","fields":[]}}]}'
    )
    assert avro.parse(text, {}).normalized().text == text


def test_large_numbers_stay_as_they_are() -> None:
    text = '{"type":"string","n":123456789012345678901234567890}'
    assert avro.parse(text, {}).text == avro.parse(text, {}).normalized().text == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"type":"record","name":"shop.Order","fields":[]}', "shop.Order"),
        ('{"type":"error","name":"Refused","fields":[]}', "Refused"),
        ('{"type":"enum","name":"shop.Colour","symbols":[]}', None),
        ('"string"', None),
        ("[]", None),
    ],
)
def test_only_records_have_a_name(text: str, name: str | None) -> None:
    assert avro.parse(text, {}).name == name
