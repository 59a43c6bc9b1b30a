"""/config: the level of compatibility and what else is set for all, for a context, or for a subject."""

from typing import Final

from starlette.responses import Response

from stoker.registry.errors import config_not_found
from stoker.registry.http.call import Call
from stoker.registry.http.names import is_default_context, normalized
from stoker.registry.http.parameters import DEFAULT_TO_GLOBAL
from stoker.registry.http.routing import Route
from stoker.registry.settings import LEVEL, parse_config
from stoker.registry.subjects import canonical


async def get_global(call: Call) -> Response:
    """Get what is set for all subjects"""
    scopes = call.registry.scopes
    return call.answer(scopes.config(None) if call.flag("defaultToGlobal") else scopes.own_config(None))


async def get_of_subject(call: Call, subject: str) -> Response:
    """Get what is set for a subject or a context"""
    if is_default_context(subject):
        return await get_global(call)
    name = normalized(subject)
    scopes = call.registry.scopes
    config = scopes.config(name) if call.flag("defaultToGlobal") else scopes.own_config(name)
    if config is None:
        raise config_not_found(name)
    return call.answer(config)


async def put_global(call: Call) -> Response:
    """Set it for all subjects"""
    return await _put(call, None)


async def put_of_subject(call: Call, subject: str) -> Response:
    """Set it for a subject or a context"""
    return await _put(call, None if is_default_context(subject) else canonical(normalized(subject)))


async def _put(call: Call, name: str | None) -> Response:
    config = parse_config(await call.document())
    reply = await call.change(name, lambda registry: registry.put_config(name, config))
    return call.answer({"compatibility" if field == LEVEL else field: value for field, value in reply.items()})


async def delete_global(call: Call) -> Response:
    """Go back to the default"""
    return await _delete(call, None)


async def delete_of_subject(call: Call, subject: str) -> Response:
    """Go back to what is set for all"""
    return await _delete(call, None if is_default_context(subject) else normalized(subject))


async def _delete(call: Call, name: str | None) -> Response:
    return call.answer(await call.change(name, lambda registry: registry.delete_config(name)))


ROUTES: Final = (
    Route(method="GET", path="/config", handler=get_global, query=(DEFAULT_TO_GLOBAL,), answer="Config"),
    Route(
        method="PUT",
        path="/config",
        handler=put_global,
        body="ConfigUpdateRequest",
        answer="ConfigUpdateRequest",
        refusals=(422,),
        writes=True,
    ),
    Route(method="DELETE", path="/config", handler=delete_global, answer="Config", refusals=(422,), writes=True),
    Route(
        method="GET",
        path="/config/{subject}",
        handler=get_of_subject,
        query=(DEFAULT_TO_GLOBAL,),
        answer="Config",
        refusals=(404,),
    ),
    Route(
        method="PUT",
        path="/config/{subject}",
        handler=put_of_subject,
        body="ConfigUpdateRequest",
        answer="ConfigUpdateRequest",
        refusals=(422,),
        writes=True,
    ),
    Route(
        method="DELETE",
        path="/config/{subject}",
        handler=delete_of_subject,
        answer="Config",
        refusals=(404, 422),
        writes=True,
    ),
)
