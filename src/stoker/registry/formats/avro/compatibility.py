"""Whether one schema can read what was written with another: Avro's rules of schema resolution.

The rules, their names and the places they report are those of Java's SchemaCompatibility, which Confluent's registry asks.
Where that one is wrong, what Avro's readers really do is told instead:

- a field of the writer goes to one field of the reader only: to the one of its name, else to the last one with that alias;
- a branch of a union is not taken for readable because of an assumption about a recursive type that proved wrong;
- an alias outside of all namespaces is an alias;
- a field that is missing and has no default is reported as that, also if its type is an enum with a default.

As in Confluent's registry, logical types are not looked at: a decimal of another scale is read, to another number.

Pairs of a reader's and a writer's type that depend on each other form a graph, of which first all is taken for readable, and
then what cannot be is found: no recursion, so that neither deep nor cyclic types can do harm.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stoker.registry.formats.avro.model import (
    ABSENT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    NamedType,
    Primitive,
    Record,
    Type,
    Union,
    described,
)
from stoker.registry.formats.schema import MAX_NESTING, Incompatibility

MAX_STEPS: Final = 200_000
"""About half a second. Only unions of thousands of types that have the same name need more."""

READABLE_AS: Final[Mapping[str, tuple[str, ...]]] = {
    "null": ("null",),
    "boolean": ("boolean",),
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "double": ("double",),
    "bytes": ("bytes", "string"),
    "string": ("string", "bytes"),
}
"""What each primitive type of a writer may be read as."""


class Reason(NamedTuple):
    """Why a pair cannot be read; the place is relative to the pair's."""

    rule: str
    place: str
    message: str


class Need(NamedTuple):
    """Another pair that must be readable too; if it is not, its own reasons are reported."""

    place: str
    pair: "Pair"


@dataclass(slots=True, eq=False, repr=False)
class Choice:
    """A type of the writer's that some branch of the reader's union must read."""

    place: str
    reader: Union
    writer: Type
    candidates: list["Pair"]
    """Of it and each branch that may read it, by kind or name."""
    readable: int
    """How many of them are not known to be unreadable."""


@dataclass(slots=True, eq=False, repr=False)
class Pair:
    reader: Type
    writer: Type
    parts: list[Reason | Need | Choice] = field(default_factory=list)
    """In the order in which they are reported."""
    is_readable: bool = True
    cause: "Pair | None" = None
    """The pair that made this one unreadable, if that was not a reason of its own."""
    wanted_by: list[tuple["Pair", Choice | None]] = field(default_factory=list)
    """The pairs that this one is a need of, or one of the branches to choose from."""


class TooManySteps(Exception):
    """The schemas are too large to be compared."""


def incompatibilities(reader: Type, writer: Type) -> list[Incompatibility]:
    """Why the reader cannot read all that the writer may write, in the order of the reader's fields; each reason once."""
    try:
        root = Comparison().compare(reader, writer)
    except TooManySteps:
        message = f"the schemas are too large to be compared: it takes more than {MAX_STEPS:,} steps"
        return [Incompatibility("COMPARISON_TOO_LARGE", "/", message)]
    return [] if root.is_readable else list(_reported(root))


