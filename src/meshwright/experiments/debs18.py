"""Paper 4: BeaConvey, Scribe and iScribe on small worlds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from meshwright.experiments.findings import at_most, mean, number, ordered, values, where
from meshwright.experiments.model import Claim, Experiment, Finding, Rows
from meshwright.experiments.partial_claims import spread_claims
from meshwright.experiments.partial_grids import draw_spreads, spreads
from meshwright.experiments.reasons import (
    BOTH_WAYS,
    GRAPH_DECIDES,
    LONE_SUBSCRIBERS,
    LONG_FINGERS,
    OVERLAY_SHARE,
    PUBLICATIONS,
)
from meshwright.experiments.world_grids import (
    ALL_SYSTEMS,
    FINGERS,
    OVERLAYS,
    against_base,
    by_nodes,
    by_topics,
    draw_bars,
    draw_families,
    draw_nodes,
    name_of,
    on_both,
    on_graph,
)
from meshwright.experiments.world_tables import TABLE_3, TABLE_4, TABLE_5

NODES = (1000, 10_000)


def _row(graph: str, system: tuple[str, str], paper: Sequence[float], fingers: str) -> Claim:
    """Return the claim of one line of a table: four ratios."""
    name = graph.upper()

    def find(rows: Rows) -> Finding | None:
        ours = [
            against_base(
                rows, column, *system, fingers=fingers, workload_graph=graph, workload_nodes=nodes
            )
            for column in ("overhead", "hops_mean")
            for nodes in NODES
        ]
        if any(math.isnan(value) for value in ours):
            return None
        told = "overhead {:.3f}, {:.3f}; path {:.3f}, {:.3f}".format(*ours)
        return Finding(told, tuple(zip(ours, paper, strict=True)))

    told = "overhead {:g}, {:g}; path {:g}, {:g}".format(*paper)
    text = f"{name_of(*system)} against Scribe(-) on {name}1K, {name}10K; {fingers} fingers"
    return Claim(text, told, find, GRAPH_DECIDES, at_default=True)


def _both(find: Callable[[Rows, str, dict[str, Any]], list[tuple[float, float]]], graph: str):  # type: ignore[no-untyped-def]
    """Return the finding of pairs at both sizes and with both kinds of fingers."""
    return lambda rows: ordered(
        pair
        for nodes in NODES
        for fingers in FINGERS
        for pair in find(rows, fingers, {"workload_graph": graph, "workload_nodes": nodes})
    )


def _less(
    one: tuple[str, str], other: tuple[str, str], column: str = "overhead"
) -> Callable[[Rows, str, dict[str, Any]], list[tuple[float, float]]]:
    """Return the pair that says one system has less of a column than another."""
    return lambda rows, fingers, at: [
        (
            against_base(rows, column, *other, fingers=fingers, **at),
            against_base(rows, column, *one, fingers=fingers, **at),
        )
    ]


def _orders(graph: str) -> list[Claim]:
    name = graph.upper()
    told = [
        ("SL has the least overhead of BeaConvey's overlays",
         [(("SL", "pie"), (overlay, "pie")) for overlay in OVERLAYS[1:]]),
        ("BeaConvey(S) has less overhead than BeaConvey(L)", [(("S", "pie"), ("L", "pie"))]),
        ("Scribe gains more by long fingers: Scribe(L) below Scribe(S)",
         [(("L", "scribe"), ("S", "scribe"))]),
        ("iScribe gains more by short ones: iScribe(S) below iScribe(L)",
         [(("S", "iscribe"), ("L", "iscribe"))]),
        ("iScribe(S) has less overhead than Scribe(L)", [(("S", "iscribe"), ("L", "scribe"))]),
        ("BeaConvey(SL, Pie) has less overhead than Scribe(-) and iScribe(-)",
         [(("SL", "pie"), ("-", "scribe")), (("SL", "pie"), ("-", "iscribe"))]),
    ]  # fmt: skip
    claims = []
    for text, pairs in told:

        def find(rows: Rows, fingers: str, at: dict[str, Any], pairs=pairs):  # type: ignore[no-untyped-def]
            return [pair for one, other in pairs for pair in _less(one, other)(rows, fingers, at)]

        claims.append(
            Claim(
                f"{name}: {text}",
                "on 1K and 10K",
                _both(find, graph),
                LONG_FINGERS,
                at_default=True,
            )
        )
    return claims  # fmt: skip


def _overlay_share(rows: Rows, **at: Any) -> float:
    """Return the share of BeaConvey's gain over Scribe(-) that the overlay alone brings."""
    others = [
        against_base(rows, "overhead", overlay, routing, **at)
        for overlay in OVERLAYS
        for routing in ("scribe", "iscribe")
    ]
    whole = 1 - against_base(rows, "overhead", "SL", "pie", **at)
    return 100 * (1 - min(others)) / whole


