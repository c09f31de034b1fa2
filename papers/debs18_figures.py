"""Figs. 4 to 8 of paper 4 in one reading: systems on small worlds against topics and nodes."""

from papers.findings import mean
from papers.model import Claim, Experiment, Kind
from papers.reasons import (
    BOTH_WAYS,
    CHORD_FINGERS,
    IN_BOTH,
    LONE_SUBSCRIBERS,
    OVERLAY_SHARE,
    PUBLICATIONS,
)
from papers.world_claims import (
    at_most_topics,
    both_fingers_help,
    falls_with,
    gaps_of_po,
    gaps_shrink,
    less_on_same,
    long_fingers_more,
    mean_over,
    order_of,
    overlay_share,
    ratio,
    shared_gain,
)
from papers.world_grids import (
    Reading,
    against_base,
    by_nodes,
    by_topics,
    draw_families,
    draw_nodes,
)
from papers.world_orders import longest_by_po

RINGS = "1,023 nodes, 1,000 to 10,000 topics, 20 subscriptions, 10,000 publications"
SIZES = "1,000 to 10,000 nodes, 2,000 topics, 20 subscriptions, 10,000 publications"
T, V = "workload_topics", "workload_nodes"


def figures(reading: Reading) -> list[Experiment]:
    """Return the experiments of Figs. 4 to 8."""
    paths = BOTH_WAYS if reading.direction == "one" else IN_BOTH
    return [
        Experiment(
            f"debs18-fig4{reading.suffix}",
            f"overhead against topics, Zipf{reading.words}",
            by_topics("zipf", reading),
            draw_families("overhead", "overhead against Scribe(-)"),
            RINGS,
            RINGS,
            [
                ratio(
                    "BeaConvey(SL, Pie) against Scribe(-), mean over topics",
                    0.594,
                    mean_over("overhead", "SL", "pie", T),
                ),
                Claim(
                    "BeaConvey has less overhead than Scribe and iScribe on the same overlay",
                    "at every point",
                    less_on_same("overhead"),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "Both kinds of fingers help: (SL) below (S) and (L), both below (-)",
                    "at every point",
                    both_fingers_help,
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "Short fingers matter more: BeaConvey(S) below BeaConvey(L)",
                    "at every point",
                    order_of(("S", "pie"), ("L", "pie")),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=reading.other,
        ),
        Experiment(
            f"debs18-fig5{reading.suffix}",
            f"average path against topics, Zipf{reading.words}",
            by_topics("zipf", reading),
            draw_families("hops_mean", "path against Scribe(-)"),
            RINGS,
            RINGS,
            [
                ratio(
                    "Mean path of BeaConvey(SL, Pie)",
                    4.88,
                    lambda rows: mean(rows, "hops_mean", overlay="SL", method="pie"),
                    paths,
                ),
                ratio(
                    "Mean path of Scribe(-)",
                    7.20,
                    lambda rows: mean(rows, "hops_mean", overlay="-", method="scribe"),
                    paths,
                ),
                Claim(
                    "BeaConvey has the shortest paths on the same overlay",
                    "at every point",
                    less_on_same("hops_mean"),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=reading.other,
        ),
        Experiment(
            f"debs18-fig6{reading.suffix}",
            f"overhead against topics, Unif{reading.words}",
            by_topics("unif", reading),
            draw_families("overhead", "overhead against Scribe(-)"),
            RINGS,
            RINGS,
            [
                ratio(
                    "BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics",
                    0.379,
                    lambda rows: against_base(at_most_topics(rows), "overhead", "SL", "pie"),
                    LONE_SUBSCRIBERS,
                ),
                shared_gain(
                    "Of that gain, from the overlay",
                    5.1,
                    lambda rows: overlay_share(at_most_topics(rows)),
                    OVERLAY_SHARE,
                    Kind.SYNTHETIC,
                ),
                shared_gain(
                    "Of that gain, from the routing",
                    94.9,
                    lambda rows: 100 - overlay_share(at_most_topics(rows)),
                    OVERLAY_SHARE,
                    Kind.SYNTHETIC,
                ),
                ratio(
                    "BeaConvey(L, Pie) against Scribe(-), mean over topics",
                    0.585,
                    mean_over("overhead", "L", "pie", T),
                ),
                ratio(
                    "BeaConvey(S, Pie) against Scribe(-), mean over topics",
                    0.653,
                    mean_over("overhead", "S", "pie", T),
                ),
                Claim(
                    "BeaConvey(SL, Pie) against Scribe(-) falls with topics, from each point to "
                    "the next",
                    "even more remarkable",
                    falls_with(T, "overhead"),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "Scribe's and iScribe's overlays differ less with more topics, from each point "
                    "to the next",
                    "tend toward equality",
                    gaps_shrink("overhead", ("scribe", "iscribe")),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=reading.other,
        ),
        Experiment(
            f"debs18-fig7{reading.suffix}",
            f"average path against topics, Unif{reading.words}",
            by_topics("unif", reading),
            draw_families("hops_mean", "path against Scribe(-)"),
            RINGS,
            RINGS,
            [
                ratio(
                    "Mean path of BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics",
                    0.5,
                    lambda rows: against_base(at_most_topics(rows), "hops_mean", "SL", "pie"),
                ),
                Claim(
                    "BeaConvey has the shortest paths on the same overlay",
                    "better scalability",
                    less_on_same("hops_mean"),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "The ratio falls with topics, from each point to the next",
                    "drops rapidly",
                    falls_with(T, "hops_mean"),
                    PUBLICATIONS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "Long fingers matter more: BeaConvey(L) has less overhead and shorter paths "
                    "than BeaConvey(S), means over topics",
                    "slightly more, on average",
                    long_fingers_more,
                    CHORD_FINGERS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "The overlays of each family differ less with more topics, from each point to "
                    "the next",
                    "gaps shrink",
                    gaps_shrink("hops_mean", ("pie", "scribe", "iscribe")),
                    CHORD_FINGERS,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=reading.other,
        ),
        Experiment(
            f"debs18-fig8{reading.suffix}",
            f"Po, Pal and Pie against nodes, Unif{reading.words}",
            by_nodes(reading),
            draw_nodes,
            SIZES,
            SIZES,
            [
                *[
                    ratio(
                        f"{routing.title()}: {what} against Scribe(-), mean over nodes",
                        paper,
                        mean_over(column, "SL", routing, V),
                        why,
                    )
                    for column, what, papers, why in (
                        ("overhead", "overhead", (0.592, 1.006, 0.835), PUBLICATIONS),
                        ("hops_mean", "average path", (1.96, 1.3, 1.3), paths),
                        ("hops_max", "longest path", (6.61, 3.35, 3.80), paths),
                    )
                    for routing, paper in zip(("po", "pal", "pie"), papers, strict=True)
                ],
                Claim(
                    "Po has the longest paths, on average and at most",
                    "longest among all",
                    longest_by_po((V,), ("hops_mean", "hops_max")),
                    paths,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "The paths of Po, of Scribe(-)'s, grow with the nodes, from each point to the "
                    "next",
                    "gaps are increasing",
                    gaps_of_po,
                    paths,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=reading.other,
        ),
    ]