class Comparison:
    """Finds all pairs that matter for one, then those of them that cannot be read."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[Type, Type], Pair] = {}
        self._to_expand: list[Pair] = []
        self._branches: dict[Union, Branches] = {}
        self._steps = 0

    def compare(self, reader: Type, writer: Type) -> Pair:
        root = self.pair(reader, writer)
        unreadable = []
        while self._to_expand:
            pair = self._to_expand.pop()
            self._expand(pair)
            if any(isinstance(part, Reason) for part in pair.parts):
                pair.is_readable = False
                unreadable.append(pair)
        for pair in unreadable:  # which grows: the nearest causes are found first
            for parent, choice in pair.wanted_by:
                if choice is not None:
                    choice.readable -= 1
                if parent.is_readable and (choice is None or choice.readable == 0):
                    parent.is_readable = False
                    parent.cause = pair
                    unreadable.append(parent)
        return root

    def pair(self, reader: Type, writer: Type) -> Pair:
        key = (reader, writer)
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._pairs[key] = Pair(reader, writer)
            self._to_expand.append(pair)
        return pair

    def step(self, count: int = 1) -> None:
        self._steps += count
        if self._steps > MAX_STEPS:
            raise TooManySteps

    def need(self, parent: Pair, place: str, reader: Type, writer: Type) -> None:
        self.step()
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            if reader.kind not in READABLE_AS[writer.kind]:
                parent.parts.append(type_mismatch(reader, writer, place))
            return
        pair = self.pair(reader, writer)
        pair.wanted_by.append((parent, None))
        parent.parts.append(Need(place, pair))

    def choose(self, parent: Pair, place: str, reader: Union, writer: Type) -> None:
        branches = self._branches.get(reader)
        if branches is None:
            self.step(len(reader.branches))
            branches = self._branches[reader] = Branches(reader)
        candidates = branches.candidates(writer)
        self.step(1 + len(candidates))
        if not candidates:
            parent.parts.append(missing_union_branch(reader, writer, place))
        elif not isinstance(writer, Primitive):
            pairs = [self.pair(candidate, writer) for candidate in candidates]
            choice = Choice(place, reader, writer, pairs, len(pairs))
            for pair in pairs:
                pair.wanted_by.append((parent, choice))
            parent.parts.append(choice)

    def _expand(self, pair: Pair) -> None:
        reader, writer = pair.reader, pair.writer
        if isinstance(writer, Union):
            if isinstance(reader, Union):
                union_from_union(self, pair, reader, writer)
            else:
                type_from_union(self, pair, reader, writer)
        elif isinstance(reader, Union):
            self.choose(pair, "", reader, writer)
        elif isinstance(reader, Record) and isinstance(writer, Record):
            record_from_record(self, pair, reader, writer)
        elif isinstance(reader, Enum) and isinstance(writer, Enum):
            enum_from_enum(self, pair, reader, writer)
        elif isinstance(reader, Fixed) and isinstance(writer, Fixed):
            fixed_from_fixed(pair, reader, writer)
        elif isinstance(reader, Array) and isinstance(writer, Array):
            self.need(pair, "/items", reader.items, writer.items)
        elif isinstance(reader, Map) and isinstance(writer, Map):
            self.need(pair, "/values", reader.values, writer.values)
        elif not _is_promoted(reader, writer):
            pair.parts.append(type_mismatch(reader, writer, ""))


class Branches:
    """The branches of a reader's union, by what a writer's type must be or be named for them to read it."""

    def __init__(self, union: Union) -> None:
        self._by_kind: dict[str, Type] = {}
        self._by_name: dict[tuple[str, str], list[Type]] = {}
        self._by_alias: dict[tuple[str, str], list[Type]] = {}
        for branch in union.branches:
            if isinstance(branch, Record | Enum | Fixed):
                self._by_name.setdefault((branch.kind, branch.name), []).append(branch)
                for alias in branch.aliases:
                    self._by_alias.setdefault((branch.kind, alias), []).append(branch)
            else:
                self._by_kind[branch.kind] = branch

    def candidates(self, writer: Type) -> list[Type]:
        if isinstance(writer, Primitive):
            return [self._by_kind[kind] for kind in READABLE_AS[writer.kind] if kind in self._by_kind]
        if isinstance(writer, Record | Enum | Fixed):
            named = self._by_name.get((writer.kind, writer.name), [])
            aliased = self._by_alias.get((writer.kind, writer.full_name), [])
            return list(dict.fromkeys(named + aliased)) if aliased else named
        return [self._by_kind[writer.kind]] if writer.kind in self._by_kind else []


def are_named_alike(reader: NamedType, writer: NamedType) -> bool:
    """By their names without namespaces, or by an alias of the reader's."""
    return reader.name == writer.name or writer.full_name in reader.aliases


def type_mismatch(reader: Type, writer: Type, place: str) -> Reason:
    message = f"the reader's {described(reader)} cannot be read from the writer's {described(writer)}"
    return Reason("TYPE_MISMATCH", place, message)


def missing_union_branch(reader: Union, writer: Type, place: str) -> Reason:
    message = f"no type in the reader's {described(reader)} reads the writer's {described(writer)}"
    return Reason("MISSING_UNION_BRANCH", place, message)


def check_names(pair: Pair, reader: NamedType, writer: NamedType) -> None:
    if not are_named_alike(reader, writer):
        message = (
            f"the reader's {reader.kind} is named {reader.full_name}, the writer's {writer.full_name}, "
            "which is no alias of the reader's"
        )
        pair.parts.append(Reason("NAME_MISMATCH", "/name", message))


