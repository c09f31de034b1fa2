"""The claims of paper 4, and how cells decide them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from papers.findings import (
    POINTS,
    at_least,
    at_most,
    falling,
    mean,
    number,
    ordered,
    values,
    where,
)
from papers.model import Claim, Finding, Kind, Rows
from papers.reasons import FILLED_BY_INTEREST, GRAPH_DECIDES, LONG_FINGERS, PUBLICATIONS
from papers.world_grids import FAMILY, FINGERS, OVERLAYS, against_base, name_of
from papers.world_orders import NODES, less


def line(graph: str, system: tuple[str, str], papers: Sequence[float], fingers: str) -> list[Claim]:
    """Return the claims of one line of a table: overheads and paths, on samples of both sizes."""
    places = [
        (what, column, nodes)
        for what, column in (("overhead", "overhead"), ("mean path", "hops_mean"))
        for nodes in NODES
    ]

    def find(column: str, nodes: int) -> Callable[[Rows], float]:
        at: dict[str, Any] = {"workload_graph": graph, "workload_nodes": nodes}
        return lambda rows: against_base(rows, column, *system, fingers=fingers, **at)

    return [
        ratio(
            f"{graph.upper()}{nodes // 1000}K: {what} of {name_of(*system)} against Scribe(-); "
            f"{fingers} fingers",
            paper,
            find(column, nodes),
            GRAPH_DECIDES,
            kind=Kind.PRIVATE,
        )
        for (what, column, nodes), paper in zip(places, papers, strict=True)
    ]


def overlay_share(rows: Rows, **at: Any) -> float:
    """Return the share of BeaConvey's gain over Scribe(-) that the overlay alone brings."""
    others = [
        against_base(rows, "overhead", overlay, routing, **at)
        for overlay in OVERLAYS
        for routing in ("scribe", "iscribe")
    ]
    whole = 1 - against_base(rows, "overhead", "SL", "pie", **at)
    return 100 * (1 - min(others)) / whole


def mean_over(column: str, overlay: str, routing: str, over: str) -> Callable[[Rows], float]:
    """Return a ratio to Scribe(-), mean over points."""

    def find(rows: Rows) -> float:
        found = [
            against_base(rows, column, overlay, routing, **{over: x}) for x in values(rows, over)
        ]
        return math.fsum(found) / len(found) if found else math.nan

    return find


def ratio(
    text: str,
    paper: float,
    find: Callable[[Rows], float],
    why: str = PUBLICATIONS,
    *,
    kind: Kind = Kind.SYNTHETIC,
) -> Claim:
    """Return the claim on a ratio."""
    return Claim(
        text,
        f"{paper:g}",
        lambda rows: number(find(rows), paper, "{:.3f}"),
        why,
        at_default=True,
        kind=kind,
    )


def shared_gain(
    text: str, paper: float, find: Callable[[Rows], float], why: str, kind: Kind
) -> Claim:
    """Return the claim on what gives a part of a gain, in percent of it."""
    return Claim(
        text,
        f"{paper:g}%",
        lambda rows: number(find(rows), paper, "{:.1f}%", base=POINTS),
        why,
        at_default=True,
        kind=kind,
    )


def at_most_topics(rows: Rows) -> Rows:
    """Return the rows with the most topics."""
    return where(rows, workload_topics=10_000)


def less_on_same(column: str) -> Callable[[Rows], Finding | None]:
    """Return whether BeaConvey has less of a column than both other families, by overlay."""
    return lambda rows: ordered(
        (
            against_base(rows, column, overlay, other, workload_topics=t),
            against_base(rows, column, overlay, "pie", workload_topics=t),
        )
        for t in values(rows, "workload_topics")
        for overlay in OVERLAYS
        for other in ("scribe", "iscribe")
    )


def order_of(
    one: tuple[str, str], other: tuple[str, str], column: str = "overhead"
) -> Callable[[Rows], Finding | None]:
    """Return whether one system has less of a column than another at every number of topics."""
    return lambda rows: ordered(
        pair
        for t in values(rows, "workload_topics")
        for pair in less(one, other, column)(rows, "chord", {"workload_topics": t})
    )


def less_by_interest(text: str, **at: Any) -> Claim:
    """Return the claim that fingers by interest, where no link gains, save overhead."""

    def find(rows: Rows) -> Finding | None:
        ours, drawn = (mean(rows, "overhead", fill=fill, **at) for fill in ("interest", "random"))
        return at_most(ours / drawn, 1.0, "{:.3f} of it")

    return Claim(
        f"{text}: overhead of BeaConvey(SL, Pie), fingers without gain by interest",
        "random fingers",
        find,
        FILLED_BY_INTEREST,
        at_default=True,
        kind=Kind.IMPROVEMENT,
    )


