"""How Kafka messages are declared: one class a structure, one line a field, with the versions that carry it.

    class MetadataRequestTopic(Struct):
        topic_id: UUID = uuid("10+")
        name: str | None = string("0+", nullable="10+")

    class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
        topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, "0+", nullable="1+")
        allow_auto_topic_creation: bool = boolean("4+", default=True)

Version ranges are written as in Kafka's own definitions: "3" is one version, "3-5" is closed, "3+" has no end.
Declaring costs next to nothing: constructors, encoders and decoders are compiled on first use (see compiler.py), because
a broker that starts in a fraction of a second must not compile sixty APIs of which its clients use ten.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self, dataclass_transform
from uuid import UUID

from stoker.errors import UnencodableMessage

ZERO_UUID = UUID(int=0)
"""Kafka's way to say that a uuid is absent."""

Buffer = bytes | bytearray | memoryview
Versions = tuple[int, int]

_NEVER: Versions = (0, -1)
_UNBOUNDED = 32767
_parsed_versions: dict[str, Versions] = {"": _NEVER}


def parse_versions(text: str) -> Versions:
    """First and last version of a range such as "3", "3-5" or "3+"; the empty text is the empty range."""
    versions = _parsed_versions.get(text)
    if versions is None:
        first, dash, last = text.removesuffix("+").partition("-")
        if text.endswith("+"):
            versions = (int(first), _UNBOUNDED)
        else:
            versions = (int(first), int(last) if dash else int(first))
        _parsed_versions[text] = versions
    return versions


class Field:
    """One declared field. `kind` is Kafka's name of the type; `element` belongs to arrays, `struct` to structures."""

    __slots__ = ("default", "element", "ignorable", "kind", "name", "nullable", "struct", "tag", "versions")

    def __init__(
        self,
        kind: str,
        versions: str,
        default: Any,
        nullable: str = "",
        tag: int | None = None,
        ignorable: bool = True,
        element: str = "",
        struct: "type[Struct] | None" = None,
    ) -> None:
        self.name = ""
        self.kind = kind
        self.versions = _parsed_versions.get(versions) or parse_versions(versions)
        self.default = default
        self.nullable = _parsed_versions.get(nullable) or parse_versions(nullable)
        self.tag = tag
        self.ignorable = ignorable
        self.element = element
        self.struct = struct

    def exists_in(self, version: int) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def is_nullable_in(self, version: int) -> bool:
        return self.nullable[0] <= version <= self.nullable[1]

    def __repr__(self) -> str:
        return f"<{self.kind} field {self.name}>"


# Each of the following declares a field. They claim to return Any so that the annotation beside them is what type
# checkers believe; the metaclass takes the Field away before anyone could meet it.


