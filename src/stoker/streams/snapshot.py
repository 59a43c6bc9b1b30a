"""What a node is for all that its topics hold now: one micro-batch from the beginning to the end, kept nowhere."""

import atexit
import shutil
import tempfile
from typing import TYPE_CHECKING

from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import output_rows
from stoker.streams.nodes import Node
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stoker.streams.running import Running


def snapshot(running: "Running", node: Node) -> "DataFrame":
    """Its rows; of a table those that it has now. `running` is of a topology that ends in the node."""
    from pyspark.sql import functions as F  # noqa: N812

    from stoker.streams.columns import DELETED

    running.compiled()
    root = tempfile.mkdtemp(prefix="stoker-snapshot-")
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    directory = StateDirectory(root)
    batch = Batch(
        running.spark, number=0, inputs=running.everything(directory), directory=directory, manifest=Manifest()
    )
    rows, _ = output_rows(batch, node)
    return rows.where(~F.col(DELETED)).drop(DELETED) if DELETED in rows.columns else rows
