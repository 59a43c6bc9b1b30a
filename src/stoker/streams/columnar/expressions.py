"""What is computed of Arrow columns exactly as Spark computes it of rows: nulls, NaN and all."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

Columns = Mapping[int, pa.Array]
"""By the number that Spark has given to the column."""


class Unsupported(Exception):
    """Spark has to do it. The text says what it is."""


class Expression(Protocol):
    """Can be sent to a task."""

    def of(self, columns: Columns) -> pa.Array | pa.Scalar:
        """Raises Unsupported by types alone, never by what is in the columns."""


@dataclass(frozen=True, slots=True)
class Attribute:
    number: int

    def of(self, columns: Columns) -> pa.Array:
        found = columns.get(self.number)
        if found is None:
            raise Unsupported(f"column {self.number} is not read")
        return found


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any
    type: pa.DataType

    def of(self, columns: Columns) -> pa.Scalar:
        return pa.scalar(self.value, self.type)


@dataclass(frozen=True, slots=True)
class Field:
    """Null where the struct is."""

    struct: Expression
    name: str

    def of(self, columns: Columns) -> pa.Array:
        struct = self.struct.of(columns)
        if not pa.types.is_struct(struct.type) or struct.type.get_field_index(self.name) < 0:
            raise Unsupported(f"field {self.name} is not read")
        return pc.struct_field(struct, [struct.type.get_field_index(self.name)])  # a name might be taken for a path


@dataclass(frozen=True, slots=True)
class Struct:
    """Never null itself."""

    fields: tuple[tuple[str, Expression], ...]

    def of(self, columns: Columns) -> pa.Array:
        found = {name: each.of(columns) for name, each in self.fields}
        if any(isinstance(each, pa.Scalar) for each in found.values()):
            raise Unsupported("a struct with a literal")
        return pa.StructArray.from_arrays(list(found.values()), names=list(found))


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], pa.Array]]] = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}
COMPARISONS: Final = frozenset(_COMPARISONS)
_TURNED: Final = {"LessThan": "GreaterThan", "LessThanOrEqual": "GreaterThanOrEqual"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """By the name of Spark's class. Text is compared by its bytes, by both."""

    name: str
    left: Expression
    right: Expression

    def of(self, columns: Columns) -> pa.Array:
        left, right = self.left.of(columns), self.right.of(columns)
        _check_comparable(left.type, right.type)
        if pa.types.is_floating(left.type):
            return _compared_as_spark_does(self.name, left, right)
        return _COMPARISONS[self.name](left, right)


def _check_comparable(left: pa.DataType, right: pa.DataType) -> None:
    is_plain = (
        pa.types.is_integer(left)
        or pa.types.is_floating(left)
        or pa.types.is_string(left)
        or pa.types.is_timestamp(left)
        or pa.types.is_date32(left)
    )
    if left != right or not is_plain:
        raise Unsupported(f"{left} compared with {right}")


def _compared_as_spark_does(name: str, left: Any, right: Any) -> pa.Array:
    """NaN is equal to itself, and greater than everything else."""
    if name in _TURNED:
        return _compared_as_spark_does(_TURNED[name], right, left)
    found = _COMPARISONS[name](left, right)
    left_is, right_is = pc.is_nan(left), pc.is_nan(right)
    if name == "EqualTo":
        return pc.or_(found, pc.and_(left_is, right_is))
    return pc.or_(found, left_is if name == "GreaterThanOrEqual" else pc.and_(left_is, pc.invert(right_is)))


@dataclass(frozen=True, slots=True)
class Both:
    left: Expression
    right: Expression

    def of(self, columns: Columns) -> pa.Array:
        return pc.and_kleene(self.left.of(columns), self.right.of(columns))


@dataclass(frozen=True, slots=True)
class Either:
    left: Expression
    right: Expression

    def of(self, columns: Columns) -> pa.Array:
        return pc.or_kleene(self.left.of(columns), self.right.of(columns))


