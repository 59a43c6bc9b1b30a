"""The columns that the expressions of a query can name, and what these become in Spark SQL."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from stoker.streams.sql.calls import FunctionKind
from stoker.streams.sql.conversion import quoted_name
from stoker.streams.sql.errors import SqlError, alternatives, near
from stoker.streams.sql.functions import FUNCTIONS, SPARK_SETTINGS
from stoker.streams.sql.spark_text import to_spark
from stoker.streams.sql.topics import sql_type
from stoker.streams.sql.types import BIGINT, SqlType, to_spark_type
from stoker.streams.sql.words import PSEUDO_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column of the rows of a query: `relation` is what its source is called there, `column` what it is called in the rows."""

    relation: str
    name: str
    column: str
    type: SqlType

    @property
    def is_pseudo(self) -> bool:
        """Not one of those that `*` stands for."""
        return self.name in PSEUDO_COLUMNS


class Scope:
    """Names to columns. `custom_types` are those of CREATE TYPE."""

    def __init__(self, fields: Sequence[Field], custom_types: Mapping[str, SqlType]) -> None:
        self.fields = tuple(fields)
        self._custom_types = custom_types
        self._types = {each.column: each.type for each in fields}

    @property
    def relations(self) -> list[str]:
        return list(dict.fromkeys(each.relation for each in self.fields if each.relation))

    def resolved(self, expression: exp.Expr) -> exp.Expr:
        """With the columns of the rows in place of the names. Raises SqlError for one that there is not, or twice."""

        def replaced(node: exp.Expr) -> exp.Expr:
            return self.column(node) if isinstance(node, exp.Column) else node

        return expression.transform(replaced)

    def column(self, node: exp.Column) -> exp.Expr:
        made = exp.column(exp.to_identifier(self.field(node).column, quoted=True))
        made.meta.update(node.meta or node.this.meta)
        return made

    def field(self, node: exp.Column) -> Field:
        name, relation = node.name, node.table
        if relation and relation not in self.relations:
            raise SqlError(f"there is no {relation} in this query: there is {alternatives(self.relations)}", node)
        found = [each for each in self.fields if each.name == name and relation in ("", each.relation)]
        if not found:
            raise SqlError(f"there is no column {name}{self._hint(name, relation)}", node)
        if len(found) > 1 and len({each.column for each in found}) > 1:
            raise SqlError(
                f"{name} is in {' and in '.join(each.relation for each in found)}: write {found[0].relation}.{name}",
                node,
            )
        return found[0]

    def _hint(self, name: str, relation: str) -> str:
        known = [each.name for each in self.fields if relation in ("", each.relation) and not each.is_pseudo]
        close = near(name, [*known, *(each.name for each in self.fields if each.is_pseudo)])
        if close:
            return f": did you mean {alternatives(close)}?"
        listed = ", ".join(dict.fromkeys(known))
        return f": there are {listed}" if len(listed) < 200 else ""

    def type_of(self, column: exp.Column) -> SqlType | None:
        return self._types.get(column.name)

    def text(self, expression: exp.Expr, *, for_streams: bool = False) -> str:
        """The Spark SQL of an expression that is resolved."""
        return to_spark(expression, type_of=self.type_of, custom_types=self._custom_types, for_streams=for_streams)

    def with_fields(self, fields: Sequence[Field]) -> "Scope":
        return Scope([*self.fields, *fields], self._custom_types)

    def replaced_by(self, fields: Sequence[Field]) -> "Scope":
        return Scope(fields, self._custom_types)


class Typing:
    """Asks Spark what the type of an expression is, and whether it is one at all."""

    def __init__(self, spark: "SparkSession") -> None:
        from stoker.streams.sessions import prepared

        self.spark = prepared(spark)
        for name, value in SPARK_SETTINGS.items():
            self.spark.conf.set(name, value)

    def types(self, scope: Scope, expressions: Sequence[exp.Expr]) -> list[SqlType]:
        """Of resolved expressions. Raises SqlError, at the one that Spark refuses."""
        if not expressions:
            return []
        columns = {each.column: each.type for each in scope.fields}
        columns.setdefault("ROWOFFSET", BIGINT)
        frame = self.spark.range(0).selectExpr(
            *[f"CAST(NULL AS {to_spark_type(kind)}) AS {quoted_name(name)}" for name, kind in columns.items()]
        )
        found = []
        for each in expressions:
            text = scope.text(each)
            try:
                is_aggregate = bool(list(calls(each, FunctionKind.AGGREGATE)))
                made = frame.groupBy().agg(_expr(text)) if is_aggregate else frame.selectExpr(text)
                found.append(sql_type(made.schema[0].dataType))
            except SqlError as error:
                raise SqlError(error.message, each) from None
            except Exception as error:
                raise SqlError(f"this cannot be computed: {_reason(error)}", each) from error
        return found


def _expr(text: str) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(text)


def _reason(error: Exception) -> str:
    """Spark's first line without its error class and advice."""
    line = str(error).splitlines()[0]
    if line.startswith("[") and "] " in line:
        line = line.split("] ", 1)[1]
    return line.split(" SQLSTATE")[0].rstrip(". ")


def calls(expression: exp.Expr, kind: FunctionKind) -> Iterator[exp.Anonymous]:
    """The calls of functions of a kind, outermost first."""
    for node in expression.find_all(exp.Anonymous):
        function = FUNCTIONS.get(node.name)
        if function is not None and function.kind is kind:
            yield node
