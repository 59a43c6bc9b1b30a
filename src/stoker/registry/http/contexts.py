"""/contexts: the spaces in which ids and subjects are counted for themselves."""

from typing import Final

from starlette.responses import Response

from stoker.registry.http.call import Call
from stoker.registry.http.parameters import CONTEXT_PREFIX, PAGE, page
from stoker.registry.http.routing import Route


async def list_contexts(call: Call) -> Response:
    """List contexts"""
    prefix = call.text("contextPrefix") or ""
    return call.answer(page(call, [name for name in sorted(call.registry.state.contexts) if name.startswith(prefix)]))


ROUTES: Final = (
    Route(
        method="GET",
        path="/contexts",
        handler=list_contexts,
        query=(CONTEXT_PREFIX, *PAGE),
        answer={"type": "array", "items": {"type": "string"}},
        refusals=(422,),
    ),
)
