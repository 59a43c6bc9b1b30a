"""`stoker sql` as its users meet it: statements of an option, a file and the prompt."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stoker.cli.sql_prompt import Completion, history_file, is_complete, names_of, prompt
from stoker.streams.sql.engine import SqlEngine
from tests.cli.command_line import CommandLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = [("o1", "c1", 1000.0), ("o2", "c1", 1001.0), ("o3", "c2", 5.5)]
SCRIPT = """
CREATE STREAM orders (order_id VARCHAR KEY, customer_id VARCHAR, total DOUBLE)
  WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON');
CREATE STREAM high_value WITH (KAFKA_TOPIC='{topic}-high') AS SELECT * FROM orders WHERE total > 1000;
CREATE TABLE totals WITH (KAFKA_TOPIC='{topic}-totals') AS
  SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id;
"""


@pytest.fixture
def options(topic: str, tmp_path: Path, spark: "SparkSession") -> list[str]:
    """A service of the test's own; `spark` is the session that the commands find."""
    return ["--service", topic, "--state-dir", str(tmp_path / "state")]


@pytest.fixture
def filled(run: CommandLine, topic: str) -> str:
    """The topic with orders, as JSON with names in lower case."""
    lines = [f"{order}\t{json.dumps({'customer_id': customer, 'total': total})}" for order, customer, total in ORDERS]
    run("produce", topic, "--key-separator", "\\t", stdin="\n".join(lines).encode())
    return topic


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_file_and_then_questions(run: CommandLine, filled: str, options: list[str], tmp_path: Path) -> None:
    script = tmp_path / "orders.sql"
    script.write_text(SCRIPT.format(topic=filled))
    run("sql", "-f", str(script), "--until-end", *options)
    assert run.stdout.splitlines() == [
        f"Stream ORDERS is there, over topic {filled}.",
        "Query CSAS_HIGH_VALUE_1 writes HIGH_VALUE.",
        "Query CTAS_TOTALS_2 writes TOTALS.",
    ]
    assert "CSAS_HIGH_VALUE_1, CTAS_TOTALS_2 have read what is there." in run.stderr
    found = run("sql", "-e", "SELECT * FROM totals WHERE customer_id = 'c1'", *options)
    assert found.split() == ["CUSTOMER_ID", "TOTAL", "c1", "2001.0"]
    assert "as of " in run.stderr
    found = run("sql", "-e", "SELECT order_id, total FROM high_value EMIT CHANGES LIMIT 1;", "--json", *options)
    assert lines(found) == [{"ORDER_ID": "o2", "TOTAL": 1001.0}]
    found = run("sql", "-e", "SHOW STREAMS;", "-e", "SHOW TABLES", "--json", *options)
    assert [each.get("STREAM") or each.get("TABLE") for each in lines(found)] == ["ORDERS", "HIGH_VALUE", "TOTALS"]


def test_a_query_that_nobody_runs_says_so(run: CommandLine, filled: str, options: list[str]) -> None:
    run("sql", "-e", SCRIPT.format(topic=filled), *options)
    assert "CSAS_HIGH_VALUE_1, CTAS_TOTALS_2: made, and run while" in run.stderr
    assert run.rows("sql", "-e", "SHOW QUERIES;", *options)[1][:2] == ["CSAS_HIGH_VALUE_1", "HIGH_VALUE"]


def test_errors_say_where_and_exit_with_one(run: CommandLine, filled: str, options: list[str], tmp_path: Path) -> None:
    script = tmp_path / "wrong.sql"
    script.write_text("SHOW STREAMS;\n\nSELECT *\nFROM ordrs EMIT CHANGES;\n")
    run("sql", "-f", str(script), *options, code=1)
    assert run.stderr.splitlines()[-3:] == [
        "stoker sql: line 4, column 6: there is no stream or table ORDRS: SHOW STREAMS and SHOW TABLES list those there are",
        "  FROM ordrs EMIT CHANGES;",
        "       ^^^^^",
    ]
    run("sql", "-e", "SELEC 1;", *options, code=1)
    assert "line 1, column 1: found 'SELEC'" in run.stderr
    run("sql", *options, stdin=b"SHOW NOTHING;", code=1)
    assert "line 1, column 6" in run.stderr


def test_wrong_usage(run: CommandLine, options: list[str], tmp_path: Path) -> None:
    run("sql", "-e", "SHOW STREAMS;", "-f", "a.sql", *options, code=2)
    run("sql", "-e", "SHOW STREAMS;", "--wait", "--until-end", *options, code=2)
    assert "cannot be read: No such file" in run.fails("sql", "-f", str(tmp_path / "none.sql"), *options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOW STREAMS;", True),
        ("SHOW STREAMS", False),
        ("SELECT ';'", False),
        ("SELECT ';' FROM s; -- done", True),
        ("SELECT 'a", False),
        ("SHOW STREAMS; SELECT", False),
        ("SELECT ?;", True),
    ],
)
def test_a_statement_goes_on_until_its_semicolon(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


def test_the_prompt(
    address: str,
    filled: str,
    tmp_path: Path,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    typed: Iterator[str] = iter(
        [
            "CREATE STREAM orders (order_id VARCHAR KEY, total DOUBLE)",
            f"  WITH (KAFKA_TOPIC='{filled}', VALUE_FORMAT='JSON');",
            "SELECT nothing FROM orders EMIT CHANGES;",
            "help",
            "DESCRIBE orders;",
            "exit",
        ]
    )
    prompts = []

    def read(shown: str) -> str:
        prompts.append(shown)
        return next(typed)

    with SqlEngine(address, service=filled, state_dir=str(tmp_path), spark=spark) as engine:
        prompt(engine, as_json=False, read=read)
        completion = Completion(lambda: names_of(engine))
        assert completion("ord", 0) == "orders"
        assert "UCASE(" in completion.choices("UCA")
        assert "SHOW STREAMS" in completion.choices("SHOW")
    told = capsys.readouterr()
    assert prompts == ["sql> ", "...> ", "sql> ", "sql> ", "sql> ", "sql> "]
    assert "Stream ORDERS is there" in told.out
    assert "there is no column NOTHING" in told.err
    assert "ORDER_ID  STRING  KEY" in told.out
    assert history_file() == tmp_path / "stoker" / "sql_history"
