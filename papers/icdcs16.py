"""Paper 1: partial overlays under degree budgets."""

from papers.family_claims import (
    at_last,
    eighty_by_skew,
    gap_grows,
    gaps_shrink,
    mean_gap,
    of_family,
    per_family,
    topics_fall,
    trends,
    zipf_falls,
    zipf_falls_least,
)
from papers.findings import mean, ordered
from papers.model import Claim, Experiment
from papers.partial_claims import (
    TABLE,
    by_budget,
    by_equal_edges,
    eighty,
    graph_claims,
    hub_claims,
    ranked,
    spread_claims,
    table_claims,
)
from papers.partial_grids import (
    FAMILIES,
    RANKED,
    TITLES,
    by_nodes,
    by_ratio,
    by_ratio_on_graph,
    by_size,
    by_topics,
    draw_families,
    draw_graph,
    draw_spreads,
    draw_table,
    spreads,
    table_on_graphs,
)
from papers.reasons import MORE_EDGES, SIZES_AND_TOPICS, SPREAD_OF_SIZES

EXPERIMENTS = (
    Experiment(
        "icdcs16-fig3",
        "followees and followers of the graphs and of samples of 10,000 (CCDF)",
        spreads(("fb", "tw")),
        draw_spreads,
        "whole graphs and samples of 10,000 nodes",
        "whole graphs and samples of 10,000 nodes",
        spread_claims(),
    ),
    Experiment(
        "icdcs16-fig4",
        "support against the budget ratio, FB1K",
        by_ratio_on_graph("fb", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*graph_claims("FB1K", 3.4), *hub_claims("FB1K")],
    ),
    Experiment(
        "icdcs16-fig4-ego",
        "the same on ego-Facebook, whose hubs are closer to the paper's",
        by_ratio_on_graph("ego", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*graph_claims("ego1K", 3.4), *hub_claims("ego1K")],
    ),
    Experiment(
        "icdcs16-fig5",
        "support against the budget ratio, TW1K",
        by_ratio_on_graph("tw", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        graph_claims("TW1K", 4.8),
    ),
    Experiment(
        "icdcs16-table1",
        "support at ratio 0.2 on FB and TW",
        table_on_graphs,
        draw_table(TABLE),
        "samples of 1,000 and 10,000 nodes",
        "samples of 1,000 and 10,000 nodes",
        table_claims(),
    ),
    Experiment(
        "icdcs16-fig6",
        "support against |V| (Expo, Zipf, Unif)",
        by_nodes,
        draw_families("workload_nodes", "|V|"),
        "1,000 to 4,000 nodes, 1,000 topics, 20-600 subscriptions",
        "1,000 to 10,000 nodes, 1,000 topics, 20-600 subscriptions",
        [
            *per_family("GPM minus RandomM, mean over |V|, points", (43.9, 22.7, 30.1),
                         mean_gap("workload_nodes")),
            *per_family("GPM at the most nodes, %", (83.5, 92.0, 38.3),
                         at_last("workload_nodes", "gpm")),
            Claim(
                "GPA, GPM and SpiderCastM rise with |V|, from each point to the next",
                "rise noticeably",
                trends("workload_nodes", dict.fromkeys(FAMILIES, True), RANKED[:3]),
                SPREAD_OF_SIZES,
            ),
            Claim(
                "GPM minus RandomM is larger at the most nodes than at the fewest",
                "increasingly important",
                gap_grows("workload_nodes"),
                SPREAD_OF_SIZES,
            ),
            *eighty_by_skew("workload_nodes", SPREAD_OF_SIZES),
            Claim(
                "Support drops from Expo and Zipf to Unif (GPM)",
                "83.5, 92 against 38.3%",
                lambda rows: ordered(
                    (mean(of_family(rows, name), "support", method="gpm"),
                     mean(of_family(rows, "unif"), "support", method="gpm"))
                    for name in ("expo", "zipf")
                ),
                SPREAD_OF_SIZES,
            ),
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                "at every point",
                ranked(lambda rows: rows, "workload_family", "workload_nodes"),
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig7",
        "support against |T| (Expo, Zipf, Unif)",
        by_topics,
        draw_families("workload_topics", "|T|"),
        "2,000 nodes, 1,000 to 10,000 topics, 20-600 subscriptions",
        "2,000 nodes, 1,000 to 10,000 topics, 20-600 subscriptions",
        [
            Claim(
                "GPM falls as topics grow tenfold (Expo, as the paper's other figures tell)",
                "65.3% to 24.4%",
                topics_fall,
                SIZES_AND_TOPICS,
                at_default=True,
            ),
            Claim("Zipf: GPM falls only by", "0.39 points", zipf_falls, SIZES_AND_TOPICS,
                  at_default=True),
            *per_family("GPM minus RandomM, mean over |T|, points", (26.7, 22.0, 14.7),
                         mean_gap("workload_topics"), SIZES_AND_TOPICS, at=True),
            Claim("Zipf: GPM falls less than under Expo and Unif, points", "less sensitive",
                  zipf_falls_least, SIZES_AND_TOPICS, at_default=True),
            *eighty_by_skew("workload_topics", SIZES_AND_TOPICS, at=True),
            Claim(
                "Support falls with |T| for all methods",
                "decreases",
                trends("workload_topics", dict.fromkeys(FAMILIES, False)),
                SIZES_AND_TOPICS,
                at_default=True,
            ),
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                "at every point",
                ranked(lambda rows: rows, "workload_family", "workload_topics"),
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig8",
        "support against the subscription size (Expo, Zipf, Unif)",
        by_size,
        draw_families("middle", "middle subscription size"),
        "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180",
        "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180",
        [
            Claim(
                "Support rises with the subscription size under Expo and Unif, falls under Zipf, "
                "for all methods",
                "rises, falls",
                trends("middle", {"expo": True, "zipf": False, "unif": True}),
                SPREAD_OF_SIZES,
                at_default=True,
            ),
            Claim(
                "The gap between methods shrinks as sizes grow (GPA minus RandomM)",
                "shrinks",
                gaps_shrink,
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig9",
        "support against the budget ratio (Expo, Zipf, Unif)",
        by_ratio,
        draw_families("ratio", "budget ratio β"),
        "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
        "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
        [
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM at every ratio",
                "at every ratio",
                ranked(by_budget, "workload_family", "ratio"),
                MORE_EDGES,
                at_default=True,
            ),
            Claim(
                "The same, all stopped at equal edges",
                "at every ratio",
                ranked(by_equal_edges, "workload_family", "ratio"),
                MORE_EDGES,
                at_default=True,
            ),
            *[
                Claim(
                    f"{TITLES[name]}: 80% support by GPA, GPM and SpiderCastM with 20% of the "
                    "budget",
                    "over 80%",
                    lambda rows, name=name: eighty(of_family(rows, name)),  # type: ignore[misc]
                    SPREAD_OF_SIZES,
                    at_default=True,
                )
                for name in ("expo", "zipf")
            ],
            Claim(
                "That is more evident under Expo and Zipf than under Unif (ratio 0.2)",
                "more evident",
                lambda rows: ordered(
                    (mean(by_budget(of_family(rows, name)), "support", method=m, ratio=0.2),
                     mean(by_budget(of_family(rows, "unif")), "support", method=m, ratio=0.2))
                    for name in ("expo", "zipf") for m in RANKED[:3]
                ),
                SPREAD_OF_SIZES,
                at_default=True,
            ),
        ],
    ),
)  # fmt: skip
