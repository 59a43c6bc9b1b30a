"""The ASGI application: from a request to an answer, whatever happens on the way."""

import json
import logging
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stoker.registry.errors import RegistryError
from stoker.registry.http import refusals
from stoker.registry.http.authentication import Users
from stoker.registry.http.call import Call, ToForward
from stoker.registry.http.forwarding import Forwarder, PrimaryUnreachable
from stoker.registry.http.large_schemas import LargeSchemas
from stoker.registry.http.limits import Limits
from stoker.registry.http.media_types import is_consumed, negotiated
from stoker.registry.http.names import within_context
from stoker.registry.http.openapi import ROUTES
from stoker.registry.http.refusals import Refusal
from stoker.registry.http.routing import Route, Router, segments_of
from stoker.registry.service import Service

logger = logging.getLogger("stoker.registry")

_OPEN: Final = ["_health"]
"""What is answered without a password."""
_MOST_PARAMETERS: Final = 1_000


def application(
    service: Service, *, auth_file: Path | None = None, read_only: bool = False, limits: Limits | None = None
) -> "Application":
    """The API of this registry.

    With a file of users (authentication.py) a password is asked for; `read_only` refuses every write, and says that the
    mode is READONLY whatever is stored. Raises UsersFileUnusable.
    """
    users = None if auth_file is None else Users(auth_file)
    return Application(service, users, limits or Limits(), read_only=read_only)


class Application:
    """Is called for each request; `close` lets go of the connections to other instances."""

    def __init__(self, service: Service, users: Users | None, limits: Limits, *, read_only: bool) -> None:
        self._service = service
        self._users = users
        self._limits = limits
        self._large = LargeSchemas()
        self._is_read_only = read_only
        self._router = Router(ROUTES)
        self._forwarder = Forwarder(limits)

    async def close(self) -> None:
        await self._forwarder.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            call = Call(scope, receive, self._service, self._limits, self._large, is_read_only=self._is_read_only)
            try:
                response = await self._answer(call)
            except ClientDisconnect:
                return
            await response(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, call: Call) -> Response:
        try:
            return await self._handle(call)
        except ToForward as elsewhere:
            return await self._forward(call, elsewhere.url)
        except RegistryError as problem:
            return _refusal(call, problem)
        except ClientDisconnect:
            raise
        except Exception:
            logger.exception("%s %s failed", call.method, call.scope["path"])
            return _error(call, HTTPStatus.INTERNAL_SERVER_ERROR, 500, "Internal Server Error")

    async def _forward(self, call: Call, url: str) -> Response:
        try:
            return await self._forwarder.forward(call, url)
        except PrimaryUnreachable as problem:
            if not await self._service.another_primary(than=url):
                return _refusal(call, problem)
        except RegistryError as problem:
            return _refusal(call, problem)
        return await self._answer(call)

    async def _handle(self, call: Call) -> Response:
        scope = call.scope
        raw_path, query_string = scope["raw_path"], scope["query_string"]
        limit = self._limits.max_address_bytes
        if len(raw_path) + len(query_string) > limit:
            raise refusals.address_too_long(limit)
        segments = segments_of(raw_path)
        if self._users is not None and segments != _OPEN:
            call.account = await self._users.authenticate(call)
        if query_string:
            call.query = _parsed(query_string)
        if len(segments) > 1 and segments[0] == "contexts":
            segments = within_context(segments, call.query)
        match = self._router.match(segments)
        if match is None:
            raise refusals.no_such_path()
        method = scope["method"]
        route = match.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            return _other_method(method, match.routes)
        _negotiate(call, route)
        return await route.handler(call, *match.parameters)


def _parsed(query_string: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise refusals.bad_request(f"The query has more than {_MOST_PARAMETERS} parameters") from None


def _other_method(method: str, routes: dict[str, Route]) -> Response:
    allowed = {*routes, "OPTIONS"} | ({"HEAD"} if "GET" in routes else set())
    if method != "OPTIONS":
        raise refusals.method_not_allowed(allowed)
    return Response(headers={"allow": ",".join(sorted(allowed))})


def _negotiate(call: Call, route: Route) -> None:
    if route.body is not None and not is_consumed(call.header(b"content-type")):
        raise refusals.unsupported_media_type()
    media_type = negotiated(call.header(b"accept"))
    if media_type is None:
        raise refusals.not_acceptable()
    call.media_type = media_type
    if route.writes and call.account is not None and call.account.may_only_read:
        raise refusals.forbidden(call.account.user)


def _refusal(call: Call, problem: RegistryError) -> Response:
    response = _error(call, problem.status, problem.code, problem.message)
    if isinstance(problem, Refusal):
        response.headers.update(problem.headers)
    return response


def _error(call: Call, status: HTTPStatus, code: int, message: str) -> Response:
    content = json.dumps({"error_code": code, "message": message}, separators=(",", ":"), ensure_ascii=False)
    return Response(content.encode(errors="replace"), status.value, media_type=call.media_type)
