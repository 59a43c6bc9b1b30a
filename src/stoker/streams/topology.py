"""All that an application has declared, in order, with the rewrites that it takes before it runs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from stoker.streams import nodes
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import Node, SinkNode, StreamNode, TopicSource, in_order


@dataclass(frozen=True)
class Topology:
    """`declared` are the nodes in the order of the program."""

    declared: tuple[Node, ...]

    @cached_property
    def roots(self) -> list[Node]:
        """What has to be computed: sinks, and stores, which may be asked for though nobody writes them anywhere."""
        wanted = [each for each in self.declared if isinstance(each, SinkNode) or each.store is not None]
        parents = {parent for each in wanted for parent in in_order([each])[:-1]}
        return [each for each in wanted if isinstance(each, SinkNode) or each not in parents]

    @cached_property
    def nodes(self) -> list[Node]:
        """Those that are computed, each after its parents."""
        return in_order(self.roots)

    @property
    def sinks(self) -> list[SinkNode]:
        return [each for each in self.nodes if isinstance(each, SinkNode)]

    @property
    def sources(self) -> list[TopicSource]:
        return [each for each in self.nodes if isinstance(each, TopicSource)]

    @property
    def topics(self) -> list[str]:
        """That are read, each once."""
        return list(dict.fromkeys(each.topic for each in self.sources))

    @property
    def stores(self) -> dict[str, Node]:
        return {each.store: each for each in self.nodes if each.store is not None}

    @property
    def shared(self) -> frozenset[Node]:
        """Streams of whose rows more than one job is made: computed once, and kept while the batch lasts."""
        return self.shared_but(frozenset())

    def shared_but(self, apart: frozenset[Node]) -> frozenset[Node]:
        """The same where some sinks read by themselves.

        A job is made by each other sink and each store; what lies between a stream and these is computed with them.
        """
        jobs: Counter[Node] = Counter()
        for each in self.nodes:
            if each not in apart and (isinstance(each, SinkNode) or each.store is not None):
                jobs.update(self._reached(each))
        for each in self.sources:
            jobs[each] += each.on_error == "dead-letter"
        shared = {each for each, count in jobs.items() if count > 1 and isinstance(each, StreamNode)}
        # What is made of a shared stream alone, without much work, is cheaper to make again than to keep.
        return frozenset(each for each in shared if not any(parent in shared for parent in each.parents))

    def _reached(self, node: Node) -> set[Node]:
        """Streams whose rows the job of this node computes: up to the stores behind it, which are read from files."""
        found: set[Node] = set()
        ahead = list(node.parents)
        while ahead:
            each = ahead.pop()
            if each in found:
                continue
            found.add(each)
            if each.store is None or isinstance(each, nodes.StreamJoin | nodes.TableSource | nodes.ToTable):
                ahead += each.parents
            if isinstance(each, nodes.Late):
                ahead += each.parent.parents
        return found

    def check(self) -> None:
        """Raises InvalidTopology for what can be seen without Spark."""
        if not self.roots:
            raise InvalidTopology(
                "the application does nothing: no stream or table is written by to(...), to_parquet(...) or for_each_batch(...), "
                "and none has a store"
            )
        _refuse_twice("store", [each.store for each in self.nodes if each.store is not None])
        for topic in {each.topic for each in self.sources}:
            self._refuse_two_ways(topic)

    def _refuse_two_ways(self, topic: str) -> None:
        times = {each.timestamp for each in self.sources if each.topic == topic}
        if len(times) > 1:
            raise InvalidTopology(
                f"topic {topic} is read twice with different event times ({', '.join(str(each) for each in times)}): "
                "declare it once and use it twice"
            )


def _refuse_twice(what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidTopology(f"there are two {what}s named {twice[0]!r}: a name is for one of them")
