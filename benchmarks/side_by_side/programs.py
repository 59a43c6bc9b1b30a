"""The C and Java programs of the benchmark, compiled when it starts."""

import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
REPOSITORY = BENCHMARKS.parent
C_PROGRAMS = (
    "ask_http",
    "blast",
    "physical_limit",
    "rdkafka_load",
    "rdkafka_group",
    "rdkafka_transactions",
    "transact",
)


class NotSetUp(Exception):
    """Something that the benchmark needs is missing; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Programs:
    ask_http: Path
    blast: Path
    physical_limit: Path
    rdkafka_load: Path
    rdkafka_group: Path
    rdkafka_transactions: Path
    transact: Path
    librdkafka: Path
    class_path: str

    def java(self, *options: str) -> list[str]:
        """The start of a Java client's command."""
        return ["java", "-Xmx512M", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", self.class_path, *options]


def compile_programs(into: Path, jars: Path) -> Programs:
    if not any(jars.glob("kafka-clients-*.jar")):
        raise NotSetUp(f"the jars of Apache Kafka are not in {jars}: run `make kafka-jars`")
    for name in C_PROGRAMS:
        _compile(["cc", "-O2", "-o", str(into / name), str(BENCHMARKS / f"{name}.c"), "-ldl"])
    _compile(["javac", "-cp", f"{jars}/*", "-d", str(into), *map(str, sorted((BENCHMARKS / "java").glob("*.java")))])
    return Programs(
        **{name: into / name for name in C_PROGRAMS},
        librdkafka=_librdkafka(),
        class_path=f"{jars}/*:{into}",
    )


def _librdkafka() -> Path:
    """The library that came with the confluent-kafka wheel."""
    spec = find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise NotSetUp("confluent-kafka is not installed: run `make install`")
    libraries = Path(spec.origin).parent.parent / "confluent_kafka.libs"
    found = sorted(libraries.glob("librdkafka-*.so*"))
    if not found:
        raise NotSetUp(f"no librdkafka in {libraries}: the benchmark needs the wheel of confluent-kafka for Linux")
    return found[0]


def _compile(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NotSetUp(f"{command[0]} is not installed: the benchmark needs a C compiler and a JDK") from None
    if done.returncode != 0:
        raise NotSetUp(f"{' '.join(command)} failed:\n{done.stderr}")
