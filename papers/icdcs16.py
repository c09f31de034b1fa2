"""Paper 1: partial overlays under degree budgets."""

from papers.icdcs16_families import STEEP, UNIFORM, figures
from papers.model import Experiment
from papers.partial_claims import (
    TABLE,
    graph_claims,
    hub_claims,
    rank_claims,
    spread_claims,
    table_claims,
)
from papers.partial_grids import (
    by_ratio_on_graphs,
    draw_graph,
    draw_spreads,
    draw_table,
    spreads,
    table_on_graphs,
)

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
        by_ratio_on_graphs("fb"),
        draw_graph("fb"),
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*graph_claims("FB1K", "fb", 3.4), *hub_claims("FB1K")],
    ),
    Experiment(
        "icdcs16-fig4-ego",
        "the same on ego-Facebook, whose hubs are closer to the paper's",
        by_ratio_on_graphs("ego"),
        draw_graph("ego"),
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*rank_claims("ego1K"), *graph_claims("ego1K", "ego", 3.4), *hub_claims("ego1K")],
        other="another graph, ego-Facebook",
    ),
    Experiment(
        "icdcs16-fig5",
        "support against the budget ratio, TW1K; what is said of FB1K and TW1K together",
        by_ratio_on_graphs("fb", "tw"),
        draw_graph("tw"),
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*rank_claims("FB1K and TW1K"), *graph_claims("TW1K", "tw", 4.8)],
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
    *figures(UNIFORM),
    *figures(STEEP),
)
