"""Who may do what: a file of lines `user:hash` or `user:hash,read`, with bcrypt hashes as `htpasswd -B` writes them.

A user with `read` may only read. The file is read again when it changes; if it cannot be read then, what it said before
stays in force.
"""

import asyncio
import base64
import binascii
import hashlib
import logging
import os
import re
from pathlib import Path
from typing import Final

import bcrypt

from stoker.errors import StokerError
from stoker.registry.http import refusals
from stoker.registry.http.call import Account, Call

logger = logging.getLogger("stoker.registry")

_LINE: Final = re.compile(r"(?P<user>[^:]+):(?P<hash>\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53})(?:,(?P<role>[a-z]+))?")
_LONGEST_PASSWORD: Final = 72
"""bcrypt knows no more, and `htpasswd` cuts what is longer."""
_AT_ONCE: Final = 2
_MOST_WAITING: Final = 100


class UsersFileUnusable(StokerError):
    """Names the file, the line and what is wrong with it."""


class Users:
    """Those of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._secret = os.urandom(32)
        self._seen = _stamp(path)
        self._accounts = read_users(path)
        # Who showed the right password, by a keyed hash of it: bcrypt takes 50 ms and more. One entry a user.
        self._verified: dict[bytes, Account] = {}
        self._digests: dict[str, bytes] = {}
        self._waiting = 0
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def authenticate(self, call: Call) -> Account:
        """Raises Refusal."""
        self._read_again()
        header = call.headers.get(b"authorization", b"")
        digest = hashlib.blake2b(header, key=self._secret).digest()
        account = self._verified.get(digest)
        return account if account is not None else await self._verify(header, digest)

    async def _verify(self, header: bytes, digest: bytes) -> Account:
        user, password = _credentials(header)
        account = self._accounts.get(user)
        # Someone unknown takes as long as a wrong password, so that names cannot be guessed by the clock.
        tried = account or next(iter(self._accounts.values()), None)
        if tried is None or self._waiting >= _MOST_WAITING:
            raise refusals.unauthorized()
        self._waiting += 1
        try:
            async with self._turn:
                is_right = await asyncio.to_thread(bcrypt.checkpw, password[:_LONGEST_PASSWORD], tried.password_hash)
        finally:
            self._waiting -= 1
        if not is_right or account is None:
            raise refusals.unauthorized()
        if self._accounts.get(user) == account:  # the file may have changed meanwhile
            self._verified.pop(self._digests.get(user, b""), None)
            self._digests[user] = digest
            self._verified[digest] = account
        return account

    def _read_again(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._accounts = read_users(self._path)
        except UsersFileUnusable as problem:
            logger.warning("%s; what it said before stays in force", problem)
            return
        self._verified.clear()
        self._digests.clear()


def read_users(path: Path) -> dict[str, Account]:
    """Raises UsersFileUnusable."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsersFileUnusable(f"The users' file {path} cannot be read: {problem}") from problem
    accounts: dict[str, Account] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise UsersFileUnusable(
                f"The users' file {path}, line {number}: it must be user:hash or user:hash,read, with a hash of bcrypt "
                "($2y$...) as `htpasswd -B` writes it"
            )
        user, password_hash, role = found.group("user", "hash", "role")
        if role not in (None, "read"):
            raise UsersFileUnusable(
                f"The users' file {path}, line {number}: the role '{role}' is not known; it is `read` or none"
            )
        if user in accounts:
            raise UsersFileUnusable(f"The users' file {path}, line {number}: the user '{user}' is there twice")
        # bcrypt has no name for $2y$ but its own, $2b$: they are the same.
        modern = b"$2b" + password_hash.encode()[3:]
        accounts[user] = Account(user, modern, role == "read")
    return accounts


def _credentials(header: bytes) -> tuple[str, bytes]:
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != b"basic":
        raise refusals.unauthorized()
    try:
        user, separator, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        if not separator:
            raise refusals.unauthorized()
        return user.decode(), password
    except (binascii.Error, UnicodeDecodeError):
        raise refusals.unauthorized() from None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
