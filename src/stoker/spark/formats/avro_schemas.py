"""The Avro schema of a column: made anew, or the latest one with what the column has and it does not."""

import json
import re
from typing import Any

from pyspark.sql.types import DataType, StructType

from stoker.spark.formats.avro_types import schema_of
from stoker.spark.schemas import RegisteredSchema


def avro_of(column: DataType, name: str, latest: RegisteredSchema | None = None) -> str:
    """As Spark's `to_avro` makes it, the record named after `name`.

    Of the latest schema all stays as it is: new fields come behind, with null as their default, so that what was written
    before can be read. Raises UnencodableColumn for a type that Avro does not have.
    """
    if latest is None:
        return schema_of(column, _record_name(name))
    schema = json.loads(latest.text)
    if isinstance(column, StructType):
        _extend(schema, column, "")
    return json.dumps(schema)


def _extend(schema: Any, column: StructType, namespace: str) -> None:
    """The record that the schema is, or the one in its union."""
    if isinstance(schema, list):
        schema = next((each for each in schema if isinstance(each, dict) and each.get("type") == "record"), None)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return
    namespace = schema.get("namespace", namespace)
    name = schema["name"] if "." in schema["name"] or not namespace else f"{namespace}.{schema['name']}"
    known = {field["name"]: field for field in schema["fields"]}
    for each in column.fields:
        if each.name not in known:
            made = json.loads(schema_of(each.dataType, each.name, name))
            schema["fields"].append({"name": each.name, "type": ["null", made], "default": None})
        elif isinstance(each.dataType, StructType):
            _extend(known[each.name]["type"], each.dataType, name.rpartition(".")[0])


def _record_name(name: str) -> str:
    found = "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name)) or "Record"
    return found if found[0].isalpha() else f"Record{found}"
