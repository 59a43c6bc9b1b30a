"""The schemas of a real registry, and what happens when it is away."""

import pickle
import threading
from collections.abc import Iterator

import pytest

from stoker.spark.errors import InvalidOption, RegistryFailed, SchemaNotFound
from stoker.spark.schemas import RegistryAccess, SchemaSource, registry_access, schema_source
from tests.faults.stoker_process import free_port
from tests.registry.registry_process import RegistryProcess
from tests.registry.test_client import answering

INTEGER = '{"type":"integer"}'


@pytest.fixture(scope="module")
def registry(broker: str) -> Iterator[RegistryProcess]:
    """One of this module alone, to be killed and to have ids of its own."""
    with RegistryProcess(broker, options={"kafkastore.topic": "_schemas_to_be_killed"}) as running:
        yield running


@pytest.fixture
def source(registry: RegistryProcess) -> Iterator[SchemaSource]:
    source = SchemaSource(RegistryAccess((registry.url,)))
    yield source
    source.close()


def test_registering_and_asking(source: SchemaSource) -> None:
    registered = source.register("one", "JSON", INTEGER)
    assert source.by_id(registered.id) == registered == source.version("one") == source.version("one", 1)


def test_what_a_schema_refers_to_comes_with_it(source: SchemaSource, registry: RegistryProcess) -> None:
    registry.register("inner", INTEGER, schemaType="JSON")
    references = [{"name": "inner.json", "subject": "inner", "version": 1}]
    registry.register("middle", '{"$ref":"inner.json"}', schemaType="JSON", references=references)
    references = [{"name": "middle.json", "subject": "middle", "version": 1}]
    outer = registry.register("outer", '{"$ref":"middle.json"}', schemaType="JSON", references=references)
    assert list(source.by_id(outer).dependencies.items()) == [
        ("inner.json", INTEGER),
        ("middle.json", '{"$ref":"inner.json"}'),
    ]


def test_avro_is_what_registries_leave_out(source: SchemaSource, registry: RegistryProcess) -> None:
    assert source.by_id(registry.register("avro", '"int"')).type == "AVRO"


def test_what_is_not_there(source: SchemaSource, registry: RegistryProcess) -> None:
    with pytest.raises(SchemaNotFound, match=f"the registry {registry.url} has no version latest of subject 'nobody'"):
        source.version("nobody")
    source.register("there", "JSON", INTEGER)
    with pytest.raises(SchemaNotFound, match="has no version 99 of subject 'there'"):
        source.version("there", 99)


def test_a_schema_that_is_refused(source: SchemaSource) -> None:
    source.register("strict", "JSON", INTEGER)
    with pytest.raises(RegistryFailed, match=r"registering a schema under 'strict': .* says 409"):
        source.register("strict", "JSON", '{"type":"string"}')


def test_an_id_that_is_not_there_is_asked_for_again_only_later(registry: RegistryProcess) -> None:
    """A schema may be registered after a query met its id; a topic full of strange ids must not be a flood of questions."""
    now = [0.0]
    source = SchemaSource(RegistryAccess((registry.url,)), clock=lambda: now[0])
    following = source.register("before", "JSON", '{"title":"before"}').id + 1
    with pytest.raises(SchemaNotFound, match=f"has no schema {following}"):
        source.by_id(following)
    assert source.register("after", "JSON", '{"title":"after"}').id == following
    with pytest.raises(SchemaNotFound, match=f"has no schema {following}"):
        source.by_id(following)
    now[0] += 5.0
    assert source.by_id(following).text == '{"title":"after"}'
    source.close()


def test_what_is_known_needs_no_registry() -> None:
    source = SchemaSource(RegistryAccess((f"http://127.0.0.1:{free_port()}",), timeout_seconds=0))
    with answering(200, b'{"schema": "\\"int\\""}') as url:
        known = SchemaSource(RegistryAccess((url,)))
        assert known.by_id(5).text == '"int"'
    assert known.by_id(5).text == '"int"'
    with pytest.raises(RegistryFailed, match="Connection refused"):
        source.by_id(5)
    known.close()
    source.close()


