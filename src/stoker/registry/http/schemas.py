"""/schemas: all of them, or one by its id or guid."""

from typing import Final
from uuid import UUID

from starlette.responses import Response

from stoker.registry.entities import SCHEMA_TYPES, Json, SchemaEntity, SubjectVersion
from stoker.registry.errors import schema_not_found
from stoker.registry.http.call import Call, parse_integer
from stoker.registry.http.names import aliased, in_every_context, normalized, with_prefix
from stoker.registry.http.parameters import (
    DELETED,
    FORMAT,
    PAGE,
    REFERENCE_FORMAT,
    SUBJECT,
    SUBJECT_PREFIX,
    page,
)
from stoker.registry.http.representation import formatted, schema_json, version_json, with_qualified_references
from stoker.registry.http.routing import Parameter, Route
from stoker.registry.registry import Registry
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of, in_context, unqualified

_MOST_SCHEMAS: Final = 1_000


async def get_by_id(call: Call, schema_id: str) -> Response:
    """Get a schema by its id"""
    number = parse_integer(schema_id)
    if not call.query:
        entity = call.registry.state.schema(DEFAULT_CONTEXT, number)
        if entity is None:
            raise schema_not_found(number)
        return call.answer(schema_json(call, entity))
    subject = call.text("subject")
    found = _by_id(call.registry, number, subject)
    if found is None:
        raise schema_not_found(number)
    context = context_of(found.subject)
    told = schema_json(call, found.entity, formatted(call.registry, found.entity, context, call.text("format")))
    if subject is not None and call.shows_new_fields:
        told = {"subject": found.subject, "version": found.version, **told}
    if call.flag("fetchMaxId"):
        told["maxId"] = call.registry.state.highest_id(context)
    if call.text("referenceFormat") == "qualified":
        told = with_qualified_references(told, found.subject)
    return call.answer(told)


def _by_id(registry: Registry, schema_id: int, subject: str | None) -> SubjectVersion | None:
    """A version that has this id: of the subject or a namesake in another context, or else any in its context."""
    name = aliased(registry, normalized(subject or ""))
    users = list(registry.state.users_of(context_of(name), schema_id))
    if unqualified(name):
        for each in in_every_context(registry.state, name):
            for version in registry.state.users_of(context_of(each), schema_id):
                if version.subject == each:
                    return version
        if context_of(name) != DEFAULT_CONTEXT:
            return None
    return users[0] if users else None


async def get_text_by_id(call: Call, schema_id: str) -> Response:
    """Get a schema by its id, alone"""
    number = parse_integer(schema_id)
    found = _by_id(call.registry, number, call.text("subject"))
    if found is None:
        raise schema_not_found(number)
    text = formatted(call.registry, found.entity, context_of(found.subject), call.text("format"))
    return call.answer_text(found.entity.text if text is None else text)


def _users(call: Call, schema_id: str) -> list[SubjectVersion]:
    number = parse_integer(schema_id)
    found = _by_id(call.registry, number, call.text("subject"))
    if found is None:
        raise schema_not_found()
    deleted = call.flag("deleted")
    users = call.registry.state.users_of(context_of(found.subject), number)
    return sorted((each for each in users if deleted or not each.deleted), key=lambda each: each[:2])


async def list_subjects_of_id(call: Call, schema_id: str) -> Response:
    """List the subjects that have a schema"""
    return call.answer(page(call, list(dict.fromkeys(each.subject for each in _users(call, schema_id)))))


async def list_versions_of_id(call: Call, schema_id: str) -> Response:
    """List the subjects and versions that have a schema"""
    found = page(call, _users(call, schema_id))
    return call.answer([{"subject": each.subject, "version": each.version} for each in found])


async def get_by_guid(call: Call, guid: str) -> Response:
    """Get a schema by its guid"""
    for context, schema_id in _ids_of(call.registry, guid):
        entity = call.registry.state.schema(context, schema_id)
        if entity is not None:
            return call.answer(
                schema_json(call, entity, formatted(call.registry, entity, context, call.text("format")))
            )
    raise schema_not_found(guid)


