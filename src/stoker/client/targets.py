"""To whom a request goes."""

from typing import Final, NamedTuple


class AnyBroker(NamedTuple):
    """Whichever broker is at hand."""


class Controller(NamedTuple):
    """The broker that changes topics and configs, or hands such requests on to the one who does."""


class Broker(NamedTuple):
    node_id: int


class LeaderOf(NamedTuple):
    topic: str
    partition: int


GROUP: Final = 0
TRANSACTION: Final = 1


class CoordinatorOf(NamedTuple):
    """Of a group or, with TRANSACTION, of a transactional id."""

    key: str
    key_type: int = GROUP


Target = AnyBroker | Controller | Broker | LeaderOf | CoordinatorOf

ANY_BROKER: Final = AnyBroker()
CONTROLLER: Final = Controller()
