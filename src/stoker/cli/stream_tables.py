"""What `stoker streams` shows of applications and their stores."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from stoker.cli.connection import connect
from stoker.cli.durations import shown_duration
from stoker.cli.output import counted, print_json, print_table, say, shown_bytes
from stoker.client.admin.offsets import LATEST, ListedOffset, list_offsets_of
from stoker.client.topic_partition import TopicPartition
from stoker.streams.state.applications import ApplicationStatus, StoreStatus, application_status, existing_application
from stoker.streams.state.json_values import entry_json, key_text, state_json, stores_json
from stoker.streams.state.snapshots import Entry, KeyValue, StoreSnapshot, WindowedValue
from stoker.streams.state.views import Answer, StoreView

T = TypeVar("T")


class Rows(NamedTuple):
    rows: list[Entry]
    rest: Any = None
    """The key of the first row that is not among them, if there is one."""


# -- applications


def ago(seconds: float | None) -> str | None:
    return None if seconds is None else f"{shown_duration(round(round(seconds, 1) * 1000))} ago"


def lag_of(
    status: ApplicationStatus, bootstrap_server: str | None, command_config: Path | None
) -> dict[str, int | None]:
    """By topic, how many records are behind what it has read; None where the cluster does not tell."""
    read = {
        TopicPartition(topic, partition): offset
        for topic, partitions in status.offsets.items()
        for partition, offset in partitions.items()
    }
    with connect(bootstrap_server, command_config) as cluster:
        ends = list_offsets_of(cluster, read, LATEST)
    lag: dict[str, int | None] = dict.fromkeys(status.offsets, 0)
    for partition, end in ends.items():
        known = lag[partition.topic]
        if known is None or not isinstance(end, ListedOffset):
            lag[partition.topic] = None
        else:
            lag[partition.topic] = known + max(0, end.offset - read[partition])
    return lag


def print_status(status: ApplicationStatus, lag: dict[str, int | None] | None) -> None:
    if status.batch is None:
        say(f"Application {status.name} has finished no micro-batch yet.")
        return
    rate = status.rows_per_second
    told = [f"micro-batch {status.batch}", f"committed {ago(status.staleness)}"]
    told += [] if rate is None else [f"{rate:.0f} rows/s" if rate >= 10 else f"{rate:.1f} rows/s"]
    print(f"Application {status.name}: {', '.join(told)}, {shown_bytes(status.bytes)} of state in {status.directory}")
    _print_topics(status, lag)
    if status.stores:
        late = status.progress.get("total", {}).get("late", {})
        print_table(
            ("STORE", "ROWS", "LATE", "SIZE"),
            [(each.name, _rows(each), late.get(each.name, 0), shown_bytes(each.bytes)) for each in status.stores],
        )


def _print_topics(status: ApplicationStatus, lag: dict[str, int | None] | None) -> None:
    total = status.progress.get("total", {})
    rows, bad = total.get("rows", {}), total.get("dead_letters", {})
    topics = sorted({*rows, *status.offsets})
    if not topics:
        return
    last = status.progress.get("rows", {})
    columns = ["TOPIC", "ROWS", "LAST-BATCH", "DEAD-LETTERS", *([] if lag is None else ["LAG"])]
    cells = [
        [topic, rows.get(topic, 0), last.get(topic, 0), bad.get(topic, 0), *([] if lag is None else [lag.get(topic)])]
        for topic in topics
    ]
    print_table(columns, cells)


# -- stores


def _rows(store: StoreStatus) -> str:
    return str(store.rows) if store.is_exact else f"<={store.rows}"


def print_stores(name: str, state_dir: str | None, *, as_json: bool) -> None:
    status = application_status(name, state_dir)
    if as_json:
        print_json({"application": name, **state_json(status), "stores": stores_json(status)})
    elif status.stores:
        print_table(
            ("STORE", "ROWS", "SIZE"), [(each.name, _rows(each), shown_bytes(each.bytes)) for each in status.stores]
        )
    else:
        say(f"Application {name} has no stores.")


def asked(name: str, store: str, state_dir: str | None, question: Callable[[StoreSnapshot], T]) -> Answer[T]:
    """Raises ApplicationNotFound, StoreNotFound and InvalidQuery."""
    return StoreView(existing_application(name, state_dir), store).read(question)


def rows_between(store: StoreSnapshot, first: str | None, last: str | None, limit: int) -> Rows:
    bounds = [None if each is None else store.key_of_text(each) for each in (first, last)]
    return _limited(store.range(*bounds), limit)


def rows_of_key(store: StoreSnapshot, text: str, since: int | None, until: int | None, limit: int) -> Rows:
    key = store.key_of_text(text)
    if store.has_windows or since is not None or until is not None:
        return _limited(iter(store.windows(key, since, until)), limit)
    value = store.get(key)
    return Rows([] if value is None else [KeyValue(key, value)])


def _limited(entries: Iterator[Entry], limit: int) -> Rows:
    rows = list(islice(entries, limit + 1))
    return Rows(rows[:limit], rows[limit].key if len(rows) > limit else None)


def print_rows(found: Answer[Rows], name: str, store: str, *, as_json: bool) -> None:
    rows, rest = found.value
    if as_json:
        print_json(
            {"application": name, "store": store, **state_json(found), "entries": [entry_json(each) for each in rows]}
        )
    elif rows:
        columns = list(rows[0].value) if isinstance(rows[0].value, dict) else None
        windows = ("WINDOW-START", "WINDOW-END") if isinstance(rows[0], WindowedValue) else ()
        print_table(("KEY", *windows, *(columns or ["VALUE"])), [_cells(each, columns) for each in rows])
    if rest is not None:
        say(f"There are more rows, from key {key_text(rest)!r} on; --limit shows more of them.")
    say(f"{counted(len(rows), 'row')} as of micro-batch {found.batch}, committed {ago(found.staleness)}.")


def _cells(entry: Entry, columns: list[str] | None) -> list[str | None]:
    windows = [entry.window_start, entry.window_end] if isinstance(entry, WindowedValue) else []
    values = [entry.value] if columns is None else [entry.value[name] for name in columns]
    return [None if each is None else key_text(each) for each in (entry.key, *windows, *values)]
