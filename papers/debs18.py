"""Paper 4: BeaConvey, Scribe and iScribe on small worlds."""

from papers.findings import at_most, mean
from papers.model import Claim, Experiment
from papers.partial_claims import spread_claims
from papers.partial_grids import draw_spreads, spreads
from papers.reasons import (
    BOTH_WAYS,
    GRAPH_DECIDES,
    LONE_SUBSCRIBERS,
    LONG_FINGERS,
    OVERLAY_SHARE,
    PUBLICATIONS,
    STILL_APART,
)
from papers.world_claims import (
    alike_at_last,
    at_most_topics,
    both_fingers_help,
    change,
    falls_with,
    fifth_to_two,
    gaps_of_po,
    graph_claims,
    less_on_same,
    longest_by_po,
    mean_over,
    order_of,
    overlay_share,
    ratio,
    routing_order,
    row,
)
from papers.world_grids import (
    ALL_SYSTEMS,
    FINGERS,
    against_base,
    by_nodes,
    by_topics,
    draw_bars,
    draw_families,
    draw_nodes,
    on_both,
    on_graph,
)

# Tables 3 to 5: overhead at 1K and 10K nodes, then mean path at both, over that of Scribe(-).
TABLE_3 = {
    ("SL", "pie"): (0.266, 0.449, 0.700, 0.968),
    ("S", "pie"): (0.355, 0.612, 0.902, 1.629),
    ("L", "pie"): (0.683, 0.827, 0.780, 1.15),
    ("-", "pie"): (0.908, 1.127, 1.07, 2.088),
    ("SL", "iscribe"): (0.427, 0.636, 0.992, 1.035),
    ("S", "iscribe"): (0.428, 0.591, 0.975, 1.007),
    ("L", "iscribe"): (0.993, 1.109, 0.987, 1.024),
    ("-", "iscribe"): (1.007, 1.049, 1.004, 0.9999),
    ("SL", "scribe"): (0.914, 0.908, 1.014, 1.040),
    ("S", "scribe"): (1.05, 1.024, 0.976, 1.007),
    ("L", "scribe"): (0.675, 0.819, 0.985, 1.031),
}
TABLE_4 = {
    ("SL", "pie"): (0.573, 0.748, 0.902, 1.131),
    ("S", "pie"): (0.617, 0.797, 1.273, 1.252),
    ("L", "pie"): (0.757, 1.018, 0.931, 1.121),
    ("-", "pie"): (0.853, 1.17, 1.357, 1.310),
    ("SL", "iscribe"): (0.664, 0.768, 1.041, 1.058),
    ("S", "iscribe"): (0.596, 0.671, 1.020, 1.001),
    ("L", "iscribe"): (0.913, 1.167, 1.007, 1.040),
    ("-", "iscribe"): (0.817, 1.016, 1.008, 1.004),
    ("SL", "scribe"): (0.853, 0.894, 1.035, 1.051),
    ("S", "scribe"): (1.096, 1.012, 1.019, 0.999),
    ("L", "scribe"): (0.714, 0.841, 0.996, 1.040),
}
TABLE_5 = {
    ("SL", "pie"): {"fb": TABLE_3["SL", "pie"], "tw": TABLE_4["SL", "pie"]},
    ("SL", "po"): {"fb": (0.182, 0.319, 0.794, 1.300), "tw": (0.359, 0.489, 1.145, 1.688)},
    ("SL", "pal"): {"fb": (0.341, 0.557, 0.729, 0.981), "tw": (0.712, 0.917, 0.928, 1.179)},
}

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
        draw_bars({system: {"fb": ratios} for system, ratios in TABLE_3.items()}),
        SAMPLES,
        SAMPLES,
        [
            *graph_claims("fb", TABLE_3),
            ratio(
                "FB1K: share of the gain in overhead that comes from the overlay, %",
                78.0,
                lambda rows: overlay_share(rows, workload_nodes=1000),
                GRAPH_DECIDES,
                "{:.1f}",
            ),
            ratio(
                "FB1K: share of the gain in overhead that comes from the routing, %",
                22.0,
                lambda rows: 100 - overlay_share(rows, workload_nodes=1000),
                GRAPH_DECIDES,
                "{:.1f}",
            ),
            Claim(
                "FB10K: seconds to compute the overlay SL, at most",
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
        draw_bars({system: {"tw": ratios} for system, ratios in TABLE_4.items()}),
        SAMPLES,
        SAMPLES,
        [
            *graph_claims("tw", TABLE_4),
            *[
                ratio(
                    f"TW10K: overhead of iScribe({overlay}) minus iScribe(-), of Scribe(-)'s",
                    paper,
                    change(overlay, workload_nodes=10_000),
                    why,
                )
                for overlay, paper, why in (
                    ("S", -0.345, GRAPH_DECIDES),
                    ("L", 0.151, LONG_FINGERS),
                )
            ],
            Claim(
                "TW10K: seconds to compute the overlay SL, at most",
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
                row(graph, system, ratios, fingers)
                for fingers in FINGERS
                for system, graphs in TABLE_5.items()
                if system[1] != "pie"
                for graph, ratios in graphs.items()
            ],
            Claim(
                "Po has the least overhead, then Pie, then Pal",
                "on FB and TW, 1K and 10K",
                routing_order,
                GRAPH_DECIDES,
                at_default=True,
            ),
            Claim(
                "Po has the longest average path",
                "on FB and TW, 1K and 10K",
                longest_by_po(("workload_graph", "workload_nodes"), ("hops_mean",)),
                GRAPH_DECIDES,
                at_default=True,
            ),
            Claim(
                "Overhead of BeaConvey(SL), Pie and Po, of Scribe(-)'s (the paper's introduction)",
                "20% to 40%",
                fifth_to_two,
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
            ratio("BeaConvey(SL, Pie) against Scribe(-), mean over topics", 0.594,
                   mean_over("overhead", "SL", "pie", T)),
            Claim("BeaConvey has less overhead than Scribe and iScribe on the same overlay",
                  "at every point", less_on_same("overhead"), PUBLICATIONS, at_default=True),
            Claim("Both kinds of fingers help: (SL) below (S) and (L), both below (-)",
                  "at every point", both_fingers_help, PUBLICATIONS, at_default=True),
            Claim("Short fingers matter more: BeaConvey(S) below BeaConvey(L)",
                  "at every point", order_of(("S", "pie"), ("L", "pie")), PUBLICATIONS,
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
            ratio("Mean path of BeaConvey(SL, Pie)", 4.88,
                   lambda rows: mean(rows, "hops_mean", overlay="SL", method="pie"), BOTH_WAYS,
                   "{:.2f}"),
            ratio("Mean path of Scribe(-)", 7.20,
                   lambda rows: mean(rows, "hops_mean", overlay="-", method="scribe"), BOTH_WAYS,
                   "{:.2f}"),
            Claim("BeaConvey has the shortest paths on the same overlay", "at every point",
                  less_on_same("hops_mean"), PUBLICATIONS, at_default=True),
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
            ratio("BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics", 0.379,
                   lambda rows: against_base(at_most_topics(rows), "overhead", "SL", "pie"),
                   LONE_SUBSCRIBERS),
            ratio("Of that gain, from the overlay, %", 5.1,
                   lambda rows: overlay_share(at_most_topics(rows)), OVERLAY_SHARE, "{:.1f}"),
            ratio("Of that gain, from the routing, %", 94.9,
                   lambda rows: 100 - overlay_share(at_most_topics(rows)),
                   form="{:.1f}"),
            ratio("BeaConvey(L, Pie) against Scribe(-), mean over topics", 0.585,
                   mean_over("overhead", "L", "pie", T)),
            ratio("BeaConvey(S, Pie) against Scribe(-), mean over topics", 0.653,
                   mean_over("overhead", "S", "pie", T)),
            Claim("Long fingers matter more: BeaConvey(L) below BeaConvey(S)", "at every point",
                  order_of(("L", "pie"), ("S", "pie")), PUBLICATIONS, at_default=True),
            Claim("BeaConvey(SL, Pie) against Scribe(-) falls with topics, from each point to the "
                  "next", "even more remarkable", falls_with(T, "overhead"), PUBLICATIONS,
                  at_default=True),
            Claim("Scribe's and iScribe's overlays differ less with the most topics than the "
                  "fewest", "tend toward equality",
                  alike_at_last("overhead", ("scribe", "iscribe")), PUBLICATIONS, at_default=True),
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
            ratio("Mean path of BeaConvey(SL, Pie) against Scribe(-) at 10,000 topics", 0.5,
                   lambda rows: against_base(at_most_topics(rows), "hops_mean", "SL", "pie")),
            Claim("BeaConvey has the shortest paths on the same overlay", "better scalability",
                  less_on_same("hops_mean"), PUBLICATIONS, at_default=True),
            Claim("The ratio falls with topics, from each point to the next", "drops rapidly",
                  falls_with(T, "hops_mean"), PUBLICATIONS, at_default=True),
            Claim("Long fingers matter more: paths of BeaConvey(L) below those of BeaConvey(S)",
                  "slightly more", order_of(("L", "pie"), ("S", "pie"), "hops_mean"), LONG_FINGERS,
                  at_default=True),
            Claim("The overlays of each family differ less with the most topics than the fewest",
                  "gaps shrink", alike_at_last("hops_mean", ("pie", "scribe", "iscribe")),
                  STILL_APART, at_default=True),
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
            *[
                ratio(f"{routing.title()}: {what} against Scribe(-), mean over nodes", paper,
                      mean_over(column, "SL", routing, V), why)
                for column, what, papers, why in (
                    ("overhead", "overhead", (0.592, 1.006, 0.835), PUBLICATIONS),
                    ("hops_mean", "average path", (1.96, 1.3, 1.3), BOTH_WAYS),
                    ("hops_max", "longest path", (6.61, 3.35, 3.80), BOTH_WAYS),
                )
                for routing, paper in zip(("po", "pal", "pie"), papers, strict=True)
            ],
            Claim("Po has the longest paths, on average and at most", "longest among all",
                  longest_by_po((V,), ("hops_mean", "hops_max")), BOTH_WAYS, at_default=True),
            Claim("The paths of Po, of Scribe(-)'s, are longer at the most nodes than the fewest",
                  "gaps are increasing", gaps_of_po, BOTH_WAYS, at_default=True),
        ],
    ),
)  # fmt: skip
