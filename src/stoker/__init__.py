"""Stoker: an event-streaming platform for Python teams."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

__all__ = ["Broker", "Streams", "__version__"]

if TYPE_CHECKING:
    from stoker.broker.embedded import Broker
    from stoker.streams.application import Streams


_HOMES: Final = {"Broker": "stoker.broker.embedded", "Streams": "stoker.streams.application"}


def __getattr__(name: str) -> Any:
    # `import stoker` must stay cheap: the command line imports it before it knows what is wanted.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'stoker' has no attribute {name!r}. It has: {', '.join(__all__)}")
