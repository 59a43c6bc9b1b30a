"""Which draft of JSON Schema a document is written in, and what its keywords are called there."""

from enum import IntEnum
from typing import Final

from stoker.registry.formats.json_schema.json_text import Json


class Draft(IntEnum):
    """In the order of their publication."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 2019
    DRAFT_2020_12 = 2020

    @property
    def is_modern(self) -> bool:
        """Whether `$ref` stands beside other keywords, and `$defs`, `$anchor` and `unevaluatedProperties` are known."""
        return self >= Draft.DRAFT_2019_09

    @property
    def id_keyword(self) -> str:
        return "id" if self is Draft.DRAFT_4 else "$id"

    @property
    def definitions_keyword(self) -> str:
        return "$defs" if self.is_modern else "definitions"


_DRAFTS: Final = {
    "json-schema.org/draft-04/schema": Draft.DRAFT_4,
    "json-schema.org/schema": Draft.DRAFT_4,
    "json-schema.org/draft-06/schema": Draft.DRAFT_6,
    "json-schema.org/draft-07/schema": Draft.DRAFT_7,
    "json-schema.org/draft/2019-09/schema": Draft.DRAFT_2019_09,
    "json-schema.org/draft/2020-12/schema": Draft.DRAFT_2020_12,
}


def draft_of_meta_schema(uri: str) -> Draft | None:
    """The draft that the meta-schema at that address describes."""
    return _DRAFTS.get(uri.removeprefix("https://").removeprefix("http://").removesuffix("#"))


def draft_of(document: Json) -> Draft:
    """By its `$schema`; draft 7 if it has none, or one that nobody knows."""
    declared = document.get("$schema") if isinstance(document, dict) else None
    return (draft_of_meta_schema(declared) if isinstance(declared, str) else None) or Draft.DRAFT_7
