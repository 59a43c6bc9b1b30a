"""A worker that reads batches of 50 MB, or what unpacks to more, stays small."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from stoker.client.admin.topics import create_topic
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.wire.compression import Codec
from stoker.wire.record_batch import Record, build_batch
from tests.client.written_batches import write_batches
from tests.faults.broker_process import BrokerProcess

MOST_MEGABYTES = 300
BATCHES = 3

READ = """
import sys
import pyspark.worker
from stoker.client.properties import client_properties
from stoker.spark.records import *

address, topic, count = sys.argv[1:]
wanted = PartitionRange(topic, 0, 0, int(count))
rows = 0
for records in read_records(client_properties(address), wanted, isolation=Isolation.READ_COMMITTED, with_headers=True):
    arrays = raw_arrays(records, RAW_COLUMNS.names)
    rows += len(arrays[0])
assert rows == int(count), rows
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""

MEGABYTE = random.Random(1).randbytes(1_000_000)

SHAPES: dict[str, tuple[Callable[[], Iterator[Record]], Codec]] = {
    "wide": (lambda: (Record(value=MEGABYTE) for _ in range(49)), Codec.NONE),
    "one-zstd": (lambda: iter([Record(value=MEGABYTE * 49)]), Codec.ZSTD),
    "small-snappy": (lambda: (Record(value=MEGABYTE[at : at + 480]) for at in range(100_000)), Codec.SNAPPY),
    "unpacking": (lambda: (Record(value=bytes(100_000)) for _ in range(2_000)), Codec.GZIP),
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("data")) as broker:
        yield broker


@pytest.mark.parametrize("shape", SHAPES)
def test_a_worker_stays_small(broker: BrokerProcess, shape: str) -> None:
    make, codec = SHAPES[shape]
    count = sum(1 for _ in make())
    batch = build_batch(make(), codec=codec)
    assert len(batch) < 51_000_000
    with Cluster(client_properties(broker.bootstrap_servers)) as cluster:
        create_topic(cluster, shape, partitions=1, configs={"max.message.bytes": "60000000", "retention.ms": "-1"})
        write_batches(cluster, shape, *[batch] * BATCHES)
    reading = subprocess.run(
        [sys.executable, "-c", READ, broker.bootstrap_servers, shape, str(BATCHES * count)],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(reading.stdout) <= MOST_MEGABYTES


CLAIM = """
import struct
import numpy as np
import pyspark.worker
from stoker.errors import CorruptRecords
from stoker.spark.record_pieces import read_pieces
from stoker.wire.batch_columns import read_batches
from stoker.wire.compression import Codec, compress
from stoker.wire.record_batch import HEADER_SIZE, LENGTH_OFFSET, Record, build_batch

body = b"\\x80\\xca\\xb5\\xee\\x01" + bytes(10_000_000)  # the length of the first record is 250,000,000
batch = bytearray(build_batch([Record()], codec=Codec.ZSTD)[:HEADER_SIZE] + compress(Codec.ZSTD, body))
struct.pack_into(">i", batch, 8, len(batch) - LENGTH_OFFSET)
try:
    list(read_pieces(read_batches(memoryview(batch + bytes(16)), len(batch)), np.arange(1)))
    raise AssertionError("it was read")
except CorruptRecords:
    pass
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""


def test_a_record_that_only_claims_to_be_large_takes_no_memory() -> None:
    reading = subprocess.run([sys.executable, "-c", CLAIM], stdout=subprocess.PIPE, check=True)
    assert int(reading.stdout) <= MOST_MEGABYTES - 100


JSON_MAPS = """
import numpy as np
import pyspark.worker
from pyspark.sql.types import MapType, StringType, StructField, StructType
from stoker.spark.columns import ByteColumn
from stoker.spark.formats.json_decoding import JsonDecoder

text = b'{"m":{%s}}' % b",".join(b'"k%d":"v%d"' % (number, number) for number in range(20))
count = 8 * 1024 * 1024 // len(text)
data = np.frombuffer(text * count + bytes(16), dtype=np.uint8)
values = ByteColumn(data, np.arange(count) * len(text), np.full(count, len(text)))
column = StructType([StructField("m", MapType(StringType(), StringType()))])
assert not JsonDecoder(column).decode(values).reasons
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""


def test_json_that_python_reads_is_never_all_of_a_piece_in_objects() -> None:
    reading = subprocess.run([sys.executable, "-c", JSON_MAPS], stdout=subprocess.PIPE, check=True)
    assert int(reading.stdout) <= MOST_MEGABYTES - 100
