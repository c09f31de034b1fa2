"""The schemas of subscribers in Spark: as they are written, and as they are checked."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

_NUMBERS = ArrayType(DoubleType())
SUBSCRIBER_ROWS = StructType(
    [
        StructField("subscriber", IntegerType()),
        StructField("name", StringType()),
        StructField("location", _NUMBERS),
        StructField("low", _NUMBERS),
        StructField("high", _NUMBERS),
        StructField("max_delay", DoubleType()),
    ]
)
CHECKED = StructType(
    [
        *SUBSCRIBER_ROWS.fields[1:],
        StructField("reason", StringType()),
        StructField("late", StringType()),
    ]
)
