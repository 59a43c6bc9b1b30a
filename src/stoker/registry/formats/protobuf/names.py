"""Which types and extensions a schema can name, and what a name in it means.

As in Confluent's registry, a name is looked for from the innermost message outwards, among the types of the file itself, of
all its dependencies, and of the files that are built in, imported or not.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from stoker.registry.formats.protobuf import well_known
from stoker.registry.formats.protobuf.elements import (
    SCALARS,
    Enum,
    Extend,
    Field,
    Group,
    Message,
    ProtoFile,
    map_types,
)
from stoker.registry.formats.protobuf.text import read
from stoker.registry.formats.protobuf.tokens import invalid_at
from stoker.registry.formats.schema import Dependencies, InvalidSchema

Scopes = tuple[str, ...]
"""What may stand before a name at some place, innermost first: `("p.Order.", "p.", "")`."""


class NamedType(NamedTuple):
    element: Message | Enum
    package: str
    file: str | None
    """The name it is imported by; None if it is of the schema's own file."""

    def local_name(self, full_name: str) -> str:
        """The full name without the package."""
        return full_name[len(self.package) + 1 :] if self.package else full_name


class FileNames(NamedTuple):
    """All that one file declares, by full name."""

    file: ProtoFile
    types: dict[str, NamedType]
    extensions: dict[str, Field]


def names_of(file: ProtoFile, imported_as: str | None = None) -> FileNames:
    names = FileNames(file, {}, {})
    package = file.package or ""
    _collect_types(names, file.types, f"{package}." if package else "", package, imported_as)
    _collect_extensions(names, file.extends, f"{package}." if package else "")
    return names


def _collect_types(
    names: FileNames, types: list[Message | Enum], prefix: str, package: str, imported_as: str | None
) -> None:
    for each in types:
        full_name = prefix + each.name
        names.types[full_name] = NamedType(each, package, imported_as)
        if isinstance(each, Message):
            if each.types:
                _collect_types(names, each.types, full_name + ".", package, imported_as)
            if each.extends:
                _collect_extensions(names, each.extends, full_name + ".")
            for group in groups_of(each):
                names.types[f"{full_name}.{group.name}"] = NamedType(
                    Message(group.name, group.fields), package, imported_as
                )


def _collect_extensions(names: FileNames, extends: list[Extend], prefix: str) -> None:
    for extend in extends:
        for each in extend.fields:
            names.extensions[prefix + each.name] = each


def groups_of(message: Message) -> Iterator[Group]:
    yield from message.groups
    for oneof in message.oneofs:
        yield from oneof.groups


@lru_cache(maxsize=512)
def _names_of_dependency(name: str, text: str) -> FileNames:
    try:
        return names_of(read(text), name)
    except InvalidSchema as error:
        raise InvalidSchema(
            f"in the reference '{name}': {error.reason}", line=error.line, column=error.column
        ) from None


@lru_cache(maxsize=64)
def _names_of_built_in(name: str) -> FileNames | None:
    file = well_known.file(name)
    return None if file is None else names_of(file, name)


@lru_cache(maxsize=8)
def _names_of_built_in_package(package: str) -> tuple[dict[str, NamedType], dict[str, Field]]:
    types: dict[str, NamedType] = {}
    extensions: dict[str, Field] = {}
    for name in well_known.FILES_OF_PACKAGE[package]:
        if (names := _names_of_built_in(name)) is not None:
            types.update(names.types)
            extensions.update(names.extensions)
    return types, extensions


class Names:
    """The names that one schema can use."""

    __slots__ = ("_extensions", "_files", "_types", "file")

    def __init__(self, file: ProtoFile, dependencies: Dependencies) -> None:
        own = names_of(file)
        self.file = file
        self._types: Mapping[str, NamedType] = own.types
        self._extensions: Mapping[str, Field] = own.extensions
        self._files: dict[str, ProtoFile] = {}
        if dependencies:
            types: dict[str, NamedType] = {}
            extensions: dict[str, Field] = {}
            for name, text in dependencies.items():
                declared = _names_of_dependency(name, text)
                self._files[name] = declared.file
                types.update(declared.types)
                extensions.update(declared.extensions)
            _refuse_circles(self._files)
            self._types = types | own.types
            self._extensions = extensions | own.extensions

    def type(self, full_name: str) -> NamedType | None:
        """The type of that full name, which has no dot before it."""
        found = self._types.get(full_name)
        if found is None and full_name.startswith(well_known.PREFIXES):
            found = _names_of_built_in_package(_built_in_package(full_name))[0].get(full_name)
        return found

    def extension(self, full_name: str) -> Field | None:
        found = self._extensions.get(full_name)
        if found is None and full_name.startswith(well_known.PREFIXES):
            found = _names_of_built_in_package(_built_in_package(full_name))[1].get(full_name)
        return found

    def resolved(self, name: str, scopes: Scopes) -> str | None:
        """The full name of the type that `name` means at a place; None if there is none."""
        if name[:1] == ".":
            return name[1:] if self.type(name[1:]) is not None else None
        types = self._types
        for scope in scopes:
            full_name = scope + name
            if full_name in types or (full_name.startswith(well_known.PREFIXES) and self.type(full_name) is not None):
                return full_name
        return None

    def resolved_extension(self, name: str, scopes: Scopes) -> str | None:
        if name[:1] == ".":
            return name[1:] if self.extension(name[1:]) is not None else None
        return next((scope + name for scope in scopes if self.extension(scope + name) is not None), None)

    def imported(self, name: str) -> ProtoFile | None:
        """The file that is imported by that name, if there is one."""
        if name in self._files:
            return self._files[name]
        built_in = _names_of_built_in(name)
        return None if built_in is None else built_in.file

    def has_import(self, name: str) -> bool:
        """Whether a reference gives the file, or it is built in."""
        return name in self._files or name in well_known.FILES


