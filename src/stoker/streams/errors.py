"""What the streams raise on purpose.

StokerError
└── StreamsError
    ├── InvalidTopology     a declaration that cannot be: an unknown column, a window of no length, a name used twice
    ├── TopologyChanged     a topology that does not fit the state it was started with before
    ├── NotCoPartitioned    two topics that are joined by key and have different numbers of partitions
    ├── StateLost           state that should be there and is not, and cannot be had back
    ├── ApplicationNotFound an application that has no state here
    ├── StoreNotFound       a store that nobody has made
    ├── InvalidQuery        a question that a store cannot answer: a key of another type, a window where there are none
    ├── CannotListen        an address that stores cannot be served at
    └── ApplicationFailed   a running application that has stopped with an error
"""

from collections.abc import Sequence

from stoker.errors import StokerError


class StreamsError(StokerError):
    """The root of what the streams raise on purpose."""


class InvalidTopology(StreamsError):
    """The message names the node, what is wrong with it, and the choices."""


class TopologyChanged(StreamsError):
    """The message names what changed, and the ways out."""


class NotCoPartitioned(StreamsError):
    """The message names both topics and their numbers of partitions."""


class StateLost(StreamsError):
    """The message names the store and the batch."""


class ApplicationNotFound(StreamsError):
    """The message names the application, and those that there are, which are the `choices`."""

    def __init__(self, message: str, choices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.choices = choices


class StoreNotFound(StreamsError):
    """The message names the store, and those that there are, which are the `choices`."""

    def __init__(self, message: str, choices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.choices = choices


class InvalidQuery(StreamsError):
    """The message names the store, and what it can be asked for."""


class CannotListen(StreamsError):
    """The message names the address, and why not."""


class ApplicationFailed(StreamsError):
    """The message says why; what Spark raised is its cause."""
