"""Where a `$ref` leads: in the same document, in a schema that was registered under that name, or nowhere.

Nothing is fetched. An address is resolved against the `$id` around it, as RFC 3986 says. A schema that is referred to is
found by the name it is registered by, as it stands or resolved against the `$id` of the root, or by its own `$id`.
"""

from typing import NamedTuple
from urllib.parse import unquote, urljoin

from stoker.registry.formats.json_schema import json_text
from stoker.registry.formats.json_schema.drafts import Draft, draft_of
from stoker.registry.formats.json_schema.json_text import Json
from stoker.registry.formats.schema import Dependencies, InvalidSchema

Path = tuple[str | int, ...]


class Document:
    """One text: the schema itself, or one that it refers to."""

    __slots__ = ("_anchors", "_identified", "draft", "name", "raw", "text", "uri")

    def __init__(self, name: str | None, text: str, raw: Json, base: str) -> None:
        self.name = name
        """None for the schema itself."""
        self.text = text
        self.raw = raw
        self.draft: Draft = draft_of(raw)
        own = raw.get(self.draft.id_keyword) if isinstance(raw, dict) else None
        self.uri = join(base, own) if isinstance(own, str) and not own.startswith("#") else base
        self._identified: dict[str, Scope] | None = None
        self._anchors: dict[str, Target] = {}

    def root(self) -> "Scope":
        return Scope(self, self.raw, self.uri)

    def identified(self, uri: str) -> "Scope | None":
        """The subschema whose `$id` is that address."""
        self._index()
        assert self._identified is not None
        return self._identified.get(uri)

    def anchored(self, name: str) -> "Target | None":
        """The subschema that is named so: by `$anchor`, or up to draft 7 by an `$id` of a fragment."""
        self._index()
        return self._anchors.get(name)

    def _index(self) -> None:
        if self._identified is not None:
            return
        self._identified = {}
        waiting: list[tuple[Json, Scope]] = [(self.raw, self.root())]
        while waiting:
            value, scope = waiting.pop()
            if isinstance(value, dict):
                scope = scope.entered(value)
                if scope.raw is value:
                    self._identified.setdefault(scope.uri, scope)
                for keyword in (self.draft.id_keyword, "$anchor", "$dynamicAnchor"):
                    name = value.get(keyword)
                    if isinstance(name, str) and (keyword != self.draft.id_keyword or name.startswith("#")):
                        self._anchors.setdefault(name.removeprefix("#"), Target(value, scope))
                waiting.extend((element, scope) for element in value.values())
            elif isinstance(value, list):
                waiting.extend((element, scope) for element in value)

    def paths(self) -> dict[int, Path]:
        """Where each object is, by its identity; asked only when one is at fault, or moved elsewhere."""
        paths: dict[int, Path] = {}
        waiting: list[tuple[Json, Path]] = [(self.raw, ())]
        while waiting:
            value, path = waiting.pop()
            if isinstance(value, dict):
                paths[id(value)] = path
                waiting.extend((element, (*path, key)) for key, element in value.items())
            elif isinstance(value, list):
                waiting.extend((element, (*path, index)) for index, element in enumerate(value))
        return paths

    def malformed(self, reason: str, schema: Json, *inner: str | int) -> InvalidSchema:
        """An error about what is at `inner` in that subschema."""
        path = (*self.paths()[id(schema)], *inner)
        whose = "" if self.name is None else f"in the reference {self.name!r}, "
        where = "#/" + "/".join(str(part) for part in path)
        if len(where) > 200:
            where = f"#/...{where[-180:]}"
        return InvalidSchema(f"{whose}{where}: {reason}", **json_text.place(self.text, path))


class Scope(NamedTuple):
    """The nearest subschema with an `$id`, or the document: what a fragment alone is relative to."""

    document: Document
    raw: Json
    uri: str

    def entered(self, schema: dict[str, Json]) -> "Scope":
        """The scope in that subschema."""
        own = schema.get(self.document.draft.id_keyword)
        if not isinstance(own, str) or own.startswith("#") or schema is self.document.raw:
            return self
        return Scope(self.document, schema, join(self.uri, own))


class Target(NamedTuple):
    """A subschema that a reference leads to."""

    raw: Json
    scope: Scope


class Documents:
    """A schema and all that it may refer to."""

    def __init__(self, text: str, raw: Json, dependencies: Dependencies) -> None:
        self.root = Document(None, text, raw, "")
        self._texts = dependencies
        self._read: dict[str, Document] = {}

    def resolve(self, reference: str, scope: Scope) -> Target | None:
        """None if it leads nowhere."""
        address, _, fragment = reference.partition("#")
        fragment = unquote(fragment)
        found = self._find(address, scope) if address else scope
        if found is None:
            return None
        if not fragment:
            return Target(found.raw, found)
        if not fragment.startswith("/"):
            return found.document.anchored(fragment)
        pointer = [part.replace("~1", "/").replace("~0", "~") for part in fragment[1:].split("/")]
        target = _walked(found, pointer) or _walked(found.document.root(), pointer)
        if target is None and pointer[0] == "$defs":
            # As in Confluent's registry, and not the other way round.
            target = _walked(found.document.root(), ["definitions", *pointer[1:]])
        return target

    def used(self) -> list[Document]:
        """The schemas referred to that were read, in that order."""
        return list(self._read.values())

    def names(self) -> list[str]:
        return list(self._texts)

    def _find(self, address: str, scope: Scope) -> Scope | None:
        absolute = join(scope.uri, address)
        inside = scope.document.identified(absolute)
        if inside is not None:
            return inside
        for name in (address, absolute, address.removeprefix("./")):
            if name in self._texts:
                return self._document(name).root()
        for name in self._texts:
            if absolute in (join(self.root.uri, name), join("./", name)):
                return self._document(name).root()
        for name in self._texts:
            inside = self._document(name).identified(absolute)
            if inside is not None:
                return inside
        return self.root.identified(absolute)

    def _document(self, name: str) -> Document:
        if name not in self._read:
            text = self._texts[name]
            try:
                raw = json_text.read(text)
            except InvalidSchema as malformed:
                reason = f"in the reference {name!r}: {malformed.reason}"
                raise InvalidSchema(reason, line=malformed.line, column=malformed.column) from None
            self._read[name] = Document(name, text, raw, join(self.root.uri, name))
        return self._read[name]


def join(base: str, address: str) -> str:
    try:
        return urljoin(base, address) if base else address
    except ValueError as malformed:
        raise InvalidSchema(f"{address!r} is no address: {malformed}") from None


def _walked(scope: Scope, pointer: list[str]) -> Target | None:
    """What the JSON pointer (RFC 6901) says, from the scope's subschema on."""
    value = scope.raw
    for key in pointer:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
        if isinstance(value, dict):
            scope = scope.entered(value)
    return Target(value, scope)
