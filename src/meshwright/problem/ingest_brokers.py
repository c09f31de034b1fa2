"""A user's brokers: rows with names and parents to a tree, every complaint gathered first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from meshwright.errors import InputError
from meshwright.problem.arguments import MOST_BROKERS
from meshwright.problem.read import Table
from meshwright.problem.tree import CAPACITY_TOLERANCE, BrokerTree

SHOWN = 20  # complaints told in full


@dataclass(frozen=True, slots=True)
class Brokers:
    """The tree, and what was changed to make it one."""

    tree: BrokerTree
    warnings: tuple[str, ...]


def ingest_brokers(table: Table) -> Brokers:
    """Return the tree of the brokers of a table; ids follow the sorted names."""
    frame = table.frame.select(
        table.text("name").alias("name"),
        table.text("parent").alias("parent"),
        table.point("location").alias("location"),
        table.number("capacity").alias("capacity"),
        table.unreadable("location", "capacity").alias("cells"),
    )
    rows = [row.asDict() for row in frame.limit(MOST_BROKERS + 2).collect()]
    if len(rows) > MOST_BROKERS + 1:
        raise InputError(f"'{table.shown}' has more than {MOST_BROKERS:,} brokers; give fewer.")
    return brokers_of(table.shown, rows)


def brokers_of(shown: str, rows: list[dict[str, Any]]) -> Brokers:
    """Return the tree of rows with name, parent, location, capacity and cells (complaints)."""
    complaints = _row_complaints(rows)
    if not complaints:
        complaints = _tree_complaints({row["name"]: row["parent"] for row in rows})
    refuse(shown, complaints, len(complaints))
    rows = sorted(rows, key=lambda row: row["name"])
    ids = {row["name"]: i for i, row in enumerate(rows)}
    parents = [ids.get(row["parent"], -1) for row in rows]
    is_leaf = [parents[i] >= 0 and i not in set(parents) for i in range(len(rows))]
    capacity, warnings = _capacities(shown, rows, is_leaf)
    tree = BrokerTree(
        np.array(parents),
        np.array([row["location"] for row in rows], np.float64),
        capacity,
        [row["name"] for row in rows],
    )
    return Brokers(tree, warnings)


def refuse(shown: str, complaints: list[str], count: int) -> None:
    """Raise with the complaints about a table, if there are any."""
    if count == 0:
        return
    told = [f"  {complaint}" for complaint in complaints[:SHOWN]]
    if count > SHOWN:
        told.append(f"  and {count - SHOWN:,} more")
    raise InputError(
        "\n".join(
            [f"'{shown}' cannot be used; nothing was written:", *told, "Mend it and try again."]
        )
    )


def _row_complaints(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["it has no rows; give the publisher and at least one broker."]
    found = []
    sizes = Counter(len(row["location"] or ()) for row in rows)
    dimensions = min(sizes, key=lambda size: (-sizes[size], size))
    for row in rows:
        name, location = row["name"], row["location"] or ()
        if name is None:
            found.append(f"a broker at {_shown(location)} has no name.")
            continue
        if row["cells"]:
            found.append(f"{name!r}{row['cells']}.")
            continue
        if len(location) != dimensions:
            found.append(
                f"{name!r} is located in {len(location)} dimensions, most brokers in {dimensions}."
            )
        elif any(x is None or not np.isfinite(x) for x in location):
            found.append(f"the location of {name!r} is {_shown(location)}; give finite numbers.")
        capacity = row["capacity"]
        if capacity is not None and not 0 <= capacity < np.inf:
            found.append(f"the capacity of {name!r} is {capacity:g}; give 0 or more.")
    if dimensions == 0:
        found.append("the brokers have no location.")
    counts = Counter(row["name"] for row in rows if row["name"] is not None)
    found += [
        f"the name {n!r} is given to {count} brokers." for n, count in counts.items() if count > 1
    ]
    return found


def _tree_complaints(parent: dict[str, str | None]) -> list[str]:
    found = [
        f"{name!r} has the parent {above!r}, which is not among the brokers."
        for name, above in parent.items()
        if above is not None and above not in parent
    ]
    roots = [name for name, above in parent.items() if above is None]
    if not roots:
        found.append("every broker has a parent; the publisher must have none.")
    elif len(roots) > 1:
        listed = ", ".join(map(repr, roots[:SHOWN]))
        found.append(f"{len(roots)} rows have no parent ({listed}); only the publisher has none.")
    elif len(parent) == 1:
        found.append("there is no broker beside the publisher; add one.")
    seen: dict[str, str] = {}  # name -> the walk that came by
    for start in parent:
        walk, at = [], start
        while at in parent and at not in seen:
            seen[at] = start
            walk.append(at)
            at = parent[at] or ""
        if seen.get(at) == start and at in walk:
            circle = [*walk[walk.index(at) :], at]
            found.append(f"the parents go in a circle: {' -> '.join(circle[: SHOWN + 1])}.")
    return found


def _capacities(
    shown: str, rows: list[dict[str, Any]], is_leaf: list[bool]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], tuple[str, ...]]:
    """Return the shares of the leaves and what to tell the user about them."""
    given = [row["capacity"] for row in rows]
    if all(capacity is None for capacity in given):
        return np.zeros(0), ()
    lacking = [
        row["name"] for row, leaf in zip(rows, is_leaf, strict=True)
        if leaf and row["capacity"] is None
    ]  # fmt: skip
    complaints = [f"the leaf {name!r} has no capacity, others have." for name in lacking]
    refuse(shown, complaints, len(complaints))
    shares = np.array([c if leaf else 0.0 for c, leaf in zip(given, is_leaf, strict=True)])
    total = float(shares.sum())
    if total <= 0:
        refuse(shown, ["the capacities of the leaves are all 0."], 1)
    if abs(total - 1.0) <= CAPACITY_TOLERANCE:
        return shares, ()
    return shares / total, (
        f"the capacities of the leaves sum to {total:g}; they were scaled to sum to 1.",
    )


def _shown(point: Any) -> str:
    return "(" + ", ".join("nothing" if x is None else f"{x:g}" for x in point or ()) + ")"
