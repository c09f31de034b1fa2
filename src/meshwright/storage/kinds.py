"""What each kind of dataset holds: its tables with their columns, and the facts of its manifest.

Readers check all of it, so that past this room everyone can rely on names, types and the absence
of nulls. What the values mean is checked where they are used.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from meshwright.errors import InputError, damaged

MOST = 2**63 - 1  # of a count
MOST_NUMBER = sys.float_info.max

# The types of columns, each with its test; "?" allows nulls.
COLUMN_TYPES: dict[str, Callable[[Any], bool]] = {
    "int": pa.types.is_integer,
    "double": pa.types.is_floating,
    "flag": pa.types.is_boolean,
    "string": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
    "box": lambda t: pa.types.is_list(t) and pa.types.is_floating(t.value_type),
}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= MOST_NUMBER


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_loaded_node(value: Any) -> bool:
    counted = _is_map(value) and all(_is_count(value.get(name)) for name in ("sent", "received"))
    return counted and isinstance(value.get("node"), str)


LIMIT_TYPES: dict[str, Callable[[Any], bool]] = {  # of a problem, that an assignment can replace
    "alpha": _is_count,
    "beta": _is_number,
    "beta_max": _is_number,
    "max_delay": _is_number,
    "last_hop": lambda value: isinstance(value, bool),
    "density": lambda value: value is None or _is_map(value),
}


# The types of facts, each with its test and its words; "?" allows null.
FACT_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "count": (_is_count, "a whole number of 0 or more"),
    "number": (_is_number, "a number"),
    "text": (lambda v: isinstance(v, str), "text"),
    "flag": (lambda v: isinstance(v, bool), "true or false"),
    "map": (_is_map, "a JSON object"),
    "numbers": (
        lambda v: _is_map(v) and all(map(_is_number, v.values())),
        "a JSON object of numbers",
    ),
    "list": (lambda v: isinstance(v, list), "a JSON array"),
    "span": (
        lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_number, v)),
        "a JSON array of two numbers",
    ),
    "busiest": (
        lambda v: isinstance(v, list) and all(map(_is_loaded_node, v)),
        "a JSON array of nodes with what they sent and received",
    ),
    "violations": (
        lambda v: _is_map(v) and all(_is_map(x) and _is_count(x.get("count")) for x in v.values()),
        "a JSON object with a count for each constraint",
    ),
    "limits": (
        lambda v: (
            _is_map(v) and all(name in LIMIT_TYPES and LIMIT_TYPES[name](v[name]) for name in v)
        ),
        f"a JSON object of limits ({', '.join(LIMIT_TYPES)})",
    ),
}


class Kind(NamedTuple):
    """One kind of dataset. Columns and facts are listed as "name type, name type, ...".

    A fact inside of another has both names, as in ``totals.missed``; it may not be missing there.
    """

    made_by: str  # the verb
    tables: Mapping[str, str]  # table -> columns
    facts: str
    optional: Mapping[str, str] = {}  # tables that not every dataset has
    counted: tuple[str, ...] = ()  # tables whose rows are a fact too: "nodes" for n_nodes
    format_version: int = 1  # what is written; older versions can still be read


def _totals(name: str) -> str:
    """Return the facts in the totals of a run."""
    loads = (
        f"{what}_mean number, {what}_stdev number, {what}_max count"
        for what in ("sent", "received", "load")
    )
    listed = (
        "publications count, deliveries count, missed count, overhead count, messages count, "
        f"hops_mean number?, hops_max count?, {', '.join(loads)}, busiest_share number"
    )
    return ", ".join(f"{name}.{fact}" for fact in listed.split(", "))


KINDS = {
    "workload": Kind(
        "ingest` or `meshwright generate",
        {
            "subscriptions": "node int, topic int",
            "nodes": "node int, name string",
            "topics": "topic int, name string",
            "rejected": "source string?, record string?, reason string",
        },
        "n_nodes count, n_topics count, n_subscriptions count, n_publications count, "
        "n_rejected count, n_duplicates count, n_self_loops count, digest text, parameters map",
        {"publications": "node int, topic int, rate double?, bytes double?"},
        counted=("nodes", "topics", "subscriptions", "publications"),
        format_version=2,
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
            "leaves": "node int, topic int",
            "limits": "node int, max_degree int?, role string?",
            "links": "u int, v int, allowed string?, dial string?",
            "costs": "u int, v int, cost double",
            "ring": "position int, node int",
            "fingers": "node int, phase int, finger int",
            "steps": "step int, action string, a string, b string",
        },
    ),
    "frontier": Kind(
        "frontier",
        {
            "points": "max_degree int?, links int, degree int, support double, connected flag, "
            "bound_links int, bound_degree int, seconds double, overlay string",
        },
        "workload text, workload_digest text, method text, parameters map, seed count?, "
        "seconds number, n_points count",
        counted=("points",),
    ),
    "run": Kind(
        "simulate",
        {
            "publications": "topic int, publisher int, deliveries int, missed int, overhead int, "
            "hops_mean double?, hops_max int?",
            "load": "node int, sent int, received int",
        },
        "overlay_digest text, workload_digest text, method text, n_edges count, max_degree count, "
        "routing text, parameters map, parameters.publications count, parameters.weighted flag, "
        f"seed count, totals map, {_totals('totals')}, busiest busiest, seconds number, "
        f"against map?, against.routing text, against.totals map, {_totals('against.totals')}",
    ),
    "problem": Kind(
        "generate content` or `meshwright ingest content",
        {
            "subscribers": "subscriber int, location box, low box, high box, max_delay double",
            "brokers": "broker int, parent int?, location box, capacity double?",
        },
        "n_subscribers count, n_brokers count, n_leaves count, n_levels count, n_dimensions count, "
        "in_time numbers, alpha count, beta number, beta_max number, last_hop flag, "
        "max_delay span, density map?, parameters map, digest text",
        counted=("subscribers",),
    ),
    "assignment": Kind(
        "assign",
        {  # its checker lists what is missing
            "assignment": "subscriber int?, broker int?",
            "filters": "broker int?, low box?, high box?",
        },
        "problem text, problem_digest text, overrides limits, method text, parameters map, "
        "seconds number, bandwidth number?, bound number?, bound_is_exact flag, "
        "fractional number?, n_candidate_boxes count?, lbf number?, delay_rms number?, "
        "delay_max number?, load_stdev number?, load_min count, load_max count, alpha count, "
        "beta number, beta_max number, within_beta flag, feasible flag, violations violations, "
        "obstacle map?, notes map",
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
        within, _, last = name.rpartition(".")
        place = _find(facts, within)
        if place is None or (not within and last not in place):
            continue  # the reader that needs it reports it
        if last not in place:
            raise InputError(f"{name!r} is missing")
        test, words = FACT_TYPES[wanted]
        value = place[last]
        if not (value is None and nullable) and not test(value):
            raise InputError(f"{name!r} must be {words}; it is {str(value)[:40]!r}")


def _find(facts: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Return the object at a path such as ``against.totals``; None where a part is missing."""
    found: Mapping[str, Any] | None = facts
    for name in filter(None, path.split(".")):
        found = None if found is None else found.get(name)
    return found


def check_columns(kind: str, table: str, schema: pa.Schema, path: Path) -> None:
    """Raise InputError unless a table has the columns of its kind, each of its type."""
    for name, wanted, _ in _columns(kind, table):
        if schema.names.count(name) != 1:
            columns = ", ".join(schema.names)
            why = f"table {table!r} has the columns {columns}; {name!r} is needed once"
            raise damaged(path, why)
        found = schema.field(name).type
        if not COLUMN_TYPES[wanted](found):
            raise damaged(path, f"column {name!r} of table {table!r} is {found}, not {wanted}")


def check_nulls(kind: str, table: str, rows: pa.Table | pa.RecordBatch, path: Path) -> None:
    """Raise InputError for a null in a column that has none by its kind."""
    for name, _, nullable in _columns(kind, table):
        if name in rows.schema.names and not nullable and rows.column(name).null_count:
            raise damaged(path, f"column {name!r} of table {table!r} has nulls")


def _columns(kind: str, table: str) -> Iterator[tuple[str, str, bool]]:
    return _types({**KINDS[kind].tables, **KINDS[kind].optional}.get(table, ""))
