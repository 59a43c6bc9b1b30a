"""What the benchmark concludes from its samples, and that it never counts work that was not done."""

from pathlib import Path

import pytest

from side_by_side import loads, report
from side_by_side.peers import Stoker
from side_by_side.processes import LoadFailed
from side_by_side.results import Row, Section, Target, at_least, at_most


@pytest.mark.parametrize(
    ("target", "samples", "is_met"),
    [
        (at_least(1.5), {"stoker": [300.0, 310.0, 100.0], "kafka": [200.0]}, True),
        (at_least(1.5), {"stoker": [299.0], "kafka": [200.0]}, False),
        (at_most(0.5), {"stoker": [1.0], "kafka": [2.0]}, True),
        (at_most(0.5), {"stoker": [1.1], "kafka": [2.0]}, False),
        (at_least(0.6, against="limit"), {"stoker": [50.0], "kafka": [10.0], "limit": [100.0]}, False),
        (at_most(1.25, against=None), {"stoker": [1.2], "kafka": [0.1]}, True),
        (
            at_least(0.6, against="starlette", in_rounds=True),
            {"stoker": [6.0, 30.0, 7.0], "starlette": [10.0, 90.0, 9.0]},
            True,
        ),
        (at_least(0.6, against="starlette", in_rounds=True), {"stoker": [6.0, 7.0], "starlette": [10.0]}, None),
        (at_least(1.0), {"kafka": [200.0]}, None),
        (at_least(1.0), {"stoker": [200.0], "kafka": []}, None),
    ],
)
def test_a_target_is_judged_by_medians(target: Target, samples: dict[str, list[float]], is_met: bool | None) -> None:
    assert Row(name="produce", unit="MB/s", samples=samples, target=target).is_met() is is_met


@pytest.mark.acceptance("B030")
def test_the_report_tells_ratios_and_counts_what_could_not_be_measured(tmp_path: Path) -> None:
    """Each row has Stoker's number, that of the peer by its name, and their ratio; what has no number is named."""
    rows = [
        Row(name="produce 1 KB", unit="MB/s", samples={"stoker": [300.0], "kafka": [100.0]}, target=at_least(1.5)),
        Row(name="produce 1 KB lz4", unit="MB/s", samples={"kafka": [100.0]}, target=at_least(1.0)),
    ]
    sections = [Section(title="librdkafka", settings="", rows=rows)]
    text = report.render(
        "Records",
        "Both ran.",
        sections,
        command=["x"],
        directory=tmp_path,
        jars=tmp_path,
        failures=["lz4: not used"],
        note="",
    )
    assert "Of 2 targets 1 are met, 0 are not, 1 could not be measured." in text
    assert "| | unit | Stoker | Kafka | ratio | target | |" in text
    assert "| produce 1 KB | MB/s | 300 | 100 | 3.00 | ≥ 1.5x | met |" in text
    assert "- librdkafka: produce 1 KB lz4, wanted ≥ 1x" in text
    assert "- lz4: not used" in text


def test_a_section_names_its_columns(tmp_path: Path) -> None:
    row = Row(name="lookup", unit="calls/s", samples={"stoker": [300.0], "few": [200.0]}, beside="few")
    heads = {"few": "10 subjects", "more": "100 subjects", "stoker": "1,000 subjects"}
    text = report.render(
        "Registry",
        "It ran.",
        [Section(title="Calls", settings="", rows=[row], heads=heads)],
        command=["x"],
        directory=tmp_path,
        jars=tmp_path,
        failures=[],
        note="",
        ratio="of many to few",
    )
    assert "a ratio is of many to few." in text
    assert "| | unit | 10 subjects | 1,000 subjects | ratio | target | |" in text
    assert "| lookup | calls/s | 200 | 300 | 1.50 |  |  |" in text


@pytest.mark.parametrize(
    ("codec", "stored", "refused"),
    [("lz4", 1010, True), ("lz4", 510, False), ("none", 990, True), ("none", 1010, False)],
)
def test_a_client_that_did_other_work_than_asked_is_refused(
    tmp_path: Path, codec: str, stored: int, refused: bool
) -> None:
    segment = tmp_path / "data" / "load-1-0" / "00000000000000000000.log"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(bytes(stored))
    broker = Stoker(tmp_path, Path("stoker"), settings={})
    if refused:
        with pytest.raises(LoadFailed):
            loads.check_stored(broker, "load-1", codec=codec, value_bytes=1000)
    else:
        loads.check_stored(broker, "load-1", codec=codec, value_bytes=1000)
