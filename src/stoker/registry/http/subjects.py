"""/subjects: which there are, and which version of one a schema is."""

from typing import Final

from starlette.responses import Response

from stoker.registry.entities import SubjectVersion
from stoker.registry.errors import RegistryError, schema_not_found
from stoker.registry.http.bodies import registration
from stoker.registry.http.call import Call
from stoker.registry.http.names import aliased, in_every_context, normalized, with_prefix
from stoker.registry.http.parameters import (
    DELETED,
    DELETED_ONLY,
    FORMAT,
    NORMALIZE,
    PAGE,
    PERMANENT,
    SUBJECT_PREFIX,
    page,
)
from stoker.registry.http.representation import formatted, version_json
from stoker.registry.http.routing import Parameter, Route
from stoker.registry.registry import Registration, Registry
from stoker.registry.subjects import ALL_CONTEXTS, context_of


async def list_subjects(call: Call) -> Response:
    """List subjects"""
    prefix = call.text("subjectPrefix")
    state = call.registry.state
    names = with_prefix(state, ALL_CONTEXTS if prefix is None else prefix)
    if call.asks_for_deleted_only:
        names = [name for name in names if state.subjects[name].latest() is None]
    elif not call.flag("deleted"):
        names = [name for name in names if state.subjects[name].latest() is not None]
    return call.answer(page(call, names))


async def look_up(call: Call, subject: str) -> Response:
    """Find the version under which a subject has a schema"""
    name = aliased(call.registry, normalized(subject))
    wanted = registration(await call.document(), call.limits, normalize=call.flag("normalize"))
    deleted = call.flag("deleted")
    version = await call.large.read(
        call.registry, name, wanted, lambda: _look_up(call.registry, name, wanted, deleted=deleted)
    )
    text = await formatted(call, version.entity, context_of(version.subject))
    return call.answer(version_json(call, version, text))


def _look_up(registry: Registry, name: str, wanted: Registration, *, deleted: bool) -> SubjectVersion:
    """In the subject's context, and if it names none, in the others too; the first refusal counts."""
    refused: RegistryError | None = None
    for each in in_every_context(registry.state, name):
        try:
            return registry.lookup(each, wanted, deleted=deleted)
        except RegistryError as problem:
            refused = refused or problem
    assert refused is not None
    raise refused


async def latest_with_metadata(call: Call, subject: str) -> Response:
    """Get the latest version whose metadata has these properties"""
    name = aliased(call.registry, normalized(subject))
    wanted = dict(zip(call.texts("key"), call.texts("value"), strict=False)).items()
    deleted = call.flag("deleted")
    for version in reversed(call.registry.subject(name, deleted=deleted).versions.values()):
        metadata = version.entity.metadata
        if (deleted or not version.deleted) and metadata is not None:
            properties = metadata.get("properties") or {}
            if wanted <= properties.items():
                text = await formatted(call, version.entity, context_of(name))
                return call.answer(version_json(call, version, text))
    raise schema_not_found()


async def delete_subject(call: Call, subject: str) -> Response:
    """Delete a subject with all its versions"""
    name = aliased(call.registry, normalized(subject))
    permanent = call.flag("permanent")
    return call.answer(await call.change(name, lambda registry: registry.delete_subject(name, permanent=permanent)))


ROUTES: Final = (
    Route(
        method="POST",
        path="/subjects/{subject}",
        handler=look_up,
        query=(NORMALIZE, FORMAT, DELETED),
        body="RegisterSchemaRequest",
        answer="SubjectVersion",
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path="/subjects",
        handler=list_subjects,
        query=(SUBJECT_PREFIX, DELETED, DELETED_ONLY, *PAGE),
        answer={"type": "array", "items": {"type": "string"}},
        refusals=(422,),
    ),
    Route(
        method="GET",
        path="/subjects/{subject}/metadata",
        handler=latest_with_metadata,
        query=(
            Parameter(name="key", kind="string", description="Of a property", is_repeated=True),
            Parameter(name="value", kind="string", description="Of the property at this place", is_repeated=True),
            FORMAT,
            DELETED,
        ),
        answer="SubjectVersion",
        refusals=(404,),
    ),
    Route(
        method="DELETE",
        path="/subjects/{subject}",
        handler=delete_subject,
        query=(PERMANENT,),
        answer={"type": "array", "items": {"type": "integer"}},
        refusals=(404, 422),
        writes=True,
    ),
)
