"""The claims of paper 4 on which system has less than which: Tables 3 to 5, on both graphs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from papers.findings import at_least, ordered
from papers.model import Claim, Finding, Kind, Rows
from papers.reasons import GRAPH_DECIDES, LONG_FINGERS
from papers.world_grids import FINGERS, OVERLAYS, against_base

NODES = (1000, 10_000)


Pairs = Callable[[Rows, str, dict[str, Any]], list[tuple[float, float]]]


def on_all(find: Pairs) -> Callable[[Rows], Finding | None]:
    """Return the finding of pairs on both graphs, at both sizes and with both kinds of fingers."""
    return lambda rows: ordered(_everywhere(find, rows))


def _everywhere(find: Pairs, rows: Rows) -> list[tuple[float, float]]:
    return [
        pair
        for graph in ("fb", "tw")
        for nodes in NODES
        for fingers in FINGERS
        for pair in find(rows, fingers, {"workload_graph": graph, "workload_nodes": nodes})
    ]


def less(one: tuple[str, str], other: tuple[str, str], column: str = "overhead") -> Pairs:
    """Return the pair that says one system has less of a column than another."""
    return lambda rows, fingers, at: [
        (
            against_base(rows, column, *other, fingers=fingers, **at),
            against_base(rows, column, *one, fingers=fingers, **at),
        )
    ]


def orders() -> list[Claim]:
    """Return the claims on which systems have less overhead than which, on both graphs."""
    orders = [
        ("SL has the least overhead of BeaConvey's overlays", "always",
         [(("SL", "pie"), (overlay, "pie")) for overlay in OVERLAYS[1:]]),
        ("BeaConvey(S) has less overhead than BeaConvey(L)", "under both",
         [(("S", "pie"), ("L", "pie"))]),
        ("Scribe gains more by long fingers: Scribe(L) below Scribe(S)", "more",
         [(("L", "scribe"), ("S", "scribe"))]),
        ("iScribe gains more by short ones: iScribe(S) below iScribe(L)", "more",
         [(("S", "iscribe"), ("L", "iscribe"))]),
        ("iScribe(S) has less overhead than Scribe(L)", "consistently",
         [(("S", "iscribe"), ("L", "scribe"))]),
        ("BeaConvey(SL, Pie) has less overhead than Scribe(-) and iScribe(-)", "substantially",
         [(("SL", "pie"), ("-", "scribe")), (("SL", "pie"), ("-", "iscribe"))]),
    ]  # fmt: skip
    claims = []
    for text, paper, pairs in orders:

        def find(rows: Rows, fingers: str, at: dict[str, Any], pairs=pairs):  # type: ignore[no-untyped-def]
            return [pair for one, other in pairs for pair in less(one, other)(rows, fingers, at)]

        claims.append(
            Claim(
                f"FB and TW: {text}",
                paper,
                on_all(find),
                LONG_FINGERS,
                at_default=True,
                kind=Kind.ORDERING,
            )
        )
    return claims


def upgraded(rows: Rows) -> Finding | None:
    """Return whether SL has less overhead and shorter paths than L, means of Tables 3 and 4."""
    pairs, words = [], []
    for column, name in (("overhead", "overhead"), ("hops_mean", "paths")):
        found = _everywhere(less(("SL", "pie"), ("L", "pie"), column), rows)
        before, after = (math.fsum(side) / len(found) for side in zip(*found, strict=True))
        pairs.append((before, after))
        words.append(f"{name} {after:.3f} against {before:.3f}")
    known = ordered(pairs)
    return None if known is None else replace(known, ours="; ".join(words))


def routing_order(rows: Rows) -> Finding | None:
    """Return whether Po has the least overhead, then Pie, then Pal, on both graphs and sizes."""
    points = sorted({(row["workload_graph"], row["workload_nodes"]) for row in rows})
    pairs = []
    for graph, nodes in points:
        at = {"workload_graph": graph, "workload_nodes": nodes}
        po, pie, pal = (against_base(rows, "overhead", "SL", r, **at) for r in ("po", "pie", "pal"))
        pairs += [(pie, po), (pal, pie)]
    return ordered(pairs)


def order_claims() -> list[Claim]:
    """Return the claims of Tables 3 and 4 on orders among systems, of overheads and of paths."""
    return [
        *orders(),
        Claim(
            "FB and TW: BeaConvey(SL) has less overhead and shorter paths than BeaConvey(L), means "
            "of both tables",
            "substantial benefits in both",
            upgraded,
            LONG_FINGERS,
            at_default=True,
            kind=Kind.ORDERING,
        ),
    ]


def protocol_claims() -> list[Claim]:
    """Return the claims on both graphs: Table 5's orders of Po, Pie and Pal, and on paths."""
    return [
        Claim(
            "Po has the least overhead, then Pie, then Pal",
            "on FB and TW, 1K and 10K",
            routing_order,
            GRAPH_DECIDES,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            "Po has the longest average path",
            "on FB and TW, 1K and 10K",
            longest_by_po(("workload_graph", "workload_nodes"), ("hops_mean",)),
            GRAPH_DECIDES,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            "FB and TW: BeaConvey(SL, Pie) has shorter paths than Scribe(-) and iScribe(-)",
            "in most cases",
            most_paths,
            GRAPH_DECIDES,
            at_default=True,
            kind=Kind.ORDERING,
        ),
    ]


def most_paths(rows: Rows) -> Finding | None:
    """Return whether BeaConvey(SL, Pie) has the shorter paths in most cases of Tables 3 and 4."""
    pairs = [
        pair
        for other in ("scribe", "iscribe")
        for pair in _everywhere(less(("SL", "pie"), ("-", other), "hops_mean"), rows)
    ]
    if any(math.isnan(one) for pair in pairs for one in pair):
        return None
    kept = sum(theirs >= ours for theirs, ours in pairs)
    return at_least(kept, len(pairs) / 2 + 0.5, f"in {{:.0f}} of {len(pairs)} cases")


def longest_by_po(over: Sequence[str], columns: Sequence[str]) -> Callable[[Rows], Finding | None]:
    """Return whether Po has the longest paths at every point of `over`."""

    def find(rows: Rows) -> Finding | None:
        pairs = []
        for point in sorted({tuple(row[name] for name in over) for row in rows}):
            at = dict(zip(over, point, strict=True))
            for column in columns:
                po, pie, pal = (
                    against_base(rows, column, "SL", routing, **at)
                    for routing in ("po", "pie", "pal")
                )
                pairs += [(po, pie), (po, pal)]
        return ordered(pairs)

    return find
