"""What a function of ksqlDB is, and the text that a call of it becomes in Spark."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final, NamedTuple, NoReturn

from sqlglot import exp

from stoker.streams.sql.errors import UnsupportedExpression
from stoker.streams.sql.types import SqlType

WITH_LAMBDAS: Final = ("FILTER", "REDUCE", "TRANSFORM")
_PLACE: Final = re.compile(r"\{(\d*)(\*?)\}")


class Variable(NamedTuple):
    """Of a lambda: what it is in Spark, and its type where that is known."""

    text: str
    type: SqlType | None = None


Scope = Mapping[str, Variable]


class FunctionKind(Enum):
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    TABLE = "table"
    """Gives several rows for one."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call with its arguments: as they were written, as Spark text, and their types where they are known.

    `translate` and `infer` are for the bodies of lambdas, with their variables.
    """

    node: exp.Anonymous
    translate: Callable[[exp.Expr, Scope], str]
    infer: Callable[[exp.Expr, Scope], SqlType | None]

    @property
    def arguments(self) -> Sequence[exp.Expr]:
        return self.node.expressions

    @cached_property
    def texts(self) -> Sequence[str]:
        """Each can stand beside any operator. A lambda and a unit have none."""
        without = (exp.Lambda, exp.Var) if self.node.name in WITH_LAMBDAS else (exp.Var,)
        return ["" if isinstance(each, without) else self.translate(each, {}) for each in self.arguments]

    @cached_property
    def types(self) -> Sequence[SqlType | None]:
        return [self.infer(each, {}) for each in self.arguments]

    def refuse(self, reason: str, argument: int | None = None) -> NoReturn:
        at = self.node if argument is None else self.arguments[argument]
        raise UnsupportedExpression(f"{self.node.name}: {reason}", at)

    def string(self, number: int, what: str) -> str:
        """The argument, which has to be written out: Spark needs to know it before it sees a row."""
        argument = self.arguments[number]
        if not (isinstance(argument, exp.Literal) and argument.is_string):
            self.refuse(f"{what} must be a string in quotes", number)
        return argument.name

    def integer(self, number: int, what: str) -> int:
        argument = self.arguments[number]
        negative = isinstance(argument, exp.Neg)
        digits = argument.this if negative else argument
        if not (isinstance(digits, exp.Literal) and digits.name.isdigit() and len(digits.name) < 10):
            self.refuse(f"{what} must be a whole number, written out", number)
        return -int(digits.name) if negative else int(digits.name)

    def lambda_of(self, number: int, *parameters: int) -> exp.Lambda:
        """The argument, a lambda with one of these numbers of parameters."""
        argument = self.arguments[number]
        counts = " or ".join(map(str, parameters))
        if not isinstance(argument, exp.Lambda):
            self.refuse(f"this must be a lambda with {counts} parameters, such as x => x + 1", number)
        if len(argument.expressions) not in parameters:
            self.refuse(f"this lambda must have {counts} parameters, not {len(argument.expressions)}", number)
        return argument


Build = Callable[[Call], str]
Returns = SqlType | Callable[[Call], SqlType | None] | None
"""A type, or how it follows from the arguments; None where nobody needs to know."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of ksqlDB.

    `spark` is the text of a call: `{0}` is the first argument, `{*}` all of them, `{1*}` all but the first. If the number of
    arguments matters, there is a text for each; or something builds it. It can stand beside any operator. `streams` is the same for the aggregates of
    `stoker.streams`, which carry their state from one micro-batch to the next, where it has one.
    """

    name: str
    arguments: str
    """As in its documentation: `text, position[, length]`."""
    spark: str | tuple[str, ...] | Build
    description: str
    returns: Returns = None
    kind: FunctionKind = FunctionKind.SCALAR
    counts: tuple[int, int | None] | None = None
    """How few and how many arguments it takes, if a `Build` makes its text; None for any number."""
    streams: str | tuple[str, ...] | Build | None = None

    @property
    def signature(self) -> str:
        return f"{self.name}({self.arguments})"

    def text(self, call: Call, *, for_streams: bool = False) -> str:
        """The call in Spark. Raises UnsupportedExpression for arguments it does not take."""
        text = self.streams if for_streams and self.kind is FunctionKind.AGGREGATE else self.spark
        given = len(call.arguments)
        if text is None:
            call.refuse("a running query cannot keep it, as it cannot be carried from one micro-batch to the next")
        if not callable(text):
            return self._filled(text, call, given)
        fewest, most = self.counts or (0, None)
        if given < fewest or (most is not None and given > most):
            self._refuse_count(call)
        return text(call)

    def _filled(self, templates: str | tuple[str, ...], call: Call, given: int) -> str:
        for template in (templates,) if isinstance(templates, str) else templates:
            fewest, most = _counts(template)
            if fewest <= given and (most is None or given <= most):
                return filled(template, call.texts)
        return self._refuse_count(call)

    def _refuse_count(self, call: Call) -> NoReturn:
        call.refuse(f"there is no such function of {len(call.arguments)} arguments, but {self.signature}")


def filled(template: str, texts: Sequence[str]) -> str:
    def argument(place: re.Match[str]) -> str:
        first = int(place[1] or 0)
        return ", ".join(texts[first:]) if place[2] else texts[first]

    return _PLACE.sub(argument, template)


def _counts(template: str) -> tuple[int, int | None]:
    places = _PLACE.findall(template)
    fewest = max((int(number or 0) + 1 for number, _ in places), default=0)
    return fewest, None if any(many for _, many in places) else fewest