def _built_in_package(full_name: str) -> str:
    return next(package for package in well_known.FILES_OF_PACKAGE if full_name.startswith(package + "."))


def scopes_of(package: str | None) -> Scopes:
    """Those of a file's top level."""
    scopes = [""]
    for part in (package or "").split("."):
        if part:
            scopes.append(f"{scopes[-1]}{part}.")
    return tuple(reversed(scopes))


def inside(scopes: Scopes, name: str) -> Scopes:
    """Those inside the message of that name."""
    return (f"{scopes[0]}{name}.", *scopes)


def check_names(names: Names, text: str) -> None:
    """Refuses a schema that names a type which is nowhere to be found."""
    checker = _NameChecker(names, text)
    file = names.file
    scopes = scopes_of(file.package)
    for each in file.types:
        if isinstance(each, Message):
            checker.message(each, scopes)
    for extend in file.extends:
        checker.extend(extend, scopes)
    for service in file.services:
        for rpc in service.rpcs:
            checker.name(rpc.request, scopes, f"the method '{rpc.name}'", rpc.token)
            checker.name(rpc.response, scopes, f"the method '{rpc.name}'", rpc.token)


class _NameChecker:
    __slots__ = ("names", "text")

    def __init__(self, names: Names, text: str) -> None:
        self.names = names
        self.text = text

    def message(self, message: Message, outer: Scopes) -> None:
        scopes = inside(outer, message.name)
        self.fields(message.fields, scopes)
        for oneof in message.oneofs:
            self.fields(oneof.fields, scopes)
        for group in groups_of(message):
            self.fields(group.fields, inside(scopes, group.name))
        for extend in message.extends:
            self.extend(extend, scopes)
        for each in message.types:
            if isinstance(each, Message):
                self.message(each, scopes)

    def extend(self, extend: Extend, scopes: Scopes) -> None:
        self.name(extend.name, scopes, "an extension", extend.token)
        self.fields(extend.fields, scopes)

    def fields(self, fields: list[Field], scopes: Scopes) -> None:
        for field in fields:
            if field.type in SCALARS:
                continue
            key_and_value = map_types(field.type)
            if key_and_value is None:
                self.name(field.type, scopes, f"'{field.name}'", field.token)
            else:
                key, value = key_and_value
                if key not in SCALARS or key in ("double", "float", "bytes"):
                    raise self._invalid(f"the keys of the map '{field.name}' cannot be {key}", field.token)
                if value not in SCALARS:
                    self.name(value, scopes, f"'{field.name}'", field.token)

    def name(self, name: str, scopes: Scopes, user: str, token: int) -> None:
        if self.names.resolved(name, scopes) is not None:
            return
        missing = [each for each in self.names.file.all_imports if not self.names.has_import(each)]
        hint = (
            f"; no reference gives the imported {', '.join(repr(each) for each in missing[:5])}"
            if missing
            else "; it is neither in the file nor in what it imports"
        )
        raise self._invalid(f"the type '{name}' of {user} is not known{hint}", token)

    def _invalid(self, reason: str, token: int) -> InvalidSchema:
        return InvalidSchema(reason) if token < 0 else invalid_at(self.text, token, reason)


def _refuse_circles(files: Mapping[str, ProtoFile]) -> None:
    """Refuses dependencies that import each other."""
    done: set[str] = set()
    for start in files:
        path: list[str] = []
        on_path: set[str] = set()
        to_visit = [(start, False)]
        while to_visit:
            name, leaving = to_visit.pop()
            if leaving:
                on_path.discard(path.pop())
                done.add(name)
            elif name in on_path:
                circle = [*path[path.index(name) :], name]
                raise InvalidSchema(f"references go in a circle: {' imports '.join(circle)}")
            elif name not in done and name in files:
                path.append(name)
                on_path.add(name)
                to_visit.append((name, True))
                to_visit.extend((each, False) for each in files[name].all_imports)
