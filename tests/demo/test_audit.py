"""The balance of the demo: it is right when everything is there once, and wrong when anything is not."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from stoker.demo import audit
from stoker.demo.audit import balance, late_orders
from stoker.demo.events import HIGH_VALUE, HOUR, SCHEMAS, WITHIN, Plan, avro, cents, order_id

PLAN: Final = Plan(orders=4000, start=1_700_002_800_000)


class Found:
    """What a pipeline has left, to be doctored."""

    def __init__(self, plan: Plan) -> None:
        good = [number for number in range(plan.orders) if not plan.is_malformed(number)]
        payments = list(plan.payment_events())
        good_payments = {each.key: each.timestamp for each in payments if each.fields is not None}
        self.values: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "orders-enriched": [(plan.customer_of(each), {"order_id": order_id(each)}) for each in good],
            "orders-high-value": [
                (plan.customer_of(each), {"order_id": order_id(each)}) for each in good if cents(each) > HIGH_VALUE
            ],
            "orders-paid": [
                (order_id(each), {"order_id": order_id(each)})
                for each in good
                if order_id(each) in good_payments and good_payments[order_id(each)] - plan.order_time(each) <= WITHIN
            ],
            "hourly-revenue": [],
        }
        sums: dict[tuple[str, int], tuple[int, int]] = {}
        for each in good:
            if plan.is_late(each):
                continue
            place = plan.customer_of(each), plan.order_time(each) // HOUR * HOUR
            total, count = sums.get(place, (0, 0))
            sums[place] = total + cents(each), count + 1
            value = {"window_start": place[1], "cents": sums[place][0], "orders": sums[place][1]}
            self.values["hourly-revenue"].append((place[0], value))
        self.counts = {
            "orders-dead-letters": plan.orders - len(good),
            "payments-dead-letters": sum(each.fields is None for each in payments),
        }
        self.files = [order_id(each) for each in good]

    # -- as `audit.Values`

    def close(self) -> None:
        pass

    def of(self, topic: str) -> list[dict[str, Any]]:
        return [value for _, value in self.values[topic]]

    def keyed(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        return self.values[topic]

    def count(self, topic: str) -> int:
        return self.counts[topic]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    found = Found(PLAN)
    monkeypatch.setattr(audit, "Values", lambda servers, registry: found)
    monkeypatch.setattr(audit, "_stored", lambda lake: found.files)
    return found


def wrong() -> list[str]:
    return [line.what for line in balance(PLAN, "", "", "") if not line.is_right]


def test_the_balance_of_a_right_pipeline_is_right(found: Found) -> None:
    """All kinds of events are in the plan, and all lines are right."""
    assert wrong() == []
    assert all(line.expected > 0 for line in balance(PLAN, "", "", ""))
    assert late_orders(PLAN) > 0


def lose(found: Found, topic: str) -> None:
    found.values[topic].pop()


def double(found: Found, topic: str) -> None:
    found.values[topic].append(found.values[topic][0])


def invent(found: Found, topic: str) -> None:
    """In place of another, so that the number is right."""
    found.values[topic][0] = ("key", {**found.values[topic][0][1], "order_id": "order-x"})


def change_sum(found: Found, _: str) -> None:
    key, value = found.values["hourly-revenue"][-1]
    found.values["hourly-revenue"][-1] = key, {**value, "cents": value["cents"] + 1}


def lose_file(found: Found, _: str) -> None:
    found.files.pop()


def double_file(found: Found, _: str) -> None:
    found.files.append(found.files[0])


def lose_letter(found: Found, topic: str) -> None:
    found.counts[topic] -= 1


ENRICHED, PAID, HIGH = "orders, with their customers", "orders paid within five minutes", "orders of high value"
FILES, HOURS, REVENUE = "orders in Parquet files", "customers' hours with their revenue", "revenue, in cents"
DOCTORED: Final[list[tuple[Callable[[Found, str], None], str, list[str]]]] = [
    *[
        (doctor, topic, [line])
        for doctor in (lose, double, invent)
        for topic, line in (("orders-enriched", ENRICHED), ("orders-paid", PAID), ("orders-high-value", HIGH))
    ],
    (change_sum, "", [HOURS, REVENUE]),
    (lose, "hourly-revenue", [HOURS, REVENUE]),
    (lose_file, "", [FILES]),
    (double_file, "", [FILES]),
    (lose_letter, "orders-dead-letters", ["malformed orders, set aside"]),
    (lose_letter, "payments-dead-letters", ["malformed payments, set aside"]),
]


@pytest.mark.parametrize(
    ("doctor", "topic", "lines"), DOCTORED, ids=[f"{doctor.__name__} {topic}" for doctor, topic, _ in DOCTORED]
)
def test_the_balance_can_be_wrong(
    found: Found, doctor: Callable[[Found, str], None], topic: str, lines: list[str]
) -> None:
    """One thing that is lost, doubled, invented or changed makes its lines wrong, and no other."""
    doctor(found, topic)
    assert wrong() == lines


def test_values_are_decoded_by_their_schema() -> None:
    """What Confluent's serializer would write is read back, negative numbers and long texts too."""
    import json

    fields = json.loads(SCHEMAS["orders"])["fields"]
    for number in (0, 1, -1, 63, 64, -64, -65, 2**40, -(2**40)):
        written = avro(7, ("order", "é" * 200, number, "eu"))
        assert written[:5] == b"\x00\x00\x00\x00\x07"
        assert audit._record(fields, written, 5) == {
            "order_id": "order",
            "customer_id": "é" * 200,
            "cents": number,
            "region": "eu",
        }
