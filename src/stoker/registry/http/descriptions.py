"""What bodies and answers look like, as JSON Schemas of the description of the API."""

from typing import Any, Final

from stoker.registry.entities import SCHEMA_TYPES
from stoker.registry.settings import Level, Mode

Json = dict[str, Any]


def _object(required: tuple[str, ...] = (), /, **properties: Json) -> Json:
    described: Json = {"type": "object", "properties": properties}
    return {**described, "required": list(required)} if required else described


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _map(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Json) -> Json:
    """Null is as good as nothing."""
    return {"anyOf": [schema, {"type": "null"}]}


def _of(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Final[Json] = {"type": "string"}
_FLAG: Final[Json] = {"type": "boolean"}
_NUMBER: Final[Json] = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
_POSITIVE: Final[Json] = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_LEVELS: Final[Json] = {"type": "string", "enum": list(Level.__members__)}
_TYPES: Final[Json] = {"type": "string", "enum": list(SCHEMA_TYPES)}

_SCHEMA: Final = {
    "guid": {"type": "string", "format": "uuid"},
    "schemaType": _TYPES,
    "references": _list(_of("Reference")),
    "metadata": _of("Metadata"),
    "ruleSet": _of("RuleSet"),
    "schema": _TEXT,
    "deleted": _FLAG,
}
_CONFIG: Final = {
    "alias": _TEXT,
    "aliasForDeks": _TEXT,
    "normalize": _FLAG,
    "validateFields": _FLAG,
    "validateNewSchemas": _FLAG,
    "validateRules": _FLAG,
    "compatibilityPolicy": {"type": "string", "enum": ["STRICT", "LENIENT"]},
    "compatibilityGroup": _TEXT,
    "defaultMetadata": _of("Metadata"),
    "overrideMetadata": _of("Metadata"),
    "defaultRuleSet": _of("RuleSet"),
    "overrideRuleSet": _of("RuleSet"),
}

PATH_PARAMETERS: Final[dict[str, Json]] = {
    "subject": {"type": "string", "minLength": 1, "description": "With its context, if it is in one: `:.context:name`"},
    "version": {"type": "string", "minLength": 1, "description": "A number from 1 on, or `latest`"},
    "id": _NUMBER,
    "guid": {"type": "string", "minLength": 1},
    "context": {"type": "string", "minLength": 1},
}

DESCRIPTIONS: Final[dict[str, Json]] = {
    "AnyObject": _object(),
    "Error": _object(("error_code", "message"), error_code={"type": "integer"}, message=_TEXT),
    "Reference": _object(("name", "subject", "version"), name=_TEXT, subject=_TEXT, version=_NUMBER),
    "Metadata": _object(tags=_map(_list(_TEXT)), properties=_map(_TEXT), sensitive=_list(_TEXT)),
    "Rule": _object(
        ("name", "type"),
        name={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$", "maxLength": 256},
        doc=_TEXT,
        kind={"type": "string", "enum": ["TRANSFORM", "CONDITION"]},
        mode={"type": "string", "enum": ["UPGRADE", "DOWNGRADE", "UPDOWN", "WRITE", "READ", "WRITEREAD"]},
        type=_TEXT,
        tags=_list(_TEXT),
        params=_map(_TEXT),
        expr=_TEXT,
        onSuccess=_TEXT,
        onFailure=_TEXT,
        disabled=_FLAG,
    ),
    "RuleSet": _object(
        migrationRules=_list(_of("Rule")),
        domainRules=_list(_of("Rule")),
        encodingRules=_list(_of("Rule")),
        enableAt={"type": "string", "enum": ["ALL", "CLIENT", "GATEWAY", "SERVER", "NONE"]},
    ),
    "RegisterSchemaRequest": _object(
        ("schema",),
        schema={"type": "string", "minLength": 1},
        schemaType=_or_null(_TYPES),
        references=_or_null(_list(_of("Reference"))),
        metadata=_or_null(_of("Metadata")),
        ruleSet=_or_null(_of("RuleSet")),
        id=_or_null(_NUMBER),
        version=_or_null(_NUMBER),
    ),
    "RegisterSchemaResponse": _object(("id",), id=_NUMBER, version=_POSITIVE, **_SCHEMA),
    "SubjectVersion": _object(
        ("subject", "version", "id", "schema"),
        subject=_TEXT,
        version=_POSITIVE,
        id=_NUMBER,
        **_SCHEMA,
        aliases=_list(_TEXT),
    ),
    "Schema": _object(("schema",), subject=_TEXT, version=_POSITIVE, maxId=_NUMBER, **_SCHEMA),
    "SchemaText": {"description": "The text itself, which is JSON unless the schema is of type PROTOBUF"},
    "SubjectAndVersion": _object(("subject", "version"), subject=_TEXT, version=_POSITIVE),
    "ContextAndId": _object(("context", "id"), context=_TEXT, id=_NUMBER),
    "CompatibilityCheckResponse": _object(("is_compatible",), is_compatible=_FLAG, messages=_list(_TEXT)),
    "Config": _object(("compatibilityLevel",), compatibilityLevel=_LEVELS, **_CONFIG),
    "ConfigUpdateRequest": _object(
        compatibility=_or_null(_LEVELS), **{name: _or_null(schema) for name, schema in _CONFIG.items()}
    ),
    "Mode": _object(mode=_or_null({"type": "string", "enum": list(Mode.__members__)})),
    "ServerClusterId": _object(
        ("id", "scope"),
        id=_TEXT,
        scope=_object(("path", "clusters"), path=_list(_TEXT), clusters=_map(_TEXT)),
    ),
    "ServerVersion": _object(("version", "commitId"), version=_TEXT, commitId=_TEXT),
    "Health": _object(
        ("process_uptime_sec", "schema_registry_ready", "schema_registry_is_primary", "schema_registry_primary_url"),
        process_uptime_sec={"type": "integer", "minimum": 0},
        schema_registry_ready=_FLAG,
        schema_registry_is_primary=_FLAG,
        schema_registry_primary_url=_or_null(_TEXT),
    ),
    "MasterAvailable": _object(("master_available",), master_available=_FLAG),
}
