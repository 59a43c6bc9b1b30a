"""A local Spark cluster: the standalone master and workers of the pyspark that is installed.

    with SparkCluster(directory).up(workers=2) as cluster:
        spark = stoker.spark.session(master=cluster.master)

Its processes outlive the one that started them; the directory is all that has to be known to find them again.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from stoker.clusters.daemon import Daemon
from stoker.clusters.directories import changing
from stoker.clusters.errors import CannotChange, CannotStart, NodeState, NoSuchNode, NotInTime, PortInUse
from stoker.clusters.java import FAST_START, environment_for, find_java, options_of_environment
from stoker.clusters.local_cluster import ANY_PORT, LocalCluster, kill_all
from stoker.clusters.ports import HOST, draw_port, is_free
from stoker.clusters.spark_plan import PLAN_FILE, SparkPlan, read_plan
from stoker.clusters.spark_status import ALIVE, SparkStatus, master_page, worker_status

DEFAULT_WORKERS: Final = 2
DEFAULT_PORT: Final = 7077
DEFAULT_WEB_PORT: Final = 7080
"""Spark's own is 8080, where the console is."""
DEFAULT_CORES: Final = 1
DEFAULT_MEMORY: Final = "1g"

_PURPOSE: Final = "Spark"
_HEAP: Final = "-Xmx512m"
"""Of the master and of each worker, which only look after executors."""
_CORE_JAR: Final = "spark-core_"
START_SECONDS: Final = 300.0
"""Until master and workers are ready."""
_POLL_SECONDS: Final = 0.1


class SparkCluster(LocalCluster):
    """Spark in a directory, by default `$XDG_STATE_HOME/stoker/spark`."""

    default_directory = "spark"
    plan_file = PLAN_FILE

    # -- what there is ----------------------------------------------------------------------------------------------

    @property
    def plan(self) -> SparkPlan:
        """Raises NoCluster."""
        return read_plan(self.directory)

    @property
    def master(self) -> str:
        """The master's address: spark://127.0.0.1:7077. Raises NoCluster."""
        return self.plan.master

    def stages(self) -> list[list[Daemon]]:
        return [[*map(self._worker, self.plan.workers), self._master_daemon]]

    def status(self) -> SparkStatus:
        """Raises NoCluster."""
        plan = self.plan
        page = None if self._master_daemon.pid is None else master_page(plan)
        daemons = {number: self._worker(number) for number in plan.workers}
        return SparkStatus(
            master=plan.master,
            web_address=plan.web_address,
            directory=str(self.directory),
            pid=self._master_daemon.pid,
            applications=page.applications if page else (),
            workers=tuple(
                worker_status(plan, number, f"{HOST}:{plan.worker_ports[number - 1]}", daemon.pid, daemon.memory, page)
                for number, daemon in daemons.items()
            ),
        )

    # -- what is done -----------------------------------------------------------------------------------------------

    def up(
        self,
        workers: int | None = None,
        *,
        cores: int | None = None,
        memory: str | None = None,
        port: int | None = None,
        web_port: int | None = None,
        seconds: float = START_SECONDS,
    ) -> Self:
        """Start the master and the workers that are down; returns when all have registered.

        What is not given is as before, or a default; ANY_PORT is a port that is free. If it cannot be started, the cluster
        is what it was before, or there is none. Raises ClusterError.
        """
        java = find_java(_PURPOSE)
        with changing(self.directory):
            before = self.plan if self.exists else None
            if before is not None:
                self._finish_stopping()
            plan = self._wanted(before, workers, cores, memory, port, web_port)
            down = [number for number in plan.workers if self._worker(number).pid is None]
            starts_master = self._master_daemon.pid is None
            _check_ports(plan, down, starts_master)
            plan.write(self.directory)
            deadline = time.monotonic() + seconds
            try:
                if starts_master:
                    self._start_master(plan, java, deadline)
                self._start_workers(plan, down, java, deadline)
            except BaseException as error:
                kill_all([*map(self._worker, down), *([self._master_daemon] if starts_master else [])])
                if isinstance(error, Exception):  # not Ctrl-C, after which the next `up` goes on where this one was
                    self._put_back(before)
                raise
        return self

    def kill(self, number: int) -> None:
        """SIGKILL a worker and its executors, as a machine that fails. Raises NodeState if it does not run."""
        plan = self.plan
        if number not in plan.workers:
            raise NoSuchNode(f"the Spark cluster has no worker {number}: they are 1 to {len(plan.worker_ports)}")
        daemon = self._worker(number)
        if daemon.pid is None:
            raise NodeState(f"worker {number} does not run")
        daemon.kill()

    # -- how it is done ---------------------------------------------------------------------------------------------

    @property
    def _master_daemon(self) -> Daemon:
        return Daemon(self.directory / "master", "the master")

    def _worker(self, number: int) -> Daemon:
        return Daemon(self.directory / f"worker-{number}", f"worker {number}")

    def _put_back(self, before: SparkPlan | None) -> None:
        if before is None:
            (self.directory / PLAN_FILE).unlink(missing_ok=True)
        else:
            before.write(self.directory)

    def _wanted(
        self,
        there: SparkPlan | None,
        workers: int | None,
        cores: int | None,
        memory: str | None,
        port: int | None,
        web_port: int | None,
    ) -> SparkPlan:
        if there is None:
            master_port = draw_port() if port == ANY_PORT else port or DEFAULT_PORT
            page_port = draw_port([master_port]) if web_port == ANY_PORT else web_port or DEFAULT_WEB_PORT
            wanted = SparkPlan(
                master_port=master_port,
                web_port=page_port,
                worker_ports=(),
                cores=cores or DEFAULT_CORES,
                memory=memory or DEFAULT_MEMORY,
            )
            return self._with_workers(wanted, workers or DEFAULT_WORKERS)
        wanted = replace(
            there,
            master_port=port or there.master_port,
            web_port=web_port or there.web_port,
            cores=cores or there.cores,
            memory=memory or there.memory,
        )
        count = workers or len(there.worker_ports)
        runs = any(daemon.pid is not None for daemon in self.daemons())
        if runs and (wanted != there or count < len(there.worker_ports)):
            raise CannotChange(
                f"the Spark cluster in {self.directory} runs, and can only get more workers then: `stoker spark down` first"
            )
        return self._with_workers(wanted, count)

    def _with_workers(self, plan: SparkPlan, count: int) -> SparkPlan:
        """So many, where they were; those whose ports somebody else has taken meanwhile get others."""
        ports: list[int] = []
        for number in range(1, count + 1):
            before = plan.worker_ports[number - 1] if number in plan.workers else None
            if before is None or (self._worker(number).pid is None and not is_free(before)):
                before = draw_port([plan.master_port, plan.web_port, *plan.worker_ports, *ports])
            ports.append(before)
        return replace(plan, worker_ports=tuple(ports))

    def _start_master(self, plan: SparkPlan, java: str, deadline: float) -> None:
        self._say("Starting the master ...")
        daemon = self._master_daemon
        settings = ["-Dspark.master.rest.enabled=false"]
        place = ["--host", HOST, "--port", str(plan.master_port), "--webui-port", str(plan.web_port)]
        _start(daemon, java, settings, "org.apache.spark.deploy.master.Master", place)
        _wait(lambda: master_page(plan) is not None, [daemon], deadline)

    def _start_workers(self, plan: SparkPlan, numbers: list[int], java: str, deadline: float) -> None:
        began = time.monotonic()
        for number in numbers:
            self._say(f"Starting worker {number} ...")
            daemon = self._worker(number)
            means = ["--cores", str(plan.cores), "--memory", plan.memory, "--work-dir", str(daemon.directory / "work")]
            place = ["--host", HOST, "--port", str(plan.worker_ports[number - 1]), "--webui-port", "0"]
            _start(daemon, java, [], "org.apache.spark.deploy.worker.Worker", [*place, *means, plan.master])
        for number in plan.workers:
            _wait(partial(self._is_alive, plan, number), [self._worker(number), self._master_daemon], deadline)
            if number in numbers:
                self._say(f"Worker {number} is ready ({time.monotonic() - began:.1f} s).")

    def _is_alive(self, plan: SparkPlan, number: int) -> bool:
        page = master_page(plan)
        told = page.workers.get(plan.worker_ports[number - 1]) if page else None
        return told is not None and told["state"] == ALIVE


