"""The independent judge: `jsonschema`, which knows nothing of ours.

A property that has a default counts as there, as it does for Confluent's rules.
"""

from typing import Any

from jsonschema.validators import extend, validator_for

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def validator(schema: Any) -> Any:
    """For many data: `is_valid` of the writer's."""
    return _validator(schema)


def reading_validator(schema: Any) -> Any:
    """For many data: `can_read` of the reader's."""
    return _validator(schema, with_defaults=True)


def is_valid(schema: Any, datum: Any) -> bool:
    """Whether the datum is one of those the schema allows."""
    return bool(_validator(schema).is_valid(datum))


def can_read(schema: Any, datum: Any) -> bool:
    """Whether a reader with that schema accepts the datum; what it has a default for may be missing."""
    return bool(_validator(schema, with_defaults=True).is_valid(datum))


def _validator(schema: Any, *, with_defaults: bool = False) -> Any:
    if isinstance(schema, dict) and "$schema" not in schema:
        schema = {"$schema": DRAFT_7, **schema}
    kind = validator_for(schema, default=None) if isinstance(schema, dict) else validator_for({"$schema": DRAFT_7})
    kind.check_schema(schema)
    if not with_defaults:
        return kind(schema)

    def required(validator: Any, names: list[str], instance: Any, parent: Any) -> Any:
        declared = parent.get("properties", {})
        missing = [name for name in names if not _has_default(declared.get(name))]
        yield from kind.VALIDATORS["required"](validator, missing, instance, parent)

    return extend(kind, {"required": required})(schema)


def _has_default(schema: Any) -> bool:
    return isinstance(schema, dict) and "default" in schema
