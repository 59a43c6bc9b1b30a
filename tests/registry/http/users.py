"""Passwords, as the file of users has them and as clients send them."""

import base64

import bcrypt


def password_hash(password: str, kind: bytes = b"2b", rounds: int = 4) -> str:
    hashed = bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(rounds))
    return (b"$" + kind + hashed[3:]).decode()


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
