"""Whether a reader's schema accepts all that a writer's allows, part by part.

Schemas refer to themselves, so the answer for one pair of parts may depend on itself. All pairs count as compatible until
a rule says otherwise; then the pairs that relied on it are looked at again, until nothing changes (a greatest fixed
point). Nothing is recursive, each pair is looked at a bounded number of times, and the whole has a bound too.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from stoker.registry.formats.json_schema.arrays import compare_arrays
from stoker.registry.formats.json_schema.combined import compare_combined, compare_not, find_alternative
from stoker.registry.formats.json_schema.findings import Finding, Findings, Inner
from stoker.registry.formats.json_schema.nodes import (
    Anything,
    Array,
    Combined,
    Constant,
    Enumeration,
    MetaSchema,
    Node,
    Not,
    Nothing,
    Number,
    Object,
    String,
    followed,
)
from stoker.registry.formats.json_schema.objects import compare_objects
from stoker.registry.formats.json_schema.rules import Rule
from stoker.registry.formats.json_schema.scalars import (
    compare_constants,
    compare_enumerations,
    compare_meta_schemas,
    compare_numbers,
    compare_strings,
)

MAX_QUESTIONS: Final = 100_000
"""Pairs asked for in one comparison. 200 alternatives against 200 others are 40,000; a second is some 200,000."""
MAX_REPORTED: Final = 100

_COMPARED: Final[dict[type[Node], Callable[[Findings, Any, Any], None]]] = {
    String: compare_strings,
    Number: compare_numbers,
    Enumeration: compare_enumerations,
    Constant: compare_constants,
    MetaSchema: compare_meta_schemas,
    Object: compare_objects,
    Array: compare_arrays,
    Combined: compare_combined,
    Not: compare_not,
}
_CONTAINERS: Final = (Object, Array, Combined, Not)

_Pair = tuple[int, int]


class TooIntricate(Exception):
    """The bound was reached."""


class Difference(NamedTuple):
    """A finding, at its place in the whole schema."""

    path: tuple[str, ...]
    finding: Finding


class Comparison:
    """Of one writer's schema and one reader's. Raises TooIntricate."""

    def __init__(self, refused: frozenset[Rule]) -> None:
        self._refused = refused
        self._parts: dict[_Pair, tuple[Node, Node]] = {}
        self._findings: dict[_Pair, Findings] = {}
        self._incompatible: set[_Pair] = set()
        self._relying: dict[_Pair, set[_Pair]] = {}
        self._waiting: deque[_Pair] = deque()
        self._is_waiting: set[_Pair] = set()
        self._questions = 0

    def differences(self, writer: Node, reader: Node) -> list[Difference]:
        """All, compatible ones too; of alternatives only that they differ."""
        root = self._settled(writer, reader)
        return self._collected(root, only_refused=False)

    def incompatible_differences(self, writer: Node, reader: Node) -> list[Difference]:
        """The first MAX_REPORTED of those that are refused; empty if the reader can read all."""
        root = self._settled(writer, reader)
        return self._collected(root, only_refused=True)

    def _settled(self, writer: Node, reader: Node) -> _Pair:
        root = self._asked(writer, reader)
        while self._waiting:
            pair = self._waiting.popleft()
            self._is_waiting.discard(pair)
            self._examine(pair)
        return root

    def _asked(self, writer: Node, reader: Node) -> _Pair:
        self._questions += 1
        if self._questions > MAX_QUESTIONS:
            raise TooIntricate
        writer, reader = followed(writer), followed(reader)
        pair = (id(writer), id(reader))
        if pair not in self._parts:
            self._parts[pair] = (writer, reader)
            if isinstance(writer, _CONTAINERS) or isinstance(reader, _CONTAINERS):
                self._later(pair)
            else:
                self._examine(pair)  # it can ask for no other, so this goes no deeper
        return pair

    def _later(self, pair: _Pair) -> None:
        if pair not in self._is_waiting:
            self._is_waiting.add(pair)
            self._waiting.append(pair)

    def _examine(self, pair: _Pair) -> None:
        def accepts(writer: Node, reader: Node) -> bool:
            asked = self._asked(writer, reader)
            self._relying.setdefault(asked, set()).add(pair)
            return asked not in self._incompatible

        writer, reader = self._parts[pair]
        findings = Findings(accepts)
        _compare(findings, writer, reader)
        self._findings[pair] = findings
        incompatible_inside = [part for part in findings.inner if not accepts(part.writer, part.reader)]
        is_refused = not self._refused.isdisjoint([finding.rule for finding in findings.found])
        if (incompatible_inside or is_refused) and pair not in self._incompatible:
            self._incompatible.add(pair)
            for relying in self._relying.get(pair, ()):
                self._later(relying)

    def _collected(self, root: _Pair, *, only_refused: bool) -> list[Difference]:
        """Of each pair at every place where it is met, but not inside itself."""
        differences: list[Difference] = []
        path: list[str] = []
        around: set[_Pair] = set()
        waiting: list[_Pair | Inner | None] = [root]  # None: leave the innermost
        entered: list[tuple[_Pair, int]] = []
        for _ in range(MAX_QUESTIONS):
            if not waiting or len(differences) >= MAX_REPORTED:
                break
            step = waiting.pop()
            if step is None:
                pair, length = entered.pop()
                around.discard(pair)
                del path[length:]
                continue
            way: tuple[str, ...] = ()
            if isinstance(step, Inner):
                way, pair = step.path, (id(followed(step.writer)), id(followed(step.reader)))
            else:
                pair = step
            if pair in around or (only_refused and pair not in self._incompatible):
                continue
            entered.append((pair, len(path)))
            around.add(pair)
            path += way
            findings = self._findings[pair]
            differences.extend(
                Difference((*path, *finding.path), finding)
                for finding in findings.found
                if not only_refused or finding.rule in self._refused
            )
            waiting.append(None)
            waiting.extend(reversed(findings.inner))
        return differences[:MAX_REPORTED]


def _compare(findings: Findings, writer: Node, reader: Node) -> None:
    if isinstance(writer, Combined) is not isinstance(reader, Combined) and find_alternative(findings, writer, reader):
        return
    if type(writer) is not type(reader):
        if isinstance(writer, Nothing) or isinstance(reader, Anything):
            return
        if writer.is_connect_bytes and reader.is_connect_bytes:
            return  # a decimal, which Connect's converter writes as a string or as a number
        findings.add(Rule.TYPE_CHANGED, writer=writer.describe(), reader=reader.describe())
        return
    compare = _COMPARED.get(type(writer))
    if compare is not None:
        compare(findings, writer, reader)