def _mean_over(column: str, overlay: str, routing: str, over: str) -> Callable[[Rows], float]:
    """Return a ratio to Scribe(-), mean over points."""

    def find(rows: Rows) -> float:
        found = [
            against_base(rows, column, overlay, routing, **{over: x}) for x in values(rows, over)
        ]
        return math.fsum(found) / len(found) if found else math.nan

    return find


def _ratio(
    text: str,
    paper: float,
    find: Callable[[Rows], float],
    why: str = PUBLICATIONS,
    form: str = "{:.3f}",
) -> Claim:
    return Claim(
        text,
        form.format(paper),
        lambda rows: number(find(rows), paper, form),
        why,
        at_default=True,
    )


def _at_most_topics(rows: Rows) -> Rows:
    return where(rows, workload_topics=10_000)


def _same_overlay(rows: Rows) -> Finding | None:
    """Return whether BeaConvey has less overhead than both other families, by overlay."""
    return ordered(
        (
            against_base(rows, "overhead", overlay, other, workload_topics=t),
            against_base(rows, "overhead", overlay, "pie", workload_topics=t),
        )
        for t in values(rows, "workload_topics")
        for overlay in OVERLAYS
        for other in ("scribe", "iscribe")
    )


def _order_of(one: tuple[str, str], other: tuple[str, str]) -> Callable[[Rows], Finding | None]:
    """Return whether one system has less overhead than another at every number of topics."""
    return lambda rows: ordered(
        pair
        for t in values(rows, "workload_topics")
        for pair in _less(one, other)(rows, "chord", {"workload_topics": t})
    )


def _shortest_path(rows: Rows) -> Finding | None:
    return ordered(
        (
            against_base(rows, "hops_mean", overlay, other, workload_topics=t),
            against_base(rows, "hops_mean", overlay, "pie", workload_topics=t),
        )
        for t in values(rows, "workload_topics")
        for overlay in OVERLAYS
        for other in ("scribe", "iscribe")
    )


def _routing_order(rows: Rows) -> Finding | None:
    """Return whether Po has the least overhead, then Pie, then Pal, on both graphs and sizes."""
    points = sorted({(row["workload_graph"], row["workload_nodes"]) for row in rows})
    pairs = []
    for graph, nodes in points:
        at = {"workload_graph": graph, "workload_nodes": nodes}
        po, pie, pal = (against_base(rows, "overhead", "SL", r, **at) for r in ("po", "pie", "pal"))
        pairs += [(pie, po), (pal, pie)]
    return ordered(pairs)


def _table(graph: str, paper: Mapping[tuple[str, str], Sequence[float]]) -> list[Claim]:
    rows = [_row(graph, s, told, fingers) for fingers in FINGERS for s, told in paper.items()]
    return [*rows, *_orders(graph)]


SAMPLES = "samples of 1,000 and 10,000 nodes, 10,000 publications"
RINGS = "1,023 nodes, 1,000 to 10,000 topics, 20 subscriptions, 10,000 publications"
SIZES = "1,000 to 10,000 nodes, 2,000 topics, 20 subscriptions, 10,000 publications"
T, V = "workload_topics", "workload_nodes"

