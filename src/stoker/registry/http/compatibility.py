"""/compatibility: whether a schema could be registered, and if not, why."""

from typing import Final

from starlette.responses import Response

from stoker.registry.entities import SubjectVersion
from stoker.registry.errors import Unprocessable, version_not_found
from stoker.registry.http.bodies import registration
from stoker.registry.http.call import Call
from stoker.registry.http.names import aliased, normalized
from stoker.registry.http.parameters import NORMALIZE, VERBOSE
from stoker.registry.http.routing import Route
from stoker.registry.registry import LATEST, parse_version


async def check_version(call: Call, subject: str, version: str) -> Response:
    """Ask whether a schema goes with one version of a subject"""
    name = aliased(call.registry, normalized(subject))
    number = parse_version(version)
    known = call.registry.state.subjects.get(name)
    found = None
    if known is not None:
        found = known.latest() if number == LATEST else known.versions.get(number)
    if number != LATEST and (found is None or found.deleted):
        raise version_not_found(number)
    return await _check(call, name, [] if found is None else [found])


async def check_subject(call: Call, subject: str) -> Response:
    """Ask whether a schema could be registered under a subject"""
    name = aliased(call.registry, normalized(subject))
    known = call.registry.state.subjects.get(name)
    return await _check(call, name, [] if known is None else known.live())


async def _check(call: Call, name: str, earlier: list[SubjectVersion]) -> Response:
    wanted = registration(await call.document(), call.limits, normalize=call.flag("normalize"))
    verbose = call.flag("verbose")
    try:
        await call.large.compare(call.registry, name, wanted, earlier)
        reasons = call.registry.incompatibilities(name, wanted, earlier)
    except Unprocessable as problem:
        if not verbose:
            raise
        reasons = [problem.message]
    told: dict[str, object] = {"is_compatible": not reasons}
    if verbose:
        told["messages"] = reasons
    return call.answer(told)


_VERSIONS: Final = "/compatibility/subjects/{subject}/versions"

ROUTES: Final = (
    Route(
        method="POST",
        path=f"{_VERSIONS}/{{version}}",
        handler=check_version,
        query=(NORMALIZE, VERBOSE),
        body="RegisterSchemaRequest",
        answer="CompatibilityCheckResponse",
        refusals=(404, 422),
    ),
    Route(
        method="POST",
        path=_VERSIONS,
        handler=check_subject,
        query=(NORMALIZE, VERBOSE),
        body="RegisterSchemaRequest",
        answer="CompatibilityCheckResponse",
        refusals=(422,),
    ),
)
