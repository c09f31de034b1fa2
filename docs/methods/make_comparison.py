"""Write the comparison table of ``index.md``: ``python docs/methods/make_comparison.py``.

Every method designs an overlay for ``examples/company.csv``; the table holds what came out. It is
the same on every machine: methods with chance in them run with seed 1.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from meshwright import Instance, Overlay, design, disconnected_topics
from meshwright.overlay.bounds import Certify, find_bounds

PAGE = Path(__file__).with_name("index.md")
COMPANY = Path(__file__).parents[2] / "examples" / "company.csv"
BEGIN, END = "<!-- comparison: written by make_comparison.py -->", "<!-- comparison ends -->"

EFFORT = Certify(300, 300, 10)  # in rounds, not in seconds: the same on every machine

PLANS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gm", {}),
    ("gm", {"ties": "id"}),
    ("minmax", {}),
    ("low", {"k": 2}),
    ("refined", {}),
    ("refined", {"max_degree": 7}),
    ("refined", {"max_degree": 6}),
    ("exact", {}),
    ("gpa", {"max_edges": 40}),
    ("gpm", {"max_degree": 5}),
    ("cd", {}),
    ("cd1", {}),
    ("cd2", {}),
    ("spidercast", {}),
    ("spidercast", {"max_degree": 5}),
    ("random-average", {"max_edges": 40}),
    ("random-max", {"max_degree": 5}),
    ("ring-per-topic", {}),
    ("star", {}),
    ("star", {"relay": False}),
    ("full-mesh", {}),
    ("sl", {}),
    ("s", {}),
    ("l", {}),
    ("none", {}),
)


def table() -> str:
    """Return the table in Markdown, with the bounds below it."""
    with COMPANY.open(newline="", encoding="utf-8") as file:
        pairs = [(row["broker"], row["topic"]) for row in csv.DictReader(file)]
    instance = Instance.from_pairs(pairs)
    lines = [
        f"{instance.n_nodes} brokers, {instance.n_topics} topics, "
        f"{instance.n_subscriptions:,} subscriptions:",
        "",
        "| plan | links | average degree | maximum degree | support | disconnected | diameter |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for method, parameters in PLANS:
        overlay = design(instance, method, certify=False, **parameters)
        lines.append(row(overlay, _named(method, parameters)))
    links = design(instance, "gm", certify=False).edges
    bounds = find_bounds(instance, links, certify=EFFORT)
    lines += [
        "",
        f"No plan that joins every topic has fewer than {bounds.edges} links or a maximum degree "
        f"below {bounds.max_degree}",
        "([certificates](../certificates.md)).",
    ]
    return "\n".join(lines)


def row(overlay: Overlay, name: str) -> str:
    """Return a row of the table."""
    return (
        f"| {name} | {overlay.n_edges:,} | {overlay.average_degree:.2f} | {overlay.max_degree} "
        f"| {overlay.support:.1%} | {len(disconnected_topics(overlay))} "
        f"| {largest_diameter(overlay)} |"
    )


def _named(method: str, parameters: dict[str, Any]) -> str:
    given = ", ".join(f"{name.replace('_', ' ')} {_said(v)}" for name, v in parameters.items())
    return f"`{method}`" + (f", {given}" if given else "")


def _said(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def largest_diameter(overlay: Overlay) -> int:
    """Return the largest topic diameter, over the pieces where a topic is apart."""
    instance = overlay.instance
    linked: list[set[int]] = [set() for _ in range(instance.n_nodes)]
    for u, v in overlay.edge_list():
        linked[u].add(v)
        linked[v].add(u)
    members: list[set[int]] = [set() for _ in range(instance.n_topics)]
    for node in range(instance.n_nodes):
        for topic in instance.topics_of(node).tolist():
            members[topic].add(node)
    return max(_farthest(linked, wanting) for wanting in members)


def _farthest(linked: list[set[int]], members: Iterable[int]) -> int:
    """Return the longest shortest path among the members, over their own links."""
    inside = set(members)
    longest = 0
    for start in inside:
        distance = {start: 0}
        queue = deque([start])
        while queue:
            u = queue.popleft()
            for w in linked[u] & inside:
                if w not in distance:
                    distance[w] = distance[u] + 1
                    queue.append(w)
        longest = max(longest, *distance.values())
    return longest


def updated(page: str) -> str:
    """Return a page with its table made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Rewrite the table in index.md."""
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
