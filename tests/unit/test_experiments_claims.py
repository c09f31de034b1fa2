"""How cells decide claims: trends step by step, savings, ratios between systems."""

import math

import pytest
from papers.assignment_claims import (
    TABLE_1,
    at_each,
    comparable,
    diminishing,
    nearer_if_loose,
    on_average,
    several_boxes,
)
from papers.assignment_grids import ALPHAS, KEPT, SET_1
from papers.debs18 import TABLE_3, TABLE_4, TABLE_5
from papers.degree_claims import conclusions, star_claims, stepwise
from papers.disc12_degrees import LABELS, between, with_k
from papers.disc12_literal import (
    STABLE,
    growth,
    implied_growth,
    more_if_skewed,
    share_trend,
    stable_share,
)
from papers.family_claims import eighty_by_skew, gap_trend, mean_trends, topics_fall, trends
from papers.findings import falling
from papers.model import Finding
from papers.partial_claims import alike_in_edges, graph_claims, rank_claims
from papers.refined_rows import fewer, near_the_bound
from papers.verdict import CLOSE, DIFFERS, HOLDS, Evidence, Point, verdict
from papers.world_claims import (
    by_short_fingers,
    falls_with,
    gaps_of_po,
    gaps_shrink,
    long_fingers_more,
)
from papers.world_orders import most_paths, order_claims, protocol_claims


def judged(finding: Finding) -> str:
    points = tuple(Point(*pair) for pair in finding.pairs)
    return verdict(Evidence(finding.number, finding.limit, points), at_paper_size=True)


def test_a_trend_is_judged_at_every_step_and_not_by_its_ends():
    def rows(*degrees: float) -> list[dict]:
        return [
            {"method": "gm-id", "workload_nodes": i, "workload_topics": 100, "max_degree": degree}
            for i, degree in enumerate(degrees)
        ]

    find = stepwise("max_degree", "workload_nodes", {"gm-id": True})
    assert judged(find(rows(1, 2, 3))) == HOLDS
    bent = find(rows(10, 9, 30, 40, 50))
    assert judged(bent) == CLOSE
    assert bent.ours == "gm-id 10 to 50; at 4 of 5 comparisons, short by up to 10.0%"
    assert judged(find(rows(10, 5, 30, 40, 50))) == DIFFERS
    assert judged(find(rows(10, 9, 30))) == DIFFERS


def test_many_small_steps_the_wrong_way_are_a_large_one():
    assert judged(Finding("", pairs=tuple(falling([10.0, 9.0, 8.0])))) == HOLDS
    assert judged(Finding("", pairs=tuple(falling([10.0, 10.1, 10.2])))) == DIFFERS
    assert judged(Finding("", pairs=tuple(falling([10.0, 10.1, 9.0, 8.0, 7.0])))) == CLOSE
    assert falling([2.0, 1.0]) == [(2.0, 1.0)]
    assert falling([2.0]) == falling([]) == []


def test_support_has_to_rise_for_every_method_and_family_asked_for():
    rows = [
        {"workload_family": name, "method": method, "middle": at, "support": support}
        for name, supports in (("expo", (0.2, 0.4)), ("zipf", (0.9, 0.8)))
        for method in ("gpa", "gpm")
        for at, support in enumerate(supports)
    ]
    both = ("gpa", "gpm")
    assert judged(trends("middle", {"expo": True, "zipf": False}, both)(rows)) == HOLDS
    assert judged(trends("middle", {"expo": True, "zipf": True}, both)(rows)) == DIFFERS


def families(**supports: tuple[float, float]) -> list[dict]:
    """GPA and GPM have so much with the fewest and the most topics, RandomM nothing."""
    return [
        {"workload_family": name, "method": method, "workload_topics": topics,
         "support": 0.0 if method == "random-max" else at}
        for name, found in supports.items()
        for topics, at in zip((1000, 10_000), found, strict=True)
        for method in ("gpa", "gpm", "random-max")
    ]  # fmt: skip


def test_the_fall_with_topics_is_that_of_expo():
    rows = families(expo=(0.653, 0.244), zipf=(0.9, 0.9), unif=(0.3, 0.1))
    found = [claim.find(rows) for claim in topics_fall("why")]
    assert [(judged(one), one.ours) for one in found] == [(HOLDS, "65.3%"), (HOLDS, "24.4%")]
    found = [claim.find(families(expo=(0.653, 0.1))) for claim in topics_fall("why")]
    assert [judged(one) for one in found] == [HOLDS, DIFFERS]


