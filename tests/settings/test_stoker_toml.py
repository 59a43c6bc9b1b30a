"""stoker.toml: found upwards, read with lines, and refused with line and choices."""

from pathlib import Path

import pytest

from stoker.settings.definitions import SETTINGS, TABLES
from stoker.settings.errors import InvalidSettings
from stoker.settings.stoker_toml import find_file, parse_file, read_file

PATH = Path("/shop/stoker.toml")

WHOLE = '''
# The cluster of the shop.
[kafka]
bootstrap-servers = [
    "broker-1:9092",   # with a comment
    "broker-2:9092",
]

[kafka.properties]
"security.protocol" = "SASL_SSL"
sasl.mechanism = "PLAIN"
sasl.password = """
a
b"""
"request.timeout.ms" = 5000
"enable.idempotence" = true
"sasl.oauthbearer.scope" = ["a", "b"]

[registry]
url = "http://registry-1:8081"
user = "ann:secret"

[spark]
master = "spark://spark-1:7077"
'''


def test_what_it_says() -> None:
    read = parse_file(PATH, WHOLE)
    assert read.path == PATH
    assert read.values == {
        "kafka.bootstrap-servers": "broker-1:9092,broker-2:9092",
        "registry.url": "http://registry-1:8081",
        "registry.user": "ann:secret",
        "spark.master": "spark://spark-1:7077",
    }
    assert read.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "a\nb",
        "request.timeout.ms": "5000",
        "enable.idempotence": "true",
        "sasl.oauthbearer.scope": "a,b",
    }


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("kafka.bootstrap-servers", 4),
        ("kafka.properties.security.protocol", 10),
        ("kafka.properties.sasl.mechanism", 11),
        ("kafka.properties.sasl.password", 12),
        ("kafka.properties.request.timeout.ms", 15),
        ("registry.url", 20),
        ("registry.user", 21),
        ("spark.master", 24),
        ("kafka.properties.acks", None),
    ],
)
def test_lines(name: str, line: int | None, line_end: str) -> None:
    assert parse_file(PATH, WHOLE.replace("\n", line_end)).line_of(name) == line


def test_a_line_of_an_inline_table() -> None:
    read = parse_file(PATH, '\nspark = { master = "local[2]" }\nkafka.bootstrap-servers = "a:1"')
    assert (read.line_of("spark.master"), read.line_of("kafka.bootstrap-servers")) == (2, 3)


def test_files_are_found_from_its_directory() -> None:
    """Commands run in directories below it, too."""
    text = '[kafka.properties.ssl]\ntruststore.location = "ca.pem"\nkeystore.location = "/me.pem"\nca.location = ""'
    assert parse_file(PATH, '[kafka.properties]\nssl.ca.location = "probe"').properties == {"ssl.ca.location": "probe"}
    assert parse_file(Path("/shop/stoker.toml"), text).properties == {
        "ssl.truststore.location": "/shop/ca.pem",
        "ssl.keystore.location": "/me.pem",
        "ssl.ca.location": "",
    }


def test_every_setting_has_its_place_in_a_table() -> None:
    keys = {f"{table}.{key}" for table, keys in TABLES.items() if table for key in keys}
    assert keys == {setting.name for setting in SETTINGS} | {"kafka.properties"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[kafka]\n\nbootstrap_servers = "a:1"',
            "line 3: there is no key 'bootstrap_servers' in [kafka]; did you mean bootstrap-servers? "
            "There are bootstrap-servers and properties",
        ),
        (
            "[kafka]\nacks = 1",
            "line 2: there is no key 'acks' in [kafka]. There are bootstrap-servers and properties",
        ),
        (
            '[kafak]\nbootstrap-servers = "a:1"',
            "line 1: there is no table [kafak]; did you mean [kafka]? There are [kafka], [registry] and [spark]",
        ),
        (
            'bootstrap-servers = "a:1"',
            "line 1: there is no key 'bootstrap-servers' outside of a table; it belongs into [kafka]. "
            "There are [kafka], [registry] and [spark]",
        ),
        ("[spark]\nmastre = 1", "line 2: there is no key 'mastre' in [spark]; did you mean master? There is master"),
        ('# x\nregistry = "http://a:1"', "line 2: registry is a table: write [registry]"),
        ("[kafka]\nproperties = 1", "line 2: kafka.properties is a table: write [kafka.properties]"),
        (
            "[kafka]\nbootstrap-servers = 9092",
            'line 2: kafka.bootstrap-servers takes a text, such as "broker-1:9092", or a list of such',
        ),
        (
            "[kafka]\nbootstrap-servers = []",
            'line 2: kafka.bootstrap-servers takes a text, such as "broker-1:9092", or a list of such',
        ),
        ('[registry]\nurl = ""', 'line 2: registry.url takes a text, such as "http://registry-1:8081"'),
        ('[registry]\nurl = ["a"]', 'line 2: registry.url takes a text, such as "http://registry-1:8081"'),
        (
            '[kafka.properties]\nbootstrap.servers = "a:1"',
            "line 2: bootstrap.servers is given by bootstrap-servers in [kafka]",
        ),
        (
            '[kafka.properties]\n"a.b" = 1\na.b = 2',
            "line 3: a.b is in [kafka.properties] twice, with quotes and without",
        ),
        (
            "[kafka.properties]\na.b = 2026-01-01",
            'line 2: a.b takes a text, a number, true or false, such as "a.b" = "..."',
        ),
    ],
)
def test_what_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        parse_file(PATH, text)
    assert str(refused.value) == f"{PATH} {message}"


@pytest.mark.parametrize("text", ["[kafka\n", 'a = "\n', "a = 1\na = 2", "[" * 5000])
def test_what_is_not_toml(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^/shop/stoker\.toml is not TOML"):
        parse_file(PATH, text)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSettings, match="is not UTF-8"):
        read_file(tmp_path / "stoker.toml")
    with pytest.raises(InvalidSettings, match="cannot be read: No such file or directory"):
        read_file(tmp_path / "other.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_bytes(b'\xef\xbb\xbf[spark]\nmaster = "local"')
    assert read_file(tmp_path / "stoker.toml").values == {"spark.master": "local"}


def test_the_nearest_one_upwards(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_file(str(below), {}) is None
    (tmp_path / "stoker.toml").write_text("")
    assert find_file(str(below), {}) == tmp_path / "stoker.toml"
    (tmp_path / "a" / "stoker.toml").write_text("")
    assert find_file(str(below), {}) == tmp_path / "a" / "stoker.toml"
    (below / "stoker.toml").mkdir()
    assert find_file(str(below), {}) == tmp_path / "a" / "stoker.toml", "a directory is no file"
    assert find_file(None, {}) is None


def test_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_text("")
    (tmp_path / "other.toml").write_text("")
    here = str(tmp_path)
    assert find_file(here, {"STOKER_CONFIG": f"{here}/other.toml"}) == tmp_path / "other.toml"
    assert find_file("/", {"STOKER_CONFIG": here}) == tmp_path / "stoker.toml", "of a directory"
    assert find_file(here, {"STOKER_CONFIG": ""}) is None, "none at all"
    with pytest.raises(InvalidSettings) as refused:
        find_file(here, {"STOKER_CONFIG": f"{here}/none.toml"})
    assert str(refused.value) == (
        f"{here}/none.toml is not there, which --config-file or STOKER_CONFIG names as the settings file"
    )
