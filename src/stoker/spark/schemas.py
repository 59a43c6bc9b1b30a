"""The schemas of a registry, as the engine room needs them: kept once they are known, and asked for until it answers."""

import atexit
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from stoker.registry.client import (
    LATEST,
    SCHEMA_NOT_FOUND,
    SUBJECT_NOT_FOUND,
    VERSION_NOT_FOUND,
    InvalidRegistryUrl,
    NotARegistry,
    RegistryClient,
    RegistryClientError,
    RegistryRefused,
    RegistryUnreachable,
    request_of,
    type_of,
)
from stoker.registry.entities import Json
from stoker.spark.errors import InvalidOption, RegistryFailed, SchemaNotFound

URL_OPTION: Final = "schema.registry.url"
USER_OPTIONS: Final = ("schema.registry.basic.auth.user.info", "basic.auth.user.info")
TIMEOUT_OPTION: Final = "schema.registry.timeout.ms"
DEFAULT_TIMEOUT_MS: Final = 60_000

_ANSWER_SECONDS: Final = 10.0
"""For one request: a registry that is there answers in milliseconds."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_TRIES_OF_WHAT_IS_NONE: Final = 3
"""... that hangs up without an answer: a registry that is being stopped does, and so does what is no registry."""
_MISSING_SECONDS: Final = 5.0
"""For which an id that is not there is not asked for again."""
_MOST_MISSING: Final = 10_000
_NOT_FOUND: Final = (SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, SCHEMA_NOT_FOUND)
_UNAUTHORIZED: Final = (401, 403)
_TOO_MANY_REQUESTS: Final = 429

_Answer = TypeVar("_Answer")


class RegisteredSchema(NamedTuple):
    """`type` is AVRO, JSON or PROTOBUF."""

    id: int
    type: str
    text: str
    dependencies: Mapping[str, str]
    """The texts it refers to, by name; each comes after those it needs itself."""


class RegistryAccess(NamedTuple):
    """Which registry to ask, and as whom. It can be sent to where it is used."""

    urls: tuple[str, ...]
    """Of one registry: the next is asked when one does not answer."""
    user: str | None = None
    """`name:password`; one in a URL counts too."""
    timeout_seconds: float = DEFAULT_TIMEOUT_MS / 1000

    def __repr__(self) -> str:
        """Without passwords: plans and errors show it."""
        return f"RegistryAccess({', '.join(url.rpartition('@')[2] for url in self.urls)})"


def registry_access(options: Mapping[str, str]) -> RegistryAccess | None:
    """What the options say, whose names are in lower case; None if they name no registry. Raises InvalidOption."""
    urls = tuple(url.strip() for url in options.get(URL_OPTION, "").split(",") if url.strip())
    if not urls:
        return None
    text = options.get(TIMEOUT_OPTION, str(DEFAULT_TIMEOUT_MS))
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InvalidOption(f"{TIMEOUT_OPTION} is {text!r}: it takes a number of milliseconds, such as 60000")
    user = next((options[name] for name in USER_OPTIONS if options.get(name)), None)
    access = RegistryAccess(urls, user, int(text) / 1000)
    try:
        for url in urls:
            RegistryClient(url, user=user).close()
    except InvalidRegistryUrl as problem:
        raise InvalidOption(f"{URL_OPTION} or {USER_OPTIONS[0]}: {problem}") from problem
    return access


class SchemaSource:
    """The schemas of one registry. For any thread of one process; `schema_source` gives each process its own.

    Every method raises RegistryFailed when the registry cannot be asked for as long as the access says.
    """

    def __init__(
        self,
        access: RegistryAccess,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._access = access
        self._clock = clock
        self._sleep = sleep
        self._clients = [RegistryClient(url, user=access.user, timeout=_ANSWER_SECONDS) for url in access.urls]
        self._current = 0
        self._known: dict[int, RegisteredSchema] = {}
        self._missing: dict[int, float] = {}

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def by_id(self, schema_id: int) -> RegisteredSchema:
        """Raises SchemaNotFound. What an id stands for never changes, so each is asked for once."""
        known = self._known.get(schema_id)
        if known is not None:
            return known
        if self._missing.get(schema_id, -_MISSING_SECONDS) > self._clock() - _MISSING_SECONDS:
            raise self._not_found(f"schema {schema_id}")
        try:
            found = self._ask(
                f"schema {schema_id}", lambda client: _registered(client, client.schema(schema_id), schema_id)
            )
        except SchemaNotFound:
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[schema_id] = self._clock()
            raise
        self._known[schema_id] = found
        return found

    def version(self, subject: str, version: int | str = LATEST) -> RegisteredSchema:
        """Raises SchemaNotFound."""
        return self._ask(
            f"version {version} of subject {subject!r}",
            lambda client: _registered(client, client.version(subject, version)),
        )

    def register(
        self, subject: str, schema_type: str, text: str, *, like: RegisteredSchema | None = None
    ) -> RegisteredSchema:
        """The schema under the id it has from now on, or had; it refers to what the latest one refers to if it is `like` it.

        Raises RegistryFailed also if the subject refuses it.
        """
        request = request_of(schema_type, text)

        def ask(client: RegistryClient) -> int:
            if like is not None and like.dependencies:
                request["references"] = client.version(subject)["references"]
            return int(client.register(subject, request)["id"])

        schema_id = self._ask(f"registering a schema under {subject!r}", ask)
        return RegisteredSchema(schema_id, schema_type, text, {} if like is None else like.dependencies)

    def _ask(self, what: str, question: Callable[[RegistryClient], _Answer]) -> _Answer:
        """Asked again, and the next URL, while nobody answers; what is refused is refused at once."""
        deadline = self._clock() + self._access.timeout_seconds
        pause = _FIRST_PAUSE
        hung_up = 0
        while True:
            client = self._clients[self._current % len(self._clients)]
            try:
                return question(client)
            except (RegistryUnreachable, NotARegistry, RegistryRefused) as error:
                problem: RegistryClientError = error
            except RegistryClientError as error:
                raise RegistryFailed(f"{what}: {error}") from error
            except (KeyError, TypeError, ValueError) as error:
                raise RegistryFailed(f"{what}: the registry {client.url} leaves out {error}") from error
            hung_up += isinstance(problem, NotARegistry) and problem.status is None
            if isinstance(problem, RegistryRefused) and problem.code in _NOT_FOUND:
                raise self._not_found(what) from problem
            if not _is_passing(problem) or hung_up >= _TRIES_OF_WHAT_IS_NONE * len(self._clients):
                raise RegistryFailed(f"{what}: {problem}{_advice(problem)}") from problem
            self._current += 1
            if self._clock() + pause > deadline:
                waited = f"{self._access.timeout_seconds:g} seconds"
                raise RegistryFailed(f"{what}: {problem}, even after {waited} ({TIMEOUT_OPTION})") from problem
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _not_found(self, what: str) -> SchemaNotFound:
        return SchemaNotFound(f"the registry {self._clients[0].url} has no {what}")


def _registered(client: RegistryClient, schema: Json, schema_id: int | None = None) -> RegisteredSchema:
    dependencies = client.dependencies(schema.get("references") or [])
    number = int(schema["id"]) if schema_id is None else schema_id
    return RegisteredSchema(number, type_of(schema), str(schema["schema"]), dependencies)


def _is_passing(problem: RegistryClientError) -> bool:
    """Whether it may be better in a moment."""
    if isinstance(problem, RegistryRefused):
        return problem.status >= 500 or problem.status == _TOO_MANY_REQUESTS
    if isinstance(problem, NotARegistry):
        return problem.status is None or problem.status >= 500
    return True


def _advice(problem: RegistryClientError) -> str:
    if isinstance(problem, RegistryRefused) and problem.status in _UNAUTHORIZED:
        return f". {USER_OPTIONS[0]}=name:password says who asks."
    if isinstance(problem, NotARegistry):
        return f". {URL_OPTION} is the address of a registry, such as http://localhost:8081."
    return ""


_sources: dict[tuple[int, RegistryAccess], SchemaSource] = {}
_lock = threading.Lock()


def schema_source(access: RegistryAccess) -> SchemaSource:
    """The one of this process: workers serve one task after another, and what one learned the next need not ask for."""
    key = (os.getpid(), access)  # a fork must not share the connections of its parent
    with _lock:
        source = _sources.get(key)
        if source is None:
            source = _sources[key] = SchemaSource(access)
            atexit.register(source.close)
        return source
