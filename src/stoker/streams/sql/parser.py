"""Text to statements: `parse` for a script, `parse_statement` for one, `parse_expression` for what is in them.

Nothing else is raised but SqlError, whatever the text is.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Final, TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from stoker.streams.sql import statements as s
from stoker.streams.sql.dialect import KsqlDialect
from stoker.streams.sql.errors import SqlError, SqlSyntaxError
from stoker.streams.sql.queries import QueryParser
from stoker.streams.sql.script import Name, Origin, Span, statements_of, with_variables
from stoker.streams.sql.types import SqlType, from_sqlglot

T = TypeVar("T")

_LONGEST_NUMBER: Final = 100


def parse(text: str, *, variables: Mapping[str, str] | None = None) -> tuple[s.Statement, ...]:
    """All statements of a script. DEFINE and UNDEFINE hold for those after them. Raises SqlError, where, and what was expected."""
    return tuple(iterate(text, variables=dict(variables or {})))


def iterate(text: str, *, variables: MutableMapping[str, str]) -> Iterator[s.Statement]:
    """As `parse`, but each statement is parsed when it is asked for, with the variables as they are then.

    DEFINE and UNDEFINE change `variables`; so may the caller, who has run a script that defines some.
    """
    for start, end in statements_of(text):
        statement = _parsed(with_variables(text, start, end, variables), lambda parser: parser.statement())
        if isinstance(statement, (s.Define, s.Undefine)):
            for known in [each for each in variables if each.upper() == statement.name.upper()]:
                del variables[known]
        if isinstance(statement, s.Define):
            variables[str(statement.name)] = statement.value
        yield statement


def parse_statement(text: str, *, variables: Mapping[str, str] | None = None) -> s.Statement:
    """The one statement of the text. Raises SqlError if there is another one, or none."""
    found = parse(text, variables=variables)
    if len(found) == 1:
        return found[0]
    if not found:
        origin = Origin(script=text, text=text)
        at = Span(origin=origin, start=len(text), end=len(text))
        raise SqlSyntaxError(at, found="no statement", expected=("one",), quoted=False)
    raise SqlError(f"there are {len(found)} statements where there should be one; this is the second", found[1])


def parse_expression(text: str) -> exp.Expr:
    """An expression by itself, such as a condition."""
    return _parsed(_alone(text), lambda parser: parser.condition())


def parse_type(text: str) -> SqlType:
    """A type by itself, as in a column definition."""
    return _parsed(_alone(text), lambda parser: from_sqlglot(parser.data_type()))


def _alone(text: str) -> Origin:
    parts = list(statements_of(text))
    start, end = parts[0] if parts else (len(text), len(text))
    if len(parts) > 1 or ";" in text[end:]:
        end = len(text)
    return with_variables(text, start, end, {})


def _parsed(origin: Origin, rule: "Callable[[StatementParser], T]") -> T:
    with _only_sql_errors(origin):
        parser = StatementParser(origin, _DIALECT.tokenize(origin.text))
        found = rule(parser)
        parser.finish()
        return found


@contextmanager
def _only_sql_errors(origin: Origin) -> Iterator[None]:
    """sqlglot is asked for little, but should it fail, or Python's stack be nearly full already, that is an SqlError too."""
    whole = Span(origin=origin, start=0, end=len(origin.text))
    try:
        yield
    except SqlglotError as error:
        raise SqlError(f"this cannot be read: {str(error).splitlines()[0]}", whole) from error
    except RecursionError:
        raise SqlError("this is nested too deeply", whole) from None


_DIALECT: Final = KsqlDialect()