def graph_claims(graph: str, paper: Mapping[tuple[str, str], Sequence[float]]) -> list[Claim]:
    """Return the claims of Table 3 or 4 alone: each line, and what short fingers save."""
    name = graph.upper()
    return [
        *[
            claim
            for fingers in FINGERS
            for system, ratios in paper.items()
            for claim in line(graph, system, ratios, fingers)
        ],
        *[
            Claim(
                f"{name}{nodes // 1000}K: of what SL saves over (-), short fingers alone save 80%",
                "over 80%",
                by_short_fingers(graph, nodes),
                LONG_FINGERS,
                at_default=True,
                kind=Kind.PRIVATE,
            )
            for nodes in NODES
        ],
    ]


def by_short_fingers(graph: str, nodes: int) -> Callable[[Rows], Finding | None]:
    """Return the share of what SL saves that short fingers alone save."""

    def find(rows: Rows) -> Finding | None:
        at: dict[str, Any] = {"workload_graph": graph, "workload_nodes": nodes}
        whole, short, none = (
            against_base(rows, "overhead", overlay, "pie", **at) for overlay in ("SL", "S", "-")
        )
        return at_least(100 * (none - short) / (none - whole), 80.0, "{:.1f}%", base=POINTS)

    return find


def change(overlay: str, **at: Any) -> Callable[[Rows], float]:
    """Return by how much iScribe on an overlay is above iScribe(-), of Scribe(-)'s overhead."""
    return lambda rows: (
        against_base(rows, "overhead", overlay, "iscribe", **at)
        - against_base(rows, "overhead", "-", "iscribe", **at)
    )


def fifth_to_two() -> list[Claim]:
    """Return the claims that BeaConvey(SL) has from 0.2 to 0.4 of the overhead, by Pie and Po."""

    def overheads(rows: Rows) -> list[float]:
        points = sorted({(row["workload_graph"], row["workload_nodes"]) for row in rows})
        return [
            against_base(rows, "overhead", "SL", routing, workload_graph=g, workload_nodes=nodes)
            for g, nodes in points
            for routing in ("pie", "po")
        ]

    text = "overhead of BeaConvey(SL), Pie and Po, of Scribe(-)'s (the paper's introduction)"
    return [
        ratio(f"Least {text}", 0.2, lambda rows: min(overheads(rows)), GRAPH_DECIDES,
              kind=Kind.PRIVATE),
        ratio(f"Largest {text}", 0.4, lambda rows: max(overheads(rows)), GRAPH_DECIDES,
              kind=Kind.PRIVATE),
    ]  # fmt: skip


def both_fingers_help(rows: Rows) -> Finding | None:
    """Return whether BeaConvey has less overhead by each kind of finger, and least by both."""
    return ordered(
        pair
        for t in values(rows, "workload_topics")
        for one, other in (("SL", "S"), ("SL", "L"), ("S", "-"), ("L", "-"))
        for pair in less((one, "pie"), (other, "pie"))(rows, "chord", {"workload_topics": t})
    )


def falls_with(over: str, column: str, routing: str = "pie") -> Callable[[Rows], Finding | None]:
    """Return whether the ratio of BeaConvey(SL) to Scribe(-) falls from each point to the next."""

    def find(rows: Rows) -> Finding | None:
        found = [
            against_base(rows, column, "SL", routing, **{over: at}) for at in values(rows, over)
        ]
        return ordered(falling(found), "comparisons")

    return find


def gaps_shrink(column: str, families: Sequence[str]) -> Callable[[Rows], Finding | None]:
    """Return whether the members of a family differ less with each number of topics."""

    def find(rows: Rows) -> Finding | None:
        pairs, words = [], []
        for routing in families:
            spreads = []
            for t in values(rows, "workload_topics"):
                found = [
                    against_base(rows, column, overlay, routing, workload_topics=t)
                    for overlay in OVERLAYS
                ]
                spreads.append(max(found) - min(found))
            pairs += falling(spreads)
            words += [f"{FAMILY[routing]} {spreads[0]:.3f} to {spreads[-1]:.3f}"] if spreads else []
        known = ordered(pairs, "comparisons")
        return None if known is None else replace(known, ours=f"{'; '.join(words)}; {known.ours}")

    return find


def long_fingers_more(rows: Rows) -> Finding | None:
    """Return whether L has less overhead and shorter paths than S, means over the topics."""
    pairs, words = [], []
    for column, name in (("overhead", "overhead"), ("hops_mean", "paths")):
        short, long = (mean_over(column, o, "pie", "workload_topics")(rows) for o in ("S", "L"))
        pairs.append((short, long))
        words.append(f"{name} {long:.3f} against {short:.3f}")
    known = ordered(pairs)
    return None if known is None else replace(known, ours="; ".join(words))


def gaps_of_po(rows: Rows) -> Finding | None:
    """Return whether the paths of Po, against Scribe's, are longer with each number of nodes."""
    pairs, words = [], []
    for column, name in (("hops_mean", "mean"), ("hops_max", "longest")):
        found = [
            against_base(rows, column, "SL", "po", workload_nodes=n)
            for n in values(rows, "workload_nodes")
        ]
        pairs += [(large, small) for small, large in falling(found)]
        words += [f"{name} {found[0]:.2f} to {found[-1]:.2f}"] if found else []
    known = ordered(pairs, "comparisons")
    return None if known is None else replace(known, ours=f"{'; '.join(words)}; {known.ours}")
