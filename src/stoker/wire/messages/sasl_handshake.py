"""SaslHandshake (API key 17): agree on a SASL mechanism."""

from stoker.wire.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism: str = string("0+")


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code: int = int16("0+")
    mechanisms: list[str] = array(string, "0+")
