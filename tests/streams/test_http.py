"""Stores over HTTP: what is asked for by a real client, of a real server."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pyarrow as pa
import pytest

from stoker.streams.errors import CannotListen
from stoker.streams.http import MOST_ROWS, StoreServer, serve
from tests.streams.state.written_state import STRING_COUNTS, WINDOWED_SUMS, WrittenState, counts

HOUR = timedelta(hours=1)
NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)
APPLICATION = "/applications/order-processor"
STATE = {"batch", "as_of", "staleness_seconds"}


@pytest.fixture
def state(tmp_path: Path) -> WrittenState:
    """Of an application with the stores `counts`, of three keys, and `revenue`, of two keys with windows."""
    state = WrittenState(tmp_path / "order-processor")
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
        for key, hour in (("ann", 0), ("ann", 1), ("ann", 2), ("bob", 1))
    ]
    state.commit(
        "revenue",
        WINDOWED_SUMS,
        rows,
        progress={"seconds": 0.5, "rows": {"orders": 4}, "total": {"rows": {"orders": 7}}},
        offsets={"orders": {"0": 7}},
    )
    return state


@pytest.fixture
def server(state: WrittenState, tmp_path: Path) -> Iterator[StoreServer]:
    with serve(tmp_path) as running:
        yield running


@pytest.fixture
def client(server: StoreServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        yield client


def test_applications(client: httpx2.Client, state: WrittenState) -> None:
    (listed,) = client.get("/applications").json()["applications"]
    assert listed.pop("staleness_seconds") > 0
    assert listed == {"name": "order-processor", "batch": 1, "as_of": "2026-01-01T00:01:00.000Z"}
    told = client.get(APPLICATION).json()
    assert told["directory"] == str(state.directory)
    assert (told["batch"], told["as_of"]) == (1, "2026-01-01T00:01:00.000Z")
    assert told["rows_per_second"] == 8.0
    assert told["progress"]["total"] == {"rows": {"orders": 7}}
    assert told["offsets"] == {"orders": {"0": 7}}
    assert [(each["name"], each["rows"], each["rows_are_exact"]) for each in told["stores"]] == [
        ("counts", 3, True),
        ("revenue", 4, True),
    ]
    assert told["bytes"] == sum(each["bytes"] for each in told["stores"]) > 0
    listed = client.get(f"{APPLICATION}/stores").json()
    assert listed["stores"] == told["stores"]
    assert listed.keys() == {"application", "stores", *STATE}


def test_an_application_that_has_finished_nothing(client: httpx2.Client, tmp_path: Path) -> None:
    WrittenState(tmp_path / "beginner").directory.write_topology({})
    told = client.get("/applications/beginner").json()
    assert [told[name] for name in ("batch", "as_of", "staleness_seconds", "stores")] == [None, None, None, []]
    assert "has finished no micro-batch" in client.get("/applications/beginner/stores/counts").json()["message"]


@pytest.mark.acceptance("B137")
def test_a_key(client: httpx2.Client, state: WrittenState) -> None:
    """A store is queried by key over HTTP, with the staleness stated, and the answer follows the application."""
    told = client.get(f"{APPLICATION}/stores/counts/bob").json()
    assert told.pop("staleness_seconds") > 0
    assert told == {
        "application": "order-processor",
        "store": "counts",
        "batch": 1,
        "as_of": "2026-01-01T00:01:00.000Z",
        "key": "bob",
        "value": {"count": 2},
    }
    state.commit("counts", STRING_COUNTS, counts(bob=20, ann=None))
    told = client.get(f"{APPLICATION}/stores/counts/bob").json()
    assert (told["batch"], told["value"]) == (2, {"count": 20})
    gone = client.get(f"{APPLICATION}/stores/counts/ann")
    assert gone.status_code == 404
    assert gone.json()["message"] == "store 'counts' has no key 'ann'"
    assert gone.json()["batch"] == 2


@pytest.mark.parametrize("key", ["a/b", "a%2Fb", "", "ä ?&#", "x/"], ids=repr)
def test_any_text_may_be_a_key(client: httpx2.Client, state: WrittenState, key: str) -> None:
    state.commit("counts", STRING_COUNTS, counts(**{key: 7}))
    told = client.get(f"{APPLICATION}/stores/counts/{quote(key, safe='')}").json()
    assert (told["key"], told["value"]) == (key, {"count": 7})


def test_windows(client: httpx2.Client) -> None:
    told = client.get(f"{APPLICATION}/stores/revenue/ann").json()
    assert told["windows"][1] == {
        "window_start": "2026-02-01T13:00:00.000Z",
        "window_end": "2026-02-01T14:00:00.000Z",
        "value": {"sum_total": 1.5},
    }
    assert len(told["windows"]) == 3
    milliseconds = round((NOON + HOUR).timestamp() * 1000)
    for start in ("2026-02-01T13:00:00Z", "2026-02-01T13:00", "2026-02-01T14:00:00+01:00", str(milliseconds)):
        told = client.get(f"{APPLICATION}/stores/revenue/ann", params={"window_start": start}).json()
        assert told["value"] == {"sum_total": 1.5}, start
    unquoted = client.get(f"{APPLICATION}/stores/revenue/ann?window_start=2026-02-01T14:00:00+01:00").json()
    assert unquoted["value"] == {"sum_total": 1.5}
    some = client.get(f"{APPLICATION}/stores/revenue/ann", params={"since": milliseconds, "until": milliseconds}).json()
    assert [each["value"] for each in some["windows"]] == [{"sum_total": 1.5}]
    none = client.get(f"{APPLICATION}/stores/revenue/bob", params={"window_start": 0})
    assert (none.status_code, none.json()["message"]) == (404, "store 'revenue' has no key 'bob' with such a window")


def test_rows(client: httpx2.Client) -> None:
    told = client.get(f"{APPLICATION}/stores/counts").json()
    assert told["entries"] == [
        {"key": "ann", "value": {"count": 1}},
        {"key": "bob", "value": {"count": 2}},
        {"key": "carl", "value": {"count": 3}},
    ]
    assert told["next"] is None
    assert told.keys() > STATE
    some = client.get(f"{APPLICATION}/stores/counts", params={"from": "b", "to": "bz"}).json()
    assert [each["key"] for each in some["entries"]] == ["bob"]


@pytest.mark.parametrize("limit", range(1, 6))
def test_rows_come_in_portions(client: httpx2.Client, limit: int) -> None:
    """Each is followed by the next until there are no more; none is given twice, even of a key with many windows."""
    whole = client.get(f"{APPLICATION}/stores/revenue").json()["entries"]
    assert len(whole) == 4
    assert whole[0].keys() == {"key", "window_start", "window_end", "value"}
    found: list[Any] = []
    further = f"{APPLICATION}/stores/revenue?limit={limit}&to=bob"
    while further is not None:
        told = client.get(further).json()
        assert len(told["entries"]) <= limit
        found += told["entries"]
        further = told["next"]
    assert found == whole


def test_what_json_has_no_form_for(client: httpx2.Client, state: WrittenState) -> None:
    schema = pa.schema(
        [
            ("_key", pa.struct([("day", pa.date32()), ("region", pa.binary())])),
            ("price", pa.decimal128(20, 2)),
            ("rate", pa.float64()),
            ("by_number", pa.map_(pa.int32(), pa.string())),
            ("_deleted", pa.bool_()),
        ]
    )
    key = {"day": NOON.date(), "region": b"\xff"}
    row = {"_key": key, "price": Decimal("0.10"), "rate": float("nan"), "by_number": [(1, "a")], "_deleted": False}
    state.commit("odd", schema, [row])
    (entry,) = client.get(f"{APPLICATION}/stores/odd").json()["entries"]
    assert entry == {
        "key": {"day": "2026-02-01", "region": "/w=="},
        "value": {"price": "0.10", "rate": "NaN", "by_number": {"1": "a"}},
    }
    for text in ('{"day": "2026-02-01", "region": "/w=="}', '["2026-02-01", "/w=="]'):
        assert client.get(f"{APPLICATION}/stores/odd/{text}").json()["value"] == entry["value"]


@pytest.mark.parametrize(
    ("path", "status", "message", "choices"),
    [
        ("/applications/orders", 404, "no application 'orders' has state in", ["order-processor"]),
        ("/applications/%2E%2E", 404, "no application '..' has state in", ["order-processor"]),
        ("/applications/orders/stores/counts/a", 404, "There are: order-processor", ["order-processor"]),
        (f"{APPLICATION}/stores/count", 404, "There are: counts, revenue", ["counts", "revenue"]),
        (f"{APPLICATION}/stores/count/ann", 404, "there is no store 'count' in", ["counts", "revenue"]),
        (f"{APPLICATION}/stores/counts?limit=0", 400, "limit=0: it takes a whole number from 1 to 10000", None),
        (f"{APPLICATION}/stores/counts?limit={MOST_ROWS + 1}", 400, "from 1 to 10000", None),
        (f"{APPLICATION}/stores/counts?skip=-1", 400, "skip=-1: it takes a whole number from 0 to", None),
        (
            f"{APPLICATION}/stores/counts?form=a",
            400,
            "no parameter 'form' here. There are: from, to, limit, skip",
            None,
        ),
        ("/applications?limit=1", 400, "no parameter 'limit' here. There are: none", None),
        (f"{APPLICATION}/stores/counts/ann?window_start=0", 400, "store 'counts' has no windows", None),
        (f"{APPLICATION}/stores/counts/ann?since=0", 400, "store 'counts' has no windows", None),
        (
            f"{APPLICATION}/stores/revenue/ann?window_start=noon",
            400,
            "window_start=noon: it takes a moment such as",
            None,
        ),
        (
            f"{APPLICATION}/stores/revenue/ann?since={'9' * 17}",
            400,
            "milliseconds since 1970: 99999999999999999 is",
            None,
        ),
        (f"{APPLICATION}/stores/revenue/ann?since={'9' * 5000}", 400, "it takes a moment such as", None),
        ("/", 404, "GET /: Not Found", None),
    ],
    ids=lambda case: str(case)[:60],
)
def test_what_is_refused(
    client: httpx2.Client, path: str, status: int, message: str, choices: list[str] | None
) -> None:
    answer = client.get(path)
    told = answer.json()
    assert (answer.status_code, told["error_code"]) == (status, status)
    assert message in told["message"]
    assert told.get("choices") == choices


def test_a_key_of_another_type(client: httpx2.Client, state: WrittenState) -> None:
    schema = pa.schema([("_key", pa.int64()), ("value", pa.string()), ("_deleted", pa.bool_())])
    state.commit("numbers", schema, [{"_key": 5, "value": "five", "_deleted": False}])
    assert client.get(f"{APPLICATION}/stores/numbers/5").json()["value"] == "five"
    for path in ("numbers/five", "numbers?from=five"):
        refused = client.get(f"{APPLICATION}/stores/{path}")
        assert refused.status_code == 400
        assert refused.json()["message"] == "the keys of store 'numbers' are of type int64: 'five' is none"


def test_state_that_is_lost(client: httpx2.Client, state: WrittenState) -> None:
    state.directory.remove_part("counts", "batch-0")
    assert client.get(f"{APPLICATION}/stores/counts/ann").status_code == 503
    assert client.get(f"{APPLICATION}/stores/revenue/ann").status_code == 200


def test_it_is_only_read(client: httpx2.Client) -> None:
    refused = client.delete(f"{APPLICATION}/stores/counts/ann")
    assert refused.status_code == 405
    assert "GET" in refused.headers["allow"]


def test_where_it_listens(tmp_path: Path) -> None:
    with serve(tmp_path) as running:
        assert httpx2.get(f"{running.url}/applications").json() == {"applications": []}
        with pytest.raises(CannotListen, match=f"stores cannot be served at 127.0.0.1:{running.port}: .*in use"):
            serve(tmp_path, port=running.port)
        with httpx2.Client() as idle:
            idle.get(f"{running.url}/applications")
            running.close()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{running.url}/applications")


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_an_address_with_colons(tmp_path: Path) -> None:
    with serve(tmp_path, host="::1") as running:
        assert running.url == f"http://[::1]:{running.port}"
        assert httpx2.get(f"{running.url}/applications").status_code == 200
