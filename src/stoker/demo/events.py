"""What the demo is fed with: events that follow from their numbers, so that what must come of them can be told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

HOUR: Final = 3_600_000
SPAN: Final = 6 * HOUR
"""Of event time, from the first order to the last."""
LATE_BY: Final = 3 * HOUR
CUSTOMERS: Final = 2_000
KNOWN: Final = 1_900
"""So many of them are in the table."""
TIERS: Final = ("gold", "silver", "bronze")
METHODS: Final = ("card", "transfer", "cash")
HIGH_VALUE: Final = 90_000
UNKNOWN_SCHEMA: Final = b"\x00\x7f\xff\xff\xffnonsense"
WITHIN: Final = 300_000


def _schema(name: str, /, **fields: str) -> str:
    return json.dumps(
        {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields.items()]}
    )


SCHEMAS: Final = {
    "orders": _schema("Order", order_id="string", customer_id="string", cents="long", region="string"),
    "customers": _schema("Customer", name="string", tier="string"),
    "payments": _schema("Payment", order_id="string", method="string"),
}


class Event(NamedTuple):
    topic: str
    key: str
    fields: tuple[str | int, ...] | None
    """In the order of the schema; None if the value is malformed."""
    timestamp: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How many of each, and when they begin."""

    orders: int
    start: int

    @classmethod
    def of(cls, events: int, start: int) -> "Plan":
        """About so many events in all."""
        return cls(orders=max(1000, (events - KNOWN) * 5 // 8), start=start // HOUR * HOUR)

    def customers(self) -> Iterator[Event]:
        for number in range(KNOWN):
            yield Event("customers", customer(number), (f"Customer {number}", TIERS[number % 3]), self.start)

    def order_events(self) -> Iterator[Event]:
        for number in range(self.orders):
            fields = (
                None if self.is_malformed(number) else (order_id(number), self.customer_of(number), cents(number), "eu")
            )
            yield Event("orders", self.customer_of(number), fields, self.order_time(number))

    def payment_events(self) -> Iterator[Event]:
        """In the order of their times, as payments come."""
        found = [
            Event(
                "payments",
                order_id(number),
                None if number % 1000 == 1 else (order_id(number), METHODS[number % 3]),
                self.order_time(number) + delay,
            )
            for number in range(self.orders)
            if (delay := self.payment_delay(number)) is not None
        ]
        yield from sorted(found, key=lambda event: event.timestamp)

    def order_time(self, number: int) -> int:
        time = self.start + SPAN * number // self.orders
        return time - LATE_BY if self.is_late(number) else time

    def is_malformed(self, number: int) -> bool:
        return number % 700 == 13

    def is_late(self, number: int) -> bool:
        """Later than any window would wait, and after the clock of every partition has passed it."""
        return number > self.orders * 3 // 4 and number % 500 == 0

    def customer_of(self, number: int) -> str:
        return customer(number * 7919 % CUSTOMERS)

    def payment_delay(self, number: int) -> int | None:
        """In time, too late, or never."""
        if self.is_malformed(number) or self.is_late(number) or number % 5 > 2:
            return None
        return (number % 240) * 1000 if number % 5 < 2 else WITHIN + 100_000


def customer(number: int) -> str:
    return f"customer-{number:05d}"


def order_id(number: int) -> str:
    return f"order-{number:07d}"


def cents(number: int) -> int:
    return number * 104_729 % 100_000


def avro(schema_id: int, fields: tuple[str | int, ...] | None) -> bytes:
    """As Confluent's serializer writes strings and longs; what is malformed names a schema that nobody has."""
    if fields is None:
        return UNKNOWN_SCHEMA
    parts = [b"\x00" + schema_id.to_bytes(4, "big")]
    for field in fields:
        if isinstance(field, str):
            text = field.encode()
            parts += [_long(len(text)), text]
        else:
            parts.append(_long(field))
    return b"".join(parts)


def _long(number: int) -> bytes:
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
