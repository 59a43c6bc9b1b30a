"""The settings of this process."""

import os
import sys
from pathlib import Path

import pytest

from stoker.settings.current import current_file, current_settings, environment_without_cluster, settings_file
from stoker.settings.resolution import resolve
from stoker.settings.stoker_toml import find_file


@pytest.fixture(autouse=True)
def named_by_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("STOKER_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_the_file_of_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_file() is None
    assert current_settings().registry_url.text == "http://localhost:8081"
    (tmp_path / "stoker.toml").write_text('[registry]\nurl = "http://r:1"')
    assert current_settings().registry_url.text == "http://r:1"
    monkeypatch.setenv("STOKER_REGISTRY_URL", "http://variable:1")
    assert current_settings().registry_url.text == "http://variable:1"
    assert current_settings({"registry.url": "http://flag:1"}).registry_url.text == "http://flag:1"


def test_a_file_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stoker.toml").write_text("")
    (tmp_path / "other.toml").write_text("")
    with settings_file("other.toml"):
        monkeypatch.chdir("/")
        assert current_file() == tmp_path / "other.toml"
        with settings_file(""):
            assert current_file() is None
        assert current_file() == tmp_path / "other.toml"
    monkeypatch.chdir(tmp_path)
    assert current_file() == tmp_path / "stoker.toml"
    assert "STOKER_CONFIG" not in os.environ


def test_an_environment_in_which_nothing_is_said_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stoker.toml").write_text("[kafka.properties]\na = 1")
    monkeypatch.setenv("STOKER_KAFKA_PROPERTIES_B", "2")
    assert current_settings().properties == {"a": "1", "b": "2"}
    environment = environment_without_cluster()
    assert environment["PATH"] == os.environ["PATH"]
    monkeypatch.delenv("STOKER_KAFKA_PROPERTIES_B")
    assert resolve(environment=environment, file=None).properties == {}
    assert find_file(str(tmp_path), environment) is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a directory in use cannot be removed")
def test_a_directory_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert current_file() is None
    monkeypatch.chdir(tmp_path)
