"""Writes that belong to another instance: sent there as they came, and its answer given back as it came."""

import asyncio
from collections.abc import Coroutine
from typing import Final

import httpx2
from starlette.responses import Response

from stoker.registry.errors import Unavailable
from stoker.registry.http.call import Call
from stoker.registry.http.limits import Limits
from stoker.registry.service import NotPrimary, Service

_FORWARDED: Final = b"x-forward"
"""Confluent's mark of a request that was sent on: it is not sent on again."""
_POSITION: Final = "x-schemas-position"
"""Of the one who took the write: whoever sent it on waits until it knows of it too, so that its next answer does."""
_FAILED: Final = 50003
_GRACE_SECONDS: Final = 1.0
_TAKEN: Final = (
    b"content-type",
    b"accept",
    b"authorization",
    b"confluent-accept-unknown-properties",
    b"confluent-client-version",
    b"x-request-id",
)


class PrimaryUnreachable(Unavailable):
    """The request has not left this instance: nobody is there who could have done anything."""


class Forwarder:
    """One client for all requests; its connections are kept."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._client: httpx2.AsyncClient | None = None

    async def forward(self, call: Call, url: str) -> Response:
        """Raises NotPrimary for what was sent on already, Unavailable if there is no answer, PrimaryUnreachable if there is
        nobody to send it to."""
        if _FORWARDED in call.headers:
            raise NotPrimary(None)
        if self._client is None:
            timeout = httpx2.Timeout(self._limits.forward_timeout, connect=self._limits.connect_timeout)
            self._client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False)
        query = call.scope["query_string"]
        address = httpx2.URL(url).copy_with(raw_path=call.scope["raw_path"] + (b"?" + query if query else b""))
        headers = {name: value for name in _TAKEN if (value := call.headers.get(name)) is not None}
        headers |= {_FORWARDED: b"true", b"accept-encoding": b"identity"}
        content = await call.content()
        try:
            async with asyncio.timeout(self._limits.forward_timeout):
                request = self._client.request(call.method, address, content=content, headers=headers)
                reply = await _unless_replaced(request, call.service, url)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as problem:
            is_unsent = isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.InvalidURL)
            raise (PrimaryUnreachable if is_unsent else Unavailable)(
                _FAILED,
                f"Error while forwarding the request to the leader at {url}: {str(problem) or type(problem).__name__}",
            ) from problem
        position = reply.headers.get(_POSITION, "")
        if position.isascii() and position.isdecimal() and len(position) < 20:
            await call.service.reach(int(position))
        return Response(reply.content, reply.status_code, media_type=reply.headers.get("content-type"))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def tell_position(call: Call, response: Response) -> None:
    """To one who sent on a write."""
    if _FORWARDED in call.headers:
        response.headers[_POSITION] = str(call.service.position)


async def _unless_replaced(
    request: Coroutine[None, None, httpx2.Response], service: Service, url: str
) -> httpx2.Response:
    """One that hangs is replaced long before its answer is given up. Raises Unavailable."""
    asked = asyncio.ensure_future(request)
    replaced = asyncio.ensure_future(service.another_primary(than=url))
    try:
        await asyncio.wait({asked, replaced}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done() and replaced.result():
            await asyncio.wait({asked}, timeout=_GRACE_SECONDS)
            if not asked.done():
                raise Unavailable(
                    _FAILED,
                    f"The leader at {url} was replaced before it answered: what was asked may or may not be done",
                )
        return await asked
    finally:
        asked.cancel()
        replaced.cancel()
