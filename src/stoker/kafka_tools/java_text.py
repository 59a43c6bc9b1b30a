"""Java's `toString` of numbers with a point and of UUIDs."""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import copysign, inf, isinf, isnan
from struct import Struct
from typing import Final

FLOAT: Final = Struct(">f")
DOUBLE: Final = Struct(">d")

_MOST_DIGITS: Final = 17
_LOWEST_EXPONENT: Final = -3
_HIGHEST_EXPONENT: Final = 6
"""Between these of the first digit a number is written without an exponent."""
_UUID: Final = re.compile("-".join(["([0-9a-fA-F]+)"] * 5))
_UUID_LENGTH: Final = 36
_UUID_DIGITS: Final = (8, 4, 4, 4, 12)


def number_text(content: bytes, layout: Struct) -> str:
    """Of a FLOAT or a DOUBLE, as JDK 19 and later write it: with the fewest digits that no other number has."""
    number = layout.unpack(content)[0]
    if isnan(number):
        return "NaN"
    sign = "-" if copysign(1, number) < 0 else ""
    if isinf(number):
        return f"{sign}Infinity"
    return sign + (_positive_text(abs(number), layout) if number else "0.0")


def _positive_text(number: float, layout: Struct) -> str:
    _, digits, _ = (shortest := _shortest(number, layout)).as_tuple()
    exponent = shortest.adjusted()
    text = "".join(map(str, digits)).rstrip("0")
    if not _LOWEST_EXPONENT <= exponent <= _HIGHEST_EXPONENT:
        return f"{text[0]}.{text[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{text}"
    text = text.ljust(exponent + 1, "0")
    return f"{text[: exponent + 1]}.{text[exponent + 1 :] or '0'}"


def _shortest(number: float, layout: Struct) -> Decimal:
    """At least two digits, as Java chooses among: 4.9E-324, not 5E-324."""
    exact = Decimal(number)
    for digits in range(2, _MOST_DIGITS):
        near = (Context(prec=digits, rounding=each).create_decimal(exact) for each in (ROUND_FLOOR, ROUND_CEILING))
        if same := [each for each in near if _nearest(each, layout) == number]:
            return min(same, key=lambda each: abs(each - exact))
    return Context(prec=_MOST_DIGITS).create_decimal(exact)


def _nearest(decimal: Decimal, layout: Struct) -> float:
    """The number of this kind that stands for it."""
    try:
        number: float = layout.unpack(layout.pack(float(decimal)))[0]
    except OverflowError:
        return inf
    return number


def uuid_text(text: str) -> str:
    """Of one as `UUID.fromString` reads it, with fewer digits, too. Raises ValueError."""
    match = _UUID.fullmatch(text)
    if match is None or len(text) > _UUID_LENGTH:
        raise ValueError("Error parsing data into UUID")
    return "-".join(
        part[-width:].zfill(width) for part, width in zip(match.groups(), _UUID_DIGITS, strict=True)
    ).lower()