async def list_ids_of_guid(call: Call, guid: str) -> Response:
    """List the contexts and ids that a schema has"""
    return call.answer([{"context": context, "id": schema_id} for context, schema_id in _ids_of(call.registry, guid)])


def _ids_of(registry: Registry, guid: str) -> list[tuple[str, int]]:
    try:
        fingerprint = UUID(guid).bytes
    except ValueError:
        return []
    return registry.state.ids_of_guid(fingerprint)


async def list_schemas(call: Call) -> Response:
    """List schemas with their subjects and versions"""
    state = call.registry.state
    names = with_prefix(state, call.text("subjectPrefix") or "")
    aliases: dict[str, list[str]] = {}
    if call.flag("aliases"):
        aliases = _aliases(call.registry, call.text("subjectPrefix") or "")
        names = sorted({*names, *(name for name in aliases if name in state.subjects)})
    deleted, latest_only, rule_type = call.flag("deleted"), call.flag("latestOnly"), call.text("ruleType")
    found: list[SubjectVersion] = []
    for name in names:
        versions = [each for each in state.subjects[name].versions.values() if deleted or not each.deleted]
        versions = versions[-1:] if latest_only else versions
        found += [each for each in versions if not rule_type or _has_rule(each.entity, rule_type)]
    shown = []
    for each in page(call, found, most=_MOST_SCHEMAS):
        told = version_json(call, each)
        if each.subject in aliases:
            told["aliases"] = aliases[each.subject]
        shown.append(told)
    return call.answer(shown)


def _aliases(registry: Registry, prefix: str) -> dict[str, list[str]]:
    """For subjects, which others stand for them."""
    found: dict[str, list[str]] = {}
    for name, config in registry.state.configs.items():
        alias = config.get("alias")
        if name is not None and alias and name.startswith(prefix):
            found.setdefault(in_context(alias, context_of(name)), []).append(name)
    return found


def _has_rule(entity: SchemaEntity, rule_type: str) -> bool:
    rules: Json = entity.rule_set or {}
    kinds = ("migrationRules", "domainRules", "encodingRules")
    return any(rule.get("type") == rule_type for kind in kinds for rule in rules.get(kind) or ())


async def list_types(call: Call) -> Response:
    """List the types that a schema can have"""
    return call.answer(list(SCHEMA_TYPES))


_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_ID: Final = "/schemas/ids/{id}"

ROUTES: Final = (
    Route(
        method="GET",
        path=_ID,
        handler=get_by_id,
        query=(
            SUBJECT,
            FORMAT,
            REFERENCE_FORMAT,
            Parameter(name="fetchMaxId", kind="boolean", description="Tell the highest id of the context too"),
        ),
        answer="Schema",
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path=f"{_ID}/schema",
        handler=get_text_by_id,
        query=(SUBJECT, FORMAT),
        answer="SchemaText",
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path=f"{_ID}/subjects",
        handler=list_subjects_of_id,
        query=(SUBJECT, DELETED, *PAGE),
        answer=_STRINGS,
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path=f"{_ID}/versions",
        handler=list_versions_of_id,
        query=(SUBJECT, DELETED, *PAGE),
        answer={"type": "array", "items": {"$ref": "#/components/schemas/SubjectAndVersion"}},
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path="/schemas/guids/{guid}",
        handler=get_by_guid,
        query=(FORMAT,),
        answer="Schema",
        refusals=(404, 422),
    ),
    Route(
        method="GET",
        path="/schemas/guids/{guid}/ids",
        handler=list_ids_of_guid,
        answer={"type": "array", "items": {"$ref": "#/components/schemas/ContextAndId"}},
    ),
    Route(
        method="GET",
        path="/schemas",
        handler=list_schemas,
        query=(
            SUBJECT_PREFIX,
            Parameter(name="aliases", kind="boolean", description="Name the subjects that stand for others"),
            DELETED,
            Parameter(name="latestOnly", kind="boolean", description="The latest version of each subject"),
            Parameter(name="ruleType", kind="string", description="Those with a rule of this type"),
            *PAGE,
        ),
        answer={"type": "array", "items": {"$ref": "#/components/schemas/SubjectVersion"}},
        refusals=(422,),
    ),
    Route(method="GET", path="/schemas/types", handler=list_types, answer=_STRINGS),
)