EXPERIMENTS = (
    Experiment(
        "debs18-fig3",
        "followees and followers of the graphs and of samples of 10,000 (CCDF)",
        spreads(("fb", "tw")),
        draw_spreads,
        "whole graphs and samples of 10,000 nodes",
        "whole graphs and samples of 10,000 nodes",
        spread_claims(),
    ),
    Experiment(
        "debs18-table3",
        "systems against Scribe(-) on FB",
        on_graph("fb", ALL_SYSTEMS),
        draw_bars({system: {"fb": told} for system, told in TABLE_3.items()}),
        SAMPLES,
        SAMPLES,
        [
            *_table("fb", TABLE_3),
            _ratio(
                "FB1K: share of the gain in overhead that comes from the overlay, %",
                78.0,
                lambda rows: _overlay_share(rows, workload_nodes=1000),
                GRAPH_DECIDES,
                "{:.1f}",
            ),
            Claim(
                "FB10K: seconds to compute the overlay SL",
                "14.8 minutes (888 s)",
                lambda rows: at_most(
                    mean(rows, "seconds", overlay="SL", workload_nodes=10_000), 888.0, "{:.1f} s"
                ),
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "debs18-table4",
        "systems against Scribe(-) on TW",
        on_graph("tw", ALL_SYSTEMS),
        draw_bars({system: {"tw": told} for system, told in TABLE_4.items()}),
        SAMPLES,
        SAMPLES,
        [
            *_table("tw", TABLE_4),
            Claim(
                "TW10K: seconds to compute the overlay SL",
                "19.4 minutes (1,164 s)",
                lambda rows: at_most(
                    mean(rows, "seconds", overlay="SL", workload_nodes=10_000), 1164.0, "{:.1f} s"
                ),
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "debs18-table5",
        "BeaConvey(SL) with Pie, Po and Pal against Scribe(-)",
        on_both,
        draw_bars(TABLE_5),
        SAMPLES,
        SAMPLES,
        [
            *[
                _row(graph, system, told, fingers)
                for fingers in FINGERS
                for system, graphs in TABLE_5.items()
                if system[1] != "pie"
                for graph, told in graphs.items()
            ],
            Claim(
                "Po has the least overhead, then Pie, then Pal",
                "on FB and TW, 1K and 10K",
                _routing_order,
                GRAPH_DECIDES,
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "debs18-fig4",
        "overhead against topics, Zipf",
        by_topics("zipf"),
        draw_families("overhead", "overhead against Scribe(-)"),
        RINGS,
        RINGS,
        [
            _ratio("BeaConvey(SL, Pie) against Scribe(-), mean over topics", 0.594,
                   _mean_over("overhead", "SL", "pie", T)),
            Claim("BeaConvey has less overhead than Scribe and iScribe on the same overlay",
                  "at every point", _same_overlay, PUBLICATIONS, at_default=True),
            Claim("Short fingers matter more: BeaConvey(S) below BeaConvey(L)",
                  "at every point", _order_of(("S", "pie"), ("L", "pie")), PUBLICATIONS,
                  at_default=True),
        ],
    ),
    Experiment(
        "debs18-fig5",
        "average path against topics, Zipf",
        by_topics("zipf"),
        draw_families("hops_mean", "path against Scribe(-)"),
        RINGS,
        RINGS,
        [
            _ratio("Mean path of BeaConvey(SL, Pie)", 4.88,
                   lambda rows: mean(rows, "hops_mean", overlay="SL", method="pie"), BOTH_WAYS,
                   "{:.2f}"),
            _ratio("Mean path of Scribe(-)", 7.20,
                   lambda rows: mean(rows, "hops_mean", overlay="-", method="scribe"), BOTH_WAYS,
                   "{:.2f}"),
            Claim("BeaConvey has the shortest paths on the same overlay", "at every point",
                  _shortest_path, PUBLICATIONS, at_default=True),
        ],
    ),
    Experiment(
        "debs18-fig6",
        "overhead against topics, Unif",
        by_topics("unif"),
        draw_families("overhead", "overhead against Scribe(-)"),
        RINGS,
        RINGS,
        [
            _ratio("BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics", 0.379,
                   lambda rows: against_base(_at_most_topics(rows), "overhead", "SL", "pie"),
                   LONE_SUBSCRIBERS),
            _ratio("Of that gain, from the overlay, %", 5.1,
                   lambda rows: _overlay_share(_at_most_topics(rows)), OVERLAY_SHARE, "{:.1f}"),
            _ratio("Of that gain, from the routing, %", 94.9,
                   lambda rows: 100 - _overlay_share(_at_most_topics(rows)),
                   form="{:.1f}"),
            _ratio("BeaConvey(L, Pie) against Scribe(-), mean over topics", 0.585,
                   _mean_over("overhead", "L", "pie", T)),
            _ratio("BeaConvey(S, Pie) against Scribe(-), mean over topics", 0.653,
                   _mean_over("overhead", "S", "pie", T)),
            Claim("Long fingers matter more: BeaConvey(L) below BeaConvey(S)", "at every point",
                  _order_of(("L", "pie"), ("S", "pie")), PUBLICATIONS, at_default=True),
        ],
    ),
    Experiment(
        "debs18-fig7",
        "average path against topics, Unif",
        by_topics("unif"),
        draw_families("hops_mean", "path against Scribe(-)"),
        RINGS,
        RINGS,
        [
            _ratio("Mean path of BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics", 0.5,
                   lambda rows: against_base(_at_most_topics(rows), "hops_mean", "SL", "pie")),
        ],
    ),
    Experiment(
        "debs18-fig8",
        "Po, Pal and Pie against nodes, Unif",
        by_nodes,
        draw_nodes,
        SIZES,
        SIZES,
        [
            _ratio(f"{routing.title()}: {what} against Scribe(-), mean over nodes", paper,
                   _mean_over(column, "SL", routing, V), why)
            for column, what, papers, why in (
                ("overhead", "overhead", (0.592, 1.006, 0.835), PUBLICATIONS),
                ("hops_mean", "average path", (1.96, 1.3, 1.3), BOTH_WAYS),
                ("hops_max", "longest path", (6.61, 3.35, 3.80), BOTH_WAYS),
            )
            for routing, paper in zip(("po", "pal", "pie"), papers, strict=True)
        ],
    ),
)  # fmt: skip
