"""Files of properties that are no client's: white space and # at the end of a value are a part of it, as Java reads them."""

from pathlib import Path

import pytest

from stoker.kafka_tools.configs import added_configs
from stoker.kafka_tools.configs_options import ConfigOptions
from stoker.kafka_tools.console_consumer_options import ConsoleConsumerOptions
from stoker.kafka_tools.console_producer_options import ConsoleProducerOptions
from stoker.kafka_tools.failure import JavaError

SERVER = ["--bootstrap-server", "localhost:1"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "some.properties"
    path.write_text("tab=\\t\nspaced = | \nhashed=a #b\n")
    return str(path)


def test_values_are_as_java_reads_them(file: str) -> None:
    expected = {"tab": "\t", "spaced": "| ", "hashed": "a #b"}
    topic = [*SERVER, "--topic", "orders"]
    assert ConsoleProducerOptions([*topic, "--reader-config", file]).reader_properties == expected
    assert ConsoleConsumerOptions([*topic, "--formatter-config", file]).formatter_properties == expected
    assert added_configs(ConfigOptions([*topic, "--alter", "--add-config-file", file])) == expected


def test_a_file_that_is_not_there() -> None:
    options = ConsoleProducerOptions([*SERVER, "--topic", "orders", "--reader-config", "/nowhere"])
    with pytest.raises(JavaError) as raised:
        assert options.reader_properties
    assert raised.value.described == "java.nio.file.NoSuchFileException: /nowhere"