def test_eighty_percent_are_asked_of_skewed_interests_and_denied_to_even_ones():
    claims = eighty_by_skew("workload_topics", "why")
    rows = families(expo=(0.9, 0.8), zipf=(0.9, 0.9), unif=(0.3, 0.1))
    assert [judged(claim.find(rows)) for claim in claims] == [HOLDS, HOLDS]
    rows = families(expo=(0.9, 0.1), zipf=(0.9, 0.9), unif=(0.9, 0.1))
    assert [judged(claim.find(rows)) for claim in claims] == [DIFFERS, DIFFERS]


def gaps(*found: float) -> list[dict]:
    """GPA and GPM are so far above RandomM at each point, in every family."""
    return [
        {"workload_family": name, "method": method, "middle": at,
         "support": 0.1 + (0.0 if method == "random-max" else gap)}
        for name in ("expo", "zipf", "unif")
        for at, gap in enumerate(found)
        for method in ("gpa", "gpm", "random-max")
    ]  # fmt: skip


def test_a_gap_grows_or_shrinks_at_each_point_and_not_between_the_ends_only():
    grows, shrinks = (gap_trend("middle", "gpa", rising=up) for up in (True, False))
    assert judged(grows(gaps(0.1, 0.2, 0.3))) == HOLDS
    assert grows(gaps(0.1, 0.2, 0.3)).ours.startswith("Expo 10.0 to 30.0; Zipf 10.0 to 30.0;")
    assert judged(grows(gaps(0.1, 0.4, 0.3))) == DIFFERS  # larger at the end all the same
    assert judged(shrinks(gaps(0.3, 0.2, 0.1))) == HOLDS
    assert judged(shrinks(gaps(0.3, 0.1, 0.2))) == DIFFERS
    assert grows([]) is None


def test_a_trend_that_names_no_method_is_that_of_their_mean():
    rows = [
        {"workload_family": "zipf", "method": method, "middle": at, "support": support}
        for method, supports in (("gpa", (0.9, 0.5)), ("random-max", (0.1, 0.3)))
        for at, support in enumerate(supports)
    ]
    find = mean_trends("middle", {"zipf": False})
    assert judged(find(rows)) == HOLDS
    assert find(rows).ours == "Zipf 0.500 to 0.400; at 1 of 1 comparisons"
    assert judged(mean_trends("middle", {"zipf": True})(rows)) == DIFFERS
    assert find([]) is None


def on_graph(graph: str, **supports: float) -> list[dict]:
    """Return the rows of one graph at one ratio, with and without equal edges."""
    names = {"random_max": "random-max", "random_average": "random-average"}
    return [
        {"workload_graph": graph, "seed": 1, "ratio": 1.0, "method": names.get(method, method),
         "equal": equal, "support": support, "edges": 200 if method == "gpm" else 100}
        for method, support in supports.items()
        for equal in (False, True)
    ]  # fmt: skip


def test_what_is_said_of_two_graphs_is_one_row_with_the_points_of_both():
    good = {"gpa": 0.9, "gpm": 0.8, "spidercast": 0.7, "random_max": 0.2, "random_average": 0.2}
    rank, _, edges, random = rank_claims("FB1K and TW1K")
    rows = [*on_graph("fb", **good), *on_graph("tw", **good)]
    assert rank.find(rows).ours == "at 8 of 8 comparisons"
    assert judged(rank.find(rows)) == HOLDS
    assert edges.find(rows).ours == "200 against 100; 200 against 100"
    assert judged(random.find(rows)) == HOLDS
    other = [*on_graph("fb", **good), *on_graph("tw", **{**good, "random_average": 0.75})]
    assert rank.find(other).ours.startswith("at 7 of 8 comparisons")
    assert judged(rank.find(other)) == CLOSE
    assert random.find(other).number.ours == pytest.approx((1 + 0.75 / 0.2) / 2)
    assert rank.find([]) is None
    assert edges.find([]) is None
    assert random.find([]) is None


def stars(nodes: int, topics: int, size: int, **diameters: float) -> list[dict]:
    at = {"workload_nodes": nodes, "workload_topics": topics, "workload_low": size}
    names = {"gm": "gm-id"}
    return [
        {**at, "method": names.get(method, method), "diameter": diameter,
         "edges": 100 if method == "gm" else 200, "average_degree": float(nodes)}
        for method, diameter in diameters.items()
    ]  # fmt: skip


