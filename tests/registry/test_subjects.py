"""Names of subjects and contexts."""

import pytest

from stoker.registry.errors import Unprocessable
from stoker.registry.subjects import canonical, context_of, in_context, is_context, matching, unqualified


@pytest.mark.parametrize(
    ("given", "expected", "context", "name"),
    [
        ("orders", "orders", ".", "orders"),
        ("a/b", "a/b", ".", "a/b"),
        (":orders", ":orders", ".", ":orders"),
        (":.:orders", "orders", ".", "orders"),
        (":.staging:orders", ":.staging:orders", ".staging", "orders"),
        (":.staging:a:b", ":.staging:a:b", ".staging", "a:b"),
        (":.staging:", ":.staging:", ".staging", ""),
        (":.staging", ":.staging:", ".staging", ""),
        (":.__GLOBAL:", ":.__GLOBAL:", ".__GLOBAL", ""),
        ("заказы", "заказы", ".", "заказы"),
    ],
)
def test_a_subject_has_one_spelling_a_context_and_a_name(given: str, expected: str, context: str, name: str) -> None:
    assert canonical(given) == expected
    assert context_of(expected) == context
    assert unqualified(expected) == name
    assert is_context(expected) == (name == "")


@pytest.mark.parametrize(
    "subject",
    ["", ":.:", ":.", "__GLOBAL", "__EMPTY", ":.staging:__GLOBAL", ":*:orders", "a\nb", "a\x7f", "a\x85", "\ud800"],
)
def test_what_cannot_be_a_subject_is_refused_by_name(subject: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        canonical(subject)
    assert refused.value.code == 42208
    assert refused.value.message == f"The specified subject '{subject}' is not a valid."


@pytest.mark.parametrize(
    ("subject", "context", "expected"),
    [
        ("orders", ".", "orders"),
        ("orders", ".staging", ":.staging:orders"),
        (":.other:orders", ".staging", ":.other:orders"),
        (":.:orders", ".staging", "orders"),
    ],
)
def test_a_subject_without_a_context_is_in_that_of_who_names_it(subject: str, context: str, expected: str) -> None:
    assert in_context(subject, context) == expected


@pytest.mark.parametrize(
    ("settings", "meant"),
    [
        (None, {"a", "b", ":.x:a"}),
        (":.__GLOBAL:", {"a", "b", ":.x:a"}),
        (":.x:", {":.x:a"}),
        ("a", {"a"}),
    ],
)
def test_settings_are_for_one_subject_a_context_or_all(settings: str | None, meant: set[str]) -> None:
    assert {subject for subject in ("a", "b", ":.x:a") if matching(settings)(subject)} == meant