def boolean(versions: str, *, default: bool = False, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("bool", versions, default, "", tag, ignorable)


def int8(versions: str, *, default: int = 0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("int8", versions, default, "", tag, ignorable)


def int16(versions: str, *, default: int = 0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("int16", versions, default, "", tag, ignorable)


def uint16(versions: str, *, default: int = 0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("uint16", versions, default, "", tag, ignorable)


def int32(versions: str, *, default: int = 0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("int32", versions, default, "", tag, ignorable)


def int64(versions: str, *, default: int = 0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("int64", versions, default, "", tag, ignorable)


def float64(versions: str, *, default: float = 0.0, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("float64", versions, default, "", tag, ignorable)


def uuid(versions: str, *, tag: int | None = None, ignorable: bool = True) -> Any:
    return Field("uuid", versions, ZERO_UUID, "", tag, ignorable)


def string(
    versions: str, *, nullable: str = "", default: str | None = "", tag: int | None = None, ignorable: bool = True
) -> Any:
    return Field("string", versions, default, nullable, tag, ignorable)


def blob(
    versions: str, *, nullable: str = "", default: bytes | None = b"", tag: int | None = None, ignorable: bool = True
) -> Any:
    """Kafka's `bytes`; decoding copies them out of the buffer."""
    return Field("bytes", versions, default, nullable, tag, ignorable)


def record_batches(versions: str, *, nullable: str = "", tag: int | None = None, ignorable: bool = True) -> Any:
    """Record batches. Decoding gives a memoryview into the buffer that was decoded, without copying."""
    return Field("records", versions, None, nullable, tag, ignorable)


def nested(
    struct: "type[Struct]",
    versions: str,
    *,
    nullable: str = "",
    default: tuple[()] | None = (),
    tag: int | None = None,
    ignorable: bool = True,
) -> Any:
    """One structure; unless its default is None it is made of the defaults of its fields."""
    return Field("struct", versions, default, nullable, tag, ignorable, "", struct)


def array(
    element: "type[Struct] | Callable[..., Any]",
    versions: str,
    *,
    nullable: str = "",
    default: tuple[()] | None = (),
    tag: int | None = None,
    ignorable: bool = True,
) -> Any:
    """An array of structures, or of what one of the declarations above stands for: `array(int32, "0+")`."""
    if isinstance(element, type):
        return Field("array", versions, default, nullable, tag, ignorable, "struct", element)
    return Field("array", versions, default, nullable, tag, ignorable, element.__name__)


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """Moves the declared fields out of the class body into `FIELDS`, and makes slots of their names."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> "StructMeta":
        fields = []
        for key, value in namespace.items():
            if value.__class__ is Field:
                value.name = key
                fields.append(value)
        for field in fields:
            del namespace[field.name]
        namespace["FIELDS"] = tuple(fields)
        namespace["__slots__"] = tuple([field.name for field in fields])
        return super().__new__(mcs, name, bases, namespace, **options)


class Struct(metaclass=StructMeta):
    """A structure inside a message: keyword-only constructor, every field optional, equality by value."""

    FIELDS: ClassVar[tuple[Field, ...]]

    def __init__(self, **values: Any) -> None:
        # Replaced, on the first construction of each class, by a constructor written for exactly its fields.
        from stoker.wire.compiler import compile_constructor

        cls = type(self)
        constructor = compile_constructor(cls)
        cls.__init__ = constructor  # type: ignore[method-assign]
        constructor(self, **values)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.FIELDS)
        return f"{type(self).__name__}({values})"


Decoder = Callable[[Buffer, int], Any]
Encoder = Callable[[Any, bytearray], None]


class _Decoders(dict[int, Decoder]):
    def __init__(self, message: "type[Message]") -> None:
        self.message = message

    def __missing__(self, version: int) -> Decoder:
        # Imported here because a process that only imports messages should not pay for the compiler.
        from stoker.wire.compiler import compile_decoder

        check_version(self.message, version)
        decoder = self[version] = compile_decoder(self.message, version)
        return decoder


class _Encoders(dict[int, Encoder]):
    def __init__(self, message: "type[Message]") -> None:
        self.message = message

    def __missing__(self, version: int) -> Encoder:
        from stoker.wire.compiler import compile_encoder

        check_version(self.message, version)
        encoder = self[version] = compile_encoder(self.message, version)
        return encoder


class Message(Struct):
    """A structure that travels alone, in one of a range of versions."""

    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FIRST_FLEXIBLE_VERSION: ClassVar[int]
    """The first version with compact lengths and tagged fields (KIP-482); above MAX_VERSION if there is none."""
    DECODERS: ClassVar[dict[int, Decoder]]
    ENCODERS: ClassVar[dict[int, Encoder]]

    def __init_subclass__(cls, *, versions: str = "", flexible: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if versions:
            cls.MIN_VERSION, cls.MAX_VERSION = parse_versions(versions)
            cls.FIRST_FLEXIBLE_VERSION = parse_versions(flexible)[0] if flexible else _UNBOUNDED
            cls.DECODERS = _Decoders(cls)
            cls.ENCODERS = _Encoders(cls)

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        return version >= cls.FIRST_FLEXIBLE_VERSION

    @classmethod
    def decode(cls, view: Buffer, position: int, version: int) -> Self:
        """The message that starts at `position`; bytes after its end are tolerated, as Kafka tolerates them.

        Whatever the bytes are, the only exception is MalformedMessage, and memory stays in proportion to their number:
        each length and count is checked against what is left before anything is made. Unknown tagged fields are skipped.
        """
        decoded: Self = cls.DECODERS[version](view, position)
        return decoded

    def encode(self, version: int) -> bytes:
        """The bytes of this message. Raises UnencodableMessage if a value does not fit its field or the version."""
        out = bytearray()
        self.ENCODERS[version](self, out)
        return bytes(out)

    def encode_into(self, out: bytearray, version: int) -> None:
        """Appends what `encode` would return: a header already in `out` needs no second copy."""
        self.ENCODERS[version](self, out)


class Request(Message):
    """What a client sends."""

    API_KEY: ClassVar[int]

    def __init_subclass__(cls, *, key: int, versions: str, flexible: str = "") -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.API_KEY = key


class Response(Message):
    """What a broker answers."""

    API_KEY: ClassVar[int]

    def __init_subclass__(cls, *, key: int, versions: str, flexible: str = "") -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.API_KEY = key


def check_version(message: type[Message], version: int) -> None:
    """Refuses a version that the message does not have."""
    if not message.MIN_VERSION <= version <= message.MAX_VERSION:
        versions = f"{message.MIN_VERSION}-{message.MAX_VERSION}"
        raise UnencodableMessage(f"{message.__name__} has versions {versions}, not {version}")
