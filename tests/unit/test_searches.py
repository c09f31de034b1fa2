"""`refined`, `exact` and the ladder of bounds, as users meet them."""

from csv import DictReader
from pathlib import Path

import numpy as np
import pytest

import meshwright as mw
from meshwright.errors import InputError
from meshwright.overlay.bounds import Certify, find_bounds
from meshwright.overlay.methods import refined as refined_method
from meshwright.overlay.methods.refined import PlanSearch
from tests.strategies import instance_of


def drawn(n_nodes: int = 30, n_topics: int = 20, size: int = 6) -> mw.Instance:
    rng = np.random.default_rng(5)
    rows = (rng.choice(n_topics, size, replace=False).tolist() for _ in range(n_nodes))
    return instance_of({v: set(row) for v, row in enumerate(rows)}, n_topics)


def test_a_budget_ratio_gives_a_search_its_maximum_degree():
    complete = mw.design(drawn(), "minmax", certify=False).max_degree
    overlay = mw.design(drawn(), "refined", budget_ratio=1.0, rounds=10, certify=False)
    assert overlay.parameters["max_degree"] >= complete
    assert overlay.max_degree <= overlay.parameters["max_degree"]


def test_an_interrupted_search_keeps_the_best_plan_so_far(monkeypatch):
    begun = []

    def interrupt(*words, **more):
        begun.append(words)
        raise KeyboardInterrupt

    monkeypatch.setattr(refined_method.kernel, "search_rounds", interrupt)
    overlay = mw.design(drawn(), "refined", rounds=100)
    assert begun
    assert overlay.connected
    assert overlay.parameters["interrupted"]
    assert overlay.parameters["rounds"] == 0


def test_a_search_by_the_clock_says_how_many_rounds_it_made_and_rounds_repeat_it():
    by_clock = mw.design(drawn(), "refined", seconds=1, certify=False)
    rounds = by_clock.parameters["rounds"]
    again = mw.design(drawn(), "refined", rounds=rounds, certify=False)
    assert rounds > 0
    assert by_clock.edge_list() == again.edge_list()


def test_progress_tells_links_and_bound():
    told = []
    mw.design(drawn(), "refined", rounds=40, on_progress=lambda *words: told.append(words))
    share, words = told[-1]
    assert share == 1.0
    assert "links, bound" in words


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"seconds": 0}, "seconds is 0; give a number above 0"),
        ({"rounds": -1}, "rounds is -1; give a whole number, 0 or more"),
        ({"rounds": 5, "seconds": 1}, "give seconds or rounds, not both"),
        ({"certify_seconds": -1}, "certify_seconds is -1; give a number, 0 or more"),
    ],
)
def test_impossible_limits_of_a_search_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        mw.design(drawn(), "refined", **parameters)


def test_searches_refuse_costs_and_exact_refuses_leaves_and_many_nodes():
    costs = [{"a": "node-01", "b": "node-02", "cost": "3"}]
    with pytest.raises(InputError, match="refined knows no costs of pairs"):
        mw.design(drawn(), "refined", links=costs)
    leaf = [{"node": "node-01", "role": "leaf"}]
    with pytest.raises(InputError, match="exact does not know leaves"):
        mw.design(drawn(), "exact", limits=leaf)
    with pytest.raises(InputError, match="exact takes 100 nodes at most; this workload has 101"):
        mw.design(drawn(101), "exact")


def test_a_table_that_would_be_too_large_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(refined_method, "MOST_BYTES", 1)
    with pytest.raises(InputError, match="Use gm, minmax or low, or sample the workload"):
        mw.design(drawn(), "refined")


def test_each_step_of_the_ladder_is_at_least_as_strong_and_can_be_repeated():
    instance = drawn()
    edges = mw.design(instance, "gm", certify=False).edges
    steps = [
        find_bounds(instance, edges, certify=certify)
        for certify in (
            Certify(0, 0, one_pass=False),
            Certify(0, 0),
            Certify(100, 100),
            Certify(100, 100, 100),
        )
    ]
    links = [bounds.edges for bounds in steps]
    assert links == sorted(links)
    assert links[0] < links[-1] <= len(edges)
    for bounds in steps[1:]:
        again = find_bounds(instance, edges, certify=Certify.again(bounds.numbers()))
        assert again.numbers() == bounds.numbers()


