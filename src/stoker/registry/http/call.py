"""One request, as handlers see it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope

from stoker.registry.errors import not_permitted
from stoker.registry.http import refusals
from stoker.registry.http.large_schemas import LargeSchemas
from stoker.registry.http.limits import Limits
from stoker.registry.http.media_types import V1
from stoker.registry.registry import Change, Registry
from stoker.registry.service import NotPrimary, Service

ReplyT = TypeVar("ReplyT")

_PART_CHARACTERS: Final = 256 * 1024
_LOWEST: Final = -(2**31)
_HIGHEST: Final = 2**31 - 1
_decode = json.JSONDecoder(strict=False).decode
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


class Account(NamedTuple):
    """Who asks, when a password is asked for."""

    user: str
    password_hash: bytes
    may_only_read: bool


class ToForward(Exception):
    """The write belongs to the instance at this URL."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Call:
    """What was asked, and of whom."""

    __slots__ = (
        "_content",
        "_receive",
        "account",
        "headers",
        "is_read_only",
        "large",
        "limits",
        "media_type",
        "method",
        "query",
        "registry",
        "scope",
        "service",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        service: Service,
        limits: Limits,
        large: LargeSchemas,
        *,
        is_read_only: bool,
    ) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.service = service
        self.registry: Registry = service.registry
        self.limits = limits
        self.large = large
        self.is_read_only = is_read_only
        self.media_type = V1
        self.query: dict[str, list[str]] = {}
        self.account: Account | None = None
        self._receive = receive
        self._content: bytes | None = None

    # -- what was asked ---------------------------------------------------------------------------------------------

    def flag(self, name: str) -> bool:
        """As Jersey reads it: what is not `true` is false."""
        values = self.query.get(name)
        return values is not None and values[0].lower() == "true"

    def text(self, name: str) -> str | None:
        values = self.query.get(name)
        return None if values is None else values[0]

    def texts(self, name: str) -> list[str]:
        return self.query.get(name, [])

    def number(self, name: str, default: int) -> int:
        """Raises Refusal."""
        values = self.query.get(name)
        if values is None or not values[0].strip():
            return default
        return parse_integer(values[0])

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def asks_for_deleted_only(self) -> bool:
        """Confluent's client for Python spells it in its own way."""
        return self.flag("deletedOnly") or self.flag("deleted_only")

    @property
    def shows_new_fields(self) -> bool:
        """Whether the client bears fields it does not know: it says so, or it is new enough to name its version.

        Old Java clients fail at them. Confluent's for Python says so only with a body, but needs the guid of a GET too.
        """
        headers = self.headers
        return headers.get(b"confluent-accept-unknown-properties") == b"true" or b"confluent-client-version" in headers

    async def content(self) -> bytes:
        """The body. Raises Refusal if it is too large or too slow, ClientDisconnect if it ends too early."""
        if self._content is None:
            self._content = await self._read()
        return self._content

    async def _read(self) -> bytes:
        limit = self.limits.max_request_bytes
        declared = self.headers.get(b"content-length")
        if declared is not None and int(declared) > limit:
            raise refusals.body_too_large(limit)
        if self._is_all_there:
            return await self._join_chunks(limit)
        try:
            async with asyncio.timeout(self.limits.body_timeout):
                return await self._join_chunks(limit)
        except TimeoutError:
            raise refusals.too_slow(self.limits.body_timeout) from None

    @property
    def _is_all_there(self) -> bool:
        """Whether uvicorn has the whole body already, which mostly comes with the headers: a timer costs as much as a look-up."""
        return getattr(getattr(self._receive, "__self__", None), "more_body", True) is False

    async def _join_chunks(self, limit: int) -> bytes:
        chunks: list[bytes] = []
        size, has_more = 0, True
        while size <= limit and has_more:
            message = await self._receive()
            chunks.append(_chunk(message))
            size += len(chunks[-1])
            has_more = message.get("more_body", False)
        if size > limit:
            raise refusals.body_too_large(limit)
        return b"".join(chunks)

    async def document(self) -> dict[str, Any]:
        """The JSON object in the body. Line breaks within strings are let through. Raises Refusal."""
        content = await self.content()
        if not content.strip():
            raise refusals.invalid_parameter("The request body must not be empty")
        try:
            value = _decode(content.decode())
            if len(content) > self.limits.max_values:  # a value takes a byte at least
                _refuse_too_many(value, self.limits.max_values)
            if b"\\u" in content:
                _encode(value).encode()
        except RecursionError:
            raise refusals.bad_request("The request body is nested too deeply") from None
        except UnicodeEncodeError:
            raise refusals.bad_request("The request body has half of a surrogate pair in a string") from None
        except ValueError as problem:
            raise refusals.bad_request(f"The request body is not JSON: {problem}") from None
        if not isinstance(value, dict):
            raise refusals.bad_request(f"The request body must be a JSON object, not {json_type(value)}")
        return value

    # -- what is answered -------------------------------------------------------------------------------------------

    def answer(self, value: object) -> Response:
        return Response(_encode(value), media_type=self.media_type)

    def answer_list(self, values: Iterable[object]) -> Response:
        """Encoded as it is sent: a thousand schemas can be a gigabyte, and the one who asked may not even read them."""
        parts = _list_in_parts(values)
        first = next(parts)
        following = next(parts, None)
        if following is None:
            return Response(first, media_type=self.media_type)
        return StreamingResponse(_with_pauses(first, following, parts), media_type=self.media_type)

    def answer_text(self, text: str) -> Response:
        """As it is, without quotes around it."""
        return Response(text, media_type=self.media_type)

    async def change(self, subject: str | None, decide: Callable[[Registry], Change[ReplyT]]) -> ReplyT:
        """Raises RegistryError, or ToForward if another instance takes the writes."""
        if self.is_read_only:
            raise not_permitted(
                "The registry is in read-only mode" if subject is None else f"Subject {subject} is in read-only mode"
            )
        url = self.service.primary_url
        if url is None:
            try:
                return await self.service.change(decide)
            except NotPrimary as elsewhere:
                if elsewhere.url is None:
                    raise
                url = elsewhere.url
        raise ToForward(url)


def _refuse_too_many(value: object, limit: int) -> None:
    """Raises Refusal."""
    count, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        within = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        count += len(within)
        if count > limit:
            raise refusals.bad_request(f"The request body has more than {limit} values")
        waiting += [each for each in within if isinstance(each, dict | list)]


def _list_in_parts(values: Iterable[object]) -> Iterator[str]:
    part, size, before = [], 0, "["
    for value in values:
        part.append(before + _encode(value))
        size, before = size + len(part[-1]), ","
        if size > _PART_CHARACTERS:
            yield "".join(part)
            part, size = [], 0
    yield "".join(part) + ("[]" if before == "[" else "]")


async def _with_pauses(*parts: str | Iterator[str]) -> AsyncIterator[str]:
    for part in parts:
        for each in [part] if isinstance(part, str) else part:
            yield each
            await asyncio.sleep(0)  # others are answered between them


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    chunk: bytes = message.get("body", b"")
    return chunk


def parse_integer(text: str) -> int:
    """As Java's Integer.parseInt. Raises Refusal: Jersey answers 404 to what is no number."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if digits.isascii() and digits.isdecimal() and len(digits) <= 32:
        number = int(text)
        if _LOWEST <= number <= _HIGHEST:
            return number
    raise refusals.no_such_path()


def json_type(value: object) -> str:
    """What JSON calls it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
