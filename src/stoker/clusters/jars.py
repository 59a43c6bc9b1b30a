"""Apache Kafka's jars: of a directory that is named, or fetched once by Maven into the user's cache."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from stoker.clusters.directories import cache_directory
from stoker.clusters.errors import CannotFetchJars

DEFAULT_KAFKA_VERSION: Final = "4.3.0"

_SCALA: Final = "2.13"
_SLF4J: Final = "1.7.36"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[\w.]+)?")
_SERVER_JAR: Final = re.compile(r"kafka_[\d.]+-(.+)\.jar")
_DOWNLOADED: Final = re.compile(r"Downloaded .*\.jar \(")
_JARS_A_REMARK: Final = 10

_POM: Final = """<?xml version="1.0" encoding="UTF-8"?>
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>stoker</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>0</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY: Final = """    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>"""


class Jars(NamedTuple):
    directory: Path
    kafka_version: str

    @property
    def class_path(self) -> str:
        return f"{self.directory}/*"


def kafka_jars(version: str | None, directory: Path | None, say: Callable[[str], None]) -> Jars:
    """Those of the directory, or of the cache; fetched into it if they are not there. Raises CannotFetchJars.

    `version` is by default that of the directory, or DEFAULT_KAFKA_VERSION.
    """
    if directory is not None:
        return _given(directory, version)
    version = version or DEFAULT_KAFKA_VERSION
    if not _VERSION.fullmatch(version):
        raise CannotFetchJars(f"{version!r} is no version of Apache Kafka: the form is {DEFAULT_KAFKA_VERSION}")
    cached = cache_directory(f"kafka-{version}")
    if not cached.exists():
        _fetch(version, cached, say)
    return Jars(cached, version)


def _given(directory: Path, version: str | None) -> Jars:
    found = [
        named[1] for named in (_SERVER_JAR.fullmatch(path.name) for path in sorted(directory.glob("*.jar"))) if named
    ]
    if not found:
        raise CannotFetchJars(
            f"{directory} has no kafka_{_SCALA}-VERSION.jar. Name the directory of all jars of Apache Kafka (`libs` of its "
            "distribution), or none, and they are fetched."
        )
    if version is not None and version != found[0]:
        raise CannotFetchJars(f"{directory} has the jars of Apache Kafka {found[0]}, and {version} is asked for")
    return Jars(directory.resolve(), found[0])


def _fetch(version: str, target: Path, say: Callable[[str], None]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotFetchJars(
            f"Apache Kafka {version} is fetched by Maven, and there is no mvn on the PATH. Install it: `apt install maven` or "
            "`brew install maven`; or name a directory that has the jars (--kafka-jars, STOKER_KAFKA_JARS)."
        )
    say(f"Fetching Apache Kafka {version} by Maven into {target}, once ...")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as temporary:
        pom = Path(temporary, "pom.xml")
        pom.write_text(_pom(version))
        jars = Path(temporary, "jars")
        _run_maven([maven, "-B", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies",
                    f"-DoutputDirectory={jars}"], version, say)  # fmt: skip
        if target.exists():  # somebody else was faster
            return
        jars.rename(target)
    say(f"Fetched {len(list(target.glob('*.jar')))} jars.")


def _run_maven(command: list[str], version: str, say: Callable[[str], None]) -> None:
    said: list[str] = []
    downloaded = 0
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said.append(line.rstrip())
                if _DOWNLOADED.search(line):
                    downloaded += 1
                    if downloaded % _JARS_A_REMARK == 0:
                        say(f"  {downloaded} jars have come")
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        reasons = [line for line in said if line.startswith("[ERROR]")] or said
        raise CannotFetchJars("\n".join([f"Maven cannot fetch Apache Kafka {version}:", *reasons[:5]]))


def _pom(version: str) -> str:
    wanted = (
        ("org.apache.kafka", f"kafka_{_SCALA}", version),
        ("org.apache.kafka", "kafka-tools", version),
        ("org.slf4j", "slf4j-simple", _SLF4J),
    )
    dependencies = [
        _DEPENDENCY.format(group=group, artifact=artifact, version=number) for group, artifact, number in wanted
    ]
    return _POM.format(dependencies="\n".join(dependencies))
