"""Certificates against the true optimum: every bound on its side, every proven ratio kept."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.overlay import design
from meshwright.overlay.bounds import Certify, find_bounds
from tests.naive.optimum import best_by_degree, best_by_edges, useful_pairs
from tests.naive.overlays import tcc
from tests.strategies import draws, instance_of, interests

SOME = draws(60)
SMALL = interests(5, 5)


def mu_of(interest, overlay):
    return tcc(interest, []) - tcc(interest, overlay.edge_list())


def full_mu(interest):
    return tcc(interest, []) - tcc(interest, useful_pairs(interest))


@SOME
@given(interest=SMALL)
def test_the_bounds_of_a_complete_overlay_lie_below_the_optimum(interest):
    by_edges, by_degree = best_by_edges(interest), best_by_degree(interest)
    target = full_mu(interest)
    fewest = min(m for m, mu in by_edges.items() if mu == target)
    lowest = min((d for d, mu in by_degree.items() if mu == target), default=0)
    for method in ("gm", "minmax", "low", "cd2"):
        overlay = design(instance_of(interest), method)
        assert overlay.bounds.edges <= fewest <= overlay.n_edges
        assert overlay.bounds.max_degree <= lowest <= overlay.max_degree


RING_OF_TOPICS = {v: {v % 7, (3 * v + 1) % 7} for v in range(14)}


@SOME
@given(interest=interests(8, 6), extra=st.integers(0, 2))
@example(RING_OF_TOPICS, 0)  # proved before the first round of the ascent
def test_the_rounds_of_a_manifest_repeat_its_bounds(interest, extra):
    overlay = design(instance_of(interest), "gm")
    edges = overlay.edges[: overlay.n_edges - extra]
    claimed = find_bounds(overlay.instance, edges).numbers()
    again = find_bounds(overlay.instance, edges, certify=Certify.again(claimed))
    assert again.numbers() == claimed


@SOME
@given(interest=SMALL, m=st.integers(1, 6))
def test_gpa_keeps_its_ratio_and_its_bound(interest, m):
    overlay = design(instance_of(interest), "gpa", max_edges=m)
    by_edges, target = best_by_edges(interest), full_mu(interest)
    optimum = by_edges[min(m, max(by_edges))]
    assert mu_of(interest, overlay) >= (1 - math.exp(-1)) * optimum
    if target:
        within = by_edges[overlay.n_edges] / target
        assert overlay.bounds.support_with_edges >= within - 1e-12


@SOME
@given(interest=SMALL, d=st.integers(1, 4))
def test_gpm_keeps_its_ratio_and_its_bound(interest, d):
    overlay = design(instance_of(interest), "gpm", max_degree=d)
    by_degree, target = best_by_degree(interest), full_mu(interest)
    optimum = by_degree[min(d, max(by_degree, default=0))] if by_degree else 0
    assert mu_of(interest, overlay) >= (1 - math.exp(-1 / 6)) * optimum
    if target:
        within = by_degree[overlay.max_degree] / target
        assert overlay.bounds.support_with_degree >= within - 1e-12


@SOME
@given(interest=SMALL)
def test_gm_and_minmax_keep_their_logarithmic_ratios(interest):
    target = full_mu(interest)
    if target == 0:
        return
    fewest = min(m for m, mu in best_by_edges(interest).items() if mu == target)
    lowest = min(d for d, mu in best_by_degree(interest).items() if mu == target)
    instance = instance_of(interest)
    start = instance.n_subscriptions
    # Set cover's ratio: 1 + ln of the largest gain; minmax: 3 (d + 1) ln(start), Theorem 1.
    largest = max(len(interest[u] & interest[v]) for u, v in useful_pairs(interest))
    assert design(instance, "gm").n_edges <= (1 + math.log(largest)) * fewest
    reached = design(instance, "minmax").max_degree
    assert reached <= max(lowest, 3 * (lowest + 1) * math.log(start))
