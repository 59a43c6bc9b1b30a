"""What the registry refuses, with the HTTP status and the code that Confluent's has for it.

StokerError
├── InvalidSchema           formats/schema.py: a text that is no schema of its kind
├── MalformedRecord         records.py: a record of the topic that no registry wrote
├── UsersFileUnusable       http/authentication.py: a file of users that is none
└── RegistryError
    ├── NotFound            404: a subject, version, schema, config or mode that is not there
    ├── Incompatible        409: a schema that the subject's level forbids
    ├── Unprocessable       422: a request that can be read and not be done
    ├── Refusal             http/refusals.py: what HTTP itself forbids
    └── Unavailable         500 and 503: the log cannot be reached, or nobody may write now
"""

from collections.abc import Sequence
from http import HTTPStatus

from stoker.errors import StokerError


class RegistryError(StokerError):
    """`code` is what stands in the answer's `error_code`."""

    status: HTTPStatus

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotFound(RegistryError):
    status = HTTPStatus.NOT_FOUND


class Incompatible(RegistryError):
    status = HTTPStatus.CONFLICT


class Unprocessable(RegistryError):
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class Unavailable(RegistryError):
    status = HTTPStatus.INTERNAL_SERVER_ERROR


def subject_not_found(subject: str) -> NotFound:
    return NotFound(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int | str) -> NotFound:
    return NotFound(40402, f"Version {version} not found.")


def schema_not_found(schema: int | str | None = None) -> NotFound:
    """By its id or guid, if it was asked for by that."""
    return NotFound(40403, "Schema not found" if schema is None else f"Schema {schema} not found")


def subject_soft_deleted(subject: str) -> NotFound:
    return NotFound(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> NotFound:
    return NotFound(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> NotFound:
    return NotFound(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> NotFound:
    return NotFound(
        40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    )


def config_not_found(subject: str) -> NotFound:
    return NotFound(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_found(subject: str) -> NotFound:
    return NotFound(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, reasons: Sequence[str]) -> Incompatible:
    details = ", ".join(reasons)
    return Incompatible(
        409,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: [{details}]',
    )


def invalid_schema(reason: str) -> Unprocessable:
    return Unprocessable(42201, reason)


def invalid_version(version: str) -> Unprocessable:
    return Unprocessable(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the "
        'string "latest"',
    )


def invalid_level(level: str) -> Unprocessable:
    return Unprocessable(
        42203,
        f"Invalid compatibility level '{level}'. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive",
    )


INVALID_MODE = 42204


def invalid_mode(mode: str) -> Unprocessable:
    return Unprocessable(
        INVALID_MODE,
        f"Invalid mode '{mode}'. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, and FORWARD",
    )


def not_permitted(reason: str) -> Unprocessable:
    return Unprocessable(42205, reason)


def reference_exists(subject: str, version: int) -> Unprocessable:
    return Unprocessable(
        42206,
        f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={subject},version={version}}}.",
    )


def read_only(subject: str, context: str) -> Unprocessable:
    return not_permitted(f"Subject {subject} in context {context} is in read-only mode")


def id_is_taken(schema_id: int, context: str) -> Unprocessable:
    """An imported schema brings an id that another one has."""
    return not_permitted(f"Overwrite new schema with id {schema_id} in context {context} is not permitted.")


def invalid_subject(subject: str) -> Unprocessable:
    return Unprocessable(42208, f"The specified subject '{subject}' is not a valid.")


def invalid_rule_set(reason: str) -> Unprocessable:
    return Unprocessable(42210, reason)


def context_not_empty(context: str) -> Unprocessable:
    return Unprocessable(42211, f"The specified context '{context}' is not empty.")
