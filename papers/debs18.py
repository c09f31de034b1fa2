"""Paper 4: BeaConvey, Scribe and iScribe on small worlds.

The main experiments read the paper as it defines distance: clockwise, over fingers. Those named
-both use links in both directions, which its footnote 1 allows, and those named -near divide ranges
among all neighbours too. Slots in which no link gains are drawn at random in all of them;
debs18-fill compares that with our choice by interest.
"""

from papers.debs18_figures import figures
from papers.findings import at_most, mean
from papers.model import Claim, Experiment, Kind
from papers.partial_claims import spread_claims
from papers.partial_grids import draw_spreads, spreads
from papers.reasons import GRAPH_DECIDES, LONG_FINGERS
from papers.world_claims import (
    change,
    fifth_to_two,
    graph_claims,
    less_by_interest,
    line,
    overlay_share,
    ratio,
    shared_gain,
)
from papers.world_grids import (
    ALL_SYSTEMS,
    AS_DEFINED,
    BOTH,
    FINGERS,
    NEIGHBOURS,
    by_fill,
    draw_bars,
    draw_fills,
    on_both,
    on_graph,
)
from papers.world_orders import order_claims, protocol_claims

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
        on_graph("fb", ALL_SYSTEMS, AS_DEFINED),
        draw_bars({system: {"fb": ratios} for system, ratios in TABLE_3.items()}),
        SAMPLES,
        SAMPLES,
        [
            *graph_claims("fb", TABLE_3),
            shared_gain(
                "FB1K: share of the gain in overhead that comes from the overlay",
                78.0,
                lambda rows: overlay_share(rows, workload_nodes=1000),
                GRAPH_DECIDES,
                Kind.PRIVATE,
            ),
            shared_gain(
                "FB1K: share of the gain in overhead that comes from the routing",
                22.0,
                lambda rows: 100 - overlay_share(rows, workload_nodes=1000),
                GRAPH_DECIDES,
                Kind.PRIVATE,
            ),
            Claim(
                "FB10K: seconds to compute the overlay SL, at most",
                "14.8 minutes (888 s)",
                lambda rows: at_most(
                    mean(rows, "seconds", overlay="SL", workload_nodes=10_000), 888.0, "{:.1f} s"
                ),
                at_default=True,
                kind=Kind.HARDWARE,
            ),
        ],
    ),
    Experiment(
        "debs18-table4",
        "systems against Scribe(-) on TW",
        on_graph("tw", ALL_SYSTEMS, AS_DEFINED),
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
                    kind=Kind.PRIVATE,
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
                kind=Kind.HARDWARE,
            ),
        ],
    ),
    Experiment(
        "debs18-table5",
        "BeaConvey(SL) with Pie, Po and Pal against Scribe(-); what is said of FB and TW together",
        on_both(AS_DEFINED),
        draw_bars(TABLE_5),
        SAMPLES,
        SAMPLES,
        [
            *[
                claim
                for fingers in FINGERS
                for system, graphs in TABLE_5.items()
                if system[1] != "pie"
                for graph, ratios in graphs.items()
                for claim in line(graph, system, ratios, fingers)
            ],
            *order_claims(),
            *protocol_claims(),
            *fifth_to_two(),
        ],
    ),
    *figures(AS_DEFINED),
    Experiment(
        f"debs18-table5{BOTH.suffix}",
        f"BeaConvey(SL) with Pie, Po and Pal against Scribe(-){BOTH.words}",
        on_both(BOTH),
        draw_bars(TABLE_5),
        SAMPLES,
        SAMPLES,
        [*order_claims(), *protocol_claims()],
        other=BOTH.other,
    ),
    *figures(BOTH),
    *figures(NEIGHBOURS),
    Experiment(
        "debs18-fill",
        "fingers without gain by interest, ours, and at random",
        by_fill,
        draw_fills,
        f"{SAMPLES}; 1,023 nodes, 1,000 topics",
        f"{SAMPLES}; 1,023 nodes, 1,000 topics",
        [
            *[
                less_by_interest(f"{graph.upper()}{nodes // 1000}K",
                                 workload_graph=graph, workload_nodes=nodes)
                for graph in ("fb", "tw")
                for nodes in (1000, 10_000)
            ],
            *[
                less_by_interest(name.title(), workload_family=name)
                for name in ("zipf", "unif")
            ],
        ],
    ),
)  # fmt: skip