class StatementParser(QueryParser):
    """Parses a statement: a method for each kind."""

    def statement(self) -> s.Statement:
        rules: dict[str, Callable[[], s.Statement]] = {
            "SELECT": self._select_statement,
            "CREATE": self._create,
            "INSERT": self._insert,
            "DROP": self._drop,
            "SHOW": self._show,
            "LIST": self._show,
            "DESCRIBE": self._describe,
            "PRINT": self._print,
            "EXPLAIN": self._explain,
            "TERMINATE": self._control,
            "PAUSE": self._control,
            "RESUME": self._control,
            "SET": self._set,
            "UNSET": self._unset,
            "ALTER": self._alter,
            "DEFINE": self._define,
            "UNDEFINE": self._undefine,
            "RUN": self._run_script,
        }
        return rules[self.word(*rules)]()

    def _select_statement(self) -> s.Statement:
        return s.SelectStatement(origin=self.origin, query=self.query())

    # Streams, tables, types, connectors.

    def _create(self) -> s.Statement:
        or_replace = self.accept("OR", "REPLACE")
        if not or_replace:
            if self.accept("TYPE"):
                return self._create_type()
            for kind in s.ConnectorKind:
                if self.accept(kind.value, "CONNECTOR"):
                    return self._create_connector(kind)
        is_source = self.accept("SOURCE")
        return self._create_source(or_replace, is_source)

    def _create_source(self, or_replace: bool, is_source: bool) -> s.Statement:
        kind = s.SourceKind(self.word("STREAM", "TABLE"))
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name(f"the name of a {kind.value.lower()}")
        columns: list[s.ColumnDefinition] = []
        if self.accept_symbol("("):
            columns = self.listed(lambda: self._column_definition(kind))
            self.symbol(")")
        for number, column in enumerate(columns):
            if any(column.name == other.name for other in columns[:number]):
                raise SqlError(f"there are two columns {column.name}", column.name)
        properties = self._properties() if self.accept("WITH") else s.Properties()
        if not columns and not is_source and self.accept("AS"):
            self.word("SELECT")
            return s.CreateAsSelect(
                origin=self.origin, kind=kind, name=name, query=self.query(), properties=properties,
                or_replace=or_replace, if_not_exists=if_not_exists,
            )  # fmt: skip
        return s.CreateSource(
            origin=self.origin, kind=kind, name=name, columns=tuple(columns), properties=properties,
            or_replace=or_replace, if_not_exists=if_not_exists, is_source=is_source,
        )  # fmt: skip

    def _column_definition(self, of: s.SourceKind) -> s.ColumnDefinition:
        name = self.name("the name of a column")
        kind = from_sqlglot(self.data_type())
        header = None
        if self.at("PRIMARY", "KEY"):
            if self.at("KEY") is (of is s.SourceKind.TABLE):
                self.fail(
                    "PRIMARY KEY" if of is s.SourceKind.TABLE else "KEY",
                    hint="tables have a PRIMARY KEY, streams a KEY",
                )
            role = s.ColumnRole.PRIMARY_KEY if self.accept("PRIMARY") else s.ColumnRole.KEY
            self.word("KEY")
        elif self.accept("HEADERS"):
            role = s.ColumnRole.HEADERS
        elif self.accept("HEADER"):
            self.symbol("(")
            role, header = s.ColumnRole.HEADER, self.string("the name of a header, in quotes")
            self.symbol(")")
        else:
            role = s.ColumnRole.VALUE
        return s.ColumnDefinition(name=name, type=kind, role=role, header=header)

    def _properties(self) -> s.Properties:
        self.symbol("(")
        found: list[tuple[Name, s.Value]] = []
        for name, value in self.listed(self._property):
            if any(name == known for known, _ in found):
                raise SqlError(f"{name} is there twice", name)
            found.append((name, value))
        self.symbol(")")
        return s.Properties(tuple(found))

    def _property(self) -> tuple[Name, s.Value]:
        is_string = self.current.token_type is TokenType.STRING
        name = self._quoted("a property") if is_string else self.name("the name of a property")
        self.symbol("=")
        return name, self._literal()

    def _literal(self) -> s.Value:
        if self.current.token_type is TokenType.STRING:
            return self.string("a value")
        for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.at(word, advance=True):
                return value
        negative = self.match(TokenType.DASH)
        if self.current.token_type is not TokenType.NUMBER:
            self.fail("a number" if negative else "a value: a string in quotes, a number, TRUE, FALSE or NULL")
        if len(self.current.text) > _LONGEST_NUMBER:
            self.fail("a shorter number")
        self.advance()
        text = ("-" if negative else "") + self.previous.text
        if "E" in text.upper():
            return float(text)
        return Decimal(text) if "." in text else int(text)

    def _create_type(self) -> s.Statement:
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name("the name of a type")
        self.word("AS")
        kind = from_sqlglot(self.data_type())
        return s.CreateType(origin=self.origin, name=name, type=kind, if_not_exists=if_not_exists)

    def _create_connector(self, kind: s.ConnectorKind) -> s.Statement:
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name("the name of a connector")
        self.word("WITH")
        return s.CreateConnector(
            origin=self.origin, kind=kind, name=name, properties=self._properties(), if_not_exists=if_not_exists
        )

    def _alter(self) -> s.Statement:
        if self.accept("SYSTEM"):
            name, value = self._assignment()
            return s.AlterSystem(origin=self.origin, name=name, value=value)
        kind = s.SourceKind(self.word("STREAM", "TABLE"))
        name = self.name(f"a {kind.value.lower()}")
        return s.AlterSource(origin=self.origin, kind=kind, name=name, added=tuple(self.listed(self._added)))

    def _added(self) -> s.AddedColumn:
        self.word("ADD")
        self.accept("COLUMN")
        return s.AddedColumn(name=self.name("the name of a column"), type=from_sqlglot(self.data_type()))

    def _drop(self) -> s.Statement:
        what = self.word("STREAM", "TABLE", "TYPE", "CONNECTOR")
        if_exists = self.accept("IF", "EXISTS")
        name = self.name(f"the name of a {what.lower()}")
        if what == "TYPE":
            return s.DropType(origin=self.origin, name=name, if_exists=if_exists)
        if what == "CONNECTOR":
            return s.DropConnector(origin=self.origin, name=name, if_exists=if_exists)
        delete = self.accept("DELETE", "TOPIC")
        kind = s.SourceKind(what)
        return s.DropSource(origin=self.origin, kind=kind, name=name, if_exists=if_exists, delete_topic=delete)

    def _insert(self) -> s.Statement:
        self.word("INTO")
        name = self.name("a stream or table")
        if self.accept("SELECT"):
            return s.InsertIntoSelect(origin=self.origin, name=name, query=self.query())
        if self.accept("WITH"):
            properties = self._properties()
            self.word("SELECT")
            return s.InsertIntoSelect(origin=self.origin, name=name, query=self.query(), properties=properties)
        columns: list[Name] = []
        if self.accept_symbol("("):
            columns = self.listed(lambda: self.name("the name of a column"))
            self.symbol(")")
        self.word("VALUES")
        self.symbol("(")
        start = self.current
        values = self.listed(self.condition)
        if columns and len(values) != len(columns):
            message = f"there are {len(columns)} columns and {len(values)} values"
            raise SqlError(message, self.span(start, self.previous))
        self.symbol(")")
        return s.InsertValues(origin=self.origin, name=name, columns=tuple(columns), values=tuple(values))

    # What there is, and what runs.

    def _show(self) -> s.Statement:
        first = self.word(*dict.fromkeys(each.value.split()[0] for each in s.Shown))
        what = s.Shown(first) if first in {each.value for each in s.Shown} else None
        if what is None:
            rest = [each.value.split()[1] for each in s.Shown if each.value.startswith(f"{first} ")]
            what = s.Shown(f"{first} {self.word(*rest)}")
        extendable = (s.Shown.STREAMS, s.Shown.TABLES, s.Shown.TOPICS, s.Shown.ALL_TOPICS, s.Shown.QUERIES)
        return s.Show(origin=self.origin, what=what, extended=what in extendable and self.accept("EXTENDED"))

    def _describe(self) -> s.Statement:
        if self.at("FUNCTION", "CONNECTOR") and self.following.text.upper() not in ("", "EXTENDED"):
            is_function = self.word("FUNCTION", "CONNECTOR") == "FUNCTION"
            name = self.name("the name of a function" if is_function else "the name of a connector")
            kind = s.DescribeFunction if is_function else s.DescribeConnector
            return kind(origin=self.origin, name=name)
        if self.accept("STREAMS"):
            return s.DescribeStreams(origin=self.origin, extended=self.accept("EXTENDED"))
        if self.accept("TABLES"):
            return s.DescribeTables(origin=self.origin, extended=self.accept("EXTENDED"))
        name = self.name("a stream or table")
        return s.Describe(origin=self.origin, name=name, extended=self.accept("EXTENDED"))

    def _print(self) -> s.Statement:
        is_string = self.current.token_type is TokenType.STRING
        topic = self._quoted("a topic") if is_string else self._topic()
        from_beginning = self.accept("FROM", "BEGINNING")
        interval = self.integer("a number", lowest=1) if self.accept("INTERVAL") or self.accept("SAMPLE") else None
        limit = self.integer("a number of records") if self.accept("LIMIT") else None
        return s.Print(origin=self.origin, topic=topic, from_beginning=from_beginning, interval=interval, limit=limit)

    def _explain(self) -> s.Statement:
        if self.at("SELECT", "CREATE", "INSERT"):
            return s.Explain(origin=self.origin, statement=self.statement())
        return s.Explain(origin=self.origin, query_id=self.name("SELECT, CREATE, INSERT or the id of a query"))

    def _control(self) -> s.Statement:
        action = s.QueryAction(self.previous.text.upper())
        query_id = None if self.accept("ALL") else self.name("the id of a query")
        return s.ControlQuery(origin=self.origin, action=action, query_id=query_id)

    # The session.

    def _set(self) -> s.Statement:
        name, value = self._assignment()
        return s.SetProperty(origin=self.origin, name=name, value=value)

    def _unset(self) -> s.Statement:
        return s.UnsetProperty(origin=self.origin, name=self._quoted("the name of a property, in quotes"))

    def _assignment(self) -> tuple[Name, str]:
        name = self._quoted("the name of a property, in quotes")
        self.symbol("=")
        return name, self.string("a value, in quotes")

    def _define(self) -> s.Statement:
        name = self._variable()
        self.symbol("=")
        return s.Define(origin=self.origin, name=name, value=self.string("a value, in quotes"))

    def _undefine(self) -> s.Statement:
        return s.Undefine(origin=self.origin, name=self._variable())

    def _run_script(self) -> s.Statement:
        self.word("SCRIPT")
        return s.RunScript(origin=self.origin, path=self._quoted("a file, in quotes"))

    def _quoted(self, what: str) -> Name:
        token = self.current
        return Name(self.string(what), self.span(token))

    def _topic(self) -> Name:
        """Its case matters, quoted or not."""
        token = self.current
        self.identifier("a topic")
        return Name(token.text, self.span(token))

    def _variable(self) -> Name:
        """Any word, as `${topic}` is no name of the language."""
        token = self.current
        if not self.is_word():
            self.fail("the name of a variable")
        self.advance()
        return Name(token.text, self.span(token))
