"""What the streams raise on purpose.

StokerError
└── StreamsError
    ├── InvalidTopology     a declaration that cannot be: an unknown column, a window of no length, a name used twice
    ├── TopologyChanged     a topology that does not fit the state it was started with before
    ├── NotCoPartitioned    two topics that are joined by key and have different numbers of partitions
    ├── StateLost           state that should be there and is not, and cannot be had back
    ├── StoreNotFound       a store that nobody has made
    └── ApplicationFailed   a running application that has stopped with an error
"""

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


class StoreNotFound(StreamsError):
    """The message names the store, and those that there are."""


class ApplicationFailed(StreamsError):
    """The message says why; what Spark raised is its cause."""
