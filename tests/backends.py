"""What a test runs on: our broker, and a three-broker Apache Kafka. A test that uses the fixture `backend` runs on either.

    pytest                            all on the embedded broker, and those marked `both_backends` on Apache Kafka too
    pytest --against=both             all on both (`make test-kafka`)
    pytest --against=apache-kafka     only on Apache Kafka: what fails here is wrong in the test, or in Stoker's clients
    pytest --against=stoker           only on the embedded broker
    pytest --against=HOST:PORT,...    on a cluster that runs already, with these `settings`; what is for one broker, too

`embedded_only("why")` marks what Apache Kafka cannot be asked for. `STOKER_TESTS_AGAINST` in the environment does what the option does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.faults.broker_process import BrokerProcess
from tests.kafka_cluster import kafka_cluster

EMBEDDED: Final = "embedded"
APACHE_KAFKA: Final = "apache-kafka"

_DAY_MS: Final = 86_400_000

CHOICES: Final = {
    "chosen": (EMBEDDED,),
    "stoker": (EMBEDDED,),
    "apache-kafka": (APACHE_KAFKA,),
    "both": (EMBEDDED, APACHE_KAFKA),
}
"""By what --against says; with `chosen` also what is marked so on Apache Kafka. Else it is an address."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backend:
    """A cluster that runs, for all tests that use topics, groups and transactional ids of their own."""

    name: str
    bootstrap_servers: str

    @property
    def is_embedded(self) -> bool:
        return self.name == EMBEDDED


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One case for each backend that is asked for; those on the embedded broker have no name of their own."""
    against = str(metafunc.config.getoption("--against"))
    names = list(CHOICES.get(against, (against,)))
    if against == "chosen" and metafunc.definition.get_closest_marker("both_backends") is not None:
        names.append(APACHE_KAFKA)
    cases = [
        pytest.param(name, id=pytest.HIDDEN_PARAM)
        if name == EMBEDDED
        else pytest.param(name, id=APACHE_KAFKA, marks=pytest.mark.java)
        for name in names
    ]
    embedded_only = metafunc.definition.get_closest_marker("embedded_only")
    if embedded_only is not None and APACHE_KAFKA in names:
        why = pytest.mark.skip(reason=embedded_only.args[0])
        cases = cases[:1] if names[0] == EMBEDDED else [pytest.param(APACHE_KAFKA, id=APACHE_KAFKA, marks=why)]
    metafunc.parametrize("backend", cases, indirect=True, scope="session")


def is_on_apache_kafka(nodeid: str) -> bool:
    """By the name of the case."""
    _, _, case = nodeid.partition("[")
    return APACHE_KAFKA in case


def settings() -> dict[str, str]:
    """Of brokers, on either backend: what the tests of groups and transactions need, so that they do not wait for long."""
    from tests.clients.groups import kinds as groups
    from tests.clients.transactions import kinds as transactions

    # Records of the tests are of long ago, and must stay, also where a topic does not say so.
    never = {"log.initial.task.delay.ms": str(_DAY_MS), "log.retention.check.interval.ms": str(_DAY_MS)}
    return {**groups.BROKER_SETTINGS, **transactions.BROKER_SETTINGS, **never}


@contextmanager
def started(name: str, directory: Path) -> Iterator[Backend]:
    """The broker is a process of its own: confluent-kafka keeps the interpreter to itself while it waits for librdkafka after a
    rebalance callback, and a broker in the same process could not answer what librdkafka waits for.
    """
    if name == EMBEDDED:
        with BrokerProcess(directory / "data", options=settings()) as broker:
            yield Backend(name=name, bootstrap_servers=broker.bootstrap_servers)
    elif name == APACHE_KAFKA:
        # Tests make topics of one replica, too.
        with kafka_cluster(directory, settings() | {"min.insync.replicas": "1"}) as cluster:
            yield Backend(name=name, bootstrap_servers=cluster.bootstrap_servers)
    else:
        yield Backend(name=name, bootstrap_servers=name)
