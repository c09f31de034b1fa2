"""Searches in graphs of few nodes, which are ids or names."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", int, str)


def neighbours(edges: Iterable[tuple[Node, Node]]) -> dict[Node, list[Node]]:
    """Return the neighbours of each node, in the order of the edges."""
    found: dict[Node, list[Node]] = {}
    for u, v in edges:
        found.setdefault(u, []).append(v)
        found.setdefault(v, []).append(u)
    return found


def search(near: Mapping[Node, Iterable[Node]], starts: Iterable[Node]) -> dict[Node, Node | None]:
    """Search breadth-first; return each node reached and the node before it, None at a start."""
    before: dict[Node, Node | None] = dict.fromkeys(starts)
    queue = list(before)
    for u in queue:
        for v in near.get(u, ()):
            if v not in before:
                before[v] = u
                queue.append(v)
    return before
