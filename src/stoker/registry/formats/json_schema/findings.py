"""What the rules find when they compare one part of a writer's schema with one of a reader's."""

from collections.abc import Callable
from typing import Any, NamedTuple

from stoker.registry.formats.json_schema.nodes import Node
from stoker.registry.formats.json_schema.rules import Rule


class Finding(NamedTuple):
    """One rule that applies."""

    rule: Rule
    path: tuple[str, ...]
    """From the part on, as Confluent writes it."""
    name: str
    """Of the property, or the index of the item."""
    writer: Any
    reader: Any
    """What each side has, for the message."""


class Inner(NamedTuple):
    """Two parts inside, which must be compatible if these are to be."""

    path: tuple[str, ...]
    writer: Node
    reader: Node


class Findings:
    """Of one pair of parts."""

    __slots__ = ("accepts", "found", "inner")

    def __init__(self, accepts: Callable[[Node, Node], bool]) -> None:
        self.accepts = accepts
        """Whether, for all that is known so far, the second accepts all that the first allows."""
        self.found: list[Finding] = []
        self.inner: list[Inner] = []

    def add(self, rule: Rule, *path: str, name: str = "", writer: Any = None, reader: Any = None) -> None:
        self.found.append(Finding(rule, path, name, writer, reader))

    def compare(self, writer: Node | None, reader: Node | None, *path: str) -> None:
        """Leaves the two to be compared; one that is not there is a finding."""
        if writer is not None and reader is not None:
            self.inner.append(Inner(path, writer, reader))
        elif reader is not None:
            self.add(Rule.SCHEMA_ADDED, *path, reader=reader.describe())
        elif writer is not None:
            self.add(Rule.SCHEMA_REMOVED, *path, writer=writer.describe())


class LimitRules(NamedTuple):
    """The rules of one keyword that is a limit."""

    keyword: str
    added: Rule
    removed: Rule
    increased: Rule
    decreased: Rule


def limit_rules(keyword: str, prefix: str) -> LimitRules:
    names = ("ADDED", "REMOVED", "INCREASED", "DECREASED")
    return LimitRules(keyword, *[Rule[f"{prefix}_{name}"] for name in names])


def compare_limit(findings: Findings, rules: LimitRules, writer: Any, reader: Any) -> None:
    """Of two numbers, either of which may be absent."""
    if writer is reader or writer == reader:
        return
    if writer is None:
        rule = rules.added
    elif reader is None:
        rule = rules.removed
    elif writer < reader:
        rule = rules.increased
    else:
        rule = rules.decreased
    findings.add(rule, rules.keyword, writer=writer, reader=reader)
