"""What each kind of dataset holds: its tables with their columns, and the facts of its manifest.

Readers check all of it, so that past this room everyone can rely on names, types and the absence
of nulls. What the values mean is checked where they are used.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from meshwright.errors import InputError

MOST = 2**63 - 1

# The types of columns, each with its test; "?" allows nulls.
COLUMN_TYPES: dict[str, Callable[[Any], bool]] = {
    "int": pa.types.is_integer,
    "double": pa.types.is_floating,
    "string": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
    "box": lambda t: pa.types.is_list(t) and pa.types.is_floating(t.value_type),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# The types of facts, each with its test and its words; "?" allows null.
FACT_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "count": (lambda v: type(v) is int and 0 <= v <= MOST, "a whole number of 0 or more"),
    "number": (_is_number, "a number"),
    "text": (lambda v: isinstance(v, str), "text"),
    "flag": (lambda v: isinstance(v, bool), "true or false"),
    "map": (lambda v: isinstance(v, dict), "a JSON object"),
    "numbers": (
        lambda v: isinstance(v, dict) and all(map(_is_number, v.values())),
        "a JSON object of numbers",
    ),
    "list": (lambda v: isinstance(v, list), "a JSON array"),
}


class Kind(NamedTuple):
    """One kind of dataset. Columns and facts are listed as "name type, name type, ..."."""

    made_by: str  # the verb
    tables: Mapping[str, str]  # table -> columns
    facts: str
    optional: Mapping[str, str] = {}  # tables that not every dataset has


KINDS = {
    "workload": Kind(
        "ingest` or `meshwright generate",
        {
            "subscriptions": "node int, topic int",
            "nodes": "node int, name string",
            "topics": "topic int, name string",
            "rejected": "source string?, record string?, reason string",
        },
        "n_nodes count, n_topics count, n_subscriptions count, n_rejected count, "
        "n_duplicates count, n_self_loops count, digest text, parameters map",
    ),
    "overlay": Kind(
        "design",
        {"edges": "u int, v int, rank int, gain int"},
        "workload text, workload_digest text, method text, parameters map, seed count?, "
        "seconds number, n_edges count, average_degree number, max_degree count, "
        "median_degree number, support number, connected flag, n_disconnected count, "
        "disconnected list, bounds numbers?",
        {
            "topics": "topic int, subscribers int, components int, connected_share double",
            "ring": "position int, node int",
            "fingers": "node int, phase int, finger int",
        },
    ),
    "run": Kind(
        "simulate",
        {
            "publications": "topic int, publisher int, deliveries int, missed int, overhead int, "
            "hops_mean double?, hops_max int?",
            "load": "node int, sent int, received int",
        },
        "overlay_digest text, workload_digest text, method text, n_edges count, routing text, "
        "parameters map, totals map, busiest list, seconds number",
    ),
    "problem": Kind(
        "generate content` or `meshwright ingest content",
        {
            "subscribers": "subscriber int, location box, low box, high box, max_delay double",
            "brokers": "broker int, parent int?, location box, capacity double?",
        },
        "n_subscribers count, n_brokers count, n_dimensions count, alpha count, beta number, "
        "beta_max number, parameters map, digest text",
    ),
    "assignment": Kind(
        "assign",
        {  # its checker lists what is missing
            "assignment": "subscriber int?, broker int?",
            "filters": "broker int?, low box?, high box?",
        },
        "problem text, problem_digest text, overrides map, method text, parameters map, "
        "seconds number, bandwidth number, feasible flag, violations map",
    ),
}


def _types(listed: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the name, the type and whether null is allowed of each entry of a list."""
    for entry in filter(None, listed.split(", ")):
        name, kind = entry.split(" ")
        yield name, kind.removesuffix("?"), kind.endswith("?")


def check_facts(kind: str, facts: Mapping[str, Any]) -> None:
    """Raise InputError if a fact of a manifest is not of its type."""
    for name, wanted, nullable in _types(KINDS[kind].facts):
        if name not in facts:
            continue  # whoever needs it will say so
        test, words = FACT_TYPES[wanted]
        value = facts[name]
        if not (value is None and nullable) and not test(value):
            raise InputError(f"{name!r} must be {words}; it is {str(value)[:40]!r}")


def check_columns(kind: str, table: str, schema: pa.Schema, path: Path) -> None:
    """Raise InputError unless a table has the columns of its kind, each of its type."""
    for name, wanted, _ in _columns(kind, table):
        if schema.names.count(name) != 1:
            raise InputError(
                f"'{path}' is damaged: table {table!r} has the columns {', '.join(schema.names)}; "
                f"{name!r} is needed once. Make the dataset again."
            )
        found = schema.field(name).type
        if not COLUMN_TYPES[wanted](found):
            raise InputError(
                f"'{path}' is damaged: column {name!r} of table {table!r} is {found}, "
                f"not {wanted}. Make the dataset again."
            )


def check_nulls(kind: str, table: str, rows: pa.Table | pa.RecordBatch, path: Path) -> None:
    """Raise InputError for a null in a column that has none by its kind."""
    for name, _, nullable in _columns(kind, table):
        if name in rows.schema.names and not nullable and rows.column(name).null_count:
            raise InputError(
                f"'{path}' is damaged: column {name!r} of table {table!r} has nulls. "
                "Make the dataset again."
            )


def _columns(kind: str, table: str) -> Iterator[tuple[str, str, bool]]:
    return _types({**KINDS[kind].tables, **KINDS[kind].optional}.get(table, ""))
