"""JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12, with the rules of Confluent's registry.

What those rules do not look at, they let pass: `patternProperties` beside each other, `propertyNames`, `contains`,
`if`/`then`/`else`, `format`, `required` of a property that is not declared, the boolean `exclusiveMinimum` of draft 4,
whether a `type` is given at all (`{"maxLength": 5}` counts as a string), and alternatives of a `oneOf` that come to overlap.
"""

from typing import ClassVar

from stoker.registry.formats.json_schema import json_text
from stoker.registry.formats.json_schema.comparison import Comparison, TooIntricate
from stoker.registry.formats.json_schema.json_text import Json
from stoker.registry.formats.json_schema.loading import Loader
from stoker.registry.formats.json_schema.messages import incompatibility, too_intricate
from stoker.registry.formats.json_schema.nodes import Node
from stoker.registry.formats.json_schema.references import Documents
from stoker.registry.formats.json_schema.resolved import bundled
from stoker.registry.formats.json_schema.rules import PARDONED, REFUSED
from stoker.registry.formats.schema import Dependencies, Incompatibility, InvalidSchema, ParsedSchema

__all__ = ["JsonSchema", "parse"]


class JsonSchema(ParsedSchema):
    """One schema, every reference resolved."""

    __slots__ = ("_dependencies", "_raw", "_text", "root")

    schema_type: ClassVar[str] = "JSON"

    def __init__(self, raw: Json, text: str, dependencies: Dependencies, root: Node) -> None:
        self._raw = raw
        self._text = text
        self._dependencies = dependencies
        self.root = root

    @property
    def text(self) -> str:
        return self._text

    @property
    def name(self) -> str | None:
        """Its title."""
        title = self._raw.get("title") if isinstance(self._raw, dict) else None
        return title if isinstance(title, str) else None

    def normalized(self) -> ParsedSchema:
        """With the keys of every object sorted."""
        return parse(json_text.write_sorted(self._raw), self._dependencies)

    def incompatibilities(self, writer: ParsedSchema, *, lenient: bool = False) -> list[Incompatibility]:
        """`lenient` is Confluent's compatibility policy LENIENT: an open content model does not forbid new properties."""
        assert isinstance(writer, JsonSchema), "schemas of one kind are compared"
        comparison = Comparison(REFUSED - PARDONED if lenient else REFUSED)
        try:
            differences = comparison.incompatible_differences(writer.root, self.root)
        except TooIntricate:
            return [too_intricate()]
        return [incompatibility(difference) for difference in differences]

    def formatted(self, form: str) -> str:
        """`resolved` has all that is referred to among its definitions."""
        if form != "resolved" or not isinstance(self._raw, dict):
            return self._text
        documents = Documents(self._text, self._raw, self._dependencies)
        loader = Loader(documents)
        loader.load()
        return json_text.write(bundled(documents, loader.references))


def parse(text: str, dependencies: Dependencies) -> JsonSchema:
    """Raises InvalidSchema, and nothing else, whatever the text is."""
    raw = json_text.read(text)
    if not isinstance(raw, dict | bool):
        raise InvalidSchema("a JSON Schema is an object or a boolean", line=1, column=1)
    canonical = json_text.write(raw)
    root = Loader(Documents(text, raw, dependencies)).load()
    return JsonSchema(raw, canonical, dependencies, root)
