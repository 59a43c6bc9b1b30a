"""What a local Spark cluster is doing: its processes, and what the master's page tells of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from stoker.clusters.spark_plan import SparkPlan

ALIVE: Final = "ALIVE"
DOWN: Final = "DOWN"
_ANSWER_SECONDS: Final = 5.0
_MEBIBYTE: Final = 1024 * 1024
_LONGEST_PAGE: Final = 64 * _MEBIBYTE


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerStatus:
    """`state` is the master's word (ALIVE, DEAD, ...), or DOWN of a process that does not run."""

    worker: int
    address: str
    state: str
    pid: int | None
    cores: int
    cores_used: int | None
    memory: int | None
    """Bytes that executors may have."""
    memory_used: int | None
    resident: int | None
    """Bytes that the worker's own process has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkStatus:
    """`pid` is the master's; `applications` are the names of those that run."""

    master: str
    web_address: str
    directory: str
    pid: int | None
    applications: tuple[str, ...]
    workers: tuple[WorkerStatus, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MasterPage:
    """What the master tells; workers by their ports, of which an old one may be dead."""

    workers: Mapping[int, Mapping[str, Any]]
    applications: tuple[str, ...]


def master_page(plan: SparkPlan) -> MasterPage | None:
    """None while the master does not answer."""
    try:
        # It is on this machine: no proxy has anything to do with it.
        with build_opener(ProxyHandler({})).open(f"{plan.web_address}/json/", timeout=_ANSWER_SECONDS) as answer:
            told = json.loads(answer.read(_LONGEST_PAGE))
    except (URLError, HTTPException, OSError, ValueError):
        return None
    if not isinstance(told, dict) or told.get("url") != plan.master:
        return None  # of another cluster
    by_age = sorted(told["workers"], key=lambda worker: (worker["state"] == ALIVE, worker["lastheartbeat"]))
    return MasterPage(
        workers={worker["port"]: worker for worker in by_age},
        applications=tuple(application["name"] for application in told["activeapps"]),
    )


def worker_status(
    plan: SparkPlan, number: int, address: str, pid: int | None, resident: int | None, page: MasterPage | None
) -> WorkerStatus:
    told = page.workers.get(plan.worker_ports[number - 1]) if page else None
    state = DOWN if pid is None else str(told["state"]) if told else "STARTING"
    is_alive = told is not None and state == ALIVE
    return WorkerStatus(
        worker=number,
        address=address,
        state=state,
        pid=pid,
        cores=plan.cores,
        cores_used=int(told["coresused"]) if told and is_alive else None,
        memory=int(told["memory"]) * _MEBIBYTE if told and is_alive else None,
        memory_used=int(told["memoryused"]) * _MEBIBYTE if told and is_alive else None,
        resident=resident,
    )
