"""Schemas as answers show them.

Fields that came later (guid, the type of Avro, what was registered) are shown to clients which say that they bear fields
they do not know, as Confluent's cloud does: old Java clients fail at them.
"""

from stoker.registry.entities import AVRO, Json, SchemaEntity, SubjectVersion
from stoker.registry.errors import invalid_schema
from stoker.registry.formats.schema import InvalidSchema
from stoker.registry.http.call import Call
from stoker.registry.registry import Registry
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of, in_context


def version_json(call: Call, version: SubjectVersion, text: str | None = None) -> Json:
    """A schema under a subject; `text` is another form of its own."""
    told: Json = {"subject": version.subject, "version": version.version, "id": version.schema_id}
    if call.shows_new_fields:
        told["guid"] = version.entity.guid
    told |= _entity_json(call, version.entity, text)
    if version.deleted and call.shows_new_fields:
        told["deleted"] = True
    return told


def schema_json(call: Call, entity: SchemaEntity, text: str | None = None) -> Json:
    """A schema by its id."""
    told = {"guid": entity.guid} if call.shows_new_fields else {}
    return told | _entity_json(call, entity, text)


def registered_json(call: Call, version: SubjectVersion, text: str | None = None) -> Json:
    """The answer to who registered it."""
    told: Json = {"id": version.schema_id}
    if call.shows_new_fields:
        told |= {"version": version.version, "guid": version.entity.guid, **_entity_json(call, version.entity, text)}
    return told


def _entity_json(call: Call, entity: SchemaEntity, text: str | None) -> Json:
    told = entity.to_json()
    if entity.schema_type == AVRO and call.shows_new_fields:
        told = {"schemaType": AVRO, **told}
    if text is not None:
        told["schema"] = text
    return told


def with_qualified_references(told: Json, subject: str) -> Json:
    """References name their contexts (`referenceFormat=qualified`)."""
    context = context_of(subject)
    if context != DEFAULT_CONTEXT and "references" in told:
        told["references"] = [{**each, "subject": in_context(each["subject"], context)} for each in told["references"]]
    return told


def formatted(registry: Registry, entity: SchemaEntity, context: str, form: str | None) -> str | None:
    """The text in another form, or None if none is asked for. Raises Unprocessable."""
    if form is None or not form.strip():
        return None
    try:
        return registry.parser.parse(entity, context).formatted(form)
    except InvalidSchema as problem:
        raise invalid_schema(str(problem)) from problem
