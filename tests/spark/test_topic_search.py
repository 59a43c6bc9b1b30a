"""Which topics become tables, and by what names."""

import re

import pytest

from stoker.spark.errors import InvalidOption
from stoker.spark.topic_search import selection, table_names


@pytest.mark.parametrize(
    ("topics", "wanted"),
    [
        pytest.param(None, ["orders", "orders.eu", "payments"], id="all but those that begin with _"),
        pytest.param("orders.*", ["orders", "orders.eu"], id="a regular expression"),
        pytest.param(["orders", "_schemas", "missing"], ["_schemas", "orders"], id="names"),
    ],
)
def test_which_topics(topics: str | list[str] | None, wanted: list[str]) -> None:
    there = ["__consumer_offsets", "_schemas", "orders", "orders.eu", "payments"]
    assert list(filter(selection(topics), there)) == wanted


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"topics='\(' is no regular expression: missing \)"):
        selection("(")


@pytest.mark.parametrize(
    ("topics", "chosen", "named"),
    [
        pytest.param(["b", "a"], {}, {"a": "a", "b": "b"}, id="as they are"),
        pytest.param(["orders.eu-1"], {}, {"orders.eu-1": "orders_eu_1"}, id="what Spark does not allow"),
        pytest.param(["a.b", "a-b"], {"a.b": "dotted"}, {"a.b": "dotted", "a-b": "a_b"}, id="chosen"),
    ],
)
def test_names(topics: list[str], chosen: dict[str, str], named: dict[str, str]) -> None:
    assert table_names(topics, chosen) == (named, {})


@pytest.mark.parametrize(
    ("topics", "chosen", "owner", "left_out"),
    [
        pytest.param(["a.b", "a_b"], {}, "a_b", "a.b", id="who has the name as it is keeps it"),
        pytest.param(["Orders", "orders"], {}, "Orders", "orders", id="large and small letters"),
        pytest.param(["x", "y"], {"y": "x"}, "y", "x", id="who was given the name keeps it"),
    ],
)
def test_a_name_that_two_would_have(topics: list[str], chosen: dict[str, str], owner: str, left_out: str) -> None:
    named, without = table_names(topics, chosen)
    assert list(named) == [owner]
    assert re.search(rf"is the topic {owner}; names=\{{'{left_out}'", without[left_out])


def test_a_chosen_name_that_spark_does_not_allow_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"names\['a'\] is 'a-b': Spark allows letters, digits and _"):
        table_names(["a"], {"a": "a-b"})
