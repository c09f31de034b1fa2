"""What a cell measures, against the library or a naive twin. No JVM."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from papers.measure_time import PROGRAMS, program, share
from papers.model import Cell
from papers.run import measure
from papers.workloads import EACH, draw_each, draw_instance, family, instance_of

from meshwright.overlay import design
from meshwright.overlay import design as design_world
from meshwright.smallworld.routing.simulate import simulate
from papers import measure_assignment, measure_overlay, measure_routing

NOWHERE = Path("nowhere")
SMALL = family("unif", 40, 30, (3, 8), 1)


def overlay_row(method: str, **more) -> dict:
    given = {"workload": SMALL, "method": method, "seed": 1, **more}
    return measure_overlay.overlay(given, NOWHERE)


@pytest.mark.parametrize("method", ["gpa", "gpm", "spidercast", "random-max", "random-average"])
@pytest.mark.parametrize("equal", [False, True])
def test_budgets_are_those_of_design(method, equal):
    seed = {"seed": 1} if method not in ("gpa", "gpm") else {}
    instance = instance_of(SMALL, NOWHERE)
    found = design(instance, method, budget_ratio=0.3, equal_edges=equal, certify=False, **seed)
    row = overlay_row(method, ratio=0.3, equal=equal)
    assert (row["edges"], row["max_degree"]) == (found.n_edges, found.max_degree)
    assert row["support"] == found.support


def test_methods_as_printed_use_up_their_budget_where_ours_stop_without_a_gain():
    few = family("unif", 40, 60, (1, 3), 1)  # some nodes have no link that gains
    methods = ("gpm", "gpm-printed", "spidercast", "spidercast-printed", "random-max")
    rows = {one: overlay_row(one, workload=few, degree=1, edges=20) for one in methods}
    assert rows["gpm"]["edges"] < rows["gpm-printed"]["edges"] == rows["random-max"]["edges"] == 20
    assert rows["gpm-printed"]["max_degree"] == 1
    assert rows["gpm-printed"]["support"] == rows["gpm"]["support"] < 1.0
    assert rows["spidercast"]["edges"] <= rows["spidercast-printed"]["edges"] <= 20


def test_ties_by_id_are_those_of_design():
    found = design(instance_of(SMALL, NOWHERE), "gm", ties="id", certify=False)
    assert overlay_row("gm-id")["max_degree"] == found.max_degree


def test_refined_is_measured_beside_gm_minmax_and_the_bound():
    given = {"workload": SMALL, "method": "refined", "seed": 1, "rounds": 50}
    row = measure_overlay.refined_and_bound(given, NOWHERE)
    instance = instance_of(SMALL, NOWHERE)
    within = design(instance, "minmax", certify=False)
    capped = design(instance, "refined", max_degree=within.max_degree, rounds=50, certify=False)
    assert row["bound"] <= row["edges"] <= row["gm_edges"] == design(instance, "gm").n_edges
    assert row["capped_edges"] == capped.n_edges <= row["minmax_edges"] == within.n_edges


@pytest.mark.parametrize("method", ["gm", "minmax", "cd2"])
def test_the_diameter_is_that_of_networkx(method):
    instance = instance_of(SMALL, NOWHERE)
    found = design(instance, method, certify=False)
    longest = 0
    for topic in range(instance.n_topics):
        members = {v for v in range(instance.n_nodes) if topic in instance.topics_of(v)}
        graph = nx.Graph()
        graph.add_nodes_from(members)
        graph.add_edges_from((u, v) for u, v in found.edge_list() if {u, v} <= members)
        if len(members) > 1:
            longest = max(longest, nx.diameter(graph))
    assert measure_overlay.largest_diameter(found) == longest


def test_the_spread_counts_both_sides():
    row = measure_overlay.spread({"workload": SMALL}, NOWHERE)
    instance = instance_of(SMALL, NOWHERE)
    sizes = [len(instance.topics_of(v)) for v in range(instance.n_nodes)]
    assert row["followees"] == sorted(set(sizes))
    assert row["followees_share"][0] == 1.0
    assert row["followees_share"][-1] == sizes.count(max(sizes)) / len(sizes)
    assert row["followers_share"] == sorted(row["followers_share"], reverse=True)


@pytest.mark.parametrize(
    ("overlay", "method", "kinds"),
    [("S", "s", {"fingers": "random"}), ("SL", "sl", {"fill": "random"})],
)
@pytest.mark.parametrize("way", [("one", "fingers"), ("both", "neighbours")])
def test_a_publication_cell_is_what_simulate_says(overlay, method, kinds, way):
    ways = dict(zip(("direction", "match"), way, strict=True))
    given = {"workload": SMALL, "method": "pie", "seed": 3, "overlay": overlay}
    given |= {"fingers": None, "fill": None, **kinds, **ways, "publications": 200}
    row = measure_routing.publish(given, NOWHERE)
    world = design_world(instance_of(SMALL, NOWHERE), method, seed=3, certify=False, **kinds)
    totals = simulate(world, "pie", publications=200, seed=3, **ways).totals
    assert row["overhead"] == totals["overhead"]
    assert row["hops_mean"] == totals["hops_mean"]
    assert row["support"] == world.support


def test_the_naive_side_is_timed_only_where_asked():
    given = {"workload": SMALL, "method": "minmax", "seed": 1}
    alone = share({**given, "naive": False}, NOWHERE)
    both = share({**given, "naive": True}, NOWHERE)
    assert "share" not in alone
    assert both["share"] == pytest.approx(both["cpu"] / both["naive_cpu"])
    assert both["edges"] == design(instance_of(SMALL, NOWHERE), "minmax", certify=False).n_edges


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_timed_on_the_edges_of_design(name):
    row = program({"workload": SMALL, "method": "minmax", "program": name}, NOWHERE)
    assert row["edges"] == design(instance_of(SMALL, NOWHERE), "minmax", certify=False).n_edges
    assert row["cpu"] > 0


def test_low_takes_its_k():
    instance = instance_of(SMALL, NOWHERE)
    for k in (1, 5):
        found = design(instance, "low", k=k, certify=False)
        row = overlay_row("low", k=k)
        assert (row["edges"], row["max_degree"]) == (found.n_edges, found.max_degree)


def test_an_assignment_cell_says_what_it_costs_and_keeps():
    problem = {"set": 1, "subscribers": 400, "brokers": 5, "seed": 2}
    given = {"workload": problem, "seed": 2, "name": "x"}
    settings = {"load_sample": 5}
    slp = measure_assignment.assigned({**given, "method": "slp", "settings": settings}, NOWHERE)
    near = measure_assignment.assigned({**given, "method": "closest"}, NOWHERE)
    assert slp["fractional"] > 0
    assert near["fractional"] is None
    assert sum(near["loads"]) == sum(slp["loads"]) == 400
    assert near["over"] == pytest.approx(near["lbf"] / near["beta_max"])
    assert near["load_violated"] == (near["lbf"] > near["beta_max"])
    assert max(slp["delays"]) <= slp["delay_max"] + 1e-9
    assert min(near["least_latency"]) > 0
    assert len(near["delays"]) == len(near["least_latency"]) == 400


def test_a_row_has_the_parameters_as_columns_too():
    cell = Cell("measure_overlay:overlay", {"workload": SMALL, "method": "gm", "seed": 1})
    row = measure(cell, NOWHERE)
    assert row["workload_nodes"] == 40
    assert row["method"] == "gm"
    assert row["support"] == 1.0


def test_equal_descriptions_draw_equal_workloads():
    again = draw_instance("zipf", 30, 20, 2, 5, 2.0, "successive", 7)
    assert again.digest == draw_instance("zipf", 30, 20, 2, 5, 2.0, "successive", 7).digest
    assert again.digest != draw_instance("zipf", 30, 20, 2, 5, 2.0, "successive", 8).digest


def test_each_topic_is_wanted_with_its_probability_whatever_the_size():
    workload = family("unif", 2000, 50, (10, 10), 3, draw=EACH)
    sizes = np.diff(instance_of(workload, NOWHERE).indptr)
    assert sizes.mean() == pytest.approx(10, abs=0.3)
    assert sizes.std() == pytest.approx((10 * (1 - 10 / 50)) ** 0.5, abs=0.2)
    assert instance_of(workload, NOWHERE).digest == draw_each(2000, 50, 10, 3).digest
