"""A class of the user's, with state and timers: what it sees, and when."""

from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams.application import Streams
from stoker.streams.processor import Context, Processor
from tests.streams.driven import Sent, drive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Diary(Processor):
    """Hands on all that happens. A record sets a timer, and a timer a last one."""

    def process(self, key: str, record: dict[str, Any], context: Context) -> None:
        context.state["seen"] = [*context.state.get("seen", []), record["n"]]
        self._tell(f"record {record['n']}", context)
        if record["n"] == 0:
            context.state.clear()
            for each in list(context.timers):
                context.cancel(each)
        elif record["n"] > 0:
            context.schedule(context.timestamp + record["n"])
            context.schedule(context.timestamp + record["n"])

    def on_timer(self, key: str, time: int, context: Context) -> None:
        self._tell("timer", context)
        if len(context.state["seen"]) < 3:
            context.schedule(time + 10)
            context.state["seen"].append("again")

    def _tell(self, what: str, context: Context) -> None:
        seen = ",".join(map(str, context.state.get("seen", [])))
        context.forward({"what": what, "at": context.timestamp, "now": context.stream_time, "seen": seen})
        if what == "record 7":
            context.forward({"what": "later"}, timestamp=context.timestamp + 1000)


GIVEN: Final = [
    Sent("steps", "a", {"n": 5}, 100),  # to come again at 105, and at 115
    Sent("steps", "b", {"n": 7}, 112),  # of another key, moves the time of both: a's first timer
    Sent("steps", None, {"n": 1}, 113),
    Sent("steps", "a", {"n": 3}, 110),  # out of order: to come at 113
    Sent("steps", "c", {"n": 9}, 118),  # a's other timers at 113 and 115; to come at 127
    Sent("steps", "c", {"n": 0}, 119),  # which forgets the key
    Sent("steps", "b", {"n": -1}, 150),  # b's at 119 and 129, then the record
]
DIARY: Final[dict[str, list[tuple[Any, ...]]]] = {
    "a": [
        ("record 5", 100, 100, "5"),
        ("timer", 105, 105, "5"),
        ("record 3", 110, 113, "5,again,3"),
        ("timer", 113, 113, "5,again,3"),
        ("timer", 115, 115, "5,again,3"),
    ],
    "b": [
        ("record 7", 112, 112, "7"),
        ("timer", 119, 119, "7"),
        ("timer", 129, 129, "7,again"),
        ("timer", 139, 139, "7,again,again"),
        ("record -1", 150, 150, "7,again,again,-1"),
        ("later", None, None, None),
    ],
    "c": [("record 9", 118, 118, "9"), ("record 0", 119, 119, "9,0")],
}


@pytest.mark.parametrize(
    "batches", [[GIVEN], [GIVEN[:3], GIVEN[3:4], GIVEN[4:]]], ids=["in one batch", "in three batches"]
)
def test_records_and_timers_come_in_order_of_stream_time(spark: "SparkSession", batches: list[list[Sent]]) -> None:
    application = Streams("diary")
    steps = application.stream("steps", value_schema="n int")
    steps.process(Diary, "what string, at bigint, now bigint, seen string", store="diary").to("diary")
    records = drive(spark, application, *batches).records["diary"]
    found = {
        key: [tuple(each.value.values()) for each in records if each.key == key]
        for key in {each.key for each in records}
    }
    assert {key: sorted(lines, key=str) for key, lines in found.items()} == {
        key: sorted(lines, key=str) for key, lines in DIARY.items()
    }
    assert {each.value["what"]: each.timestamp for each in records if each.key == "b"}["later"] == 1112
