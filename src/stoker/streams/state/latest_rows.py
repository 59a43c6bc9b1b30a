"""All rows of a small store, as Arrow columns and without Spark."""

import pyarrow as pa
import pyarrow.compute as pc

from stoker.streams.columns import DELETED, KEY
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import StoreFiles
from stoker.streams.state.parts import PARTS


def latest_rows(directory: StateDirectory, store: str, files: StoreFiles) -> pa.Table:
    """Each key once, as the last part that has it says; without those that are deleted."""
    found: list[pa.Table] = []
    for part in reversed(PARTS.of_store(directory, store, files)):
        rows = part.table()
        for later in found:
            rows = rows.filter(pc.invert(pc.is_in(rows[KEY], value_set=later[KEY].combine_chunks())))
        found.append(rows)
    everything = pa.concat_tables(found, promote_options="default")
    return everything.filter(pc.invert(everything[DELETED]))
