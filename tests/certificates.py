"""An authority and what it has signed, as PEM files: for brokers and clients that speak TLS."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY: Final = timedelta(days=1)
_LOCAL: Final = ipaddress.ip_address("127.0.0.1")


class Authority:
    """`certificate` is the file that others trust it by."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = directory / f"{name}.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._begun(self._name, self._key).add_extension(basic, critical=True).sign(self._key, hashes.SHA256())
        self.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, *, password: str = "") -> Path:
        """A file with a key (PKCS #8, encrypted if there is a password) and the certificate of 127.0.0.1 for it."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        places = x509.SubjectAlternativeName([x509.IPAddress(_LOCAL)])
        signed = self._begun(subject, key).add_extension(places, critical=False).sign(self._key, hashes.SHA256())
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        file = self._directory / f"{name}.pem"
        file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
        return file

    def _begun(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )
