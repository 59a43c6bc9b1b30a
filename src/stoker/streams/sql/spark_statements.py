"""Plain Spark SQL on topics: `SPARK SELECT region, count(*) FROM stoker.orders GROUP BY region`, between ksqlDB's statements."""

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stoker.streams.kafka_inputs import Access
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.parser import iterate
from stoker.streams.sql.results import Message, Result, Rows, in_utc
from stoker.streams.sql.script import Origin, Span, statements_of
from stoker.streams.sql.statements import Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stoker.spark.catalog import Attachment

_SPARK: Final = re.compile(r"SPARK\s+", re.IGNORECASE)
_MOST_ROWS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class SparkStatement:
    text: str
    span: Span


def statements_in(script: str, variables: MutableMapping[str, str]) -> Iterator[Statement | SparkStatement]:
    """All statements, each parsed when it is asked for. Raises SqlError."""
    pieces = list(statements_of(script))
    if not any(_SPARK.match(script, start) for start, _ in pieces):
        yield from iterate(script, variables=variables)
        return
    for start, end in pieces:
        word = _SPARK.match(script, start)
        if word is not None:
            origin = Origin(script=script, start=start, text=script[start:end])
            yield SparkStatement(text=script[word.end() : end], span=Span(origin=origin, start=0, end=end - start))
        else:
            before = re.sub(r"[^\r\n]", " ", script[:start])
            yield from iterate(before + script[start:end], variables=variables)


class SparkTopics:
    """The topics of a cluster as tables of the database `stoker`, attached anew for each statement."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._attachment: Attachment | None = None

    def close(self) -> None:
        """What was attached is not left in a session that may go on."""
        if self._attachment is not None:
            self._attachment.detach()
            self._attachment = None

    def run(self, spark: "SparkSession", statement: SparkStatement) -> Result:
        """Raises SqlError for what Spark refuses."""
        import warnings

        from stoker.spark import attach

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._attachment is None:
                self._attachment = attach(spark, self._access.bootstrap_servers, registry=self._access.registry)
            else:
                self._attachment.refresh()
        try:
            frame = spark.sql(statement.text)
            rows = frame.limit(_MOST_ROWS).collect()
        except Exception as error:
            raise SqlError(f"Spark: {str(error).splitlines()[0]}", statement.span) from error
        if not frame.columns:
            return Message(text="Done.")
        note = f"the first {_MOST_ROWS} rows" if len(rows) == _MOST_ROWS else None
        return Rows(columns=frame.columns, rows=[tuple(in_utc(value) for value in row) for row in rows], note=note)
