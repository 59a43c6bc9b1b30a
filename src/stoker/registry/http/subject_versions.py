"""/subjects/{subject}/versions: the schemas that a subject has had, and the next one."""

from typing import Final

from starlette.responses import Response

from stoker.registry.entities import SubjectVersion
from stoker.registry.errors import NotFound, RegistryError
from stoker.registry.http.bodies import registration
from stoker.registry.http.call import Call
from stoker.registry.http.names import aliased, in_every_context, normalized
from stoker.registry.http.parameters import (
    DELETED,
    DELETED_AS_NEGATIVE,
    DELETED_ONLY,
    FORMAT,
    NORMALIZE,
    PAGE,
    PERMANENT,
    REFERENCE_FORMAT,
    page,
)
from stoker.registry.http.representation import formatted, registered_json, version_json, with_qualified_references
from stoker.registry.http.routing import Parameter, Route
from stoker.registry.registry import parse_version
from stoker.registry.subjects import canonical, context_of

_MOST_REFERRERS: Final = 1_000


async def list_versions(call: Call, subject: str) -> Response:
    """List the numbers of a subject's versions"""
    name = aliased(call.registry, normalized(subject))
    deleted, only_deleted = call.flag("deleted"), call.asks_for_deleted_only
    versions = call.registry.subject(name, deleted=deleted or only_deleted).versions.values()
    if call.flag("deletedAsNegative"):
        numbers = [-each.version if each.deleted else each.version for each in versions]
    elif only_deleted:
        numbers = [each.version for each in versions if each.deleted]
    else:
        numbers = [each.version for each in versions if deleted or not each.deleted]
    return call.answer(page(call, numbers))


async def register(call: Call, subject: str) -> Response:
    """Register a schema under a subject"""
    name = aliased(call.registry, normalized(subject))
    document = await call.document()
    wanted = registration(document, call.limits, normalize=call.flag("normalize"), force=call.flag("force"))
    name = canonical(name)
    # Which every instance may answer: nothing is written.
    version = await call.large.read(call.registry, name, wanted, lambda: call.registry.known(name, wanted))
    if version is None:
        version = await call.change(name, lambda registry: registry.register(name, wanted))
    text = await formatted(call, version.entity, context_of(name))
    return call.answer(registered_json(call, version, text))


def _version(call: Call, subject: str, version: str, *, deleted: bool) -> SubjectVersion:
    """Of the subject, and if it names no context, of its namesakes; the first refusal counts."""
    name = aliased(call.registry, normalized(subject))
    number = parse_version(version)
    refused: RegistryError | None = None
    for each in in_every_context(call.registry.state, name):
        try:
            return call.registry.version(each, number, deleted=deleted)
        except NotFound as problem:
            refused = refused or problem
    assert refused is not None
    raise refused


async def get_version(call: Call, subject: str, version: str) -> Response:
    """Get a version of a subject"""
    found = _version(call, subject, version, deleted=call.flag("deleted"))
    text = await formatted(call, found.entity, context_of(found.subject))
    told = version_json(call, found, text)
    if call.text("referenceFormat") == "qualified":
        told = with_qualified_references(told, found.subject)
    return call.answer(told)


async def get_text(call: Call, subject: str, version: str) -> Response:
    """Get the schema of a version, alone"""
    found = _version(call, subject, version, deleted=call.flag("deleted"))
    text = await formatted(call, found.entity, context_of(found.subject))
    return call.answer_text(found.entity.text if text is None else text)


async def list_referrers(call: Call, subject: str, version: str) -> Response:
    """List the ids of the schemas that refer to a version"""
    found = _version(call, subject, version, deleted=True)
    ids = call.registry.referrers(found.subject, found.version, deleted=call.flag("deleted"))
    return call.answer(page(call, ids, most=_MOST_REFERRERS))


async def delete_version(call: Call, subject: str, version: str) -> Response:
    """Delete a version of a subject"""
    name = aliased(call.registry, normalized(subject))
    number, permanent = parse_version(version), call.flag("permanent")
    return call.answer(
        await call.change(name, lambda registry: registry.delete_version(name, number, permanent=permanent))
    )


_NUMBERS: Final = {"type": "array", "items": {"type": "integer"}}
_VERSIONS: Final = "/subjects/{subject}/versions"

ROUTES: Final = (
    Route(
        method="POST",
        path=_VERSIONS,
        handler=register,
        query=(NORMALIZE, FORMAT, Parameter(name="force", kind="boolean", description="Whatever was before it")),
        body="RegisterSchemaRequest",
        answer="RegisterSchemaResponse",
        refusals=(409, 422),
        writes=True,
    ),
    Route(
        method="GET",
        path=_VERSIONS,
        handler=list_versions,
        query=(DELETED, DELETED_ONLY, DELETED_AS_NEGATIVE, *PAGE),
        answer=_NUMBERS,
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path=f"{_VERSIONS}/{{version}}",
        handler=get_version,
        query=(FORMAT, REFERENCE_FORMAT, DELETED),
        answer="SubjectVersion",
        refusals=(404, 422),
    ),
    Route(
        method="DELETE",
        path=f"{_VERSIONS}/{{version}}",
        handler=delete_version,
        query=(PERMANENT,),
        answer={"type": "integer"},
        refusals=(404, 422),
        writes=True,
    ),
    Route(
        method="GET",
        path=f"{_VERSIONS}/{{version}}/schema",
        handler=get_text,
        query=(FORMAT, DELETED),
        answer="SchemaText",
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path=f"{_VERSIONS}/{{version}}/referencedby",
        handler=list_referrers,
        query=(DELETED, *PAGE),
        answer=_NUMBERS,
        refusals=(404, 422),
    ),
)
