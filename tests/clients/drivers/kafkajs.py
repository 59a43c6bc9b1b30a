"""KafkaJS as it comes from npm, in one node process. It reads only in consumer groups, so here it produces and administers.

`make node-modules` (npm ci in tests/clients/kafkajs) brings it.
"""

from pathlib import Path
from typing import ClassVar

from tests.clients.client import Abilities
from tests.clients.drivers.remote import RemoteClient

DIRECTORY = Path(__file__).resolve().parent.parent / "kafkajs"


class KafkaJs(RemoteClient):
    name: ClassVar[str] = "kafkajs"
    abilities: ClassVar[Abilities] = Abilities(reads=False, null_header_values=False, explains_refusals=False)

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers, ["node", str(DIRECTORY / "driver.js")])
