"""What cannot be formatted is refused in a line, before anything is written."""

from pathlib import Path

import pytest

from stoker.kafka_tools.running import run

JAVA = 'Exception in thread "main" '
CONFIG = f"{JAVA}org.apache.kafka.common.config.ConfigException: "
ILLEGAL = f"{JAVA}java.lang.IllegalArgumentException: "
DIRECTORY_ID = "JEXY6aqzQY-32P5TStzaFg"
LISTENER = "CONTROLLER://localhost:99999"


def storage(tmp_path: Path, command: str, properties: dict[str, str], *arguments: str) -> int:
    file = tmp_path / "server.properties"
    lines = {"node.id": "1", "log.dirs": str(tmp_path / "data")} | properties
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    cluster = ["-t", "MkU3OEVBNTcwNTJENDM2Qk"] if command == "format" else []
    return run("kafka-storage.sh", [command, "-c", str(file), *cluster, *arguments])


@pytest.mark.parametrize(
    ("properties", "arguments", "error"),
    [
        ({"node.id": "abc"}, (), f"{CONFIG}Invalid value abc for configuration node.id: Not a number of type INT"),
        ({"node.id": ""}, (), f"{CONFIG}Invalid value  for configuration node.id: Not a number of type INT"),
        (
            {"node.id": "99999999999"},
            ("-s",),
            f"{CONFIG}Invalid value 99999999999 for configuration node.id: Not a number of type INT",
        ),
        ({"node.id": "-1"}, (), f"{CONFIG}Invalid value -1 for configuration node.id: Value must be at least 0"),
        (
            {"log.dirs": ","},
            (),
            f"{ILLEGAL}requirement failed: At least one log directory must be defined via log.dirs or log.dir.",
        ),
        *(
            (
                {},
                ("--feature", f"metadata.version={level}"),
                f"{ILLEGAL}No MetadataVersion with feature level {level}. Valid feature levels are from 7 to 31.",
            )
            for level in (3, -1)
        ),
        (
            {"listeners": LISTENER},
            ("-s",),
            f"{CONFIG}Invalid value {LISTENER} for configuration listeners: a port is 65535 at most",
        ),
        *(
            (
                {},
                (f"--initial-controllers={voter}",),
                f"--initial-controllers {voter}: an id is from 0 to 2147483647, a port from 0 to 65535",
            )
            for voter in (
                f"1@localhost:99999:{DIRECTORY_ID}",
                f"99999999999@localhost:9093:{DIRECTORY_ID}",
                f"-1@localhost:9093:{DIRECTORY_ID}",
            )
        ),
    ],
)
def test_what_cannot_be_formatted(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    properties: dict[str, str],
    arguments: tuple[str, ...],
    error: str,
) -> None:
    assert storage(tmp_path, "format", properties, *arguments) == 1
    assert capsys.readouterr().err == f"{error}\n"
    assert not (tmp_path / "data").exists()


def test_a_directory_that_cannot_be_read_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As Kafka's own does it: the others are formatted, and it fails if there are none."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    (bad / "meta.properties").mkdir(parents=True)
    assert storage(tmp_path, "format", {"log.dirs": str(bad)}) == 1
    told = f"I/O error trying to read log directory {bad}. Ignoring...\n"
    assert capsys.readouterr() == (told, "No available log directories to format.\n")
    assert storage(tmp_path, "format", {"log.dirs": f"{good},{bad}"}) == 0
    assert told in capsys.readouterr().out
    assert (good / "meta.properties").is_file()
    assert [path.name for path in bad.iterdir()] == ["meta.properties"]
    assert storage(tmp_path, "info", {"log.dirs": f"{good},{bad}"}) == 1
    assert f"Found problem:\n  Error loading {bad}/meta.properties: Is a directory\n" in capsys.readouterr().out
