"""Protobuf itself, by which our reading of schemas is judged: protoc compiles, and the protobuf package makes the classes."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import _protoc_compiler


def compiled(text: str, dependencies: dict[str, str] | None = None) -> FileDescriptorSet:
    """What protoc makes of a text: its file last, after those that it imports."""
    with TemporaryDirectory() as directory:
        for name, each in {**(dependencies or {}), "main.proto": text}.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(each)
        output = Path(directory, "set.binpb")
        status = _protoc_compiler.run_main(
            [
                argument.encode()
                for argument in (
                    "protoc",
                    f"-I{directory}",
                    f"-I{_included()}",
                    "--include_imports",
                    f"--descriptor_set_out={output}",
                    "main.proto",
                )
            ]
        )
        assert status == 0, f"protoc refuses:\n{text}"
        return FileDescriptorSet.FromString(output.read_bytes())


def _included() -> Path:
    import grpc_tools

    return Path(grpc_tools.__file__).with_name("_proto")


def pool_of(files: FileDescriptorSet | list[FileDescriptorProto]) -> DescriptorPool:
    pool = DescriptorPool()
    for each in files.file if isinstance(files, FileDescriptorSet) else files:
        pool.AddSerializedFile(each.SerializeToString())
    return pool


def message_class(text: str, name: str) -> Any:
    """The class of one message of a text."""
    return GetMessageClass(pool_of(compiled(text)).FindMessageTypeByName(name))
