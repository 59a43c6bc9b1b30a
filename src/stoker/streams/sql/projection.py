"""SELECT: which columns there are, what they are called, and which of them are the key."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.scope import Field, Scope
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import AllColumns, AllFields, Projection, SelectItem
from stoker.streams.sql.types import SqlType, Struct

_UNNAMED = "KSQL_COL_"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A column of the result: what it is made of, with the columns of the rows in place of names."""

    name: str
    expression: exp.Expr
    at: Name | exp.Expr | None


@dataclass(frozen=True, kw_only=True)
class ResultColumn:
    """A column of the result of a query."""

    name: str
    type: SqlType
    is_key: bool = False


def items_of(selected: Sequence[SelectItem], scope: Scope) -> list[Item]:
    """Raises SqlError for a name that is none, or that two columns would have."""
    found: list[tuple[str | None, Field | None, exp.Expr, Name | exp.Expr | None]] = []
    for each in selected:
        match each:
            case AllColumns(source=None):
                found += [
                    (_starred(field, scope), field, _of(field), None) for field in scope.fields if not field.is_pseudo
                ]
            case AllColumns(source=source):
                fields = [field for field in scope.fields if field.relation == source and not field.is_pseudo]
                if not fields:
                    raise SqlError(f"there is no {source} in this query: there is {', '.join(scope.relations)}", source)
                found += [(None, field, _of(field), source) for field in fields]
            case AllFields(struct=struct):
                found += [(name, None, inner, struct) for name, inner in _fields_of(struct, scope)]
            case Projection(expression=expression, alias=alias):
                field = scope.field(expression) if isinstance(expression, exp.Column) else None
                name = str(alias) if alias is not None else _own_name(expression)
                is_plain = alias is None and field is not None
                found.append((None if is_plain else name, field, scope.resolved(expression), alias or expression))
    return _named(found)


def _named(found: Sequence[tuple[str | None, Field | None, exp.Expr, Name | exp.Expr | None]]) -> list[Item]:
    plain = [field.name for name, field, _, _ in found if name is None and field is not None]
    made: list[Item] = []
    number = 0
    for name, field, expression, at in found:
        if name is None and field is not None:
            name = f"{field.relation}_{field.name}" if plain.count(field.name) > 1 else field.name
        elif name is None or name == "":
            name, number = f"{_UNNAMED}{number}", number + 1
        if name.startswith("_"):
            raise SqlError(f"a column cannot be named {name}: names that begin with _ are those of the record", at)
        if any(each.name.upper() == name.upper() for each in made):
            raise SqlError(f"there would be two columns {name}: give one of them another name (... AS ...)", at)
        made.append(Item(name=name, expression=expression, at=at))
    return made


def _starred(field: Field, scope: Scope) -> str | None:
    """In a join all columns have the name of their source before their own."""
    return f"{field.relation}_{field.name}" if len(scope.relations) > 1 else None


def _of(field: Field) -> exp.Expr:
    return exp.column(exp.to_identifier(field.column, quoted=True))


def _own_name(expression: exp.Expr) -> str:
    """Of a field of a struct, its name; else none."""
    return expression.expression.name if isinstance(expression, exp.Dot) else ""


def _fields_of(struct: exp.Expr, scope: Scope) -> list[tuple[str, exp.Expr]]:
    from stoker.streams.sql.inference import Inference

    inner = scope.resolved(struct)
    kind = Inference(scope.type_of, lambda node, variables: None).infer(inner, {})
    if not isinstance(kind, Struct):
        raise SqlError("only a struct has fields that ->* could stand for", struct)
    made: list[tuple[str, exp.Expr]] = []
    for each in kind.fields:
        field = exp.Dot(this=inner.copy(), expression=exp.to_identifier(each.name, quoted=True))
        made.append((each.name, field))
    return made
