"""Several Spark jobs at once: each of them waits most of its time."""

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE: Final = 4


def at_once(spark: "SparkSession", jobs: Iterable[Callable[[], None]]) -> None:
    """Run them all, some at a time, as part of the streaming query that this thread belongs to. Raises the first error."""
    from pyspark import InheritableThread
    from pyspark.sql import SparkSession

    waiting = list(jobs)
    if len(waiting) == 1:
        waiting[0]()
        return
    errors: list[BaseException] = []
    turn = threading.Lock()

    def work() -> None:
        # Spark looks for sources written in Python only in the session that a thread is known to work for.
        SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
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
