"""Subjects as paths and queries name them: with their contexts, and with those that stand for others."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, unquote

from stoker.registry.http import refusals
from stoker.registry.registry import Registry
from stoker.registry.state import RegistryState
from stoker.registry.subjects import (
    ALL_CONTEXTS,
    DEFAULT_CONTEXT,
    context_of,
    in_context,
    prefix_of,
    split,
    unqualified,
)

Query = dict[str, list[str]]

_QUALIFIED: Final = (":.", ALL_CONTEXTS)


def normalized(subject: str) -> str:
    """`:.:orders` is `orders`, and `:.staging` the context `:.staging:`; nothing is refused."""
    if not subject.startswith(":."):
        return subject
    context, name = split(subject)
    return prefix_of(context) + name


def is_default_context(subject: str) -> bool:
    """What is set for it is set for all."""
    return normalized(subject) == ""


def aliased(registry: Registry, subject: str) -> str:
    """The subject that this one stands for, or itself."""
    config = registry.state.configs.get(subject)
    alias = config.get("alias") if config is not None else None
    return in_context(alias, context_of(subject)) if alias else subject


def in_every_context(state: RegistryState, subject: str) -> Iterator[str]:
    """The subject itself, and if it names no context, its namesakes in all of them."""
    yield subject
    if not subject.startswith(_QUALIFIED):
        for context in sorted(state.contexts):
            if context != DEFAULT_CONTEXT:
                yield prefix_of(context) + subject


def with_prefix(state: RegistryState, prefix: str) -> list[str]:
    """Subjects that begin so, deleted ones too, in order; `:*:` stands for any context, none for the default one."""
    if prefix.startswith(ALL_CONTEXTS):
        rest = prefix[len(ALL_CONTEXTS) :]
        found = (name for name in state.subjects if not rest or unqualified(name).startswith(rest))
    elif prefix.startswith(":.") and not prefix.startswith(":.:"):
        found = (name for name in state.subjects if name.startswith(prefix))
    else:
        rest = prefix.removeprefix(":.:")
        found = (name for name in state.subjects if name.startswith(rest) and not name.startswith(":."))
    return sorted(found)


def within_context(segments: list[str], query: Query) -> list[str]:
    """The path and query that `/contexts/{context}/...` stands for; `query` is changed. Raises Refusal."""
    context, rest = _delimited(unquote(segments[1])), segments[2:]
    if not rest:
        return ["contexts", quote(context)] if context else segments
    if rest in (["config"], ["mode"]):
        return [*rest, quote(context)] if context else rest
    if rest[0] in ("config", "mode"):
        return [rest[0], _qualified(rest[1], context), *rest[2:]]
    if rest[0] == "schemas" and rest[1:2] == ["ids"]:
        query["subject"] = [_prefixed(query.get("subject", [""])[0], context)]
    elif rest in (["schemas"], ["subjects"]):
        query["subjectPrefix"] = [_prefixed(query.get("subjectPrefix", [""])[0], context)]
    else:
        place = rest.index("subjects") + 1 if "subjects" in rest else len(rest)
        return [_qualified(each, context) if index == place else each for index, each in enumerate(rest)]
    return rest


def _delimited(context: str) -> str:
    """`staging`, `.staging` and `:.staging:` are all `:.staging:`; the default context is nothing."""
    name = context.removeprefix(":").removesuffix(":")
    if ":" in name:
        raise refusals.bad_request(f"Context name '{name}' cannot contain a colon")
    name = name if name.startswith(".") else f".{name}"
    return prefix_of(name)


def _qualified(segment: str, context: str) -> str:
    """`segment` is not decoded."""
    return segment if unquote(segment).startswith(_QUALIFIED) else quote(context) + segment


def _prefixed(subject: str, context: str) -> str:
    return subject if subject.startswith(_QUALIFIED) else context + subject
