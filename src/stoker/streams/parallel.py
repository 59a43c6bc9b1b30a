"""Several Spark jobs at once: each of them waits most of its time."""

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from stoker.spark.spark_session import make_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE: Final = 4


def at_once(spark: "SparkSession", jobs: Iterable[Callable[[], None]]) -> None:
    """Run them all, some at a time, as part of the streaming query that this thread belongs to. Raises the first error."""
    from pyspark import InheritableThread

    waiting = list(jobs)
    if len(waiting) == 1:
        waiting[0]()
        return
    errors: list[BaseException] = []
    turn = threading.Lock()

    def work() -> None:
        make_active(spark)
        while True:
            with turn:
                if not waiting or errors:
                    return
                job = waiting.pop(0)
            try:
                job()
            except BaseException as error:
                errors.append(error)

    threads = [InheritableThread(target=work) for _ in range(min(_AT_ONCE, len(waiting)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
