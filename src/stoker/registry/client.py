"""A client of any registry with Confluent's REST API. It blocks, and knows nothing of ours.

StokerError
└── RegistryClientError
    ├── InvalidRegistryUrl      an address that is none
    ├── RegistryUnreachable     nobody answers there, or not in time
    ├── NotARegistry            what answers there speaks otherwise
    └── RegistryRefused         the registry answered with an error code
"""

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import httpx2

from stoker.errors import StokerError
from stoker.registry.entities import Json, Reference
from stoker.settings.secrets import masked_url

SUBJECT_NOT_FOUND: Final = 40401
VERSION_NOT_FOUND: Final = 40402
SCHEMA_NOT_FOUND: Final = 40403
INCOMPATIBLE: Final = 409
NO_CONFIG: Final = 40408
NO_MODE: Final = 40409

ALL_CONTEXTS: Final = ":*:"
LATEST: Final = "latest"

_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_PAGE: Final = 500
_LARGEST_ANSWER: Final = 256 * 1024 * 1024
_MOST_DEPENDENCIES: Final = 1_000
_DEEPEST_REFERENCE: Final = 100
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_UNAUTHORIZED: Final = 401


class RegistryClientError(StokerError):
    """The root of what this client raises on purpose."""


class InvalidRegistryUrl(RegistryClientError):
    """An address that is none; the message says what is wrong with it."""


class RegistryUnreachable(RegistryClientError):
    """Nobody answers at `url`, for `reason`."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"cannot reach the registry {url}: {reason}")
        self.url = url
        self.reason = reason


class NotARegistry(RegistryClientError):
    """What answers at `url` does not speak as a registry does; `status` is what HTTP calls its answer, if that was HTTP."""

    def __init__(self, url: str, reason: str, status: int | None = None) -> None:
        super().__init__(f"what answers at {url} is no schema registry: {reason}")
        self.status = status


class RegistryRefused(RegistryClientError):
    """The registry answered with an error; `code` is Confluent's, such as 40401, and begins with the HTTP status."""

    def __init__(self, url: str, status: int, code: int, message: str) -> None:
        super().__init__(f"{message} (the registry {url} says {code})")
        self.status = status
        self.code = code
        self.message = message


