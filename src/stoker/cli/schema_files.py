"""Schemas in files, and how the options say what they refer to."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stoker.cli.choices import choices
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.registry.client import request_of
from stoker.registry.entities import Json, Reference

TYPES: Final = ("AVRO", "JSON", "PROTOBUF")
_TYPES_OF_SUFFIXES: Final = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_STANDARD_INPUT: Final = Path("-")
_MOST_BYTES: Final = 10 * 1024 * 1024


def read_schema(path: Path, type_: str | None, references: Sequence[str]) -> Json:
    """The request that a file stands for; `-` is standard input. Raises CommandFailed, or WrongUsage for the options."""
    return request_of(_type(path, type_), read_text(path), [_reference(text) for text in references])


def read_text(path: Path) -> str:
    """Raises CommandFailed."""
    try:
        if path == _STANDARD_INPUT:
            content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise CommandFailed(f"{path} is longer than {_MOST_BYTES} bytes, which no registry takes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CommandFailed(f"{path} line {line} is not UTF-8") from error
    if not text.strip():
        raise CommandFailed(f"{path} is empty")
    return text


def _type(path: Path, type_: str | None) -> str:
    if type_ is not None:
        chosen = choices("--type", type_, TYPES)
        if len(chosen) != 1:
            wrong_usage(f"--type {type_}: choose one of {', '.join(TYPES)}")
        return chosen[0]
    known = _TYPES_OF_SUFFIXES.get(path.suffix.lower())
    if known is None:
        wrong_usage(
            f"the name {path} does not say which type of schema it is, as .avsc, .json and .proto do: "
            f"give --type {', '.join(TYPES[:-1])} or {TYPES[-1]}"
        )
    return known


def _reference(text: str) -> Reference:
    name, equals, target = text.partition("=")
    subject, colon, version = target.rpartition(":")
    if not equals or not colon or not name or not subject or not version.isdecimal() or len(version) > 10:
        wrong_usage(f"--reference {text}: the form is NAME=SUBJECT:VERSION, such as shop.Customer=customers-value:1")
    return Reference(name, subject, int(version))
