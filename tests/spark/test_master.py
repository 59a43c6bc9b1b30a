"""A master that is none, or is not there, is told of before Spark starts."""

import socket
import threading

import pytest

from stoker.spark.errors import SparkCannotStart
from stoker.spark.master import check_master
from tests.ports import free_port


@pytest.mark.parametrize("master", ["local", "local[2,4]", "local-cluster[2,1,1024]", "yarn", "k8s://https://k:6443"])
def test_what_only_spark_can_look_at(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize("master", ["nonsense", "", "spark:/h:7077", "master:7077"])
def test_what_is_none(master: str) -> None:
    with pytest.raises(SparkCannotStart, match=r"which is none: the choices are local\[N\], spark://HOST:PORT"):
        check_master(master)


@pytest.mark.parametrize("address", ["host", "host:port", "a..b:7077"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(SparkCannotStart, match=f"{address} in Spark's master is no address"):
        check_master(f"spark://{address}")


def test_nobody_answers() -> None:
    master = f"spark://127.0.0.1:{free_port()},127.0.0.1:{free_port()}"
    with pytest.raises(SparkCannotStart, match=f"nobody answers at Spark's master {master}: Connection refused"):
        check_master(master, seconds=0)


def test_one_that_stands_by_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        check_master(f"spark://127.0.0.1:{free_port()},127.0.0.1:{there.getsockname()[1]}", seconds=0)


def test_one_that_is_starting_is_waited_for() -> None:
    port = free_port()
    checking = threading.Thread(target=check_master, args=(f"spark://127.0.0.1:{port}",))
    checking.start()
    with socket.create_server(("127.0.0.1", port)):
        checking.join()