def fixed_from_fixed(pair: Pair, reader: Fixed, writer: Fixed) -> None:
    check_names(pair, reader, writer)
    if reader.size != writer.size:
        message = f"the reader's {described(reader)} has {reader.size} bytes, the writer's {writer.size}"
        pair.parts.append(Reason("FIXED_SIZE_MISMATCH", "/size", message))


def enum_from_enum(comparison: Comparison, pair: Pair, reader: Enum, writer: Enum) -> None:
    check_names(pair, reader, writer)
    comparison.step(len(writer.symbols))
    missing = sorted(symbol for symbol in writer.symbols if symbol not in reader.symbols)
    if missing and reader.default is None:
        shown = ", ".join(missing[:20]) + (", …" if len(missing) > 20 else "")
        message = f"the reader's {described(reader)} has no default and lacks symbols of the writer's: {shown}"
        pair.parts.append(Reason("MISSING_ENUM_SYMBOLS", "/symbols", message))


def record_from_record(comparison: Comparison, pair: Pair, reader: Record, writer: Record) -> None:
    check_names(pair, reader, writer)
    for index, reader_field in enumerate(reader.fields.values()):
        found = fields_for(reader, reader_field, writer)
        if len(found) == 1:
            comparison.need(pair, f"/fields/{index}/type", reader_field.type, found[0].type)
        elif found:
            pair.parts.append(ambiguous_field(reader, reader_field, found, f"/fields/{index}"))
        elif reader_field.default is ABSENT:
            pair.parts.append(missing_default(reader, reader_field, f"/fields/{index}"))
        else:
            comparison.step()


def fields_for(reader: Record, reader_field: Field, writer: Record) -> list[Field]:
    """The fields of the writer that one of the reader's would be read from."""
    same = writer.fields.get(reader_field.name)
    found = [] if same is None else [same]
    if reader_field.aliases:
        claimed = [alias for alias in reader_field.aliases if reader.claims.get(alias) is reader_field]
        found += [writer.fields[alias] for alias in claimed if alias in writer.fields]
    return found


def missing_default(record: Record, reader_field: Field, place: str) -> Reason:
    message = (
        f"field {reader_field.name} of the reader's {described(record)} has no default and is missing in the writer's"
    )
    return Reason("READER_FIELD_MISSING_DEFAULT_VALUE", place, message)


def ambiguous_field(record: Record, reader_field: Field, found: list[Field], place: str) -> Reason:
    names = " and ".join([each.name for each in found])
    message = (
        f"field {reader_field.name} of the reader's {described(record)} stands, with its aliases, "
        f"for several fields of the writer's: {names}"
    )
    return Reason("NAME_MISMATCH", place, message)


def union_from_union(comparison: Comparison, pair: Pair, reader: Union, writer: Union) -> None:
    for index, branch in enumerate(writer.branches):
        comparison.choose(pair, f"/{index}", reader, branch)


def type_from_union(comparison: Comparison, pair: Pair, reader: Type, writer: Union) -> None:
    for index, branch in enumerate(writer.branches):
        comparison.need(pair, f"/{index}", reader, branch)


def _is_promoted(reader: Type, writer: Type) -> bool:
    return isinstance(writer, Primitive) and isinstance(reader, Primitive) and reader.kind in READABLE_AS[writer.kind]


def _reported(root: Pair) -> Iterator[Incompatibility]:
    reported = {root}
    around = {root}  # the pairs that what is being reported is inside of
    parts: list[tuple[str, Reason | Need | Choice | Pair]] = [("", part) for part in reversed(root.parts)]
    while parts:
        place, part = parts.pop()
        if isinstance(part, Choice):
            if part.readable or _is_consequence(part, around):
                continue
            part = missing_union_branch(part.reader, part.writer, part.place)
        if isinstance(part, Reason):
            yield Incompatibility(part.rule, place + part.place or "/", part.message)
        elif isinstance(part, Pair):
            around.remove(part)
        elif not part.pair.is_readable and part.pair not in reported:
            reported.add(part.pair)
            around.add(part.pair)
            parts.append(("", part.pair))
            parts += [(place + part.place, inner) for inner in reversed(part.pair.parts)]


def _is_consequence(choice: Choice, around: set[Pair]) -> bool:
    """Whether there is nothing to choose only because a recursive type cannot be read for reasons that are reported anyway."""
    for candidate in choice.candidates:
        cause: Pair | None = candidate
        for _ in range(MAX_NESTING):
            if cause is None or cause in around:
                break
            cause = cause.cause
        if cause is not None and cause in around:
            return True
    return False
