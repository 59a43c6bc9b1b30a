"""Security by properties, and on an Apache Kafka node that has a listener for each way of it."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from stoker.client.cluster import Cluster
from stoker.client.errors import (
    CannotConnect,
    ClientError,
    ConnectionLost,
    InvalidClientProperty,
    KafkaRefused,
    NotKafka,
    NotTrusted,
)
from stoker.client.librdkafka import librdkafka_settings
from stoker.client.properties import client_properties
from stoker.client.security import Login, Security, Tls, read_security
from stoker.wire.error_codes import ErrorCode
from tests.certificates import Authority
from tests.ports import free_port
from tests.secured_kafka import ODD_USER, SESSION_SECONDS, USER, SecuredKafka, secured_kafka

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="se;cret";'
TOKEN = JAAS.removesuffix(";") + ' tokenauth="true";'
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


def asked(address: str, properties: Mapping[str, str]) -> None:
    """Whether it answers, to who has no patience."""
    limits = {"default.api.timeout.ms": "2000", "retry.backoff.max.ms": "100"}
    with Cluster(client_properties(address, {**limits, **properties})) as cluster:
        assert cluster.brokers()


# -- by properties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, None),
        ({"security.protocol": "plaintext", "sasl.username": "ann", "ssl.ca.location": "/ca.pem"}, None),
        ({"security.protocol": "SSL"}, Security(tls=Tls())),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/ca.pem",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "/me.pem",
                "ssl.key.password": "secret",
                "ssl.endpoint.identification.algorithm": "",
                "ssl.protocol": "TLSv1.3",
                "ssl.enabled.protocols": "TLSv1.3, TLSv1.2",
                "ssl.provider": "SunJSSE",
            },
            Security(
                tls=Tls(
                    authorities_file="/ca.pem",
                    certificate_file="/me.pem",
                    key_file="/me.pem",
                    key_password="secret",
                    checks_host=False,
                )
            ),
        ),
        (
            {
                "security.protocol": "ssl",
                "ssl.truststore.certificates": "CA",
                "ssl.keystore.certificate.chain": "CHAIN",
                "ssl.keystore.key": "KEY",
                "ssl.enabled.protocols": "TLSv1.3",
                "ssl.cipher.suites": "ECDHE+AESGCM",
                "enable.ssl.certificate.verification": "FALSE",
            },
            Security(
                tls=Tls(
                    authorities="CA",
                    certificate="CHAIN",
                    key="KEY",
                    versions=("TLSv1.3",),
                    ciphers="ECDHE+AESGCM",
                    checks_certificate=False,
                )
            ),
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": JAAS},
            Security(login=Login(mechanism="SCRAM-SHA-256", username="ann", password="se;cret")),
        ),
        (  # what stands beside a sasl.jaas.config does not count, as in Java
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": JAAS}
            | {"sasl.password": "old"},
            Security(login=Login(mechanism="SCRAM-SHA-256", username="ann", password="se;cret")),
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanisms": "PLAIN", "sasl.username": "a", "sasl.password": "b"},
            Security(tls=Tls(), login=Login(mechanism="PLAIN", username="a", password="b")),
        ),
    ],
)
def test_properties_are_read_by_kafkas_names_and_librdkafkas(
    properties: dict[str, str], expected: Security | None
) -> None:
    assert read_security(properties) == expected


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        (
            {"security.protocol": "TLS"},
            "security.protocol=TLS cannot be used: the choices are PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        (
            {"security.protocol": "SASL_SSL"},
            "sasl.mechanism=GSSAPI, Kafka's default, cannot be used: the choices are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"},
            "sasl.mechanism=OAUTHBEARER cannot be used",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ann"},
            "sasl.password is missing",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}, "/t.jks cannot be used: .* no JKS"),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k.p12"},
            "/k.p12 cannot be used: PEM is read here",
        ),
        ({"security.protocol": "SSL", "ssl.crl.location": "/crl"}, "ssl.crl.location cannot be used"),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1,TLSv1.2"},
            "ssl.enabled.protocols=TLSv1.1 cannot be used: the choices are TLSv1.2, TLSv1.3",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.login.callback.handler.class": "com.example.Login"},
            "sasl.login.callback.handler.class cannot be used: it names a Java class",
        ),
        (
            {"security.protocol": "SASL_SSL", "config.providers": "file", "sasl.password": "${file:/etc/pw:p}"},
            "config.providers cannot be used",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "bob", "sasl.jaas.config": JAAS},
            "sasl.jaas.config and sasl.username are different words for one thing",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": TOKEN},
            "there are no delegation tokens",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "ann",
                "sasl.password": "\udce9",
            },
            "sasl.password cannot be used: it holds bytes that are not UTF-8",
        ),
        (
            {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldaps"},
            "algorithm=ldaps cannot be used: the choices are https, none",
        ),
    ],
)
def test_what_would_change_who_is_believed_is_refused_by_name(properties: dict[str, str], complaint: str) -> None:
    """Before anything is sent: a password must not go where nobody protects it."""
    with pytest.raises(InvalidClientProperty, match=complaint):
        asked("127.0.0.1:1", properties)


def test_secrets_are_not_shown() -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "hidden"}
    security = read_security(
        {"security.protocol": "SASL_SSL", "ssl.key.password": "hidden", "ssl.key.pem": "hidden"} | login
    )
    assert "ann" in repr(security)
    assert "hidden" not in repr(security)


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"ssl.ca.location": "/none.pem"}, r"certificates to trust in /none\.pem cannot be read: No such file"),
        ({"ssl.ca.location": __file__}, rf"certificates to trust in {__file__} cannot be used: PEM is read"),
        ({"ssl.ca.pem": "nonsense"}, "certificates to trust cannot be used: PEM is read"),
        ({"ssl.ca.pem": "F\u0151"}, "certificates to trust cannot be used: PEM is read"),
        ({"ssl.certificate.location": "/none.pem"}, r"this client in /none\.pem cannot be read: No such file"),
        ({"ssl.cipher.suites": "TLS_AES_256"}, "ssl.cipher.suites=TLS_AES_256 cannot be used: OpenSSL's names"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(
    properties: dict[str, str], complaint: str, stoker_address: str
) -> None:
    with pytest.raises(InvalidClientProperty, match=complaint):
        asked(stoker_address, {"security.protocol": "SSL"} | properties)


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_key_with_a_password_needs_the_right_one(tmp_path: Path, password: str, stoker_address: str) -> None:
    """And nobody is asked for it at a terminal."""
    key = Authority(tmp_path).sign("ann", password="secret")
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(key), "ssl.key.password": password}
    with pytest.raises(InvalidClientProperty, match=r"ann\.pem cannot be used: .* ssl\.key\.password"):
        asked(stoker_address, {"security.protocol": "SSL"} | own)


# -- on Apache Kafka --------------------------------------------------------------------------------------------------


@pytest.mark.java
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", [USER, ODD_USER])
def test_logins(kafka: SecuredKafka, mechanism: str, user: str) -> None:
    login = kafka.login(mechanism, user=user)
    asked(kafka.addresses["LOGIN"], {"security.protocol": "SASL_PLAINTEXT"} | login)
    asked(kafka.addresses["BOTH"], {"security.protocol": "SASL_SSL"} | login | kafka.trust)


@pytest.mark.java
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told_at_once(kafka: SecuredKafka, mechanism: str) -> None:
    """By the broker, and not tried again: many tries lock users out."""
    retries: list[str] = []
    properties = {"security.protocol": "SASL_PLAINTEXT"} | kafka.login(mechanism, password="wrong")
    with Cluster(client_properties(kafka.addresses["LOGIN"], properties), on_retry=retries.append) as cluster:
        with pytest.raises(KafkaRefused, match="Authentication failed") as refused:
            cluster.metadata([])
    assert (refused.value.error_code, retries) == (ErrorCode.SASL_AUTHENTICATION_FAILED, [])


@pytest.mark.java
def test_who_is_not_trusted_is_not_asked_again(kafka: SecuredKafka) -> None:
    """However patient the client is, and whoever else is down: neither certificate will be another one."""
    retries: list[str] = []
    for listener in ("TLS", "MUTUAL"):
        properties = {"security.protocol": "SSL"} | (kafka.trust if listener == "MUTUAL" else {})
        addresses = f"127.0.0.1:{free_port()},{kafka.addresses[listener]}"
        with Cluster(client_properties(addresses, properties), is_patient=True, on_retry=retries.append) as cluster:
            with pytest.raises(NotTrusted):
                cluster.metadata([])
    assert retries == []


@pytest.mark.java
@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3"])
def test_tls(kafka: SecuredKafka, versions: str) -> None:
    asked(kafka.addresses["TLS"], {"security.protocol": "SSL", "ssl.enabled.protocols": versions} | kafka.trust)


@pytest.mark.java
@pytest.mark.parametrize("password", ["", "secret"])
def test_a_client_with_a_certificate_of_its_own(kafka: SecuredKafka, password: str) -> None:
    """As a file; as text, as it stands in a secret of Kubernetes; and in one line, as Kafka's properties files have it."""
    file = kafka.authority.sign(f"client{password}", password=password)
    common = {"security.protocol": "SSL", "ssl.key.password": password}
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file)}
    asked(kafka.addresses["MUTUAL"], common | kafka.trust | own)
    authority = f"# F\u0151hatóság\n{kafka.authority.certificate.read_text()}"
    texts = {
        "ssl.truststore.certificates": authority,
        "ssl.keystore.key": file.read_text(),
        "ssl.keystore.certificate.chain": file.read_text(),
    }
    asked(kafka.addresses["MUTUAL"], common | texts)
    asked(kafka.addresses["MUTUAL"], common | {name: text.replace("\n", " ") for name, text in texts.items()})