def test_the_conclusion_on_diameters_is_judged_on_the_mean_of_three_figures():
    two = dict.fromkeys(("cd", "cd1", "cd2"), 2)
    rows = [*stars(100, 100, 10, gm=1, **two), *stars(1000, 100, 10, gm=30, **two)]
    times, every, shorter = (claim.find(rows) for claim in conclusions())
    assert (times.ours, every.ours) == ("2.00 times", "2 in every cell")
    assert shorter.ours == "15.5 against 2.0, 2.0, 2.0"
    assert judged(shorter) == HOLDS  # though not at 100 nodes
    (*_, worse) = (claim.find(rows[:4]) for claim in conclusions())
    assert judged(worse) == DIFFERS
    assert [claim.find([]) for claim in conclusions()] == [None, None, None]


def test_a_claim_on_one_figure_does_not_see_the_points_of_the_others():
    best = {"gpa": 0.9, "gpm": 0.8, "spidercast": 0.7, "random_max": 0.2, "random_average": 0.2}
    rows = [*on_graph("fb", **{**best, "spidercast": 0.1}), *on_graph("tw", **best)]
    (gap,) = (one for one in graph_claims("TW1K", "tw", 4.8) if "minus SpiderCastM" in one.text)
    assert gap.find(rows).number.ours == pytest.approx(10.0)
    at_10 = [*stars(100, 100, 10, gm=4), *stars(100, 100, 10, cd2=2)]
    fewer = next(
        c for c in star_claims("workload_low", 1.8, 20, 1, rising=False) if "1.8" in c.paper
    )
    others = [row | {"edges": 900} for row in stars(1000, 100, 10, cd2=2)]
    assert fewer.find([*at_10, *others, *stars(1000, 100, 10, gm=9)]).ours == "2.00 times"


def test_two_sentences_are_two_rows_and_one_is_one():
    apart, together = (
        [claim.text for claim in star_claims(over, 2, 3, 4, rising=False, apart=apart)]
        for over, apart in (("workload_nodes", True), ("workload_low", False))
    )
    assert sum("average degree" in text for text in apart) == 2
    assert sum("average degree" in text for text in together) == 1


def with_boxes(**bandwidths: tuple[float, ...]) -> list[dict]:
    return [
        {"method": method, "workload_alpha": alpha, "bandwidth": bandwidth}
        for method, found in bandwidths.items()
        for alpha, bandwidth in zip(ALPHAS, found, strict=True)
    ]


def test_boxes_beyond_three_save_less_and_several_save_more_than_one():
    falling = (10.0, 7.0, 5.0, 4.8, 4.9, 4.5)  # 5 boxes take more than 4, and less than one
    rising = (5.0, 5.2, 5.4, 5.6, 5.8, 6.1)
    good = with_boxes(**dict.fromkeys((name.replace("-", "_") for name in KEPT), falling))
    good = [{**row, "method": row["method"].replace("_", "-")} for row in good]
    assert judged(diminishing(good)) == HOLDS
    assert judged(several_boxes(good)) == HOLDS
    bad = [row for row in good if row["method"] != "gr"] + with_boxes(gr=rising)
    assert judged(diminishing(bad)) == CLOSE  # 3 boxes take 8% more than one: five of six points
    assert judged(several_boxes(bad)) == DIFFERS
    assert diminishing(bad).pairs[-1] == (0.0, 0.0)


def test_methods_are_compared_at_each_latency_of_each_workload():
    rows = [
        {"workload_latency": latency, "name": "a", "method": method, "bandwidth": bandwidth}
        for latency, pair in (("tight", (3.0, 1.0)), ("loose", (1.0, 2.0)))
        for method, bandwidth in zip(("gr", "gr-star"), pair, strict=True)
    ]
    assert at_each("bandwidth", ("gr",), ("gr-star",))(rows).pairs == ((3.0, 1.0), (1.0, 2.0))


def test_methods_are_nearer_by_their_ratio_whichever_is_larger():
    def rows(tight: float, loose: float) -> list[dict]:
        return [
            {"workload_latency": latency, "name": name, "method": method, "bandwidth": bandwidth}
            for name in SET_1
            for latency, other in (("tight", tight), ("loose", loose))
            for method, bandwidth in (("slp", 1.0), ("gr-star", other))
        ]

    assert judged(nearer_if_loose(rows(2.0, 1.5))) == HOLDS
    assert judged(nearer_if_loose(rows(0.5, 1.5))) == HOLDS
    assert judged(nearer_if_loose(rows(1.5, 0.5))) == DIFFERS


