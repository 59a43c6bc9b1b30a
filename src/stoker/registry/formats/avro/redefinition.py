"""Whether a type that is defined twice is the same one both times, as Java's Schema.equals() tells it."""

from stoker.registry.formats.avro.model import Array, Enum, Fixed, Map, NamedType, Primitive, Record, Type, Union


class Redefinitions:
    """Compares types by all but documentation, aliases and an enum's default. Pairs once compared are not compared again."""

    def __init__(self) -> None:
        self._compared: set[tuple[NamedType, NamedType]] = set()

    def are_equal(self, first: NamedType, second: NamedType) -> bool:
        pairs: list[tuple[Type, Type]] = [(first, second)]
        while pairs:
            one, other = pairs.pop()
            if one is other:
                continue
            if type(one) is not type(other) or one.kind != other.kind:
                return False
            if isinstance(one, Record | Enum | Fixed):
                assert isinstance(other, Record | Enum | Fixed)
                if (one, other) in self._compared:
                    continue
                self._compared.add((one, other))
            if not _same_outside(one, other):
                return False
            pairs += zip(_inside(one), _inside(other), strict=True)
        return True


def _inside(type_: Type) -> list[Type]:
    if isinstance(type_, Record):
        return [field.type for field in type_.fields.values()]
    if isinstance(type_, Union):
        return type_.branches
    if isinstance(type_, Array):
        return [type_.items]
    return [type_.values] if isinstance(type_, Map) else []


def _same_outside(one: Type, other: Type) -> bool:
    """Whether two types of one kind are equal but for the types inside of them, of which they have as many."""
    if isinstance(one, Union) and isinstance(other, Union):
        return len(one.branches) == len(other.branches)
    if isinstance(one, Primitive | Array | Map) and isinstance(other, Primitive | Array | Map):
        return one.properties == other.properties
    assert isinstance(one, Record | Enum | Fixed)
    assert isinstance(other, Record | Enum | Fixed)
    if one.full_name != other.full_name or one.properties != other.properties:
        return False
    if isinstance(one, Enum) and isinstance(other, Enum):
        return list(one.symbols) == list(other.symbols)
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        return one.size == other.size
    assert isinstance(one, Record)
    assert isinstance(other, Record)
    return list(one.fields) == list(other.fields) and all(
        mine.default == others.default and mine.order == others.order and mine.properties == others.properties
        for mine, others in zip(one.fields.values(), other.fields.values(), strict=True)
    )
