"""The description of the API, in OpenAPI 3.1, made of the routes themselves."""

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

from starlette.responses import Response

from stoker.registry.http.call import Call
from stoker.registry.http.descriptions import DESCRIPTIONS, PATH_PARAMETERS
from stoker.registry.http.media_types import NAMES
from stoker.registry.http.routes import ROUTES as OTHER_ROUTES
from stoker.registry.http.routing import Parameter, Route

Json = dict[str, Any]

_OF_ALL: Final = (400, 401, 406, 414, 500)
"""Statuses that every route may have: of the query, the password, the type of the answer, the path, and of our mistakes."""
_OF_BODIES: Final = (408, 413, 415, 422)
_OF_WRITES: Final = (403, 422)
_ABOUT: Final = """A schema registry with the API of Confluent's.

Every path may stand after `/contexts/{context}`: its subjects and ids are those of that context then. Answers to clients that
send `Confluent-Accept-Unknown-Properties: true` have all fields; others do not see those that came later."""


async def describe(call: Call) -> Response:
    """Get this description"""
    return call.answer(description())


@cache
def description() -> Json:
    paths: Json = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stoker schema registry", "version": version("stoker"), "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": DESCRIPTIONS,
            "securitySchemes": {"password": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"password": []}],
    }


def _operation(route: Route) -> Json:
    summary = (route.handler.__doc__ or "").partition("\n")[0]
    operation: Json = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}.{route.handler.__name__}",
        "summary": summary,
        "tags": [route.path.split("/")[1] or "root"],
        "parameters": [*_path_parameters(route.path), *map(_query_parameter, route.query)],
        "responses": _responses(route),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(route.body)}
    return operation


def _path_parameters(path: str) -> list[Json]:
    names = [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[name]} for name in names]


def _query_parameter(parameter: Parameter) -> Json:
    schema: Json = {"type": parameter.kind}
    if parameter.kind == "integer":
        schema |= {"minimum": -(2**31), "maximum": 2**31 - 1}
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": {"type": "array", "items": schema} if parameter.is_repeated else schema,
    }


def _responses(route: Route) -> Json:
    if route.answer is None:
        responses: Json = {"204": {"description": HTTPStatus.NO_CONTENT.phrase}}
    else:
        responses = {"200": {"description": HTTPStatus.OK.phrase, "content": _content(route.answer)}}
    for status in sorted({*route.refusals, *_common(route)}):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": _content("Error")}
    return responses


def _common(route: Route) -> Iterable[int]:
    yield from _OF_ALL
    if route.body is not None:
        yield from _OF_BODIES
    if route.writes:
        yield from _OF_WRITES
    if any(parameter.kind == "integer" for parameter in route.query):
        yield 404


def _content(schema: Json | str) -> Json:
    shown = {"$ref": f"#/components/schemas/{schema}"} if isinstance(schema, str) else schema
    return {name: {"schema": shown} for name in NAMES}


ROUTES: Final[tuple[Route, ...]] = (
    *OTHER_ROUTES,
    Route(method="GET", path="/openapi.json", handler=describe, answer={"type": "object"}),
)
"""All of them, with this description itself."""
