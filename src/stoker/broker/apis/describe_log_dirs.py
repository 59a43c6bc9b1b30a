"""DescribeLogDirs (key 35), versions 1 to 4: the log directories, the size of each partition in them, the disk's room."""

import os

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

decode = DescribeLogDirsRequest.decode


def handle(node: Node, context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    by_directory: dict[str, dict[str, list[Partition]]] = {}
    for partition in node.partitions:
        if partition.log is not None and (wanted is None or (partition.topic, partition.index) in wanted):
            directory = os.path.dirname(partition.log.directory)
            by_directory.setdefault(directory, {}).setdefault(partition.topic, []).append(partition)
    return DescribeLogDirsResponse(
        results=[
            *(_describe(directory.path, by_directory.get(directory.path, {})) for directory in node.log_directories),
            *(
                DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=path)
                for path in node.log_directories.unusable
            ),
        ]
    )


def _describe(path: str, topics: dict[str, list[Partition]]) -> DescribeLogDirsResult:
    disk = os.statvfs(path)
    return DescribeLogDirsResult(
        log_dir=path,
        topics=[
            DescribeLogDirsTopic(
                name=name,
                partitions=[
                    DescribeLogDirsPartition(partition_index=partition.index, partition_size=partition.log.size_bytes)
                    for partition in partitions
                    if partition.log is not None
                ],
            )
            for name, partitions in topics.items()
        ],
        total_bytes=disk.f_blocks * disk.f_frsize,
        usable_bytes=disk.f_bavail * disk.f_frsize,
    )