def systems(column: str, found: dict[tuple[str, str], float], **at) -> list[dict]:
    return [
        {"overlay": overlay, "method": routing, "fingers": fingers, column: value, **at}
        for (overlay, routing), value in found.items()
        for fingers in (("chord", "random") if overlay in ("S", "-") else (None,))
    ]


def test_most_cases_are_more_than_half_of_both_graphs():
    def rows(ours: float) -> list[dict]:
        systems_of = {("SL", "pie"): ours, ("-", "scribe"): 2.0, ("-", "iscribe"): 1.0}
        return [
            row
            for graph in ("fb", "tw")
            for nodes in (1000, 10_000)
            for row in systems("hops_mean", systems_of, workload_graph=graph, workload_nodes=nodes)
        ]

    assert most_paths(rows(0.9)).ours == "in 16 of 16 cases"
    assert judged(most_paths(rows(0.9))) == HOLDS
    assert judged(most_paths(rows(1.5))) != HOLDS  # half of them
    assert most_paths(rows(0.9)[: len(rows(0.9)) // 2]) is None  # one graph


def printed_tables() -> list[dict]:
    """Return the rows that Tables 3 to 5 of paper 4 would be the means of."""
    ratios = {"fb": dict(TABLE_3), "tw": dict(TABLE_4)}
    for system, graphs in TABLE_5.items():
        for graph, found in graphs.items():
            ratios[graph][system] = found
    for graph in ratios:
        ratios[graph]["-", "scribe"] = (1.0, 1.0, 1.0, 1.0)
    rows = []
    for graph, table in ratios.items():
        for i, nodes in enumerate((1000, 10_000)):
            at = {"workload_graph": graph, "workload_nodes": nodes}
            overheads = systems("overhead", {s: found[i] for s, found in table.items()}, **at)
            paths = systems("hops_mean", {s: found[2 + i] for s, found in table.items()}, **at)
            rows += [one | other for one, other in zip(overheads, paths, strict=True)]
    return rows


def test_the_papers_own_tables_keep_the_orderings_that_we_ask_for():
    rows = printed_tables()
    for claim in (*order_claims(), *protocol_claims()):
        assert judged(claim.find(rows)) == HOLDS, claim.text


def by_topic(column: str, **overlays: tuple[float, ...]) -> list[dict]:
    """Return the rows of BeaConvey's overlays by topics, against a Scribe(-) of 1."""
    names = {"none": "-"}
    return [
        row
        for overlay, found in overlays.items()
        for topics, value in enumerate(found)
        for row in systems(
            column,
            {(names.get(overlay, overlay), "pie"): value, ("-", "scribe"): 1.0},
            workload_topics=topics,
        )
    ]


def test_gaps_of_overlays_shrink_with_each_number_of_topics():
    find = gaps_shrink("hops_mean", ("pie",))
    last = {"S": (0.5, 0.5, 0.5), "L": (0.5, 0.5, 0.5), "none": (0.5, 0.5, 0.5)}
    rows = by_topic("hops_mean", SL=(0.9, 0.7, 0.6), **last)
    assert judged(find(rows)) == HOLDS
    assert find(rows).ours.startswith("BeaConvey 0.400 to 0.100; at 3 of 3 comparisons")
    assert judged(find(by_topic("hops_mean", SL=(0.9, 0.55, 0.6), **last))) == DIFFERS
    assert find([]) is None


def test_long_fingers_matter_more_if_they_do_on_average():
    def rows(*paths: float) -> list[dict]:
        return [
            one | {"overhead": other["overhead"]}
            for one, other in zip(
                by_topic("hops_mean", L=paths, S=(0.6, 0.6)),
                by_topic("overhead", L=(0.4, 0.4), S=(0.5, 0.5)),
                strict=True,
            )
        ]

    assert judged(long_fingers_more(rows(0.65, 0.5))) == HOLDS
    assert long_fingers_more(rows(0.65, 0.5)).pairs[1] == pytest.approx((0.6, 0.575))
    assert judged(long_fingers_more(rows(0.75, 0.5))) == DIFFERS


def test_the_paths_of_po_grow_with_each_number_of_nodes():
    def rows(*ratios: float) -> list[dict]:
        return [
            row | {"hops_max": row["hops_mean"]}
            for nodes, ratio in enumerate(ratios)
            for row in systems(
                "hops_mean", {("SL", "po"): ratio, ("-", "scribe"): 1.0}, workload_nodes=nodes
            )
        ]

    assert judged(gaps_of_po(rows(1.0, 1.2, 1.4))) == HOLDS
    assert judged(gaps_of_po(rows(1.0, 1.6, 1.4))) == DIFFERS
    assert gaps_of_po([]) is None


def test_comparable_is_what_the_papers_own_table_calls_so():
    rows = [
        {"name": name, "method": method, "bandwidth": factor}
        for name, factors in TABLE_1.items()
        for method, factor in factors.items()
    ]
    found = comparable("gr-star", "slp")(rows)
    assert found.ours == "0.82 to 1.12 times"
    assert judged(found) == HOLDS
    worse = [row | {"bandwidth": 1.3 * row["bandwidth"]} for row in rows if row["method"] == "slp"]
    others = [row for row in rows if row["method"] != "slp"]
    assert judged(comparable("gr-star", "slp")([*worse, *others])) == DIFFERS
    assert judged(comparable("slp", "gr-star")([*worse, *others])) == DIFFERS
    assert comparable("gr-star", "slp")([]) is None


def test_an_average_over_workloads_is_one_point_for_each_pair_of_methods():
    loads = {"gr": (9.0, 1.0), "slp": (2.0, 2.0), "gr-star": (6.0, 3.0)}
    rows = [
        {"name": name, "method": method, "load_stdev": load}
        for method, found in loads.items()
        for name, load in zip(("a", "b"), found, strict=True)
    ]
    found = on_average("load_stdev", ("gr",), ("slp", "gr-star"))(rows)
    assert found.pairs == ((5.0, 2.0), (5.0, 4.5))


def test_edges_are_compared_where_no_overlay_is_complete():
    def cell(method: str, ratio: float, edges: int, support: float) -> dict:
        found = {"method": method, "ratio": ratio, "edges": edges, "support": support}
        return {**found, "seed": 1, "equal": False, "workload_graph": "fb"}

    rows = [
        cell("gpa", 0.1, 100, 0.8),
        cell("gpm", 0.1, 50, 0.7),  # ours adds no edges of gain 0, so it is not asked
        cell("gpm-printed", 0.1, 110, 0.7),
        cell("gpa", 0.2, 130, 1.0),
        cell("gpm-printed", 0.2, 220, 0.9),
    ]
    found = alike_in_edges(rows)
    assert found.ours == "1.10 times, at 1 ratios of samples"
    assert judged(found) == HOLDS
    assert judged(alike_in_edges([row | {"support": 0.5} for row in rows])) == CLOSE
    assert alike_in_edges(rows[3:]) is None


def test_short_fingers_are_given_the_share_of_the_saving_that_they_have_alone():
    found = {("SL", "pie"): 0.2, ("S", "pie"): 0.3, ("-", "pie"): 1.0, ("-", "scribe"): 1.0}
    rows = [
        row
        for nodes in (1000, 10_000)
        for row in systems("overhead", found, workload_graph="tw", workload_nodes=nodes)
    ]
    for nodes in (1000, 10_000):
        limit = by_short_fingers("tw", nodes)(rows).limit
        assert (limit.larger, limit.smaller) == (pytest.approx(87.5), 80.0)


def timed(program: str, power: float, nodes=(100, 200, 400), name: str = "zipf") -> list[dict]:
    return [
        {"program": program, "workload_family": name, "workload_nodes": n, "cpu": 1e-6 * n**power}
        for n in nodes
    ]


def test_the_growth_of_a_time_is_its_power_of_the_nodes():
    rows = [*timed("literal", 3.7), *timed("ours", 1.2)]
    assert growth(rows, "literal") == pytest.approx(3.7)
    assert growth(rows, "ours", (100, 400)) == pytest.approx(1.2)
    assert math.isnan(growth(rows, "edge-contrib"))
    assert math.isnan(growth(rows, "ours", (100, 800)))


def test_the_growth_that_two_shares_imply_is_that_of_shares_with_it():
    shares = [7 * n**-2.5 for n in range(100, 1001, 100)]
    assert implied_growth(sum(shares) / 10, shares[-1]) == pytest.approx(2.5)


def test_the_share_of_the_index_falls_where_its_time_grows_less():
    rows = [*timed("literal", 4.0), *timed("edge-contrib", 2.0)]
    find = share_trend("workload_nodes", ("zipf",), rising=False)
    assert judged(find(rows)) == HOLDS
    assert find(rows).ours.startswith("Zipf 0.010% to 0.001%; at 3 of 3 comparisons")
    assert judged(share_trend("workload_nodes", ("zipf",), rising=True)(rows)) == DIFFERS


def shared(column: str, shares: dict[str, dict[int, float]]) -> list[dict]:
    """Return rows of both programs whose shares are these, by family and point."""
    return [
        {"workload_family": name, column: at, "program": program, "cpu": cpu}
        for name, points in shares.items()
        for at, share in points.items()
        for program, cpu in (("literal", 100.0), ("edge-contrib", 100.0 * share))
    ]


def test_a_share_is_stable_if_its_values_could_all_be_printed_as_one():
    above = {55: 0.015, 100: 0.025}
    rows = shared("workload_low", {"unif": {10: 9.0, **above}, "zipf": {10: 9.0, 55: 0.1}})
    assert stable_share(rows).ours == "largest over smallest: Unif 1.67, Zipf 1.00"
    assert stable_share(rows).limit.smaller == pytest.approx(STABLE)
    wider = shared("workload_low", {"unif": {55: 0.015, 100: 0.026}, "zipf": above})
    assert judged(stable_share(wider)) == CLOSE
    assert stable_share(rows[:2]) is None


def test_skewed_interests_are_faster_with_topics_if_their_share_falls_behind_at_each_point():
    def rows(*zipf: float) -> list[dict]:
        topics = (100, 550, 1000)
        even = dict(zip(topics, (0.1, 0.2, 0.3), strict=True))
        skewed = dict(zip(topics, zipf, strict=True))
        return shared("workload_topics", {"unif": even, "zipf": skewed, "expo": even})

    assert judged(more_if_skewed(rows(0.9, 0.9, 0.9))) == HOLDS
    assert more_if_skewed(rows(0.9, 0.9, 0.9)).ours == (
        "Unif 0.11 to 0.33 times the share of Zipf; at 3 of 3 comparisons"
    )
    assert judged(more_if_skewed(rows(0.9, 2.5, 0.9))) == DIFFERS  # the ends alone would hold
    assert more_if_skewed([]) is None


def test_low_lies_between_the_others_and_moves_with_k():
    def rows(low: float) -> list[dict]:
        degrees = dict(zip(LABELS, (30.0, low, 5.0), strict=True))
        plain = [
            {"workload_family": name, "workload_nodes": 100, "method": method, "max_degree": degree}
            for name in ("expo", "zipf", "unif")
            for method, degree in degrees.items()
        ]
        by_k = [{**row, "k": k, "max_degree": 30.0 / k} for row in plain for k in (1, 2, 3)
                if row["method"] == "low"]  # fmt: skip
        return plain + by_k

    find = between("max_degree", ("minmax", "low", "gm-id"))
    assert find(rows(10.0)).ours == "at 6 of 6 comparisons"
    assert judged(find(rows(10.0))) == HOLDS
    assert judged(find(rows(40.0))) == DIFFERS
    assert judged(with_k("max_degree", rising=False)(rows(10.0))) == HOLDS
    assert judged(with_k("max_degree", rising=True)(rows(10.0))) == DIFFERS


def test_a_ratio_falls_where_each_step_does():
    def rows(*ratios: float) -> list[dict]:
        return [
            row
            for topics, ratio in enumerate(ratios)
            for row in systems(
                "overhead", {("SL", "pie"): ratio, ("-", "scribe"): 1.0}, workload_topics=topics
            )
        ]

    assert judged(falls_with("workload_topics", "overhead")(rows(0.6, 0.5, 0.3))) == HOLDS
    assert judged(falls_with("workload_topics", "overhead")(rows(0.6, 0.3, 0.5))) == DIFFERS


def test_fewer_links_are_told_as_a_share_and_judged_at_every_point():
    def rows(*links: int) -> list[dict]:
        return [{"size": i, "gm_edges": 100, "edges": count} for i, count in enumerate(links)]

    find = fewer("size", "gm_edges", "edges")
    assert find(rows(90, 80)).ours == "0.85 times as many; fewer at 2 of 2 points"
    assert judged(find(rows(90, 80))) == HOLDS
    assert judged(find(rows(140, 80))) == DIFFERS
    assert find([]) is None


def test_links_are_held_against_the_bound_where_they_are_farthest_from_it():
    near = {"subscriptions": 1_000, "edges": 110, "bound": 100}
    far = {"subscriptions": 1_000, "edges": 900, "bound": 100}
    assert near_the_bound([near]).ours == "at most 1.10 times the bound"
    assert judged(near_the_bound([near])) == HOLDS
    assert judged(near_the_bound([near, far])) == DIFFERS
    assert near_the_bound([]) is None