def _start(daemon: Daemon, java: str, settings: list[str], main_class: str, arguments: list[str]) -> None:
    home = _spark_home()
    jvm = [java, daemon.mark, *FAST_START, _HEAP, *settings, *options_of_environment("SPARK_DAEMON_JAVA_OPTS")]
    daemon.start([*jvm, "-cp", f"{home}/jars/*", main_class, *arguments], _environment(home, daemon.directory))


def _environment(home: str, directory: Path) -> dict[str, str]:
    """Executors run this Python, whose packages are ours, also where a driver only says `python3`."""
    return environment_for(directory) | {
        "SPARK_HOME": home,
        "SPARK_SCALA_VERSION": _scala_version(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "STOKER_WORKER_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def _spark_home() -> str:
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise CannotStart("there is no pyspark in this Python: `pip install pyspark`")
    return str(found.submodule_search_locations[0])


def _scala_version(home: str) -> str:
    """Without it a worker looks for the build directories of Spark's sources, and starts no executor."""
    named = [
        path.name.removeprefix(_CORE_JAR).partition("-")[0] for path in Path(home, "jars").glob(f"{_CORE_JAR}*.jar")
    ]
    if not named:
        raise CannotStart(f"{home} has no jars of Spark: the pyspark that is installed is a client alone")
    return named[0]


def _wait(is_so: Callable[[], bool], daemons: list[Daemon], deadline: float) -> None:
    while not is_so():
        for daemon in daemons:
            daemon.raise_if_ended()
        if time.monotonic() > deadline:
            raise NotInTime(
                f"{daemons[0].name} was not ready in time: --timeout waits longer. {daemons[0].last_words()}"
            )
        time.sleep(_POLL_SECONDS)


def _check_ports(plan: SparkPlan, workers: list[int], starts_master: bool) -> None:
    wanted = {plan.worker_ports[number - 1]: f"worker {number}" for number in workers}
    if starts_master:
        wanted |= {plan.master_port: "the master (--port)", plan.web_port: "the master's web page (--web-port)"}
    for port, whose in wanted.items():
        if not is_free(port):
            raise PortInUse(f"port {port} of {whose} is in use by another program: stop that, or choose another port")
