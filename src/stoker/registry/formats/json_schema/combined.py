"""The rules for `allOf`, `anyOf`, `oneOf` and `not`.

Two lists of alternatives are compatible if each of the shorter one can be given one of the longer one that is compatible
with it, and no two the same: a maximum matching in a bipartite graph.
"""

from collections import deque

from stoker.registry.formats.json_schema.findings import Findings
from stoker.registry.formats.json_schema.nodes import Combined, Criterion, Node, Not
from stoker.registry.formats.json_schema.rules import Rule


def find_alternative(findings: Findings, writer: Node, reader: Node) -> bool:
    """Where only one side has alternatives: whether one of them will do."""
    if isinstance(reader, Combined):
        alternatives = [(writer, alternative) for alternative in reader.alternatives]
        one_is_enough = reader.criterion is not Criterion.ALL
        rule = Rule.SUM_TYPE_EXTENDED
    else:
        assert isinstance(writer, Combined)
        alternatives = [(alternative, reader) for alternative in writer.alternatives]
        one_is_enough = writer.criterion is Criterion.ALL
        rule = Rule.PRODUCT_TYPE_NARROWED
    if not one_is_enough and len(alternatives) != 1:
        return False
    for written, read in alternatives:
        if findings.accepts(written, read):
            if len(alternatives) > 1:
                findings.add(rule)
            return True
    return False


def compare_combined(findings: Findings, writer: Combined, reader: Combined) -> None:
    if writer.criterion is not reader.criterion:
        rule = _change_of_criterion(writer, reader)
        findings.add(rule, writer=writer.describe(), reader=reader.describe())
        if rule is Rule.COMBINED_TYPE_CHANGED:
            return
    written, read = len(writer.distinct), len(reader.distinct)
    if written < read:
        rule = Rule.PRODUCT_TYPE_EXTENDED if reader.criterion is Criterion.ALL else Rule.SUM_TYPE_EXTENDED
        findings.add(rule, writer=writer.describe(), reader=reader.describe())
    elif written > read:
        rule = Rule.PRODUCT_TYPE_NARROWED if writer.criterion is Criterion.ALL else Rule.SUM_TYPE_NARROWED
        findings.add(rule, writer=writer.describe(), reader=reader.describe())
    if _matched(findings, writer, reader) < min(written, read):
        findings.add(Rule.COMBINED_TYPE_SUBSCHEMAS_CHANGED, writer=writer.describe(), reader=reader.describe())


def compare_not(findings: Findings, writer: Not, reader: Not) -> None:
    """The other way round: what the reader refuses, the writer must refuse too."""
    narrowed = findings.accepts(reader.refused, writer.refused)
    both = {"writer": writer.refused.describe(), "reader": reader.refused.describe()}
    findings.add(Rule.NOT_TYPE_NARROWED if narrowed else Rule.NOT_TYPE_EXTENDED, "not", **both)


def _change_of_criterion(writer: Combined, reader: Combined) -> Rule:
    writer_has_one, reader_has_one = len(writer.alternatives) == 1, len(reader.alternatives) == 1
    if (
        reader.criterion is Criterion.ANY
        or (writer_has_one and reader_has_one)
        or (writer_has_one and reader.criterion is Criterion.ONE)
        or (reader_has_one and writer.criterion is Criterion.ALL)
    ):
        return Rule.COMBINED_TYPE_EXTENDED
    return Rule.COMBINED_TYPE_CHANGED


def _matched(findings: Findings, writer: Combined, reader: Combined) -> int:
    """How many alternatives can be paired off (Kuhn's algorithm).

    Those that are spelled alike or stand at the same place are tried first, so that of two versions which differ little,
    few pairs are looked at.
    """
    matching = _Matching(findings, list(writer.distinct.values()), list(reader.distinct.values()))
    places = {spelling: index for index, spelling in enumerate(reader.distinct)}
    for index, spelling in enumerate(writer.distinct):
        matching.try_pair(index, places.get(spelling))
    for index in range(min(len(writer.distinct), len(reader.distinct))):
        matching.try_pair(index, index)
    matching.complete()
    return matching.size


class _Matching:
    """Alternatives of the writer and of the reader, by their index, that are paired off."""

    def __init__(self, findings: Findings, written: list[Node], read: list[Node]) -> None:
        self._findings = findings
        self._written = written
        self._read = read
        self._of_writer: dict[int, int] = {}
        self._of_reader: dict[int, int] = {}

    @property
    def size(self) -> int:
        return len(self._of_writer)

    def try_pair(self, written: int, read: int | None) -> None:
        """Pairs the two off, if they are free and compatible."""
        if read is None or written in self._of_writer or read in self._of_reader:
            return
        if self._findings.accepts(self._written[written], self._read[read]):
            self._pair_off(written, read)

    def complete(self) -> None:
        """Makes it as large as it can be."""
        for written in range(len(self._written)):
            if self.size == min(len(self._written), len(self._read)):
                return
            if written not in self._of_writer:
                self._find_partner(written)

    def _find_partner(self, start: int) -> None:
        """If there is a way from that alternative of the writer to a free one of the reader, moves all on it by one."""
        reached_from: dict[int, int] = {}
        waiting = deque([start])
        while waiting:
            current = waiting.popleft()
            # All at once, and not until the first that will do: what is not known yet is then found out in one go.
            accepting = [
                read for read, node in enumerate(self._read) if self._findings.accepts(self._written[current], node)
            ]
            reached = [read for read in accepting if read not in reached_from]
            reached_from.update(dict.fromkeys(reached, current))
            for read in reached:
                if read not in self._of_reader:
                    self._move_along(reached_from, read)
                    return
            waiting.extend(self._of_reader[read] for read in reached)

    def _pair_off(self, written: int, read: int) -> None:
        self._of_writer[written] = read
        self._of_reader[read] = written

    def _move_along(self, reached_from: dict[int, int], free: int) -> None:
        place: int | None = free
        while place is not None:
            mover = reached_from[place]
            left = self._of_writer.get(mover)
            self._pair_off(mover, place)
            place = left
