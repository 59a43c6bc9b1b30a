"""What a user says of columns: Spark SQL as text, a Spark Column, or a function of the row.

orders.filter("total > 1000")
orders.filter(F.col("total") > 1000)
orders.filter(lambda row: row.total > 1000)

A function is called once, when the topology is compiled, with the columns of the row; not for each record.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    Expression = str | Column | Callable[["Columns"], Column]
else:
    Expression = Any


class Columns:
    """The columns of a row by attribute or by name: `row.total`, `row["total"]`."""

    def __init__(self, frame: "DataFrame") -> None:
        self._frame = frame

    def __getattr__(self, name: str) -> "Column":
        return self._frame[name]

    def __getitem__(self, name: str) -> "Column":
        return self._frame[name]


def column(expression: Expression, frame: "DataFrame") -> "Column":
    """As a Column of this frame."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(expression, str):
        return F.expr(expression)
    if callable(expression):
        return expression(Columns(frame))
    return expression


def text(expression: "Expression | Callable[..., Any]") -> str:
    """To be shown, and to tell one topology from another."""
    if isinstance(expression, str):
        return " ".join(expression.split())
    if callable(expression):
        return _source(expression)
    return str(expression)


def _source(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    if "<lambda>" not in name:
        return str(name)
    try:
        line = inspect.getsource(function).strip()
    except (OSError, TypeError):
        return "lambda"
    return " ".join(line[line.find("lambda") :].split())[:80]
