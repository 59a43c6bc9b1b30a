"""Subscriptions by regular expression, held to what Kafka's own RE2/J makes of the same patterns."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from stoker.coordinators.groups.subscription_patterns import (
    MAX_PATTERN_LENGTH,
    InvalidRegularExpression,
    compile_pattern,
    matching_topics,
)
from stoker.errors import StokerError
from tests.apache_kafka import CLASS_PATH, FAST_START

TOPICS = ["orders", "orders.eu", "orders-dead", "reorders", "Orders", "payments", "a.b", "axb", "__consumer_offsets"]

MATCHES: dict[str, set[str]] = {
    "orders": {"orders"},
    "orders.*": {"orders", "orders.eu", "orders-dead"},
    "^orders$": {"orders"},
    "(?i)orders": {"orders", "Orders"},
    "a\\.b": {"a.b"},
    "a.b": {"a.b", "axb"},
    "orders|payments": {"orders", "payments"},
    "ord|orders": {"orders"},
    "(re)?orders": {"orders", "reorders"},
    "(?P<prefix>re)orders": {"reorders"},
    "[[:alpha:]]+": {"orders", "reorders", "Orders", "payments", "axb"},
    "\\p{Lu}\\w*": {"Orders"},
    "\\Qa.b\\E": {"a.b"},
    ".*ers$": {"orders", "reorders", "Orders"},
    "__.*": {"__consumer_offsets"},
    ".*": set(TOPICS),
    "": set(),
    "ключ|orders": {"orders"},
}

INVALID = {
    "(orders": "missing \\)",
    "orders)": "unexpected \\)",
    "a**": "bad repetition operator: \\*\\*",
    "(?=orders).*": "invalid perl operator: \\(\\?=",
    "(a)\\1": "invalid escape sequence: \\\\1",
    "[z-a]": "invalid character class range: z-a",
    "a{1001}": "invalid repetition size: \\{1001\\}",
    "*": "no argument for repetition operator",
    "orders\\": "trailing \\\\",
}

TOO_LARGE = {
    "long": ("a" * (MAX_PATTERN_LENGTH + 1), "it has 4097 characters, more than 4096"),
    "program": ("(.?){1000}", "it compiles to 9... instructions, more than 5000"),
    "nested repetition": ("((a{100}){100}){100}", "repetition"),
    "half a character": ("\ud800", "it is not Unicode text"),
}


@pytest.mark.parametrize("pattern", MATCHES)
def test_a_pattern_matches_whole_names(pattern: str) -> None:
    assert matching_topics(compile_pattern(pattern), TOPICS) == MATCHES[pattern]


@pytest.mark.parametrize("pattern", INVALID)
def test_an_invalid_pattern_is_refused_with_the_reason_of_re2(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidRegularExpression, match=INVALID[pattern]) as refused:
        compile_pattern(pattern)
    assert str(refused.value).startswith(f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: ")
    assert isinstance(refused.value, StokerError)
    assert capfd.readouterr().err == "", "RE2 must not write to the broker's log by itself"


@pytest.mark.parametrize(("pattern", "reason"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_pattern_too_large_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidRegularExpression, match=reason) as refused:
        compile_pattern(pattern)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b", "(a|a)*b", "(.*)*b", "(a?){30}a{30}b"])
def test_a_pattern_made_to_backtrack_takes_no_time(pattern: str) -> None:
    started = time.process_time()
    assert not matching_topics(compile_pattern(pattern), ["a" * length for length in range(100, 250)])
    assert time.process_time() - started < 1


@pytest.mark.java
def test_kafka_agrees() -> None:
    """Which of the patterns are valid, and what each of them matches, as RE2/J says it in Kafka."""
    answers = json.loads(
        subprocess.run(
            ["java", *FAST_START, "-cp", CLASS_PATH, str(Path(__file__).parent / "java" / "MatchTopics.java")],
            input=json.dumps({"patterns": [*MATCHES, *INVALID], "topics": TOPICS}),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    theirs = {pattern: None if matched is None else set(matched) for pattern, matched in answers.items()}
    assert theirs == MATCHES | dict.fromkeys(INVALID)
