"""An Apache Kafka node that wants to know who asks, with a listener for each way to tell it."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stoker.client.cluster import Cluster
from stoker.client.errors import raise_if_refused
from stoker.client.properties import client_properties
from stoker.client.targets import CONTROLLER
from stoker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from tests.apache_kafka import ApacheKafka
from tests.certificates import Authority
from tests.ports import free_port

USER: Final = "ann"
ODD_USER: Final = "ann,of=sales"
"""With what SCRAM has to escape."""
PASSWORD: Final = "se#cret; pass"
SESSION_SECONDS: Final = 1.0
"""How long a login holds on the listener SHORT."""

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_MECHANISMS: Final = {
    "login": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "both": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "short": "PLAIN",
}
_SCRAM_MECHANISMS: Final = {1: "sha256", 2: "sha512"}
_ITERATIONS: Final = 4096
_SALT: Final = b"of these tests"
_PROTOCOLS: Final = {
    "OPEN": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SecuredKafka:
    """`addresses` are those of the listeners, by their names."""

    addresses: dict[str, str]
    authority: Authority
    directory: Path

    @property
    def trust(self) -> dict[str, str]:
        """For a client that believes its brokers."""
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority.certificate)}

    def login(self, mechanism: str, *, user: str = USER, password: str = PASSWORD) -> dict[str, str]:
        return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


@contextmanager
def secured_kafka(directory: Path) -> Iterator[SecuredKafka]:
    authority = Authority(directory)
    addresses = {name: f"127.0.0.1:{free_port()}" for name in _PROTOCOLS}
    listeners = ",".join(f"{name}://{address}" for name, address in addresses.items())
    properties = {
        "listeners": listeners,
        "advertised.listeners": ",".join(each for each in listeners.split(",") if not each.startswith("CONTROLLER")),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items()),
        "inter.broker.listener.name": "OPEN",
        "controller.quorum.bootstrap.servers": addresses["CONTROLLER"],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.sign("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "listener.name.mutual.ssl.client.auth": "required",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "listener.name.short.connections.max.reauth.ms": str(int(SESSION_SECONDS * 1000)),
    }
    for name, mechanisms in _MECHANISMS.items():
        properties |= {
            f"listener.name.{name}.sasl.enabled.mechanisms": mechanisms,
            f"listener.name.{name}.plain.sasl.jaas.config": f'{_PLAIN} "user_{USER}"="{PASSWORD}" "user_{ODD_USER}"="{PASSWORD}";',
            f"listener.name.{name}.scram-sha-256.sasl.jaas.config": _SCRAM,
            f"listener.name.{name}.scram-sha-512.sasl.jaas.config": _SCRAM,
        }
    with ApacheKafka(properties=properties, directory=directory / "kafka"):
        _add_users(addresses["OPEN"])
        yield SecuredKafka(addresses=addresses, authority=authority, directory=directory)


def _add_users(address: str) -> None:
    upsertions = [
        ScramCredentialUpsertion(
            name=user,
            mechanism=number,
            iterations=_ITERATIONS,
            salt=_SALT,
            salted_password=hashlib.pbkdf2_hmac(algorithm, PASSWORD.encode(), _SALT, _ITERATIONS),
        )
        for user in (USER, ODD_USER)
        for number, algorithm in _SCRAM_MECHANISMS.items()
    ]
    with Cluster(client_properties(address)) as cluster:
        for each in upsertions:  # one in a request: two of one user are refused
            request = AlterUserScramCredentialsRequest(upsertions=[each])
            answer = cluster.send(request, AlterUserScramCredentialsResponse, to=CONTROLLER)
            raise_if_refused(answer.results[0].error_code, answer.results[0].error_message)
