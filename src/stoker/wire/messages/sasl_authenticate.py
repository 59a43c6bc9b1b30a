"""SaslAuthenticate (API key 36): exchange SASL tokens."""

from stoker.wire.schema import Request, Response, blob, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes: bytes = blob("0+")


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    auth_bytes: bytes = blob("0+")
    session_lifetime_ms: int = int64("1+")
