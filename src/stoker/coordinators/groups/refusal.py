"""How a step of a handler ends its request with an error."""

from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode

_LONGEST_MESSAGE = 1_000


class RequestRefused(StokerError):
    """The request is answered with `code` and, where the response has room for it, the message. Nothing changes."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = shortened(message)


def shortened(message: str) -> str:
    """The names that a message repeats may fill their field; with words around them they would not fit the response's."""
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 3]}..."
