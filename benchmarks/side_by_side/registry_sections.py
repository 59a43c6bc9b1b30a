"""The sections of the benchmark of the registry: which questions, of how many subjects, and what is wanted."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version

from side_by_side import processes, registry_loads, registry_requests
from side_by_side.bench import Bench, Measured
from side_by_side.http_servers import BareStarlette, HttpServer, Registry
from side_by_side.registry_loads import Calls
from side_by_side.results import Row, Section, Target, at_least, at_most

MANY = 10_000
SUBJECTS = {"few": 10, "more": 1_000, "stoker": MANY}
"""By the column of the table: the one that is compared with others is always called so."""
CONNECTIONS = (1, 8)
READS, REGISTRATIONS = 20_000, 500
GENERATOR = "A C client on kept connections asks, each question after the answer to the last, and reads the status and the length."

Asking = Callable[[Bench, HttpServer, int, int], Calls]
"""Of a server with so many subjects, on so many connections."""


def _reading(requests: Callable[[int, int], Iterable[bytes]]) -> Asking:
    """`requests` are made for a number of subjects and of calls."""

    def ask(bench: Bench, server: HttpServer, subjects: int, connections: int) -> Calls:
        count = bench.scaled(READS)
        return registry_loads.ask(bench, server, requests(subjects, count), connections=connections, count=count)

    return ask


def _registering(bench: Bench, server: HttpServer, subjects: int, connections: int) -> Calls:
    count = int(REGISTRATIONS * max(bench.scale, 0.2))
    return registry_loads.register(bench, server, connections=connections, count=count)


def _fetches(subjects: int, count: int) -> Iterable[bytes]:
    return (registry_requests.fetch(number + 1) for number in range(subjects))


def _lookups(subjects: int, count: int) -> Iterable[bytes]:
    return map(registry_requests.look_up, range(subjects))


def _lookups_spelled_otherwise(subjects: int, count: int) -> Iterable[bytes]:
    return map(registry_requests.look_up_spelled_otherwise, range(subjects))


def _checks(subjects: int, count: int) -> Iterable[bytes]:
    """Of a schema that was not there before, each."""
    return (registry_requests.check(number % subjects, f"extra_{number:07d}") for number in range(count))


FETCH, LOOK_UP = "fetch by id", "lookup"
READINGS = {FETCH: _fetches, LOOK_UP: _lookups}
"""What is compared with Starlette."""
ASKING: Mapping[str, Asking] = {
    **{name: _reading(requests) for name, requests in READINGS.items()},
    "compatibility check": _reading(_checks),
    "register": _registering,
    "lookup, spelled otherwise": _reading(_lookups_spelled_otherwise),
}


def calls(bench: Bench) -> Section:
    rates, costs = [], []
    with ExitStack() as stack:
        registries = [stack.enter_context(_registry(bench, name, count)) for name, count in SUBJECTS.items()]
        for (what, asking), connections in itertools.product(ASKING.items(), CONNECTIONS):

            def load(server: Registry, asking: Asking = asking, connections: int = connections) -> Measured:
                return asking(bench, server, SUBJECTS[server.name], connections).measured()

            name = f"{what}, {_connections(connections)}"
            samples = bench.alternate(name, load, registries, warm_up=True)
            rates.append(Row(name=name, unit="calls/s", samples=samples.of("rate"), beside="few"))
            cost = Row(
                name=f"server CPU, {name}",
                unit="µs a call",
                samples=samples.of("cost"),
                target=_flat(what),
                beside="few",
            )
            costs.append(cost)
            if what == "register":
                costs.append(
                    Row(
                        name=f"server CPU, {name}, in ms",
                        unit="ms a call",
                        samples={"stoker": [each / 1000 for each in cost.samples.get("stoker", ())]},
                        target=at_most(3.0, against=None),
                    )
                )
    return Section(
        title="Calls, as subjects grow",
        settings=f"Three registries on one broker, in alternating rounds. {GENERATOR} Fetches, lookups and checks go through "
        f"all subjects in turn, {bench.scaled(READS):,} calls a round. A lookup sends the schema as it is stored; spelled "
        "otherwise, it has spaces, and must be read unless it is one of the few that are kept. A check brings one field "
        "more than the latest version has, of another name each time. What is registered is a new schema under a new "
        "subject each time, and is deleted after the round, so that ten become a few hundred meanwhile. The ratio is that of 10,000 subjects to 10.",
        rows=[*rates, *costs],
        heads={name: f"{count:,} subjects" for name, count in SUBJECTS.items()},
    )


def _flat(what: str) -> Target | None:
    """Spelled otherwise it is the cache that is measured: ten schemas are kept, ten thousand are not."""
    return None if "otherwise" in what else at_most(1.3, against="few", in_rounds=True)


def bare(bench: Bench) -> Section:
    rates, costs = [], []
    with _registry(bench, "stoker", MANY) as registry, ExitStack() as stack:
        starlette = BareStarlette(
            "starlette",
            bench.directory,
            fetched=registry.ask("GET", "/schemas/ids/1"),
            found=_first_answer(registry),
        )
        stack.callback(starlette.stop)
        starlette.start("/schemas/ids/1")
        for (what, requests), connections in itertools.product(READINGS.items(), CONNECTIONS):
            asking = _reading(requests)

            def load(server: HttpServer, asking: Asking = asking, connections: int = connections) -> Measured:
                return asking(bench, server, MANY, connections).measured()

            name = f"{what}, {_connections(connections)}"
            samples = bench.alternate(name, load, [registry, starlette], warm_up=True)
            target = at_least(0.6, against="starlette", in_rounds=True)
            rates.append(Row(name=name, unit="calls/s", samples=samples.of("rate"), target=target))
            costs.append(
                Row(name=f"server CPU, {name}", unit="µs a call", samples=samples.of("cost"), beside="starlette")
            )
    return Section(
        title="Beside a bare route",
        settings=f"The registry with {MANY:,} subjects, and Starlette's own routes that give the registry's answer to one "
        f"question as the answer to all, on the same uvicorn {version('uvicorn')} with httptools {version('httptools')} and the same settings "
        f"(Starlette {version('starlette')}), with the same questions. {GENERATOR}",
        rows=[*rates, *costs],
        heads={"stoker": "Stoker", "starlette": "bare route"},
    )


def _first_answer(registry: Registry) -> bytes:
    _, _, body = registry_requests.look_up(0).partition(b"\r\n\r\n")
    return registry.ask("POST", f"/subjects/{registry_requests.subject_name(0)}", body)


def start(bench: Bench) -> Section:
    registry = _filled(bench, "stoker", MANY)

    def load(registry: Registry) -> Measured:
        try:
            answered, ready = registry_loads.start(registry)
            at_first = processes.memory(registry.pid).resident
            for asking in ASKING.values():
                asking(bench, registry, MANY, CONNECTIONS[-1])
            after = processes.memory(registry.pid).resident
        finally:
            registry.stop()
        return {"answered": answered, "ready": ready, "at first": at_first, "after": after}

    samples = bench.alternate("start", load, [registry], warm_up=True)
    return Section(
        title="Start and memory",
        settings=f"`stoker registry` on a topic with {MANY:,} schemas of {len(registry_requests.schema(0))} characters: from "
        "exec until it says that it is ready, and to the first answer to GET /schemas/ids/1; its resident memory then, and "
        f"after one round of all the loads above, on {CONNECTIONS[-1]} connections.",
        rows=[
            Row(
                name="to the first answer", unit="s", samples=samples.of("answered"), target=at_most(2.0, against=None)
            ),
            Row(name="of that, until it says it is ready", unit="s", samples=samples.of("ready")),
            Row(
                name="memory at the first answer",
                unit="MB",
                samples=samples.of("at first"),
                target=at_most(150, against=None),
            ),
            Row(
                name="memory after the loads", unit="MB", samples=samples.of("after"), target=at_most(150, against=None)
            ),
        ],
    )


def _connections(count: int) -> str:
    return f"{count} connection{'s' if count > 1 else ''}"


_topic_numbers = itertools.count()


def _filled(bench: Bench, name: str, subjects: int) -> Registry:
    """A registry that is not started yet, with its schemas in a topic of its own."""
    broker = bench.peers[0]
    topic = f"schemas-{next(_topic_numbers)}"
    registry_loads.fill(broker, topic, subjects)
    return Registry(name, bench.directory, bench.stoker, broker, topic)


@contextmanager
def _registry(bench: Bench, name: str, subjects: int) -> Iterator[Registry]:
    registry = _filled(bench, name, subjects)
    answered, _ = registry_loads.start(registry)
    try:
        bench.say(f"a registry with {subjects:,} subjects gave its first answer after {answered:.2f} s")
        yield registry
    finally:
        registry.stop()


SECTIONS: Mapping[str, Callable[[Bench], Section]] = {"calls": calls, "bare": bare, "start": start}
