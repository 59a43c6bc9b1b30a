"""`stoker groups` as its users meet it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer

from stoker import Broker
from tests.cli.command_line import BOTH, CommandLine

START = 1_700_000_000_000


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex[:8]}"


@pytest.fixture
def full(run: CommandLine, topic: str) -> str:
    """A topic with ten records in partition 0, a second apart; partition 1 is empty."""
    producer = Producer({"bootstrap.servers": run.address})
    for number in range(10):
        producer.produce(topic, b"value", partition=0, timestamp=START + number * 1000)
    assert producer.flush(30) == 0
    return topic


@pytest.fixture
def fresh() -> Iterator[CommandLine]:
    """Against a broker on which nobody else has groups."""
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield CommandLine(broker.bootstrap_servers)


@contextmanager
def member(
    run: CommandLine, group: str, topic: str, protocol: str = "classic", *, commits: bool = True
) -> Iterator[Consumer]:
    """A consumer that has read and, if it `commits`, committed one of the ten records."""
    settings = {"group.protocol": protocol, "client.id": "reader", "enable.auto.commit": False}
    starting = {"bootstrap.servers": run.address, "group.id": group, "auto.offset.reset": "earliest"}
    with closing(Consumer(starting | settings)) as consumer:
        consumer.subscribe([topic])
        message = None
        while message is None:
            message = consumer.poll(30)
        assert message.error() is None
        if commits:
            consumer.commit(message=message, asynchronous=False)
        yield consumer


def offsets_of(run: CommandLine, group: str) -> dict[int, int]:
    (described,) = run.json("groups", "describe", group)
    return {each["partition"]: each["current_offset"] for each in described["partitions"]}


@pytest.mark.acceptance("S122", "S123")
@BOTH
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_member(run: CommandLine, group: str, full: str, protocol: str) -> None:
    """The columns of Kafka's tool: offset, end and lag of each partition, and the member that reads it."""
    with member(run, group, full, protocol):
        assert [group, protocol.capitalize(), "consumer", "Stable"] in run.rows("groups", "list")
        rows = run.rows("groups", "describe", group)
        assert rows[0] == [
            "GROUP",
            "TOPIC",
            "PARTITION",
            "CURRENT-OFFSET",
            "LOG-END-OFFSET",
            "LAG",
            "CONSUMER-ID",
            "HOST",
            "CLIENT-ID",
        ]
        assert rows[1][:6] == [group, full, "0", "1", "10", "9"]
        assert rows[1][8] == "reader"
        assert rows[2][:6] == [group, full, "1", "-", "0", "-"]
        assert f"Group '{group}' ({protocol.capitalize()}) is Stable: 1 member, assignor" in run.stderr
        assert run.stderr.endswith("lag 9, nothing committed in 1 of 2 partitions.\n")
        (_, row) = run.rows("groups", "describe", "--group", group, "--members")
        assert row[-3:] == ["2", "9", f"{full}-0,{full}-1"]
        (_, row) = run.rows("groups", "describe", group, "--state")
        assert row[3:5] == [protocol.capitalize(), "Stable"]
        assert row[-2:] == ["1", "9"]
        (described,) = run.json("groups", "describe", group)
        assert (described["lag"], described["members"][0]["lag"]) == (9, 9)


@pytest.mark.acceptance("B098")
@BOTH
def test_lag_is_end_minus_commit(run: CommandLine, group: str, full: str) -> None:
    """Lag of a partition is its end offset minus the committed offset; without members there are dashes for them."""
    run("groups", "reset-offsets", "-g", group, "-t", full, "--to-offset", "4", "--execute")
    rows = run.rows("groups", "describe", group)
    assert rows[1] == [group, full, "0", "4", "10", "6", "-", "-", "-"]
    assert "is Empty: no members, lag 6." in run.stderr


@BOTH
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_lag_of_what_has_committed_nothing_is_not_known(
    run: CommandLine, group: str, full: str, protocol: str
) -> None:
    """It is not 0: that would say that all is read."""
    with member(run, group, full, protocol, commits=False):
        (described,) = run.json("groups", "describe", group)
        assert (described["lag"], described["members"][0]["lag"]) == (None, None)
        (_, row) = run.rows("groups", "describe", group, "--members")
        assert row[-2] == "-"
        assert run.stderr.endswith(", nothing committed.\n")
        (_, row) = run.rows("groups", "describe", group, "--state")
        assert row[-1] == "-"