class RegistryClient:
    """To be used in a `with`. Every method raises RegistryClientError alone.

    Answers are the JSON of the API as it came, so that what newer registries add is not lost on the way.
    """

    def __init__(self, url: str, *, user: str | None = None, timeout: float = 30.0) -> None:
        """`user` is `name:password`; one in the URL counts too."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, or too high
            is_address = False
        if not is_address:
            raise InvalidRegistryUrl(f"{masked_url(url)!r} is no address of a registry: the form is http://HOST:PORT")
        host = parts.netloc.rpartition("@")[2]
        self.url = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        """Without a password, so that it may be shown."""
        auth: tuple[str, str] | None = None
        if user is not None:
            name, colon, password = user.partition(":")
            if not colon:
                raise InvalidRegistryUrl("a user of a registry is given as name:password")
            auth = (name, password)
        elif parts.username is not None:
            auth = (parts.username, parts.password or "")
        self._client = httpx2.Client(
            auth=auth,
            timeout=timeout,
            headers={"Accept": f"{_CONTENT_TYPE}, application/json"},
            # Reading all certificates of the machine takes long, and plain HTTP has none.
            verify=parts.scheme == "https",
            trust_env=parts.hostname not in _LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    # -- schemas ----------------------------------------------------------------------------------------------------

    def subjects(self, prefix: str = ALL_CONTEXTS, *, deleted: bool = False) -> list[str]:
        """All names; with `deleted`, those of softly deleted subjects too."""
        return _list(self._ask("GET", "/subjects", subjectPrefix=prefix, deleted=deleted))

    def schemas(
        self, prefix: str = ALL_CONTEXTS, *, deleted: bool = False, latest_only: bool = False
    ) -> Iterator[Json]:
        """Versions of all subjects, asked for page by page."""
        offset = 0
        while page := _list(
            self._ask(
                "GET",
                "/schemas",
                subjectPrefix=prefix,
                deleted=deleted,
                latestOnly=latest_only,
                offset=offset,
                limit=_PAGE,
            )
        ):
            offset += len(page)
            yield from page

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return _list(self._ask("GET", f"/subjects/{_quoted(subject)}/versions", deleted=deleted))

    def version(self, subject: str, version: int | str = LATEST, *, deleted: bool = False) -> Json:
        return _dict(self._ask("GET", f"/subjects/{_quoted(subject)}/versions/{version}", deleted=deleted))

    def schema(self, schema_id: int) -> Json:
        return _dict(self._ask("GET", f"/schemas/ids/{schema_id}"))

    def versions_of_id(self, schema_id: int) -> list[Json]:
        """Under which subjects and versions a schema is known."""
        return _list(self._ask("GET", f"/schemas/ids/{schema_id}/versions"))

    def lookup(self, subject: str, schema: Json, *, normalize: bool = False, deleted: bool = False) -> Json | None:
        """The version under which the subject has this schema; None if it does not."""
        path = f"/subjects/{_quoted(subject)}"
        try:
            return _dict(self._ask("POST", path, body=schema, normalize=normalize, deleted=deleted))
        except RegistryRefused as refused:
            if refused.code in (SUBJECT_NOT_FOUND, SCHEMA_NOT_FOUND):
                return None
            raise

    def register(self, subject: str, schema: Json, *, normalize: bool = False) -> Json:
        path = f"/subjects/{_quoted(subject)}/versions"
        return _dict(self._ask("POST", path, body=schema, normalize=normalize))

    def check(self, subject: str, schema: Json, version: int | str | None = None, *, normalize: bool = False) -> Json:
        """Whether a schema may follow: by the level of the subject, or compared with one version."""
        path = f"/compatibility/subjects/{_quoted(subject)}/versions{'' if version is None else f'/{version}'}"
        return _dict(self._ask("POST", path, body=schema, verbose=True, normalize=normalize))

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        return _list(self._ask("DELETE", f"/subjects/{_quoted(subject)}", permanent=permanent))

    def delete_version(self, subject: str, version: int | str, *, permanent: bool = False) -> None:
        self._ask("DELETE", f"/subjects/{_quoted(subject)}/versions/{version}", permanent=permanent)

    def dependencies(self, references: list[Json]) -> dict[str, str]:
        """The texts that a schema needs to be parsed, by name; each comes after those it needs itself."""
        found: dict[str, str] = {}
        self._add_dependencies(references, found)
        return found

    def _add_dependencies(self, references: list[Json], found: dict[str, str], depth: int = 0) -> None:
        if depth > _DEEPEST_REFERENCE or len(found) > _MOST_DEPENDENCIES:
            raise NotARegistry(self.url, "the references of a schema there have no end")
        for each in references:
            if each["name"] in found:
                continue
            referred = self.version(each["subject"], each["version"], deleted=True)
            self._add_dependencies(referred.get("references") or [], found, depth + 1)
            found[each["name"]] = str(referred["schema"])

    # -- settings ---------------------------------------------------------------------------------------------------

    def config(self, subject: str | None = None, *, or_global: bool = False) -> Json | None:
        """What is set for all subjects, or for one: None if nothing is, unless what is in force will do."""
        return self._setting("/config", subject, NO_CONFIG, or_global=or_global)

    def set_config(self, config: Json, subject: str | None = None) -> None:
        self._ask("PUT", f"/config{_below(subject)}", body=config)

    def unset_config(self, subject: str | None = None) -> None:
        self._ask("DELETE", f"/config{_below(subject)}")

    def mode(self, subject: str | None = None) -> str | None:
        """READWRITE, READONLY, IMPORT ...: None if the subject has no mode of its own."""
        found = self._setting("/mode", subject, NO_MODE)
        return None if found is None else str(found.get("mode"))

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> None:
        """`force` lets a registry that has schemas be imported into."""
        self._ask("PUT", f"/mode{_below(subject)}", body={"mode": mode}, force=force)

    def unset_mode(self, subject: str | None) -> None:
        self._ask("DELETE", f"/mode{_below(subject)}")

    def contexts(self) -> list[str]:
        """`.` is the default one."""
        return _list(self._ask("GET", "/contexts"))

    def _setting(self, path: str, subject: str | None, missing: int, *, or_global: bool = False) -> Json | None:
        try:
            return _dict(self._ask("GET", f"{path}{_below(subject)}", defaultToGlobal=or_global))
        except RegistryRefused as refused:
            if refused.code in (missing, SUBJECT_NOT_FOUND):
                return None
            raise

    # -- requests ---------------------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, *, body: Json | None = None, **parameters: object) -> Any:
        """What is False is not sent: registries that do not know the question are not asked it."""
        query = {
            name: "true" if value is True else str(value) for name, value in parameters.items() if value is not False
        }
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {} if body is None else {"Content-Type": _CONTENT_TYPE}
        try:
            request = self._client.build_request(
                method, f"{self.url}{path}", params=query, content=content, headers=headers
            )
            response = self._client.send(request, stream=True)
            try:
                answer = self._read(response)
            finally:
                response.close()
        except httpx2.TimeoutException:
            raise RegistryUnreachable(self.url, "it did not answer in time") from None
        except (httpx2.NetworkError, httpx2.ProxyError) as error:
            raise RegistryUnreachable(self.url, _reason(error)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NotARegistry(self.url, _reason(error)) from None
        return self._understood(response, answer)

    def _read(self, response: httpx2.Response) -> bytes:
        pieces = []
        size = 0
        for piece in response.iter_bytes():
            size += len(piece)
            if size > _LARGEST_ANSWER:
                raise NotARegistry(self.url, f"its answer is longer than {_LARGEST_ANSWER} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    def _understood(self, response: httpx2.Response, answer: bytes) -> Any:
        try:
            content = json.loads(answer)
        except ValueError:
            content = None
        if response.is_success and content is not None:
            return content
        if isinstance(content, Mapping) and isinstance(content.get("error_code"), int):
            raise RegistryRefused(
                self.url,
                response.status_code,
                content["error_code"],
                str(content.get("message") or "it does not say why"),
            )
        if response.status_code == _UNAUTHORIZED:
            raise RegistryRefused(self.url, response.status_code, response.status_code, "Unauthorized")
        said = f"it answers {response.status_code} {response.reason_phrase} without JSON".strip()
        raise NotARegistry(self.url, said, response.status_code)


def request_of(
    schema_type: str,
    text: str,
    references: list[Reference] | None = None,
    *,
    schema_id: int | None = None,
    version: int | None = None,
) -> Json:
    """A schema as requests carry it."""
    request: Json = {"schema": text, "schemaType": schema_type}
    if references:
        request["references"] = [reference.to_json() for reference in references]
    if schema_id is not None:
        request["id"] = schema_id
    if version is not None:
        request["version"] = version
    return request


def type_of(schema: Json) -> str:
    """Avro is what registries leave out."""
    return str(schema.get("schemaType") or "AVRO")


def level_of(config: Json | None) -> str | None:
    """The level in a config, which answers to GET and to PUT call by different names."""
    found = (config or {}).get("compatibilityLevel") or (config or {}).get("compatibility")
    return None if found is None else str(found)


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _below(subject: str | None) -> str:
    return "" if subject is None else f"/{_quoted(subject)}"


def _list(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        raise RegistryClientError(f"the registry answered {json.dumps(answer)[:100]} where a list belongs")
    return answer


def _dict(answer: Any) -> Json:
    if not isinstance(answer, dict):
        raise RegistryClientError(f"the registry answered {json.dumps(answer)[:100]} where an object belongs")
    return answer


def _reason(error: Exception) -> str:
    text = str(error)
    return text.partition("] ")[2] or text or type(error).__name__
