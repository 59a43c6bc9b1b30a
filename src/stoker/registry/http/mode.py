"""/mode: whether schemas can be registered, read alone, or imported."""

from typing import Final

from starlette.responses import Response

from stoker.registry.errors import mode_not_found
from stoker.registry.http.call import Call
from stoker.registry.http.names import is_default_context, normalized
from stoker.registry.http.parameters import DEFAULT_TO_GLOBAL, FORCE, RECURSIVE
from stoker.registry.http.routing import Route
from stoker.registry.settings import Mode, parse_mode
from stoker.registry.subjects import canonical, is_context


def _name(subject: str) -> str | None:
    return None if is_default_context(subject) else normalized(subject)


async def get_global(call: Call) -> Response:
    """Get the mode of all subjects"""
    return _get(call, None)


async def get_of_subject(call: Call, subject: str) -> Response:
    """Get the mode of a subject or a context"""
    return _get(call, _name(subject))


def _get(call: Call, name: str | None) -> Response:
    if call.is_read_only:
        return call.answer({"mode": Mode.READONLY.name})
    scopes = call.registry.scopes
    mode = scopes.mode(name) if call.flag("defaultToGlobal") else scopes.own_mode(name)
    if mode is None:
        raise mode_not_found(name or "")
    return call.answer({"mode": mode.name})


async def put_global(call: Call) -> Response:
    """Set the mode of all subjects"""
    return await _put(call, None)


async def put_of_subject(call: Call, subject: str) -> Response:
    """Set the mode of a subject or a context"""
    name = _name(subject)
    return await _put(call, None if name is None else canonical(name))


async def _put(call: Call, name: str | None) -> Response:
    document = await call.document()
    given = document.get("mode", "")
    mode, force = None if given is None else parse_mode(given), call.flag("force")
    await call.change(name, lambda registry: registry.put_mode(name, mode, force=force))
    return call.answer({"mode": given})


async def delete_global(call: Call) -> Response:
    """Go back to the default mode"""
    return await _delete(call, None)


async def delete_of_subject(call: Call, subject: str) -> Response:
    """Go back to the mode of all"""
    return await _delete(call, _name(subject))


async def _delete(call: Call, name: str | None) -> Response:
    if call.flag("recursive") and (name is None or is_context(name)):
        before = await call.change(name, lambda registry: registry.delete_modes_within(name))
    else:
        before = await call.change(name, lambda registry: registry.delete_mode(name))
    return call.answer({} if before is None else {"mode": before.name})


ROUTES: Final = (
    Route(method="GET", path="/mode", handler=get_global, query=(DEFAULT_TO_GLOBAL,), answer="Mode"),
    Route(
        method="PUT",
        path="/mode",
        handler=put_global,
        query=(FORCE,),
        body="Mode",
        answer="Mode",
        refusals=(422,),
        writes=True,
    ),
    Route(
        method="DELETE",
        path="/mode",
        handler=delete_global,
        query=(RECURSIVE,),
        answer="Mode",
        refusals=(422,),
        writes=True,
    ),
    Route(
        method="GET",
        path="/mode/{subject}",
        handler=get_of_subject,
        query=(DEFAULT_TO_GLOBAL,),
        answer="Mode",
        refusals=(404,),
    ),
    Route(
        method="PUT",
        path="/mode/{subject}",
        handler=put_of_subject,
        query=(FORCE,),
        body="Mode",
        answer="Mode",
        refusals=(422,),
        writes=True,
    ),
    Route(
        method="DELETE",
        path="/mode/{subject}",
        handler=delete_of_subject,
        query=(RECURSIVE,),
        answer="Mode",
        refusals=(404, 422),
        writes=True,
    ),
)