@pytest.mark.java
@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("has_one", [False, True])
def test_a_certificate_that_the_broker_does_not_take_is_told_of(
    kafka: SecuredKafka, tmp_path: Path, versions: str, has_one: bool
) -> None:
    """With TLS 1.2 in the handshake, with 1.3 behind it."""
    strange = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(Authority(tmp_path, "other").sign("client"))}
    properties = {"security.protocol": "SSL", "ssl.enabled.protocols": versions} | (strange if has_one else {})
    with pytest.raises(NotTrusted, match=r"the certificate of this client: .*(certificate|unknown ca)"):
        asked(kafka.addresses["MUTUAL"], properties | kafka.trust)


@pytest.mark.java
def test_certificates_that_are_mended_are_read_anew(kafka: SecuredKafka, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(Authority(tmp_path, "other").certificate.read_bytes())
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(trusted)}
    with pytest.raises(NotTrusted):
        asked(kafka.addresses["TLS"], tls)
    trusted.write_bytes(kafka.authority.certificate.read_bytes())
    asked(kafka.addresses["TLS"], tls)


@pytest.mark.java
def test_what_the_system_trusts(kafka: SecuredKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By librdkafka's word for it; and a directory of certificates, under the names that OpenSSL looks for."""
    tls = {"security.protocol": "SSL"}
    with monkeypatch.context() as system:
        system.setenv("SSL_CERT_FILE", str(kafka.authority.certificate))
        asked(kafka.addresses["TLS"], tls | {"ssl.ca.location": "probe"})
    hashing = ["openssl", "x509", "-noout", "-hash", "-in", str(kafka.authority.certificate)]
    name = subprocess.run(hashing, capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / f"{name}.0").write_bytes(kafka.authority.certificate.read_bytes())
    asked(kafka.addresses["TLS"], tls | {"ssl.ca.location": str(tmp_path)})


@pytest.mark.java
def test_a_broker_of_another_authority_is_not_believed(kafka: SecuredKafka, tmp_path: Path) -> None:
    other = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(Authority(tmp_path, "other").certificate)}
    tls = {"security.protocol": "SSL"}
    with pytest.raises(NotTrusted, match=r"its certificate: .*\(ssl\.truststore\.location"):
        asked(kafka.addresses["TLS"], tls | other)
    asked(kafka.addresses["TLS"], tls | other | {"enable.ssl.certificate.verification": "false"})


