"""The data of a page: trimmed so that the page is not too large, then packed.

Long lists that do not fit are left out, never cut, and the page says so. Headlines, charts and
pictures still count everything; without its lists a page cannot find a node or light up a topic.

Packing makes long lists of whole numbers a third of their size as JSON. A list becomes
``{"$i": text}``, a list of lists ``{"$l": [lengths, values]}`` with length -1 for a missing one.
The text is base64 of the differences between consecutive numbers, zigzag, in groups of seven bits,
the smallest first. `core.js` reads it.
"""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SHORTEST = 32  # shorter lists gain nothing
GROUP = 7  # bits


class Budget(NamedTuple):
    """The most entries of each kind of list in a page."""

    subscriptions: int  # over all workloads
    edges: int  # over all overlays
    names: int  # nodes, or topics, of a workload; above it none of their columns


BUDGETS = (
    Budget(1_200_000, 400_000, 100_000),
    Budget(200_000, 60_000, 20_000),
    Budget(0, 0, 2_000),
)


def trimmed(document: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """Return a document that keeps within a budget, with its arrays as lists."""
    sections = document["sections"]
    workloads = [s for s in sections if s["kind"] == "overlays" and "n_nodes" in s["workload"]]
    n_overlays = sum(len(section["overlays"]) for section in workloads)
    share = Budget(
        budget.subscriptions // max(len(workloads), 1),
        budget.edges // max(n_overlays, 1),
        budget.names,
    )
    fitting = [_section(s, share) if any(s is w for w in workloads) else s for s in sections]
    return {**document, "sections": fitting}


def _section(section: dict[str, Any], budget: Budget) -> dict[str, Any]:
    workload = dict(section["workload"])
    with_nodes = workload["n_nodes"] <= budget.names
    with_topics = workload["n_topics"] <= budget.names
    if not with_nodes:
        workload |= {"node_names": None, "topics_of_node": None}
    if not with_topics:
        workload |= {"topic_names": None, "subscribers_of_topic": None}
    both = with_nodes and with_topics
    workload["subscribers"] = _subscribers(workload, budget.subscriptions) if both else None
    overlays = []
    for overlay in section["overlays"]:
        fitting = dict(overlay)
        edges = overlay["edges"]
        few = with_nodes and len(edges) <= budget.edges
        fitting["edges"] = (
            {"one": edges[:, 0].tolist(), "other": edges[:, 1].tolist()} if few else None
        )
        if not with_topics:
            fitting["topics"] = None
        if not with_nodes:
            fitting["degree"] = {**overlay["degree"], "of_node": None}
            fitting["picture"] = {**overlay["picture"], "group": None}
        overlays.append(fitting)
    return {**section, "workload": workload, "overlays": overlays}


def _subscribers(workload: dict[str, Any], most: int) -> list[list[int] | None]:
    """Return the subscribers of each topic; None for the largest topics, if all are too many.

    Small topics come first, so that most can be chosen; large ones light up nearly everything.
    """
    sizes = np.array(workload["subscribers_of_topic"], np.int64)
    order = np.argsort(sizes, kind="stable")
    listed = np.zeros(len(sizes), np.bool_)
    listed[order[np.cumsum(sizes[order]) <= most]] = True
    wanted = workload["subscribers"]
    return [wanted[t].tolist() if listed[t] else None for t in range(len(sizes))]


def packed(value: Any) -> Any:
    """Return a value with its long lists of whole numbers packed.

    Examples
    --------
    >>> packed({"few": [1, 2], "many": [7] * 40})["few"]
    [1, 2]
    >>> packed({"many": [7] * 40})["many"]["$i"][:4]
    'DgAA'

    """
    if isinstance(value, dict):
        return {name: packed(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > SHORTEST and all(type(part) is int for part in value):
        return {"$i": encoded(np.array(value, np.int64))}
    if len(value) > SHORTEST and all(_is_ints(part) for part in value):
        lengths = [-1 if part is None else len(part) for part in value]
        whole = [number for part in value if part is not None for number in part]
        return {"$l": [encoded(np.array(lengths)), encoded(np.array(whole, np.int64))]}
    return [packed(part) for part in value]


def encoded(numbers: npt.NDArray[np.int64]) -> str:
    """Return whole numbers as text, packed."""
    steps = np.diff(numbers, prepend=0)
    zigzag = ((steps << 1) ^ (steps >> 63)).astype(np.uint64)
    lengths = np.ones(len(zigzag), np.int64)
    for group in range(1, 10):
        lengths += zigzag >= np.uint64(1) << np.uint64(GROUP * group)
    ends = np.cumsum(lengths)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for group in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > group)
        bits = (zigzag[rows] >> np.uint64(GROUP * group)) & np.uint64(127)
        more = (lengths[rows] > group + 1).astype(np.uint64) << np.uint64(GROUP)
        out[ends[rows] - lengths[rows] + group] = (bits | more).astype(np.uint8)
    return base64.b64encode(out.tobytes()).decode()


def embedded(value: Any) -> str:
    r"""Return JSON for a script element; nothing in it can end the element.

    Examples
    --------
    >>> embedded({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'

    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _is_ints(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(type(part) is int for part in value))
