"""Designs of the planner: mended while an overlay is there, from scratch when asked for."""

import random

import pytest

from meshwright.mesh.core.events import Design
from meshwright.mesh.core.log import Shape
from meshwright.mesh.core.routes import components, usable
from meshwright.mesh.core.values import Health, Topology
from meshwright.mesh.design import design_topology

ROUTINGS = {"gm": "tree", "minmax": "tree", "refined": "tree", "sl": "pie"}


def draw_interests(n_nodes, seed=0):
    draw = random.Random(seed)
    names = [f"t/{i}" for i in range(12)]
    return {node: tuple(draw.sample(names, 4)) for node in range(n_nodes)}


def plan(interests, before=None, method="gm", *, down=(), fresh=False, **options):
    request = Design(1, tuple(interests), tuple(interests.items()), down, before, fresh)
    return design_topology(request, method, ROUTINGS[method], **options).topology


def split_topics(topology, interests):
    """Return the filters whose brokers the links do not connect."""
    graph = usable(Shape(1, topology, Health((), ()))).neighbours
    found = []
    for name in sorted({name for names in interests.values() for name in names}):
        members = [node for node, names in interests.items() if name in names]
        inside = {u: [v for v in graph.get(u, ()) if v in members] for u in members}
        if len(components(members, inside)) > 1:
            found.append(name)
    return found


@pytest.mark.parametrize("method", ["gm", "minmax", "refined"])
def test_a_new_subscription_moves_few_links_and_every_filter_stays_connected(method):
    before = draw_interests(16)
    first = plan(before, method=method)
    after = before | {3: (*before[3], "t/0", "t/1")}
    second = plan(after, first, method)
    assert split_topics(second, after) == []
    assert len(set(first.edges) ^ set(second.edges)) <= 4
    assert plan(after, second, method) == second  # nothing changed: nothing moves


def test_brokers_that_come_and_go_leave_the_other_links_alone():
    before = draw_interests(16)
    first = plan(before)
    gone = {node: names for node, names in before.items() if node != 5}
    second = plan(gone, first)
    assert split_topics(second, gone) == []
    assert all(5 not in edge for edge in second.edges)
    third = plan(before, second)
    assert split_topics(third, before) == []


def test_a_link_that_is_down_is_replaced():
    interests = draw_interests(10)
    first = plan(interests)
    lost = first.edges[0]
    second = plan(interests, first, down=(lost,))
    assert lost not in second.edges
    assert split_topics(second, interests) == []


def test_an_overlay_that_has_become_poor_gives_way_to_a_design_from_scratch():
    interests = draw_interests(16)
    every = Topology("tree", tuple((u, v) for u in range(16) for v in range(u + 1, 16)))
    best = len(plan(interests).edges)
    assert len(plan(interests, every).edges) <= 1.1 * best


def test_a_fresh_design_does_not_depend_on_the_overlay_that_is_there():
    interests = draw_interests(16)
    star = Topology("tree", tuple((0, node) for node in range(1, 16)))
    assert plan(interests, star, fresh=True) == plan(interests)


def test_a_small_world_stays_while_only_subscriptions_change():
    first = plan(draw_interests(16), method="sl")
    assert plan(draw_interests(16, seed=1), first, "sl") == first
    fewer = {node: names for node, names in draw_interests(16).items() if node != 7}
    second = plan(fewer, first, "sl")
    assert sorted(second.ring) == sorted(fewer)
    kept = [node for node in first.ring if node != 7]
    turn = kept.index(second.ring[0])
    assert list(second.ring) == kept[turn:] + kept[:turn]


def test_after_a_change_of_method_the_overlay_is_of_the_new_kind():
    interests = draw_interests(8)
    tree = plan(interests)
    world = plan(interests, tree, "sl")
    assert world.routing == "pie"
    assert plan(interests, world).routing == "tree"


def test_a_mesh_that_survives_losses_does_so_after_a_change():
    interests = draw_interests(8)
    first = plan(interests, survive=1)
    second = plan(interests | {2: (*interests[2], "t/0")}, first, survive=1)
    degrees = dict.fromkeys(range(8), 0)
    for u, v in second.edges:
        degrees[u] += 1
        degrees[v] += 1
    assert min(degrees.values()) >= 2
