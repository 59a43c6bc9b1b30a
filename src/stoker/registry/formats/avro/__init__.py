"""Avro: schemas as text like Java's, references, normalization, and compatibility by Avro's rules of schema resolution.

What comes from outside is bounded: 200 types deep, 10,000 named types, and 200,000 steps of a comparison.
"""

from stoker.registry.formats.avro import compatibility
from stoker.registry.formats.avro.model import Named, Record, Type
from stoker.registry.formats.avro.parser import Parser
from stoker.registry.formats.avro.text import Printer
from stoker.registry.formats.schema import MAX_NESTING, Dependencies, Incompatibility, InvalidSchema, ParsedSchema


def parse(text: str, dependencies: Dependencies, *, is_new: bool = True) -> "AvroSchema":
    """Reads a schema, which may name the types that its dependencies define.

    A schema that is about to be registered is new and held to all rules. One that some registry has let in already may
    have defaults that are not of their type, and names with letters of all scripts.

    Raises InvalidSchema.
    """
    try:
        parser = Parser(is_new=is_new)
        referenced = set()
        for name, dependency in dependencies.items():
            try:
                root = parser.parse(dependency)
            except InvalidSchema as error:
                raise InvalidSchema(f"reference {name!r}: {error}") from error
            if isinstance(root, Named):
                referenced.add(root.full_name)
        schema = AvroSchema(parser.parse(text), frozenset(referenced))
        if is_new:
            _ = schema.text  # refuses what cannot be written
        return schema
    except RecursionError:
        # The text is refused before that, unless the caller's stack is nearly full.
        raise InvalidSchema(f"nested deeper than {MAX_NESTING} types") from None


class AvroSchema(ParsedSchema):
    """A type of Avro. `formatted("resolved")` has the types of its references written out."""

    schema_type = "AVRO"
    __slots__ = ("_is_normal", "_referenced", "_text", "root")

    def __init__(self, root: Type, referenced: frozenset[str], *, is_normal: bool = False) -> None:
        self.root = root
        self._referenced = referenced
        self._is_normal = is_normal
        self._text: str | None = None
        if referenced:
            self._resolved()  # refuses what would be too deep

    @property
    def text(self) -> str:
        """Written when it is first asked for: of a schema that was stored it is known."""
        if self._text is None:
            self._text = Printer(self._referenced, normal=self._is_normal).text(self.root)
        return self._text

    @property
    def name(self) -> str | None:
        return self.root.full_name if isinstance(self.root, Record) else None

    def normalized(self) -> "AvroSchema":
        return self if self._is_normal else AvroSchema(self.root, self._referenced, is_normal=True)

    def incompatibilities(self, writer: ParsedSchema) -> list[Incompatibility]:
        assert isinstance(writer, AvroSchema)
        return compatibility.incompatibilities(self.root, writer.root)

    def formatted(self, form: str) -> str:
        return self._resolved() if form.lower() == "resolved" else self.text

    def _resolved(self) -> str:
        return Printer(frozenset(), normal=self._is_normal).text(self.root) if self._referenced else self.text
