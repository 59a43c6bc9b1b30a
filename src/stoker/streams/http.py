"""Stores of running applications over HTTP: read alone, from their files, so that it may run in any process of the machine.

GET /applications                               those that have state here
GET /applications/{app}                         how far one is
GET /applications/{app}/stores                  its stores
GET /applications/{app}/stores/{store}          rows: ?from= &to= (keys, both included) &limit= &skip=
GET /applications/{app}/stores/{store}/{key}    one key: ?window_start=, or ?since= &until=, of a store with windows

Every answer is a JSON object with `batch`, `as_of` and `staleness_seconds`: the micro-batch that it is of, and how long ago that was
committed. One that is refused has `error_code`, `message` and, where a name is unknown, `choices`.
"""

import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from stoker.streams.errors import (
    ApplicationNotFound,
    CannotListen,
    InvalidQuery,
    StateLost,
    StoreNotFound,
    StreamsError,
)
from stoker.streams.state.applications import (
    ApplicationStatus,
    application_status,
    existing_application,
    list_applications,
)
from stoker.streams.state.json_values import (
    as_json,
    entry_json,
    key_text,
    state_json,
    status_json,
    stores_json,
    window_json,
)
from stoker.streams.state.snapshots import Entry, StoreSnapshot
from stoker.streams.state.views import StoreView

T = TypeVar("T")

DEFAULT_LIMIT: Final = 100
MOST_ROWS: Final = 10_000
"""In one answer."""
_MOST_SKIPPED: Final = 1_000_000_000
_MOST_DIGITS: Final = 18
_LAST_REQUESTS_SECONDS: Final = 5
_BACKLOG: Final = 2048
_STATUSES: Final[dict[type[StreamsError], HTTPStatus]] = {
    ApplicationNotFound: HTTPStatus.NOT_FOUND,
    StoreNotFound: HTTPStatus.NOT_FOUND,
    InvalidQuery: HTTPStatus.BAD_REQUEST,
    StateLost: HTTPStatus.SERVICE_UNAVAILABLE,
}


