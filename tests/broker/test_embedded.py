import threading
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

import stoker
from stoker.broker.config.errors import ConfigError
from stoker.errors import BrokerCannotStart


def topics(broker: stoker.Broker) -> set[str]:
    return set(AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).topics)


def make_topic(broker: stoker.Broker, name: str) -> None:
    AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(name, timeout=10)


def test_two_brokers_know_nothing_of_each_other() -> None:
    with stoker.Broker() as first, stoker.Broker() as second:
        make_topic(first, "only-here")
        assert topics(first) == {"only-here"}
        assert topics(second) == set()


def test_its_data_goes_with_it_unless_a_directory_is_given(tmp_path: Path) -> None:
    with stoker.Broker() as broker:
        temporary = broker.data_dir
        assert temporary.is_dir()
    assert not temporary.exists()
    with stoker.Broker(data_dir=tmp_path) as broker:
        make_topic(broker, "kept")
    with stoker.Broker(data_dir=tmp_path) as broker:
        assert topics(broker) == {"kept"}


def test_it_can_be_started_again(tmp_path: Path) -> None:
    broker = stoker.Broker(data_dir=tmp_path)
    for _ in range(2):
        broker.start()
        make_topic(broker, "again")
        broker.stop()
    broker.stop()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"config": {"num.partitions": "many"}}, ConfigError, "num.partitions"),
        ({"listen": "nowhere"}, ConfigError, "nowhere"),
    ],
)
def test_a_bad_setting_is_named(arguments: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        stoker.Broker(**arguments).start()  # type: ignore[arg-type]


def test_a_directory_or_port_in_use_is_named(tmp_path: Path) -> None:
    with stoker.Broker(data_dir=tmp_path) as broker:
        with pytest.raises(BrokerCannotStart, match=str(tmp_path)):
            stoker.Broker(data_dir=tmp_path).start()
        with pytest.raises(BrokerCannotStart, match="Cannot listen on"):
            stoker.Broker(listen=broker.bootstrap_servers).start()
        make_topic(broker, "undisturbed")


def test_a_stopped_broker_says_so() -> None:
    with pytest.raises(BrokerCannotStart, match="is not running"):
        _ = stoker.Broker().bootstrap_servers


def test_threads_that_cannot_be_had_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is taken: the next broker starts in the same directory and on the same port."""
    start, before = threading.Thread.start, set(threading.enumerate())

    def refuse_senders(thread: threading.Thread) -> None:
        if thread.name == "stoker-sender-1":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_senders)
    with pytest.raises(BrokerCannotStart, match=r"3 threads \(num.network.threads\): can't start new thread"):
        stoker.Broker().start()
    assert set(threading.enumerate()) <= before