def test_bounds_of_large_tables_are_found_on_several_threads(monkeypatch):
    from meshwright.overlay.bounds import prices

    instance = drawn()
    edges = mw.design(instance, "gm", certify=False).edges
    alone = find_bounds(instance, edges, certify=Certify(20, 20))
    monkeypatch.setattr(prices, "WORTH_THREADS", 0)
    assert find_bounds(instance, edges, certify=Certify(20, 20)) == alone


def test_a_plan_starts_without_links_that_no_topic_needs():
    instance = drawn()
    mesh = mw.design(instance, "full-mesh", certify=False).edges
    restrictions = refined_method.Restrictions()
    assert PlanSearch(instance, mesh, restrictions, 1).n_links < len(mesh)


def company() -> mw.Instance:
    with (Path(__file__).parents[2] / "examples" / "company.csv").open(encoding="utf-8") as lines:
        return mw.Instance.from_pairs((row["broker"], row["topic"]) for row in DictReader(lines))


def test_a_plan_is_found_at_the_lowest_maximum_degree_there_is():
    overlay = mw.design(company(), "refined", max_degree=5, rounds=3_000, certify=False)
    assert overlay.connected
    assert overlay.max_degree == 5


def test_a_search_that_finds_no_complete_plan_returns_the_one_that_lacks_fewest_joins():
    instance = company()
    found = [
        mw.design(instance, "refined", max_degree=4, rounds=rounds, certify=False).support
        for rounds in (0, 200, 300)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1] < 1


def dense() -> mw.Instance:
    rng = np.random.default_rng(0)
    rows = (rng.choice(40, rng.integers(4, 30), replace=False).tolist() for _ in range(80))
    return instance_of({v: set(row) for v, row in enumerate(rows)}, 40)


def test_the_start_that_promises_fewest_links_is_mended(monkeypatch):
    # Links and missing joins of minmax, then of each k: two links for a join that is mended.
    scripted = iter([(60, 0), (30, 20), (35, 3), (40, 1), (50, 0)])
    full = refined_method.count_joins(dense())

    def greedy(*words, **more):
        links, missing = next(scripted)
        gains = np.zeros(links, np.int32)
        gains[0] = full - missing
        return np.zeros((links, 2), np.int32), gains

    monkeypatch.setattr(refined_method, "greedy_edges", greedy)
    within = refined_method.with_cap(dense(), refined_method.Restrictions(), 5)
    complete, shorter = refined_method.start_links(dense(), within)
    assert (len(complete), len(shorter)) == (50, 35)
    assert next(scripted, None) is None


def test_a_start_that_lacks_joins_is_mended(monkeypatch):
    instance = dense()
    within = refined_method.with_cap(instance, refined_method.Restrictions(), 5)
    complete, shorter = refined_method.start_links(instance, within)
    assert shorter is not None
    assert len(shorter) < len(complete)
    assert PlanSearch(instance, shorter, within, 1).n_missing > 0
    found = mw.design(instance, "refined", max_degree=5, rounds=300, certify=False)
    assert found.connected
    assert found.n_edges <= len(shorter)
    # Without a round nothing is mended, and the complete start is what there is.
    at_once = mw.design(instance, "refined", max_degree=5, rounds=0, certify=False)
    assert at_once.connected
    assert at_once.n_edges <= len(complete)
    again = mw.design(instance, "refined", max_degree=5, rounds=300, certify=False)
    assert found.edge_list() == again.edge_list()

    def interrupt(*words, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(refined_method.kernel, "search_rounds", interrupt)
    stopped = mw.design(instance, "refined", max_degree=5, rounds=300, certify=False)
    assert stopped.connected
    assert stopped.parameters["interrupted"]