@pytest.mark.java
def test_a_broker_must_have_the_name_that_it_is_asked_by(kafka: SecuredKafka) -> None:
    """Its certificate is for 127.0.0.1 alone."""
    by_name = kafka.addresses["TLS"].replace("127.0.0.1", "localhost")
    tls = {"security.protocol": "SSL"} | kafka.trust
    with pytest.raises(NotTrusted, match="its certificate: Hostname mismatch"):
        asked(by_name, tls)
    asked(by_name, tls | {"ssl.endpoint.identification.algorithm": ""})


@pytest.mark.java
@pytest.mark.parametrize(
    ("listener", "protocol", "error", "complaint"),
    [
        ("TLS", "PLAINTEXT", NotKafka, "it speaks TLS: security.protocol is SSL there, or SASL_SSL"),
        ("OPEN", "SSL", CannotConnect, "no TLS .*: its listener may have none"),
        ("LOGIN", "PLAINTEXT", ConnectionLost, "it may want a login"),
        ("OPEN", "SASL_PLAINTEXT", KafkaRefused, "ILLEGAL_SASL_STATE"),
    ],
)
def test_a_listener_of_another_protocol_is_told_of(
    kafka: SecuredKafka, listener: str, protocol: str, error: type[ClientError], complaint: str
) -> None:
    properties = {"security.protocol": protocol} | kafka.login("PLAIN") | kafka.trust
    with pytest.raises(error, match=complaint):
        asked(kafka.addresses[listener], properties)


