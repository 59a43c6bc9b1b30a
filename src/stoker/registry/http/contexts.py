"""/contexts: the spaces in which ids and subjects are counted for themselves."""

from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from stoker.registry.http.call import Call
from stoker.registry.http.names import normalized
from stoker.registry.http.parameters import CONTEXT_PREFIX, PAGE, page
from stoker.registry.http.routing import Route
from stoker.registry.subjects import context_of


async def list_contexts(call: Call) -> Response:
    """List contexts"""
    prefix = call.text("contextPrefix") or ""
    return call.answer(page(call, [name for name in sorted(call.registry.state.contexts) if name.startswith(prefix)]))


async def delete_context(call: Call, context: str) -> Response:
    """Forget a context that has no subjects"""
    name = context_of(normalized(context))
    await call.change(None, lambda registry: registry.delete_context(name))
    return Response(status_code=HTTPStatus.NO_CONTENT)


ROUTES: Final = (
    Route(
        method="GET",
        path="/contexts",
        handler=list_contexts,
        query=(CONTEXT_PREFIX, *PAGE),
        answer={"type": "array", "items": {"type": "string"}},
        refusals=(422,),
    ),
    Route(
        method="DELETE", path="/contexts/{context}", handler=delete_context, answer=None, refusals=(422,), writes=True
    ),
)