def test_the_lag_in_a_topic_that_was_deleted_is_not_known(run: CommandLine, group: str, full: str) -> None:
    with member(run, group, full):
        run("topics", "delete", full)
        (described,) = run.json("groups", "describe", group)
        assert (described["lag"], described["members"][0]["lag"]) == (None, None)


@BOTH
@pytest.mark.parametrize(
    ("target", "offsets"),
    [
        (["--to-earliest"], {0: 0, 1: 0}),
        (["--to-latest"], {0: 10, 1: 0}),
        (["--to-current"], {0: 5, 1: 0}),
        (["--to-offset", "7"], {0: 7, 1: 0}),
        (["--to-offset", "0"], {0: 0, 1: 0}),
        (["--shift-by", "0"], {0: 5}),
        (["--shift-by", "2"], {0: 7}),
        (["--shift-by", "-2"], {0: 3}),
        (["--shift-by", "-9"], {0: 0}),
        (["--to-datetime", "2023-11-14T22:13:22.500"], {0: 3, 1: 0}),
        (["--to-datetime", "2023-11-14T23:13:22.500+01:00"], {0: 3, 1: 0}),
        (["--to-datetime", "2030-01-01T00:00:00.000"], {0: 10, 1: 0}),
        (["--by-duration", "PT1M"], {0: 10, 1: 0}),
        (["--by-duration", "P36500D"], {0: 0, 1: 0}),
    ],
)
def test_targets(run: CommandLine, group: str, full: str, target: list[str], offsets: dict[int, int]) -> None:
    run("groups", "reset-offsets", "--group", group, "--topic", f"{full}:0", "--to-offset", "5", "--execute")
    scope = f"{full}:{','.join(map(str, offsets))}"
    planned = run.rows("groups", "reset-offsets", "--group", group, "--topic", scope, *target)
    assert planned[0] == ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "NEW-OFFSET"]
    assert {int(row[2]): int(row[4]) for row in planned[1:]} == offsets
    assert run.stderr.endswith("This was a dry run: nothing is changed without --execute.\n")
    assert offsets_of(run, group) == {0: 5}
    run("groups", "reset-offsets", "--group", group, "--topic", scope, *target, "--execute")
    assert offsets_of(run, group) == {0: 5} | offsets


def test_an_offset_that_is_not_there_becomes_the_nearest(run: CommandLine, group: str, full: str) -> None:
    run("records", "delete", f"{full}:0", "--before-offset", "3")
    run("groups", "reset-offsets", "--group", group, "--topic", f"{full}:0", "--to-offset", "500", "--execute")
    assert f"{full}-0: offset 500 is higher than the latest, 10, which is taken." in run.stderr
    assert offsets_of(run, group) == {0: 10}
    run("groups", "reset-offsets", "--group", group, "--topic", f"{full}:0", "--to-offset", "1", "--execute")
    assert f"{full}-0: offset 1 is lower than the earliest, 3, which is taken." in run.stderr
    assert offsets_of(run, group) == {0: 3}


@pytest.mark.acceptance("B088", "B089")
@BOTH
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_active_group_is_left_alone(run: CommandLine, group: str, full: str, protocol: str) -> None:
    """A group with a member is neither reset nor deleted; without one it is."""
    dry_run = ["groups", "reset-offsets", "--group", group, "--topic", full, "--to-earliest"]
    reset = [*dry_run, "--execute"]
    with member(run, group, full, protocol):
        for arguments in (dry_run, reset):
            error = run.fails(*arguments)
            assert f"offsets can only be reset while a group has no members, but '{group}' is Stable with 1" in error
        assert "NON_EMPTY_GROUP" in run.fails("groups", "delete", group)
    assert offsets_of(run, group) == {0: 1}
    run(*reset)
    assert offsets_of(run, group) == {0: 0, 1: 0}
    run("groups", "delete", group)
    assert group not in run("groups", "list", "--names").split()


def test_one_active_group_does_not_keep_the_others(run: CommandLine, group: str, full: str) -> None:
    other = f"{group}-other"
    with member(run, group, full):
        arguments = ["--group", group, "--group", other, "--topic", full, "--to-latest", "--execute"]
        run("groups", "reset-offsets", *arguments, code=1)
    assert offsets_of(run, other) == {0: 10, 1: 0}


