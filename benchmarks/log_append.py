"""What the log costs by itself: microseconds an append and a read, thousands of partitions created, opened and held.

    python benchmarks/log_append.py [directory]

The kernel's share is shown beside ours: the same bytes written to a plain file with the same system call.
"""

import gc
import os
import shutil
import struct
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from uuid import uuid4

import crc32c

from stoker.log.config import LogConfig
from stoker.log.directory import LogDirectory
from stoker.log.files import FileCache
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import ATTRIBUTES_OFFSET, CRC_OFFSET, Record, build_batch

BATCH_SIZES = {"200 B": (1, 120), "16 KB": (16, 1000), "1 MB": (1000, 1030)}
SECONDS_PER_ROW = 1.0
BYTES_PER_ROW = 1 << 30
PARTITIONS = 5_000


def median_microseconds(action: Callable[[], object], bytes_each: int) -> float:
    """The median time of one call, called for a second or until a gigabyte is through."""
    times: list[int] = []
    deadline = time.perf_counter() + SECONDS_PER_ROW
    limit = BYTES_PER_ROW // bytes_each
    while time.perf_counter() < deadline and len(times) < limit:
        before = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - before)
    times.sort()
    return times[len(times) // 2] / 1000


def producer_batch(records: int, value_bytes: int, producer_id: int = -1) -> bytearray:
    now = time.time_ns() // 1_000_000
    return bytearray(
        build_batch(
            [Record(timestamp=now, value=b"v" * value_bytes) for _ in range(records)],
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=0 if producer_id >= 0 else -1,
        )
    )


def measure_appends(directory: LogDirectory) -> None:
    print(f"{'':8} {'append':>10} {'plain pwrite':>13} {'tail read':>10} {'cold read':>10}   microseconds, median")
    for name, (records, value_bytes) in BATCH_SIZES.items():
        log = directory.create_log(f"append-{records}", 0, LogConfig(), topic_id=uuid4())
        batch = producer_batch(records, value_bytes)
        view = memoryview(batch)

        def append(log: PartitionLog = log, view: memoryview = view) -> None:
            view[:8] = bytes(8)
            log.append(view, leader_epoch=0)

        appended = median_microseconds(append, len(batch))

        def read_tail(log: PartitionLog = log) -> None:
            log.read(log.log_end_offset - 1, 1 << 20, at_least_one_batch=True)

        def read_cold(log: PartitionLog = log) -> None:
            log.read(log.log_end_offset // 3, 1 << 20, at_least_one_batch=True)

        tail, cold = median_microseconds(read_tail, 1024), median_microseconds(read_cold, 1024)
        print(f"{name:8} {appended:10.1f} {plain_write(directory.path, view):13.1f} {tail:10.1f} {cold:10.1f}")
        directory.delete_log(f"append-{records}", 0).remove()


def plain_write(path: str, view: memoryview) -> float:
    descriptor = os.open(f"{path}/plain", os.O_RDWR | os.O_CREAT)
    position = 0

    def write() -> None:
        nonlocal position
        position += os.pwrite(descriptor, view, position)

    try:
        return median_microseconds(write, len(view))
    finally:
        os.close(descriptor)
        os.unlink(f"{path}/plain")


def measure_idempotent(directory: LogDirectory) -> None:
    log = directory.create_log("idempotent", 0, LogConfig(), topic_id=uuid4())
    batch = producer_batch(1, 120, producer_id=7)
    view = memoryview(batch)
    times = []
    for sequence in range(20_000):
        struct.pack_into(">q", batch, 0, 0)
        struct.pack_into(">i", batch, 53, sequence)
        struct.pack_into(">I", batch, CRC_OFFSET, crc32c.crc32c(view[ATTRIBUTES_OFFSET:]))
        before = time.perf_counter_ns()
        log.append(view, leader_epoch=0)
        times.append(time.perf_counter_ns() - before)
    times.sort()
    print(f"200 B from an idempotent producer: {times[len(times) // 2] / 1000:.1f} us an append")


def measure_partitions(path: str) -> None:
    files = FileCache()
    config = LogConfig()
    directory = LogDirectory(path, node_id=1, files=files)
    started = time.perf_counter()
    for partition in range(PARTITIONS):
        directory.create_log("many", partition, config, topic_id=uuid4())
    print(f"{PARTITIONS} partitions created in {time.perf_counter() - started:.2f} s")
    batch = producer_batch(1, 120, producer_id=7)
    started = time.perf_counter()
    for partition in range(PARTITIONS):
        directory.logs["many", partition].append(memoryview(bytes(batch)), leader_epoch=0)
    print(f"  one record in each in {time.perf_counter() - started:.2f} s, {len(files)} files open of {files.limit}")
    started = time.perf_counter()
    directory.close()
    print(f"  closed cleanly in {time.perf_counter() - started:.2f} s")

    gc.collect()
    started = time.perf_counter()
    directory = LogDirectory(path, node_id=1, files=FileCache())
    for topic, partition in directory.partitions():
        directory.open_log(topic, partition, config)
    print(f"  opened after a clean shutdown in {time.perf_counter() - started:.2f} s")
    directory.close()

    tracemalloc.start()
    directory = LogDirectory(path, node_id=1, files=FileCache())
    before, _ = tracemalloc.get_traced_memory()
    for topic, partition in directory.partitions():
        directory.open_log(topic, partition, config)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"  {(after - before) / PARTITIONS:.0f} bytes of memory for each idle partition")
    directory.close(clean=False)

    started = time.perf_counter()
    directory = LogDirectory(path, node_id=1, files=FileCache())
    for topic, partition in directory.partitions():
        directory.open_log(topic, partition, config)
    print(f"  recovered after a crash in {time.perf_counter() - started:.2f} s")
    directory.close()


def main() -> None:
    path = tempfile.mkdtemp(prefix="stoker-log-", dir=sys.argv[1] if len(sys.argv) > 1 else None)
    try:
        directory = LogDirectory(f"{path}/append", node_id=1, files=FileCache())
        measure_appends(directory)
        measure_idempotent(directory)
        directory.close(clean=False)
        measure_partitions(f"{path}/partitions")
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
