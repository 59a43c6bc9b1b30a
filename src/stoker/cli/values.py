"""Options and arguments read without pydantic.

Typer hands each value that is typed to pydantic, whose import takes as long as all the rest of a command that lists topics.
Texts, numbers and paths need none of it. What is not known here, or not to this version of Typer, is left to Typer.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import typer
import typer.core

_PATH_CHECKS: Final = ("exists", "resolve_path", "allow_dash", "writable", "executable")


def read_plainly() -> None:
    """Let Typer, in this process, read plain values as below and all others as it always does."""
    by_typer: Callable[[Any], Any] | None = getattr(typer.core, "build_runtime_param", None)
    if by_typer is None:
        return

    def build_runtime_param(descriptor: Any) -> Any:
        convert = _converter(descriptor.annotation, descriptor.parameter_info)
        return by_typer(descriptor) if convert is None else _PlainValue(convert)

    vars(typer.core)["build_runtime_param"] = build_runtime_param


class _PlainValue:
    """What Typer asks of a value: `coerce`."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        try:
            return self._convert(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None


def _converter(annotation: Any, info: Any) -> Callable[[Any], Any] | None:
    if info.parser is not None or getattr(info, "click_type", None) is not None:
        return None
    if get_origin(annotation) is list:
        element = _converter(get_args(annotation)[0], info)
        return None if element is None else lambda values: [element(value) for value in values]
    if annotation is bool:  # only while it is not given: a flag that is given is True or False already
        return _flag
    if annotation is str:
        return str
    if annotation in (int, float):
        return _number(annotation, info.min, info.max)
    if annotation is Path and not any(getattr(info, check, False) for check in _PATH_CHECKS):
        return Path
    return None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _number(kind: type[int] | type[float], lowest: float | None, highest: float | None) -> Callable[[Any], Any]:
    def convert(text: Any) -> int | float:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {'a whole number' if kind is int else 'a number'}") from None
        if lowest is not None and number < lowest:
            raise ValueError(f"{text} is less than {lowest}")
        if highest is not None and number > highest:
            raise ValueError(f"{text} is more than {highest}")
        return number

    return convert
