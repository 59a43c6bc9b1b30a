"""What a new version takes from the one before it and from the config: metadata and rules, and the text if it has none."""

from stoker.registry.data_contracts import (
    VERSION_PROPERTY,
    merged_metadata,
    merged_rule_sets,
    property_of,
    with_version,
)
from stoker.registry.entities import Json, SchemaEntity, SubjectVersion


def inherited(
    config: Json, entity: SchemaEntity, latest: SubjectVersion | None, following: int | None, *, version: int | None
) -> SchemaEntity:
    """As it is registered. Defaults come first, then its own or those of the latest version, then overrides.

    Where a number is asked for, or the metadata has one, the metadata says `following`, the number it will have; None
    leaves it alone.
    """
    before = None if latest is None else latest.entity
    if not entity.text.strip() and before is not None:
        entity = SchemaEntity(
            schema_type=before.schema_type,
            text=before.text,
            references=before.references,
            metadata=entity.metadata,
            rule_set=entity.rule_set,
        )
    own = before.metadata if entity.metadata is None and before is not None else entity.metadata
    rules = before.rule_set if entity.rule_set is None and before is not None else entity.rule_set
    metadata = merged_metadata(merged_metadata(config.get("defaultMetadata"), own), config.get("overrideMetadata"))
    rule_set = merged_rule_sets(merged_rule_sets(config.get("defaultRuleSet"), rules), config.get("overrideRuleSet"))
    if following is not None and (version is not None or property_of(metadata, VERSION_PROPERTY) is not None):
        metadata = with_version(metadata, following)
    return entity.with_contract(metadata, rule_set)