def test_a_registry_that_is_away_for_a_while(registry: RegistryProcess) -> None:
    """Asked while it is being killed and started again: the answer comes, late."""
    paused = threading.Event()

    def sleep(seconds: float) -> None:
        paused.set()
        threading.Event().wait(seconds)

    source = SchemaSource(RegistryAccess((registry.url,)), sleep=sleep)
    known = source.register("away", "JSON", INTEGER)
    again = SchemaSource(RegistryAccess((registry.url,)), sleep=sleep)
    registry.kill()
    found = []
    thread = threading.Thread(target=lambda: found.append(again.by_id(known.id)))
    thread.start()
    assert paused.wait(30)
    registry.start()
    thread.join()
    assert found == [known]
    assert source.version("away") == known, "over a connection that is no longer there"
    source.close()
    again.close()


@pytest.mark.parametrize(
    ("status", "content", "tries"),
    [
        (500, b'{"error_code": 50001, "message": "no store"}', 6),
        (503, b"<html>", 6),
        (429, b'{"error_code": 429, "message": "slowly"}', 6),
        (401, b'{"error_code": 401, "message": "who?"}', 1),
        (404, b"<html>", 1),
        (422, b'{"error_code": 42202, "message": "version"}', 1),
    ],
)
def test_which_answers_may_get_better(status: int, content: bytes, tries: int) -> None:
    seen: list[object] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with answering(status, content, seen) as url:
        source = SchemaSource(RegistryAccess((url,), timeout_seconds=5), clock=lambda: now[0], sleep=sleep)
        with pytest.raises(RegistryFailed):
            source.version("any")
        source.close()
    assert len(seen) == tries


def test_a_registry_that_wants_to_know_who_asks() -> None:
    with answering(401, b"") as url:
        source = SchemaSource(RegistryAccess((url,)))
        with pytest.raises(RegistryFailed, match=r"Unauthorized .*basic\.auth\.user\.info=name:password says who asks"):
            source.by_id(1)
        source.close()


def test_the_next_address_is_asked(registry: RegistryProcess) -> None:
    source = SchemaSource(RegistryAccess((f"http://127.0.0.1:{free_port()}", registry.url)), sleep=lambda seconds: None)
    assert source.register("second", "JSON", INTEGER) == source.version("second")
    source.close()


@pytest.mark.parametrize("name", ["schema.registry.basic.auth.user.info", "basic.auth.user.info"])
def test_who_asks(name: str) -> None:
    seen: list[tuple[str, str]] = []
    with answering(200, b'{"schema": "\\"int\\""}', seen) as url:
        for options in (
            {"schema.registry.url": url, name: "ann:secret"},
            {"schema.registry.url": url.replace("//", "//ann:secret@")},
        ):
            access = registry_access(options)
            assert access is not None
            source = SchemaSource(pickle.loads(pickle.dumps(access)))
            source.by_id(1)
            source.close()
            assert "secret" not in repr(access)
    assert [authorization for _, authorization in seen] == ["Basic YW5uOnNlY3JldA=="] * 2


def test_options() -> None:
    assert registry_access({}) is None
    assert registry_access({"schema.registry.url": " http://a:1, http://b:2 "}) == RegistryAccess(
        ("http://a:1", "http://b:2"), None, 60.0
    )
    assert registry_access(
        {"schema.registry.url": "http://a:1", "schema.registry.timeout.ms": "1500"}
    ) == RegistryAccess(("http://a:1",), None, 1.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schema.registry.url": "ftp://a"}, r"schema\.registry\.url .* the form is http://HOST:PORT"),
        ({"schema.registry.url": "http://a", "basic.auth.user.info": "ann"}, "name:password"),
        ({"schema.registry.url": "http://a", "schema.registry.timeout.ms": "1m"}, "milliseconds, such as 60000"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        registry_access(options)


def test_a_process_has_one() -> None:
    access = RegistryAccess(("http://127.0.0.1:1",))
    assert schema_source(access) is schema_source(RegistryAccess(("http://127.0.0.1:1",)))
    assert schema_source(access) is not schema_source(access._replace(user="ann:x"))
