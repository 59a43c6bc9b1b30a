"""What queries may ask, and which part of a list they want."""

from collections.abc import Sequence
from typing import Final, TypeVar

from stoker.registry.http import refusals
from stoker.registry.http.call import Call
from stoker.registry.http.routing import Parameter

T = TypeVar("T")

NORMALIZE: Final = Parameter(name="normalize", kind="boolean", description="Compare and store the normalized form")
FORMAT: Final = Parameter(name="format", kind="string", description="Another form of the schema's text, by its type")
REFERENCE_FORMAT: Final = Parameter(
    name="referenceFormat", kind="string", description="`qualified`: references name their contexts"
)
DELETED: Final = Parameter(name="deleted", kind="boolean", description="Softly deleted ones too")
DELETED_ONLY: Final = Parameter(name="deletedOnly", kind="boolean", description="Softly deleted ones alone")
DELETED_AS_NEGATIVE: Final = Parameter(
    name="deletedAsNegative", kind="boolean", description="Softly deleted ones too, with a minus before the number"
)
PERMANENT: Final = Parameter(name="permanent", kind="boolean", description="For good, what was softly deleted before")
SUBJECT_PREFIX: Final = Parameter(
    name="subjectPrefix", kind="string", description="How the subject begins; `:*:` stands for any context"
)
CONTEXT_PREFIX: Final = Parameter(name="contextPrefix", kind="string", description="How the context begins")
SUBJECT: Final = Parameter(name="subject", kind="string", description="In whose context, and under which subject")
VERBOSE: Final = Parameter(name="verbose", kind="boolean", description="Say why not")
DEFAULT_TO_GLOBAL: Final = Parameter(
    name="defaultToGlobal", kind="boolean", description="What is in force, from wherever it comes"
)
FORCE: Final = Parameter(name="force", kind="boolean", description="Even if there are schemas")
RECURSIVE: Final = Parameter(name="recursive", kind="boolean", description="For the subjects of a context too")
OFFSET: Final = Parameter(name="offset", kind="integer", description="How many to leave out")
LIMIT: Final = Parameter(name="limit", kind="integer", description="How many at most; none, if it is not positive")
PAGE: Final = (OFFSET, LIMIT)

_NO_LIMIT: Final = 2**31 - 1


def page(call: Call, found: Sequence[T], *, most: int = _NO_LIMIT) -> Sequence[T]:
    """The part that `offset` and `limit` ask for; a limit that is not positive, or above `most`, is `most`."""
    offset = call.number("offset", 0)
    limit = call.number("limit", -1)
    if offset < 0:
        raise refusals.invalid_parameter(f"offset must not be negative, it is {offset}")
    return found[offset : offset + (limit if 0 < limit <= most else most)]
