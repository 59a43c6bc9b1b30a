"""How a client proves who it is, and what it takes for a proof of who the brokers are: `security.protocol`, `ssl.*`, `sasl.*`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from stoker.client.errors import InvalidClientProperty

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KAFKAS_MECHANISM: Final = "GSSAPI"
"""What Kafka takes where none is named."""

_TLS_SETTINGS: Final = frozenset(
    [
        "enable.ssl.certificate.verification",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.key.pem",
    ]
)
_OF_TLS: Final = ("ssl.", "enable.ssl.", "security.providers", "config.providers")
_OF_LOGINS: Final = ("sasl.", "config.providers")
_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_CONTEXTS: Final = ("TLS", *_VERSIONS)
"""Of Java's `ssl.protocol`, which leaves it to `ssl.enabled.protocols` what is spoken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """Certificates and keys are PEM, each as a file or as text, or empty."""

    authorities_file: str = ""
    authorities: str = ""
    """Whose certificates brokers may have; if there are none, those that the system trusts."""
    certificate_file: str = ""
    certificate: str = ""
    key_file: str = ""
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    ciphers: str = ""
    versions: tuple[str, ...] = _VERSIONS
    checks_certificate: bool = True
    checks_host: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Security:
    tls: Tls | None = None
    login: Login | None = None


def read_security(properties: Mapping[str, str]) -> Security | None:
    """None for PLAINTEXT; by Kafka's names or librdkafka's. Raises InvalidClientProperty: what would change who is believed is never passed over."""
    protocol = properties.get("security.protocol", PROTOCOLS[0]).strip().upper()
    _check_choice("security.protocol", protocol, PROTOCOLS)
    if protocol == PROTOCOLS[0]:
        return None
    tls = _read_tls(properties) if protocol.endswith("SSL") else None
    return Security(tls=tls, login=_read_login(properties) if protocol.startswith("SASL") else None)


def _read_tls(properties: Mapping[str, str]) -> Tls:
    given = {name: value for name, value in properties.items() if name.startswith(_OF_TLS)}
    _check_choice("ssl.protocol", given.pop("ssl.protocol", "").strip() or _VERSIONS[-1], _CONTEXTS)
    versions = given.pop("ssl.enabled.protocols", "").strip() or ",".join(_VERSIONS)
    spoken = tuple(sorted(each.strip() for each in versions.split(",")))
    for each in spoken:
        _check_choice("ssl.enabled.protocols", each, _VERSIONS)
    settings = _translated(given)
    if "ssl.keystore.location" in settings:
        raise InvalidClientProperty(
            f"ssl.keystore.location={settings['ssl.keystore.location']} cannot be used: PEM is read here; convert it (openssl "
            "pkcs12 -in FILE -out FILE.pem) and set ssl.keystore.type=PEM"
        )
    for name, value in settings.items():
        if name not in _TLS_SETTINGS and value:
            raise InvalidClientProperty(f"{name} cannot be used: of TLS there are {', '.join(sorted(_TLS_SETTINGS))}")
    return Tls(
        authorities_file=settings.get("ssl.ca.location", ""),
        authorities=settings.get("ssl.ca.pem", ""),
        certificate_file=settings.get("ssl.certificate.location", ""),
        certificate=settings.get("ssl.certificate.pem", ""),
        key_file=settings.get("ssl.key.location", ""),
        key=settings.get("ssl.key.pem", ""),
        key_password=settings.get("ssl.key.password", ""),
        ciphers=settings.get("ssl.cipher.suites", ""),
        versions=spoken,
        checks_certificate=_is_wanted(settings, "enable.ssl.certificate.verification", {"true": True, "false": False}),
        checks_host=_is_wanted(settings, "ssl.endpoint.identification.algorithm", {"https": True, "none": False}),
    )


def _read_login(properties: Mapping[str, str]) -> Login:
    settings = _translated({name: value for name, value in properties.items() if name.startswith(_OF_LOGINS)})
    mechanism = settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or _KAFKAS_MECHANISM
    if mechanism not in MECHANISMS:
        default = "" if mechanism in settings.values() else ", Kafka's default,"
        raise InvalidClientProperty(
            f"sasl.mechanism={mechanism}{default} cannot be used: the choices are {', '.join(MECHANISMS)}"
        )
    for name in ("sasl.username", "sasl.password"):
        if not settings.get(name):
            raise InvalidClientProperty(
                f"{name} is missing: sasl.mechanism={mechanism} needs it, or a sasl.jaas.config with both"
            )
        if not _is_text(settings[name]):
            raise InvalidClientProperty(f"{name} cannot be used: it holds bytes that are not UTF-8")
    return Login(mechanism=mechanism, username=settings["sasl.username"], password=settings["sasl.password"])


def _is_text(value: str) -> bool:
    """Bytes of a variable that are not UTF-8 are in Python's texts as what cannot be encoded."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _translated(properties: Mapping[str, str]) -> dict[str, str]:
    from stoker.client.librdkafka import librdkafka_settings  # most clients speak PLAINTEXT

    return librdkafka_settings(properties)


def _is_wanted(settings: Mapping[str, str], name: str, meanings: Mapping[str, bool]) -> bool:
    value = settings.get(name, "").lower() or next(iter(meanings))
    _check_choice(name, value, meanings)
    return meanings[value]


def _check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise InvalidClientProperty(f"{name}={value} cannot be used: the choices are {', '.join(choices)}")
