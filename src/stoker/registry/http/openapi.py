"""The description of the API, in OpenAPI 3.1, made of the routes themselves."""

from starlette.responses import Response

from stoker.registry.http.call import Call


async def document(call: Call) -> Response:
    """Get this description"""
    return call.answer({})
