"""`stoker streams` as its users meet it."""

import os
import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pyarrow as pa
import pytest

from tests.cli.command_line import CommandLine
from tests.cli.running import create_topic, running, wait_until
from tests.cli.test_application import at_a_terminal, complete
from tests.streams.state.written_state import STRING_COUNTS, WINDOWED_SUMS, WrittenState, counts

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NO_CLUSTER = ""
PROGRESS = {
    "seconds": 0.25,
    "rows": {"orders": 500},
    "total": {"rows": {"orders": 9000}, "late": {"revenue": 12}, "dead_letters": {"orders": 3}},
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Names no cluster, and has state in its default place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return CommandLine(NO_CLUSTER)


@pytest.fixture
def state(tmp_path: Path) -> WrittenState:
    """Of an application with the stores `counts`, of three keys, and `revenue`, of two keys with windows."""
    state = WrittenState(tmp_path / "stoker" / "streams" / "order-processor")
    state.commit("counts", STRING_COUNTS, counts(ann=1, bob=2, carl=3))
    rows = [
        {
            "_key": key,
            "window_start": NOON + hour * HOUR,
            "window_end": NOON + (hour + 1) * HOUR,
            "_state": {"sum_0": 0.0},
            "_timestamp": NOON,
            "sum_total": hour + 0.5,
            "_deleted": False,
        }
        for key, hour in (("ann", 0), ("ann", 1), ("bob", 1))
    ]
    state.commit("revenue", WINDOWED_SUMS, rows, progress=PROGRESS, offsets={"orders": {"0": 2, "1": 1}})
    return state


def test_nothing_is_there(run: CommandLine) -> None:
    assert run("streams", "list") == ""
    assert run.stderr == "No application has state here.\n"
    assert run.json("streams", "list") == []
    error = run.fails("streams", "status", "order-processor")
    assert re.fullmatch(r"stoker streams: no application 'order-processor' has state in .*\. There are: none", error)


def test_list(run: CommandLine, state: WrittenState, tmp_path: Path) -> None:
    WrittenState(tmp_path / "stoker" / "streams" / "beginner").directory.write_topology({})
    header, beginner, application = run.rows("streams", "list")
    assert header == ["APPLICATION", "BATCH", "COMMITTED", "STORES", "STATE"]
    assert beginner == ["beginner", "-", "-", "0", "0", "B"]
    assert application[:2] == ["order-processor", "1"]
    assert application[-3] == "2"
    assert [each["name"] for each in run.json("streams", "list")] == ["beginner", "order-processor"]
    elsewhere = run.rows("streams", "list", "--state-dir", str(tmp_path / "stoker" / "streams"))
    assert [row[:2] for row in elsewhere] == [row[:2] for row in (header, beginner, application)]


def test_status(run: CommandLine, state: WrittenState) -> None:
    lines = run("streams", "status", "order-processor").splitlines()
    told = r"Application order-processor: micro-batch 1, committed \S+ ago, 2000 rows/s, \S+ KiB of state in "
    assert re.fullmatch(told + re.escape(str(state.directory)), lines[0])
    assert [line.split() for line in lines[1:3]] == [
        ["TOPIC", "ROWS", "LAST-BATCH", "DEAD-LETTERS"],
        ["orders", "9000", "500", "3"],
    ]
    assert [line.split()[:3] for line in lines[3:]] == [
        ["STORE", "ROWS", "LATE"],
        ["counts", "3", "0"],
        ["revenue", "3", "12"],
    ]
    told_json = run.json("streams", "status", "order-processor")
    assert told_json["progress"] == PROGRESS
    assert "lag" not in told_json


def test_rows_of_large_stores_are_not_counted(
    run: CommandLine, state: WrittenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stoker.streams.state.applications._COUNTED_ROWS", 2)
    assert "counts   <=3" in run("streams", "store", "order-processor")


def test_an_application_that_has_finished_nothing(run: CommandLine, state: WrittenState) -> None:
    for batch in state.directory.manifests():
        state.directory.remove_manifest(batch)
    assert run("streams", "status", "order-processor") == ""
    assert run.stderr == "Application order-processor has finished no micro-batch yet.\n"
    assert run("streams", "store", "order-processor") == ""
    assert run.stderr == "Application order-processor has no stores.\n"


def test_lag(run: CommandLine, state: WrittenState, stoker_address: str) -> None:
    """By the offsets that the last micro-batch has read up to, against the ends of the partitions."""
    topic = f"orders-{os.getpid()}"
    create_topic(stoker_address, topic, partitions=2)
    cluster = CommandLine(stoker_address)
    for _ in range(2):
        cluster("produce", topic, "--partition", "0", stdin=b"a\nb\nc\n")
    offsets = {topic: {"0": 2, "1": 0}, "lost": {"0": 5}}
    state.commit("counts", STRING_COUNTS, counts(ann=2), offsets=offsets, progress={})
    assert cluster.json("streams", "status", "order-processor")["lag"] == {topic: 4, "lost": None}
    rows = cluster.rows("streams", "status", "order-processor", "--bootstrap-server", stoker_address)
    assert rows[1:4] == [
        ["TOPIC", "ROWS", "LAST-BATCH", "DEAD-LETTERS", "LAG"],
        ["lost", "0", "0", "0", "-"],
        [topic, "0", "0", "0", "4"],
    ]


def test_watch(run: CommandLine, state: WrittenState) -> None:
    """Every micro-batch is shown when it is there; Ctrl-C is the normal end."""
    with running(NO_CLUSTER, "streams", "status", "order-processor", "--watch") as command:
        assert b"micro-batch 1," in command.wait_for_lines(6)[0]
        state.commit("counts", STRING_COUNTS, counts(ann=2))
        assert b"micro-batch 2," in command.wait_for_lines(12)[6]
        finished = command.finish(signal.SIGINT)
    assert (finished.code, finished.err) == (0, "")


def test_stores(run: CommandLine, state: WrittenState) -> None:
    assert [row[:2] for row in run.rows("streams", "store", "order-processor")] == [
        ["STORE", "ROWS"],
        ["counts", "3"],
        ["revenue", "3"],
    ]
    told = run.json("streams", "store", "order-processor")
    assert (told["batch"], [each["name"] for each in told["stores"]]) == (1, ["counts", "revenue"])


def test_rows(run: CommandLine, state: WrittenState) -> None:
    rows = run.rows("streams", "store", "order-processor", "counts")
    assert rows == [["KEY", "count"], ["ann", "1"], ["bob", "2"], ["carl", "3"]]
    assert re.fullmatch(r"3 rows as of micro-batch 1, committed \S+ ago\.\n", run.stderr)
    rows = run.rows("streams", "store", "order-processor", "counts", "--from", "b", "--to", "bz")
    assert rows == [["KEY", "count"], ["bob", "2"]]
    rows = run.rows("streams", "store", "order-processor", "counts", "--limit", "1")
    assert rows == [["KEY", "count"], ["ann", "1"]]
    assert run.stderr.startswith("There are more rows, from key 'bob' on; --limit shows more of them.\n1 row as of")
    assert run("streams", "store", "order-processor", "counts", "--from", "x") == ""


def test_a_key(run: CommandLine, state: WrittenState) -> None:
    assert run.rows("streams", "store", "order-processor", "counts", "bob") == [["KEY", "count"], ["bob", "2"]]
    told = run.json("streams", "store", "order-processor", "counts", "bob")
    assert told.pop("staleness_seconds") > 0
    assert told == {
        "application": "order-processor",
        "store": "counts",
        "batch": 1,
        "as_of": "2026-01-01T00:01:00.000Z",
        "entries": [{"key": "bob", "value": {"count": 2}}],
    }
    error = run.fails("streams", "store", "order-processor", "counts", "dora")
    assert error == "stoker streams: store 'counts' has no key 'dora'"


def test_windows_of_a_key(run: CommandLine, state: WrittenState) -> None:
    command = ["streams", "store", "order-processor", "revenue", "ann"]
    assert run.rows(*command) == [
        ["KEY", "WINDOW-START", "WINDOW-END", "sum_total"],
        ["ann", "2026-02-01T12:00:00.000Z", "2026-02-01T13:00:00.000Z", "0.5"],
        ["ann", "2026-02-01T13:00:00.000Z", "2026-02-01T14:00:00.000Z", "1.5"],
    ]
    assert [row[-1] for row in run.rows(*command, "--since", "2026-02-01T13:00")] == ["sum_total", "1.5"]
    assert [row[-1] for row in run.rows(*command, "--until", "2026-02-01T13:30+01:00")] == ["sum_total", "0.5"]
    error = run.fails(*command, "--since", "now")
    assert error == "stoker streams: store 'revenue' has no key 'ann' with such windows"


def test_a_value_that_is_one_thing(run: CommandLine, state: WrittenState) -> None:
    key = pa.struct([("region", pa.string()), ("number", pa.int64())])
    schema = pa.schema([("_key", key), ("value", pa.list_(pa.int64())), ("_deleted", pa.bool_())])
    row = {"_key": {"region": "eu", "number": 1}, "value": [1, 2], "_deleted": False}
    state.commit("lists", schema, [row])
    printed = '{"region": "eu", "number": 1}  [1, 2]'
    assert run("streams", "store", "order-processor", "lists").splitlines()[1] == printed
    assert run("streams", "store", "order-processor", "lists", '["eu", 1]').splitlines()[1] == printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status", "orders"], 1, "There are: order-processor"),
        (["store", "orders", "counts"], 1, "There are: order-processor"),
        (["store", "order-processor", "count"], 1, "There are: counts, revenue"),
        (["store", "order-processor", "counts", "ann", "--since", "-1h"], 1, "store 'counts' has no windows"),
        (["store", "order-processor", "counts", "ann", "--from", "a"], 2, "give a KEY, or --from and --to"),
        (["store", "order-processor", "counts", "--since", "-1h"], 2, "choose among the windows of a KEY"),
        (["store", "order-processor", "revenue", "a", "--until", "noon"], 2, "--until: 'noon' is no point in time"),
        (["store", "order-processor", "counts", "--limit", "0"], 2, "0 is less than 1"),
        (["reset", "orders"], 1, "There are: order-processor"),
        (["serve", "--host", "256.0.0.1"], 1, "stores cannot be served at 256.0.0.1:7070"),
    ],
)
def test_what_is_refused(run: CommandLine, state: WrittenState, arguments: list[str], code: int, message: str) -> None:
    assert message in run.fails("streams", *arguments, code=code)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve(run: CommandLine, state: WrittenState, number: int) -> None:
    with running(NO_CLUSTER, "streams", "serve", "--port", "0") as command:
        wait_until(lambda: b"\n" in command.err)
        found = re.fullmatch(
            r"Stores are served on (http://127.0.0.1:\d+/applications); Ctrl-C stops it.\n", command.err.decode()
        )
        assert found is not None
        (told,) = httpx2.get(found[1]).json()["applications"]
        assert told["name"] == "order-processor"
        assert command.finish(number).code == 0


def test_reset(run: CommandLine, state: WrittenState) -> None:
    """A person is asked; a script is not."""
    code, shown = at_a_terminal(NO_CLUSTER, b"n\n", "streams", "reset", "order-processor")
    assert re.search(
        r"Remove the state of 'order-processor', 2 stores and \S+ KiB in .*\? It must not run \[y/N\]", shown
    )
    assert code == 1
    assert run.rows("streams", "list")[1][0] == "order-processor"
    assert run("streams", "reset", "order-processor", "--yes") == "Removed the state of 'order-processor'.\n"
    assert run.stderr.startswith("Its topics stay,")
    assert not Path(str(state.directory)).exists()
    state.commit("counts", STRING_COUNTS, counts(ann=1))
    assert run.json("streams", "reset", "order-processor") == {"removed": str(state.directory)}


def test_completion(run: CommandLine, state: WrittenState) -> None:
    assert complete(run, "streams", "status", "or") == ["order-processor"]
    assert complete(run, "streams", "store", "order-processor", "re") == ["revenue"]
    assert complete(run, "streams", "store", "orders", "re") == []
