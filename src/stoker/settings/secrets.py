"""What must not be shown."""

import re
from typing import Final

MASK: Final = "********"

_SECRET_WORDS: Final = ("password", "passphrase", "secret", "jaas", "token", "user.info", "credential")
_SECRET_ENDS: Final = (".key", ".pem")
_NOT_SECRET_ENDS: Final = (".url", ".location", ".class", ".ms", ".seconds", ".name")
"""sasl.oauthbearer.token.endpoint.url says where a token comes from."""
_PASSWORD_IN_URL: Final = re.compile(r"(?<=://)([^/@\s:]*):(?:(?!://)\S)*(?=@)")
"""Up to the last @ of an address: a password may have some, though it should not."""


def is_secret(name: str) -> bool:
    """Whether the value of a client property of that name is to be kept from other eyes."""
    if name.endswith(_NOT_SECRET_ENDS):
        return False
    return name.endswith(_SECRET_ENDS) or any(word in name for word in _SECRET_WORDS)


def masked_user(text: str) -> str:
    """`ann:********`: who it is may be seen."""
    name, colon, _ = text.partition(":")
    return f"{name}:{MASK}" if colon else MASK


def masked_url(text: str) -> str:
    """The URL without the password that may be in it."""
    return _PASSWORD_IN_URL.sub(rf"\1:{MASK}", text)
