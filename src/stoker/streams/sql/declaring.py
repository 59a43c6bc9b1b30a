"""CREATE STREAM and CREATE TABLE over a topic: what they say is held against what the registry knows of it."""

from stoker.streams.sql.catalogue import REGISTERED, Catalogue, Column, Source, choices
from stoker.streams.sql.conversion import field_named, fits, in_upper_case
from stoker.streams.sql.errors import SqlError, alternatives
from stoker.streams.sql.keys import IN_KAFKA_FORMAT
from stoker.streams.sql.properties import Checked
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import ColumnDefinition, ColumnRole, CreateSource, SourceKind
from stoker.streams.sql.topics import Registered, Topics
from stoker.streams.sql.types import BIGINT, BYTES, STRING, TIMESTAMP, Array, Field, SqlType, Struct, resolved

_HEADERS = Array(Struct((Field("KEY", STRING), Field("VALUE", BYTES))))


def declared(statement: CreateSource, catalogue: Catalogue, topics: Topics, *, makes_topic: bool = True) -> Source:
    """The stream or table that a statement declares. Raises SqlError, where, and what the choices are.

    A topic that is not there is made if PARTITIONS says of how many; a schema that the registry has not is registered.
    """
    return _Declaration(statement, catalogue, topics, makes_topic).source()


class _Declaration:
    def __init__(self, statement: CreateSource, catalogue: Catalogue, topics: Topics, makes_topic: bool) -> None:
        self._statement = statement
        self._types = catalogue.types
        self._topics = topics
        self._makes_topic = makes_topic
        self._properties = Checked(statement.properties, is_query=False)
        self._topic = self._properties.text("KAFKA_TOPIC") or str(statement.name)

    def source(self) -> Source:
        statement, properties = self._statement, self._properties
        value_format = self._value_format()
        key_format = properties.key_format() or "KAFKA"
        if value_format in REGISTERED and not self._topics.has_registry:
            raise SqlError(
                f"{value_format} needs a schema registry, and there is none", self._format_at("VALUE_FORMAT")
            )
        self._topic_is_there()
        known = self._registered("value", value_format)
        columns = [*self._keys(key_format), *self._values(value_format, known), *self._headers()]
        if statement.kind is SourceKind.TABLE and not any(each.is_key for each in columns):
            raise SqlError(
                f"table {statement.name} needs a PRIMARY KEY: the column that is the key of the records, such as (id VARCHAR PRIMARY KEY)",
                statement.name,
            )
        _refuse_twice(columns, statement.name)
        if not any(each.role is ColumnRole.VALUE for each in columns):
            raise SqlError(f"{statement.name} has no columns in its values: name them", statement.name)
        source = Source(
            kind=statement.kind,
            name=str(statement.name),
            columns=tuple(columns),
            topic=self._topic,
            key_format=key_format,
            value_format=value_format,
            delimiter=properties.delimiter(),
            timestamp=self._timestamp(columns),
            window=properties.window(),
            is_registered=known is not None,
            is_wrapped=properties.truth("WRAP_SINGLE_VALUE", True),
            is_source=statement.is_source,
            text=statement.text,
        )
        self._check_single(source)
        if known is None and value_format in REGISTERED and self._makes_topic:
            kind = Struct(tuple(Field(each.spelling, each.stored) for each in source.values))
            self._topics.register(self._topic, "value", value_format, kind)
        return source

    def _value_format(self) -> str:
        given = self._properties.value_format()
        if given is not None:
            return given
        found = self._topics.registered(self._topic, "value")
        if found is None:
            raise SqlError(
                f"how are the values of topic {self._topic} written? VALUE_FORMAT='...' says it, or a schema in the registry",
                self._statement.name,
            )
        return "JSON_SR" if found.format == "JSON" else found.format

    def _format_at(self, name: str) -> Name | None:
        return self._properties.at(name) or self._properties.at("FORMAT") or self._statement.name

    def _topic_is_there(self) -> None:
        count = self._properties.number("PARTITIONS")
        replicas = self._properties.number("REPLICAS")
        if not self._makes_topic:
            return
        if count is not None and self._topics.partitions(self._topic) is None:
            self._topics.create(self._topic, count, replicas, self._properties.topic_configs())

    def _registered(self, side: str, form: str) -> Registered | None:
        """The registry's schema, which must be of the format that was given."""
        if form not in (*REGISTERED, "JSON"):
            return None
        found = self._topics.registered(self._topic, side)
        if found is not None and found.format != form.removesuffix("_SR"):
            if form == "JSON":
                return None
            raise SqlError(
                f"{side}s of topic {self._topic} are {found.format}, says the registry ({found.subject}), not {form}: "
                f"{side.upper()}_FORMAT='{found.format}'",
                self._format_at(f"{side.upper()}_FORMAT"),
            )
        return found

    # -- values

    def _values(self, form: str, known: Registered | None) -> list[Column]:
        given = [each for each in self._statement.columns if each.role is ColumnRole.VALUE]
        if known is not None and not isinstance(known.type, Struct):
            raise SqlError(
                f"values of topic {self._topic} are {known.type}, no records with fields ({known.subject})",
                self._statement.name,
            )
        if not given:
            return self._all_of(known)
        if known is not None:
            assert isinstance(known.type, Struct)
            return [self._checked(each, known, known.type) for each in given]
        spelled = {each.upper(): each for each in self._topics.spellings(self._topic)} if form == "JSON" else {}
        made = []
        for each in given:
            kind = resolved(each.type, self._types)
            spelling = (
                str(each.name) if each.name in spelled.values() else spelled.get(each.name.upper(), str(each.name))
            )
            made.append(Column(name=str(each.name), type=kind, spelling=spelling, stored=kind))
        return made

    def _all_of(self, known: Registered | None) -> list[Column]:
        if known is None:
            has = "has no schema of" if self._topics.has_registry else "is not there, which would know"
            raise SqlError(
                f"{self._statement.name} has no columns, and a registry {has} topic {self._topic}: name the columns",
                self._statement.name,
            )
        assert isinstance(known.type, Struct)
        return [
            Column(name=each.name.upper(), type=in_upper_case(each.type), spelling=each.name, stored=each.type)
            for each in known.type.fields
        ]

    def _checked(self, given: ColumnDefinition, known: Registered, record: Struct) -> Column:
        found = field_named(record, given.name)
        if found is None:
            names = [each.name for each in record.fields]
            raise SqlError(
                f"the values of topic {self._topic} have no field {given.name} ({known.subject}): "
                f"{choices(given.name.lower(), names, 'leave the columns out to take all that there are')}",
                given.name,
            )
        kind = resolved(given.type, self._types)
        if not fits(found.type, kind):
            fit = str(in_upper_case(found.type))
            raise SqlError(
                f"column {given.name} is {fit} in the registry ({known.subject}, field {found.name}), not {kind}: declare it as "
                f"{fit}, or leave the columns out to take them from the registry",
                given.name,
            )
        return Column(name=str(given.name), type=kind, spelling=found.name, stored=found.type)

    def _check_single(self, source: Source) -> None:
        if source.value_format == "KAFKA" and (len(source.values) != 1 or source.values[0].type not in IN_KAFKA_FORMAT):
            kinds = alternatives([str(each) for each in IN_KAFKA_FORMAT])
            raise SqlError(f"a value in KAFKA's format is one column: {kinds}", self._format_at("VALUE_FORMAT"))

    # -- keys and headers

    def _keys(self, form: str) -> list[Column]:
        given = [each for each in self._statement.columns if each.role in (ColumnRole.KEY, ColumnRole.PRIMARY_KEY)]
        role = ColumnRole.PRIMARY_KEY if self._statement.kind is SourceKind.TABLE else ColumnRole.KEY
        if given and form == "NONE":
            raise SqlError("with KEY_FORMAT='NONE' there are no keys", given[0].name)
        if form in ("AVRO", "PROTOBUF"):
            return self._registered_keys(given, form, role)
        if form == "KAFKA" and len(given) > 1:
            raise SqlError("a key in KAFKA's format is one column: KEY_FORMAT='JSON' has several", given[1].name)
        made = []
        for each in given:
            kind = resolved(each.type, self._types)
            if form == "KAFKA" and kind not in IN_KAFKA_FORMAT:
                kinds = alternatives([str(known) for known in IN_KAFKA_FORMAT])
                raise SqlError(
                    f"a key in KAFKA's format is {kinds}, not {kind}: KEY_FORMAT='JSON' has all types", each.name
                )
            made.append(Column(name=str(each.name), type=kind, role=role, spelling=str(each.name), stored=kind))
        return made

    def _registered_keys(self, given: list[ColumnDefinition], form: str, role: ColumnRole) -> list[Column]:
        known = self._registered("key", form)
        if known is None:
            raise SqlError(
                f"KEY_FORMAT='{form}' needs a schema of {self._topic}-key in a registry", self._format_at("KEY_FORMAT")
            )
        if not isinstance(known.type, Struct):
            if len(given) > 1 or (given and not fits(known.type, resolved(given[0].type, self._types))):
                raise SqlError(f"keys of topic {self._topic} are {known.type} ({known.subject})", given[-1].name)
            name = str(given[0].name) if given else "ROWKEY"
            kind = resolved(given[0].type, self._types) if given else known.type
            return [Column(name=name, type=kind, role=role, spelling="", stored=known.type)]
        if not given:
            return [
                Column(
                    name=each.name.upper(),
                    type=in_upper_case(each.type),
                    role=role,
                    spelling=each.name,
                    stored=each.type,
                )
                for each in known.type.fields
            ]
        checked = [self._checked(each, known, known.type) for each in given]
        return [
            Column(name=each.name, type=each.type, role=role, spelling=each.spelling, stored=each.stored)
            for each in checked
        ]

    def _headers(self) -> list[Column]:
        made = []
        for each in self._statement.columns:
            if each.role not in (ColumnRole.HEADERS, ColumnRole.HEADER):
                continue
            wanted: SqlType = _HEADERS if each.role is ColumnRole.HEADERS else BYTES
            if resolved(each.type, self._types) != wanted:
                raise SqlError(f"{each.role.value} of a record are {wanted}, not {each.type}", each.name)
            name = str(each.name)
            made.append(
                Column(name=name, type=wanted, role=each.role, spelling=name, stored=wanted, header=each.header)
            )
        return made

    def _timestamp(self, columns: list[Column]) -> str | None:
        given = self._properties.text("TIMESTAMP")
        if given is None:
            return None
        name = given.strip("`") if given.startswith("`") else given.upper()
        values = {each.name: each for each in columns if each.role is ColumnRole.VALUE}
        if name not in values:
            hint = choices(name, values, "it must be a column of the value")
            raise SqlError(f"TIMESTAMP={given!r} is no column: {hint}", self._properties.at("TIMESTAMP"))
        if values[name].stored not in (BIGINT, TIMESTAMP):
            raise SqlError(
                f"column {name} is {values[name].stored}: an event time is BIGINT (milliseconds) or TIMESTAMP",
                self._properties.at("TIMESTAMP"),
            )
        return name


def _refuse_twice(columns: list[Column], at: Name) -> None:
    names = [each.name for each in columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SqlError(f"{at} would have two columns {twice[0]}", at)