@pytest.mark.java
def test_a_mechanism_that_the_broker_has_not_is_named_with_those_it_has(kafka: SecuredKafka) -> None:
    with pytest.raises(KafkaRefused, match=r"has no sasl\.mechanism SCRAM-SHA-256: it has PLAIN"):
        asked(kafka.addresses["SHORT"], {"security.protocol": "SASL_PLAINTEXT"} | kafka.login("SCRAM-SHA-256"))


@pytest.mark.java
def test_a_login_is_renewed_before_it_ends(kafka: SecuredKafka) -> None:
    """connections.max.reauth.ms: brokers cut off who goes on with an old one, and nobody must notice."""
    retries: list[str] = []
    properties = {"security.protocol": "SASL_PLAINTEXT"} | kafka.login("PLAIN")
    with Cluster(client_properties(kafka.addresses["SHORT"], properties), on_retry=retries.append) as cluster:
        began = cluster._clock()
        logins = set()
        while cluster._clock() < began + 3 * SESSION_SECONDS:
            cluster.metadata([])
            logins.add(cluster._any_connection(1))
    assert (retries, len(logins) >= 3) == ([], True)


@pytest.mark.java
def test_librdkafka_is_let_in_likewise(kafka: SecuredKafka) -> None:
    """The node is what it seems to be; and so `stoker produce` and `stoker consume` take the same properties."""
    properties = {"security.protocol": "SASL_SSL"} | kafka.login("SCRAM-SHA-512", user=ODD_USER) | kafka.trust
    client = AdminClient({"bootstrap.servers": kafka.addresses["BOTH"], **librdkafka_settings(properties)})
    assert len(client.list_topics(timeout=30).brokers) == 1
