"""Nodes to Spark: for each kind of node, what it makes of one micro-batch, as DataFrames.

A micro-batch is a function: the rows that came and the state before it give the rows that go out and the state after it. What
comes out does not depend on where one batch ends and the next begins, so that a restart changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from stoker.streams import nodes
from stoker.streams.compiler import (
    aggregation,
    deduplication,
    folds,
    lookups,
    processing,
    sessions,
    sliding,
    stateless,
    stream_joins,
    table_joins,
    tables,
)
from stoker.streams.windows import SessionWindow, SlidingWindow

if TYPE_CHECKING:
    from stoker.streams.compiler.batch import Batch
    from stoker.streams.compiler.frames import TableFrame


def _aggregate(batch: "Batch", node: nodes.Aggregate) -> "TableFrame":
    if node.fold is not None:
        return folds.fold(batch, node)
    if isinstance(node.window, SessionWindow):
        return sessions.aggregate(batch, node)
    if isinstance(node.window, SlidingWindow):
        return sliding.aggregate(batch, node)
    return aggregation.aggregate(batch, node)


COMPILERS: Final[Mapping[type[nodes.Node], Callable[[Any, Any], Any]]] = {
    nodes.StreamSource: stateless.source,
    nodes.Filter: stateless.filtered,
    nodes.Select: stateless.selected,
    nodes.FlatMap: stateless.flat_mapped,
    nodes.MapRows: stateless.rows_mapped,
    nodes.Transform: stateless.transformed,
    nodes.Rekey: stateless.rekeyed,
    nodes.Peek: stateless.peeked,
    nodes.Merge: stateless.merged,
    nodes.ToStream: stateless.to_stream,
    nodes.Late: stateless.late,
    nodes.Deduplicate: deduplication.deduplicated,
    nodes.Process: processing.processed,
    nodes.StreamJoin: stream_joins.joined,
    nodes.TableLookup: lookups.looked_up,
    nodes.TableSource: tables.source,
    nodes.ToTable: tables.of_stream,
    nodes.TableFilter: tables.filtered,
    nodes.TableSelect: tables.selected,
    nodes.TableAggregate: tables.aggregated,
    nodes.Suppress: tables.suppressed,
    nodes.TableJoin: table_joins.joined,
    nodes.Aggregate: _aggregate,
}
"""What is not in here, Spark is never asked for."""
