"""A line as a record, as Kafka's LineMessageReader reads it: headers, key and value, each of which may be null."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.patterns import compiled, split

_KAFKA_EXCEPTION: Final = "org.apache.kafka.common.KafkaException"


class LineReader:
    """By the properties of `--reader-property`. Raises JavaError if they contradict each other."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        def is_true(name: str) -> bool:
            return properties.get(name, "").strip().lower() == "true"

        self._parse_key = is_true("parse.key")
        self._parse_headers = is_true("parse.headers")
        self._ignore_error = is_true("ignore.error")
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        self._headers_separator = properties.get("headers.separator", ",")
        self._headers_key_separator = properties.get("headers.key.separator", ":")
        self._null_marker = properties.get("null.marker")
        self._number = 0
        self._check()
        self._pairs = compiled(self._headers_separator)

    def _check(self) -> None:
        texts = {
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": self._headers_separator,
            "headers.key.separator": self._headers_key_separator,
            "key.separator": self._key_separator,
            "null.marker": self._null_marker,
        }
        for one, other in (
            ("headers.delimiter", "headers.separator"),
            ("headers.delimiter", "headers.key.separator"),
            ("headers.separator", "headers.key.separator"),
            ("null.marker", "key.separator"),
            ("null.marker", "headers.separator"),
            ("null.marker", "headers.delimiter"),
            ("null.marker", "headers.key.separator"),
        ):
            if texts[one] == texts[other]:
                raise JavaError(_KAFKA_EXCEPTION, f"{one} and {other} may not be equal")

    def records(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """What librdkafka's `produce` takes of each line. Raises JavaError at the first that is no record."""
        if not (self._parse_key or self._parse_headers) and self._null_marker is None:
            for line in lines:
                yield {"value": line.encode()}
            return
        for self._number, line in enumerate(lines, 1):
            yield self._record(line)

    def _record(self, line: str) -> dict[str, Any]:
        start = 0
        record: dict[str, Any] = {}
        headers = self._part(self._parse_headers, line, 0, self._headers_delimiter, "headers delimiter")
        if headers is not None:
            start += len(headers) + len(self._headers_delimiter)
        key = self._part(self._parse_key, line, start, self._key_separator, "key separator")
        if key is not None:
            start += len(key) + len(self._key_separator)
            record["key"] = self._bytes(key)
        record["value"] = self._bytes(line[start:])
        if headers is not None and headers != self._null_marker:
            record["headers"] = [self._header(piece) for piece in split(self._pairs, headers)]
        return record

    def _part(self, is_wanted: bool, line: str, start: int, end: str, name: str) -> str | None:
        if not is_wanted:
            return None
        index = line.find(end, start)
        if index < 0:
            if self._ignore_error:
                return None
            raise JavaError(_KAFKA_EXCEPTION, f"No {name} found on line number {self._number}: '{line}'")
        return line[start:index]

    def _header(self, pair: str) -> tuple[str, bytes | None]:
        name, separator, value = pair.partition(self._headers_key_separator)
        if not separator:
            if self._ignore_error:
                return pair, None
            raise JavaError(
                _KAFKA_EXCEPTION, f"No header key separator found in pair '{pair}' on line number {self._number}"
            )
        if name == self._null_marker:
            raise JavaError(
                _KAFKA_EXCEPTION,
                f"Header keys should not be equal to the null marker '{self._null_marker}' as they can't be null",
            )
        return name, self._bytes(value)

    def _bytes(self, text: str) -> bytes | None:
        return None if text == self._null_marker else text.encode()
