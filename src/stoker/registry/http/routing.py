"""From a path to the handler that answers it.

Paths are matched before they are decoded, so that `a%2Fb` is one segment, the subject `a/b`; hence no router of
Starlette's, which decodes first.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from starlette.responses import Response

Handler = Callable[..., Awaitable[Response]]
"""Of a Call and the path's parameters, decoded, in their order."""
Method = Literal["GET", "POST", "PUT", "DELETE"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """Of a query."""

    name: str
    kind: Literal["boolean", "integer", "string"]
    description: str
    is_repeated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One method of one path; what the description of the API says of it is said here."""

    method: Method
    path: str
    """Such as `/subjects/{subject}/versions`."""
    handler: Handler
    """The first line of its docstring is the summary."""
    query: tuple[Parameter, ...] = ()
    body: str | None = None
    """Name of the body's schema in the description."""
    answer: dict[str, Any] | str | None
    """The schema of the answer, or its name in the description; None is 204, without content."""
    refusals: tuple[int, ...] = ()
    """Which statuses it has, beside those that all routes have."""
    writes: bool = False


class Match(NamedTuple):
    routes: dict[str, Route]
    """Of one path, by method."""
    parameters: list[str]


class _Node:
    __slots__ = ("literals", "parameter", "routes")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.routes: dict[str, Route] | None = None


class Router:
    """Finds the routes of a path in time that grows with its depth alone."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._root = _Node()
        for route in self.routes:
            node = self._root
            for segment in filter(None, route.path.split("/")):
                if segment.startswith("{"):
                    node.parameter = node = node.parameter or _Node()
                else:
                    node = node.literals.setdefault(segment, _Node())
            node.routes = {**(node.routes or {}), route.method: route}

    def match(self, segments: list[str]) -> Match | None:
        """`segments` are not decoded yet."""
        node = self._root
        parameters: list[str] = []
        for segment in segments:
            child = node.literals.get(segment)
            if child is None:
                child = node.parameter
                if child is None or not segment:
                    return None
                parameters.append(unquote(segment) if "%" in segment else segment)
            node = child
        return None if node.routes is None else Match(node.routes, parameters)


def segments_of(raw_path: bytes) -> list[str]:
    """A slash at the end means nothing, as in Jersey."""
    segments = raw_path.decode("latin-1").split("/")[1:]
    while segments and not segments[-1]:
        segments.pop()
    return segments
