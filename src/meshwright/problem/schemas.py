"""The schema of the table of subscribers, as Spark writes it."""

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
