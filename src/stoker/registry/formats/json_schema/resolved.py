"""A schema with all that it refers to in one document, which needs no other to be understood.

Each schema that is referred to goes among the definitions under its name, and every `$ref` points there.
"""

from urllib.parse import quote

from stoker.registry.formats.json_schema.json_text import Json
from stoker.registry.formats.json_schema.references import Document, Documents, Path, Target


def bundled(documents: Documents, references: dict[int, Target]) -> Json:
    """The root with its references inside. Nothing that was read is changed."""
    root = documents.root
    used = documents.used()
    if not used:
        return root.raw
    bundle = _Bundle(root, used, references)
    whole = bundle.copied(root.raw)
    keyword = root.draft.definitions_keyword
    whole[keyword] = dict(whole.get(keyword, {}))
    for document in used:
        copy = bundle.copied(document.raw)
        if isinstance(copy, dict):
            # Inside another document its own address would change what its references are relative to.
            copy.pop("$schema", None)
            copy.pop(document.draft.id_keyword, None)
        whole[keyword][bundle.names[id(document)]] = copy
    return whole


class _Bundle:
    def __init__(self, root: Document, used: list[Document], references: dict[int, Target]) -> None:
        self._references = references
        taken = set(root.raw.get(root.draft.definitions_keyword, ()))
        self.names: dict[int, str] = {}
        self._paths: dict[int, Path] = dict(root.paths())
        for document in used:
            name = document.name or ""
            while name in taken:
                name += "_"
            taken.add(name)
            self.names[id(document)] = name
            before: Path = (root.draft.definitions_keyword, name)
            self._paths.update((identity, before + path) for identity, path in document.paths().items())

    def copied(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self.copied(element) for element in value]
        if not isinstance(value, dict):
            return value
        copy = {key: self.copied(element) for key, element in value.items()}
        target = self._references.get(id(value))
        if target is None:
            return copy
        keyword = next(word for word in ("$ref", "$dynamicRef", "$recursiveRef") if word in copy)
        if isinstance(target.raw, dict):
            copy[keyword] = "#" + "".join(f"/{_escaped(part)}" for part in self._paths[id(target.raw)])
        else:
            del copy[keyword]  # it leads to true or false
            if target.raw is False:
                copy["not"] = {}
        return copy


def _escaped(part: str | int) -> str:
    return quote(str(part).replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")
