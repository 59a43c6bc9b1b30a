"""What the reader of the schemas' topic lets librdkafka say."""

import logging

from stoker.registry.log_reader import Rarely


def test_what_is_said_again_and_again_is_said_once_a_minute() -> None:
    now = 0.0
    rarely = Rarely(lambda: now)

    def is_said(text: str) -> bool:
        return rarely.filter(logging.LogRecord("librdkafka", logging.ERROR, "", 0, text, (), None))

    assert is_said("FAIL broker-1:9092/1: Connection refused (after 0ms in state CONNECT)")
    assert not is_said("FAIL broker-2:9092/2: Connection refused (after 3ms in state CONNECT, 30 identical errors)")
    assert is_said("FAIL broker-2:9092/2: Disconnected (after 3ms in state UP)")
    now = 59.0
    assert not is_said("FAIL broker-1:9092/1: Connection refused (after 0ms in state CONNECT)")
    now = 60.0
    assert is_said("FAIL broker-1:9092/1: Connection refused (after 0ms in state CONNECT)")
