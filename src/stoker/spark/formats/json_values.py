"""One JSON value at a time, for those that Arrow's reader does not take: what it refuses, maps, and bytes.

As in Spark's `from_json`, a string column takes any value: what is no string is there as JSON text. Unlike there, a value of
the wrong type does not become a null among the rest: the record is bad, and the reason names the field.
"""

import base64
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from stoker.spark.errors import InvalidOption

Reader = Callable[[Any], Any]

_INTEGER_BITS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_NOT_NUMBERS: Final = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "+Infinity": float("inf"),
    "INF": float("inf"),
    "+INF": float("inf"),
    "-Infinity": float("-inf"),
    "-INF": float("-inf"),
}
"""What Spark writes into strings, since JSON has no numbers for it."""
_LARGEST_EXACT: Final = 2**53
"""Up to here a number with a point or an exponent may stand for an integer."""
_WIDE: Final = Context(prec=40, rounding=ROUND_HALF_UP)
"""Spark's decimals have up to 38 digits, and Python's by default 28."""
_SHOWN: Final = 60


class _Mismatch(Exception):
    """A value that its field cannot have."""


def json_value_reader(column: DataType) -> Callable[[bytes], Any]:
    """Reads a text to what `pyarrow.array` takes for the column; raises ValueError with the reason. Raises InvalidOption
    for a type that JSON has no form for."""
    convert = _reader(column, "")
    # Digits are kept only for those who want them: it takes twice as long.
    decoder = json.JSONDecoder(parse_float=Decimal) if "decimal(" in column.simpleString() else json.JSONDecoder()

    def read(text: bytes) -> Any:
        try:
            return convert(decoder.decode(text.decode()))
        except json.JSONDecodeError as problem:
            reason = problem.msg[0].lower() + problem.msg[1:]
            raise ValueError(f"not JSON: {reason} (character {problem.pos} of {len(problem.doc)})") from None
        except UnicodeDecodeError as problem:
            raise ValueError(f"byte {problem.start} (0x{text[problem.start]:02x}) is no UTF-8") from None
        except _Mismatch as problem:
            raise ValueError(str(problem)) from None
        except RecursionError:
            raise ValueError("nested too deep") from None
        except UnicodeEncodeError:
            raise ValueError("not JSON: half a surrogate pair") from None
        except (ArithmeticError, ValueError) as problem:  # a number of more digits than are read
            raise ValueError(f"a number that cannot be read: {problem}") from None

    return read


def _reader(column: DataType, path: str) -> Reader:
    """None stays None everywhere. Spark does not look for nulls where a type says that there are none."""
    if isinstance(column, StructType):
        for each in column.fields:
            _refuse_never_null(each.nullable, f"{path}.{each.name}")
        return _struct_reader(
            [(each.name, _reader(each.dataType, f"{path}.{each.name}")) for each in column.fields], path
        )
    if isinstance(column, ArrayType):
        _refuse_never_null(column.containsNull, f"{path}[]")
        return _list_reader(_reader(column.elementType, f"{path}[]"), path)
    if isinstance(column, MapType) and isinstance(column.keyType, StringType):
        _refuse_never_null(column.valueContainsNull, f"{path}[]")
        return _map_reader(_reader(column.valueType, f"{path}[]"), path)
    bits = _INTEGER_BITS.get(type(column))
    if bits is not None:
        return _integer_reader(bits, path)
    if isinstance(column, DecimalType):
        return _decimal_reader(column, path)
    read = _SCALARS.get(type(column))
    if read is None:
        where = path.lstrip(".") or "the column"
        raise InvalidOption(f"the schema says that {where} is {column.simpleString()}, which JSON has no form for")

    def scalar(value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(value)
        except UnicodeEncodeError:
            raise
        except (ValueError, ArithmeticError, TypeError, AttributeError):
            raise _mismatch(path, value, column.simpleString()) from None

    return scalar


def _refuse_never_null(is_nullable: bool, path: str) -> None:
    if not is_nullable:
        raise InvalidOption(
            f"the schema says that {path.lstrip('.')} is never null (NOT NULL), but JSON may leave it out: leave NOT NULL out"
        )


def _struct_reader(fields: list[tuple[str, Reader]], path: str) -> Reader:
    def struct(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(path, value, "object")
        return {name: read(value.get(name)) for name, read in fields}

    return struct


def _list_reader(read: Reader, path: str) -> Reader:
    def items(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _mismatch(path, value, "array")
        return [read(each) for each in value]

    return items


def _map_reader(read: Reader, path: str) -> Reader:
    def entries(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(path, value, "object")
        return [(_encodable(name), read(each)) for name, each in value.items()]

    return entries


def _integer_reader(bits: int, path: str) -> Reader:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1

    def integer(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Decimal | float) and -_LARGEST_EXACT <= value <= _LARGEST_EXACT and value == int(value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _mismatch(path, value, f"integer of {bits} bits")
        return value

    return integer


def _decimal_reader(column: DecimalType, path: str) -> Reader:
    unit = Decimal(1).scaleb(-column.scale)
    limit = Decimal(10) ** (column.precision - column.scale)

    def decimal(value: Any) -> Any:
        if value is None:
            return None
        try:
            if isinstance(value, bool | float):
                raise ValueError
            exact = Decimal(value)
            if exact.copy_abs() < limit:
                rounded = exact.quantize(unit, context=_WIDE)
                if rounded.copy_abs() < limit:
                    return rounded
        except (InvalidOperation, ValueError, TypeError):
            pass
        raise _mismatch(path, value, column.simpleString())

    return decimal


def _text(value: Any) -> str:
    return _encodable(value if isinstance(value, str) else _json_text(value))


def _encodable(text: str) -> str:
    if not text.isascii():
        text.encode()
    return text


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Decimal) -> float:
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _double(value: Any) -> float:
    if isinstance(value, str):
        return _NOT_NUMBERS[value] if value in _NOT_NUMBERS else _raise()
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def _raise() -> float:
    raise ValueError


def _moment(value: Any) -> datetime:
    """Without an offset it is UTC."""
    moment = datetime.fromisoformat(value)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _local_moment(value: Any) -> datetime:
    return _moment(value).replace(tzinfo=None)


def _bytes(value: Any) -> bytes:
    return base64.b64decode(value, validate=True)


_SCALARS: Final[dict[type[DataType], Reader]] = {
    StringType: _text,
    BooleanType: _boolean,
    DoubleType: _double,
    FloatType: _double,
    DateType: date.fromisoformat,
    TimestampType: _moment,
    TimestampNTZType: _local_moment,
    BinaryType: _bytes,
}


def _mismatch(path: str, value: Any, kind: str) -> _Mismatch:
    shown = _json_text(value).encode(errors="replace").decode()
    shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
    return _Mismatch(f"{path.lstrip('.') or 'the value'} is {shown}, which is no {kind}")
