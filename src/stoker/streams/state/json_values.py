"""Stores and applications as JSON: what it has no form for is a text."""

import base64
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from stoker.streams.state.applications import ApplicationStatus
from stoker.streams.state.snapshots import Entry, WindowedValue
from stoker.streams.state.views import Answer


def as_json(value: Any) -> Any:
    """Moments by ISO 8601 in UTC, decimals with all their digits, bytes as base64, and numbers that are none by their names."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else key_text(key): as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, datetime):
        return shown_moment(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, Decimal):
        return str(value)
    return value


def key_text(key: Any) -> str:
    """A key as it can be asked for: in a URL, or as an argument of a command."""
    value = as_json(key)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def entry_json(entry: Entry) -> dict[str, Any]:
    told: dict[str, Any] = {"key": as_json(entry.key)}
    if isinstance(entry, WindowedValue):
        told |= window_json(entry)
    return {**told, "value": as_json(entry.value)}


def window_json(entry: WindowedValue) -> dict[str, Any]:
    return {"window_start": shown_moment(entry.window_start), "window_end": shown_moment(entry.window_end)}


def state_json(told: ApplicationStatus | Answer[Any]) -> dict[str, Any]:
    """Of which state an answer is."""
    return {
        "batch": told.batch,
        "as_of": None if told.as_of is None else shown_moment(told.as_of),
        "staleness_seconds": None if told.staleness is None else round(told.staleness, 3),
    }


def status_json(status: ApplicationStatus) -> dict[str, Any]:
    rate = status.rows_per_second
    return {
        "name": status.name,
        "directory": status.directory,
        **state_json(status),
        "rows_per_second": None if rate is None else round(rate, 1),
        "progress": status.progress,
        "offsets": {
            topic: {str(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in status.offsets.items()
        },
        "stores": stores_json(status),
        "bytes": status.bytes,
    }


def stores_json(status: ApplicationStatus) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "rows": each.rows, "rows_are_exact": each.is_exact, "bytes": each.bytes}
        for each in status.stores
    ]


def shown_moment(moment: datetime) -> str:
    """`2026-02-01T12:30:00.000Z`, with microseconds if there are any."""
    exactly = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.astimezone(UTC).isoformat(timespec=exactly).removesuffix("+00:00") + "Z"