@dataclass(frozen=True, slots=True)
class Negation:
    child: Expression

    def of(self, columns: Columns) -> pa.Array:
        return pc.invert(self.child.of(columns))


@dataclass(frozen=True, slots=True)
class IsNull:
    child: Expression
    is_negated: bool = False

    def of(self, columns: Columns) -> pa.Array:
        found = self.child.of(columns)
        return pc.is_valid(found) if self.is_negated else pc.is_null(found)


@dataclass(frozen=True, slots=True)
class OneOf:
    """`child IN (...)`: null for null. None of the literals is null."""

    child: Expression
    literals: tuple[Literal, ...]

    def of(self, columns: Columns) -> pa.Array:
        found = self.child.of(columns)
        for each in self.literals:
            _check_comparable(found.type, each.type)
        if pa.types.is_floating(found.type):
            raise Unsupported("IN with floating numbers")
        chosen = pa.array([each.value for each in self.literals], found.type)
        return pc.if_else(pc.is_valid(found), pc.is_in(found, chosen), pa.scalar(None, pa.bool_()))


_TEXT: Final[Mapping[str, Callable[..., pa.Array]]] = {
    "StartsWith": pc.starts_with,
    "EndsWith": pc.ends_with,
    "Contains": pc.match_substring,
}
TEXT: Final = frozenset(_TEXT)


@dataclass(frozen=True, slots=True)
class Match:
    """Text that begins or ends with a literal, or has it somewhere."""

    name: str
    child: Expression
    pattern: str

    def of(self, columns: Columns) -> pa.Array:
        found = self.child.of(columns)
        if not pa.types.is_string(found.type):
            raise Unsupported(f"{self.name} of {found.type}")
        return _TEXT[self.name](found, pattern=self.pattern)


@dataclass(frozen=True, slots=True)
class FirstValid:
    children: tuple[Expression, ...]

    def of(self, columns: Columns) -> pa.Array:
        found = [each.of(columns) for each in self.children]
        first = found[0].type
        for each in found:
            if each.type != first:  # by what may be null, for instance: Arrow fails by that as soon as there are rows
                raise Unsupported(f"a choice of {first} and {each.type}")
        return pc.coalesce(*found)


_SUMS: Final[Mapping[str, Callable[[Any, Any], pa.Array]]] = {
    "Add": pc.add,
    "Subtract": pc.subtract,
    "Multiply": pc.multiply,
}
SUMS: Final = frozenset(_SUMS)


@dataclass(frozen=True, slots=True)
class Sum:
    """Of doubles, which cannot overflow: what integers do then, only Spark knows."""

    name: str
    left: Expression
    right: Expression

    def of(self, columns: Columns) -> pa.Array:
        left, right = self.left.of(columns), self.right.of(columns)
        if left.type != pa.float64() or right.type != pa.float64():
            raise Unsupported(f"{self.name} of {left.type} and {right.type}")
        return _SUMS[self.name](left, right)


_WIDER: Final = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


@dataclass(frozen=True, slots=True)
class Widened:
    """A number as a type that has all numbers of its own."""

    child: Expression
    type: pa.DataType

    def of(self, columns: Columns) -> pa.Array:
        found = self.child.of(columns)
        if found.type != self.type and self.type not in _WIDER.get(found.type, ()):
            raise Unsupported(f"a cast of {found.type} to {self.type}")
        return found.cast(self.type)


def as_array(found: pa.Array | pa.Scalar, rows: int) -> pa.Array:
    return pa.repeat(found, rows) if isinstance(found, pa.Scalar) else found


def attributes(expression: Any) -> set[int]:
    """The columns that an expression names."""
    if isinstance(expression, Attribute):
        return {expression.number}
    if isinstance(expression, tuple):
        return reduce(operator.or_, map(attributes, expression), set())
    if hasattr(expression, "__dataclass_fields__"):
        return attributes(tuple(getattr(expression, name) for name in expression.__dataclass_fields__))
    return set()