class StoreServer:
    """Answers, in a thread of its own, from when it is made until `close()`. Raises CannotListen."""

    def __init__(self, root: str | Path | None, host: str, port: int) -> None:
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(root),
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS,
            )
        )
        self._thread = threading.Thread(target=self._serve, name="stoker-stores", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def close(self) -> None:
        """Answer what was asked, then let go of the port."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> "StoreServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(root: str | Path | None = None, host: str = "127.0.0.1", port: int = 0) -> StoreServer:
    """The stores of all applications whose state is under `root`, or under the default directory; port 0 is any that is free."""
    return StoreServer(root, host, port)


def application(root: str | Path | None = None) -> Starlette:
    """The ASGI application, for who serves it otherwise."""
    api = _Api(root)
    return Starlette(
        routes=[
            Route("/applications", api.applications),
            Route("/applications/{application}", api.application),
            Route("/applications/{application}/stores", api.stores),
            Route("/applications/{application}/stores/{store}", api.store),
            Route("/applications/{application}/stores/{store}/{key:path}", api.key),
        ],
        exception_handlers={StreamsError: _refused, HTTPException: _refused_by_starlette},
    )


class _Api:
    """Each method is one route. They read files, so Starlette runs them in threads."""

    def __init__(self, root: str | Path | None) -> None:
        self._root = root

    def applications(self, request: Request) -> Response:
        _parameters(request)
        found = [application_status(name, self._root) for name in list_applications(self._root)]
        return JSONResponse({"applications": [{"name": each.name, **state_json(each)} for each in found]})

    def application(self, request: Request) -> Response:
        _parameters(request)
        return JSONResponse(status_json(self._status(request)))

    def stores(self, request: Request) -> Response:
        _parameters(request)
        status = self._status(request)
        return JSONResponse({"application": status.name, **state_json(status), "stores": stores_json(status)})

    def store(self, request: Request) -> Response:
        given = _parameters(request, "from", "to", "limit", "skip")
        limit = _number(given, "limit", DEFAULT_LIMIT, 1, MOST_ROWS)
        skip = _number(given, "skip", 0, 0, _MOST_SKIPPED)

        def ask(store: StoreSnapshot) -> tuple[list[Entry], Any]:
            first, last = [store.key_of_text(given[name]) if name in given else None for name in ("from", "to")]
            return list(islice(store.range(first, last), skip, skip + limit + 1)), first

        told, (entries, first) = self._asked(request, ask)
        further = None
        if len(entries) > limit:
            further = f"{request.url.path}?{urlencode(_further(given, entries, first, skip))}"
        return JSONResponse({**told, "entries": [entry_json(each) for each in entries[:limit]], "next": further})

    def key(self, request: Request) -> Response:
        given = _parameters(request, "window_start", "since", "until")
        start, since, until = [_moment(given, name) for name in ("window_start", "since", "until")]
        text = request.path_params["key"]

        def ask(store: StoreSnapshot) -> dict[str, Any] | None:
            key = store.key_of_text(text)
            if start is None and (store.has_windows or since is not None or until is not None):
                windows = store.windows(key, since, until)
                told = [{**window_json(each), "value": as_json(each.value)} for each in windows]
                return {"key": as_json(key), "windows": told} if told else None
            value = store.get(key, start)
            return None if value is None else {"key": as_json(key), "value": as_json(value)}

        told, found = self._asked(request, ask)
        if found is None:
            message = f"store {told['store']!r} has no key {text!r}{' with such a window' if given else ''}"
            return _error(HTTPStatus.NOT_FOUND, message, told)
        return JSONResponse({**told, **found})

    def _status(self, request: Request) -> ApplicationStatus:
        return application_status(request.path_params["application"], self._root)

    def _asked(self, request: Request, question: Callable[[StoreSnapshot], T]) -> tuple[dict[str, Any], T]:
        """Which state was asked, and the answer."""
        name, store = request.path_params["application"], request.path_params["store"]
        view = StoreView(existing_application(name, self._root), store)
        answer = view.read(question)
        return {"application": name, "store": store, **state_json(answer)}, answer.value


def _further(given: dict[str, str], entries: list[Entry], first: Any, skip: int) -> dict[str, str]:
    """The query for the next answer: from the key of the row that did not fit, after those of its windows that did."""
    *shown, rest = entries
    same = sum(each.key == rest.key for each in shown)
    passed = skip + same if rest.key == first else same
    start = {"from": key_text(rest.key)} | ({"skip": str(passed)} if passed else {})
    return {name: text for name, text in given.items() if name != "skip"} | start


# -- what is asked


def _parameters(request: Request, *known: str) -> dict[str, str]:
    """The query. Raises InvalidQuery for a parameter that means nothing here."""
    for name in request.query_params:
        if name not in known:
            raise InvalidQuery(f"there is no parameter {name!r} here. There are: {', '.join(known) or 'none'}")
    return dict(request.query_params)


def _number(given: dict[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    text = given.get(name, str(default))
    if not _is_number(text) or not lowest <= int(text) <= highest:
        raise InvalidQuery(f"{name}={text}: it takes a whole number from {lowest} to {highest}")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _moment(given: dict[str, str], name: str) -> datetime | int | None:
    text = given.get(name)
    if text is None:
        return None
    if _is_number(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)  # `+` means a space in a query
    except ValueError:
        raise InvalidQuery(
            f"{name}={text}: it takes a moment such as 2026-02-01T12:30:00Z, or milliseconds since 1970"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


# -- what is refused


def _refused(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), None)
    choices = {"choices": list(error.choices)} if isinstance(error, ApplicationNotFound | StoreNotFound) else {}
    return _error(status or HTTPStatus.INTERNAL_SERVER_ERROR, str(error), choices)


def _refused_by_starlette(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _error(HTTPStatus(error.status_code), f"{request.method} {request.url.path}: {error.detail}", {})
    response.headers.update(error.headers or {})
    return response


def _error(status: HTTPStatus, message: str, more: dict[str, Any]) -> Response:
    return JSONResponse({"error_code": status.value, "message": message, **more}, status.value)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise CannotListen(f"stores cannot be served at {host}:{port}: {error.strerror}") from error
