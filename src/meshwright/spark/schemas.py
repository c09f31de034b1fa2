"""The schemas of the frames that pass between pipeline steps, and the check that they fit."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from meshwright.errors import InputError

RECORDS = StructType(
    [
        StructField("node", StringType()),
        StructField("topic", StringType()),
        StructField("source", StringType()),
        StructField("record", StringType()),
        StructField("reason", StringType()),
    ]
)
REJECTED = StructType(RECORDS.fields[2:])
KEYS = StructType([StructField("key", LongType())])
SUBSCRIPTIONS = StructType(
    [StructField("node", IntegerType()), StructField("topic", IntegerType())]
)
BLOCKS = StructType([StructField("block", LongType()), StructField("digest", BinaryType())])


def require(frame: DataFrame, schema: StructType, who: str) -> DataFrame:
    """Return the frame if it has the columns of the schema, by name and type; else say which."""
    found = {field.name: field.dataType for field in frame.schema.fields}
    missing = [
        f"{field.name} {field.dataType.simpleString()}"
        for field in schema.fields
        if found.get(field.name) != field.dataType
    ]
    if missing:
        present = ", ".join(f"{name} {kind.simpleString()}" for name, kind in found.items())
        raise InputError(
            f"{who} needs column {', '.join(missing)}; the frame has {present}. "
            "Rename or cast it first."
        )
    return frame
