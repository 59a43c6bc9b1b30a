"""What a local Spark cluster is made of, kept in its directory."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from stoker.clusters.errors import DamagedPlan, NoCluster
from stoker.clusters.ports import HOST
from stoker.log.files import replace_file

PLAN_FILE: Final = "spark.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkPlan:
    """Workers are numbered from 1, and known to the master by their ports."""

    master_port: int
    web_port: int
    """Of the master's web page."""
    worker_ports: tuple[int, ...]
    cores: int
    """Of each worker."""
    memory: str
    """For the executors of each worker, as Spark writes it: 1g."""

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self.master_port}"

    @property
    def web_address(self) -> str:
        return f"http://{HOST}:{self.web_port}"

    @property
    def workers(self) -> range:
        return range(1, len(self.worker_ports) + 1)

    def write(self, directory: Path) -> None:
        """Replace what was kept: whenever this is cut short, the old or the new plan is there, whole."""
        replace_file(str(directory / PLAN_FILE), (json.dumps(asdict(self), indent=2) + "\n").encode())


def read_plan(directory: Path) -> SparkPlan:
    """Raises NoCluster and DamagedPlan."""
    path = directory / PLAN_FILE
    try:
        told = json.loads(path.read_text())
        return SparkPlan(**(told | {"worker_ports": tuple(told["worker_ports"])}))
    except OSError:
        raise NoCluster(
            f"there is no Spark cluster in {directory}: `stoker spark up` makes one, --data-dir names another"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise DamagedPlan(path) from None