@BOTH
def test_what_is_exported_can_be_taken_back(run: CommandLine, group: str, full: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    run("groups", "reset-offsets", "--group", group, "--topic", full, "--to-offset", "6", "--execute")
    file.write_text(run("groups", "reset-offsets", "--group", group, "--all-topics", "--to-current", "--export"))
    assert file.read_text() == f"{full},0,6\n{full},1,0\n"
    run("groups", "reset-offsets", "--group", group, "--all-topics", "--to-latest", "--execute")
    run("groups", "reset-offsets", "--group", group, "--from-file", str(file), "--execute")
    assert offsets_of(run, group) == {0: 6, 1: 0}


def test_a_file_for_more_groups_names_them(run: CommandLine, group: str, full: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    other = f"{group}, other"
    both = ["--group", group, "--group", other]
    exported = run("groups", "reset-offsets", *both, "--topic", f"{full}:0", "--to-offset", "6", "--export")
    assert exported == f'{group},{full},0,6\n"{other}",{full},0,6\n'
    file.write_text(exported)
    run("groups", "reset-offsets", *both, "--from-file", str(file), "--execute")
    assert offsets_of(run, other) == {0: 6}
    stranger = run.fails("groups", "reset-offsets", "--group", f"{group}x", "--from-file", str(file))
    assert f"group '{group}x' was not reset: --from-file {file} says nothing of it; did you mean '{group}'?" in stranger


@BOTH
def test_the_groups_of_a_file_need_not_be_named_again(run: CommandLine, group: str, full: str) -> None:
    file = f"# two groups\n\n{group},{full},0,4\n{group}-other,{full},0,7\n".encode()
    exported = run("groups", "reset-offsets", "--from-file", "-", "--execute", "--export", stdin=file)
    assert exported.splitlines() == file.decode().splitlines()[2:]
    assert (offsets_of(run, group), offsets_of(run, f"{group}-other")) == ({0: 4}, {0: 7})
    run("groups", "reset-offsets", "--from-file", "-", stdin=f"{full},0,4\n".encode(), code=2)
    assert "name one or more groups, or give --all-groups" in run.stderr


def test_all_groups_but_those_of_which_there_is_nothing_to_reset(fresh: CommandLine) -> None:
    """They are named, and are no failure."""
    fresh("topics", "create", "orders")
    fresh("groups", "reset-offsets", "one", "two", "--topic", "orders", "--to-earliest", "--execute")
    file = b"one,orders,0,0\nthree,orders,0,0\n"
    rows = fresh("groups", "reset-offsets", "--all-groups", "--from-file", "-", "--export", stdin=file)
    assert rows == "one,orders,0,0\n"
    assert "Skipped group 'two': --from-file - says nothing of it.\n" in fresh.stderr
    assert "Skipped group 'three': it does not exist." in fresh.stderr
    fresh("produce", "orders", stdin=b"record\n")
    with member(fresh, "idle", "orders", commits=False):
        pass
    rows = fresh("groups", "reset-offsets", "--all-groups", "--all-topics", "--to-latest", "--export")
    assert rows == "one,orders,0,1\ntwo,orders,0,1\n"
    assert "Skipped group 'idle': it has committed nothing.\n" in fresh.stderr
    error = fresh.fails("groups", "reset-offsets", "idle", "--all-topics", "--to-latest")
    assert error == "stoker groups: group 'idle' was not reset: it has committed nothing; name topics with --topic"


@pytest.mark.parametrize(
    "arguments", [["describe"], ["delete"], ["reset-offsets", "--all-topics", "--to-latest"]], ids=lambda it: it[0]
)
def test_a_cluster_without_groups(fresh: CommandLine, arguments: list[str]) -> None:
    assert fresh("groups", *arguments, "--all-groups") == ""
    assert fresh.stderr == "There are no groups.\n"


@BOTH
def test_a_reset_of_a_group_that_is_mistyped(run: CommandLine, group: str, topic: str) -> None:
    """What cannot have been meant is refused; a group that would be, or was, created is named once, with its like."""
    reset = ["groups", "reset-offsets", "--to-earliest", "--topic", topic, "--group"]
    run(*reset, group, "--execute")
    error = f"stoker groups: group '{group}x' does not exist; did you mean '{group}'?"
    assert run.fails("groups", "reset-offsets", f"{group}x", "--all-topics", "--to-earliest", "--execute") == error
    assert run.stderr == f"{error}\n"
    assert run.fails("groups", "reset-offsets", f"{group}x", "--topic", topic, "--shift-by", "1") == error
    run(*reset, f"{group}x")
    remark, _ = run.stderr.splitlines()
    assert remark == f"Group '{group}x' does not exist: --execute creates it; did you mean '{group}'?"
    run(*reset, f"{group}x", "--execute")
    assert run.stderr == f"Group '{group}x' did not exist and was created; did you mean '{group}'?\n"


@BOTH
def test_a_group_that_is_mistyped(run: CommandLine, group: str, topic: str) -> None:
    run("groups", "reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    error = f"stoker groups: group '{group}x' does not exist; did you mean '{group}'?"
    assert run.fails("groups", "describe", f"{group}x") == error
    assert run.fails("groups", "delete", group, f"{group}x") == error
    run("groups", "delete", group)


def test_nothing_is_shifted_where_nothing_is_committed(run: CommandLine, group: str, topic: str) -> None:
    run("groups", "reset-offsets", "--group", group, "--topic", f"{topic}:0", "--to-latest", "--execute")
    shifting = run.fails("groups", "reset-offsets", "--group", group, "--topic", topic, "--shift-by", "1")
    assert shifting.endswith(f"no committed offset to shift of {topic}-1")


def test_all_groups_in_one_table(run: CommandLine, group: str, full: str) -> None:
    """So that a pipe can rank them by lag."""
    for each, offset in ((group, "4"), (f"{group}-other", "7")):
        run("groups", "reset-offsets", "--group", each, "--topic", f"{full}:0", "--to-offset", offset, "--execute")
    lags = {row[0]: row[5] for row in run.rows("groups", "describe", "--all-groups")}
    assert (lags[group], lags[f"{group}-other"], lags["GROUP"]) == ("6", "3", "LAG")


def test_list_by_state_and_type(run: CommandLine, group: str, topic: str) -> None:
    run("groups", "reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert group in run("groups", "list", "--state", "empty,STABLE", "--names").split()
    assert group not in run("groups", "list", "--type", "consumer", "--names").split()
    assert [each["state"] for each in run.json("groups", "list") if each["group_id"] == group] == ["Empty"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe"], "name one or more groups, or give --all-groups"),
        (["describe", "g", "--all-groups"], "name one or more groups"),
        (["describe", "g", "--members", "--state"], "give one of them"),
        (["delete"], "name one or more groups"),
        (["list", "--state", "Stabel"], "choose from PreparingRebalance"),
        (["list", "--state", "Stabel"], "did you mean 'Stable'?"),
        (["reset-offsets", "--group", "g"], "give one target: --to-earliest, --to-latest, --to-current, --to-offset"),
        (["reset-offsets", "--group", "g", "--to-latest", "--to-earliest", "--all-topics"], "give one target"),
        (["reset-offsets", "--group", "g", "--to-latest"], "give one scope: --topic TOPIC, --topic TOPIC:0,1 or --all"),
        (["reset-offsets", "--to-latest", "--topic", "t"], "name one or more groups"),
        (["reset-offsets", "g", "--to-latest", "--topic", "t:2:10000"], "'t:2:10000' names no partitions"),
        (["reset-offsets", "g", "--to-datetime", "soon", "--topic", "t"], "'soon' is no point in time"),
        (["reset-offsets", "g", "--by-duration", "soon", "--topic", "t"], "no duration; the form is PnDTnHnMnS"),
        (["reset-offsets", "g", "--to-latest", "--topic", "t", "--execute", "--dry-run"], "contradict"),
        (["reset-offsets", "g", "--from-file", "f", "--topic", "t"], "leave --topic and --all-topics out"),
        (["reset-offsets", "g", "--to-latest", "--topic", "t", "--json", "--export"], "two different forms"),
    ],
)
def test_wrong_usage(run: CommandLine, arguments: list[str], words: str) -> None:
    assert words in run.fails("groups", *arguments, code=2)
