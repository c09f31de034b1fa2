"""A mesh without faults sends, publication by publication, what `simulate` and `trace` send."""

from collections import Counter

import pytest

from meshwright.mesh.core.events import PLANNER, Design
from meshwright.mesh.core.log import ALL_WELL, Shape
from meshwright.mesh.core.routes import make_route, usable
from meshwright.mesh.core.values import Message, Topology
from meshwright.mesh.design import design_topology, mesh_instance
from meshwright.mesh.simulator.mesh import Mesh, Options
from meshwright.overlay import design
from meshwright.smallworld.routing.simulate import simulate
from meshwright.smallworld.routing.trace import trace

WANTED = {
    0: ("a", "b"), 1: ("a",), 2: ("b", "c"), 3: ("a", "c"), 4: ("c",), 5: ("a", "b", "c"),
    6: ("b",), 7: ("a", "d"), 8: ("d", "c"), 9: ("b", "d"),
}  # fmt: skip
WAYS = [("gm", "tree"), ("minmax", "tree"), ("sl", "po"), ("sl", "pal"), ("sl", "pie")]


def running_mesh(topology: Topology) -> Mesh:
    """Return a mesh of the brokers of WANTED on a given overlay, ready to publish."""
    mesh = Mesh(3, Options(len(WANTED), topology.routing), lambda _: topology)
    for node, topics in WANTED.items():
        for topic in topics:
            mesh.brokers[node].subscribe(topic)
    for part in (PLANNER, *WANTED):
        mesh.start(part)
    mesh.clock.run(20.0)
    mesh.keeps_sent = True
    return mesh


@pytest.mark.parametrize(("method", "routing"), WAYS)
def test_hops_relays_and_copies_are_those_of_the_simulation(method, routing):
    instance, _ = mesh_instance(WANTED)
    options = {"seed": 1} if method == "sl" else {}
    overlay = design(instance, method, certify=False, **options)
    request = Design(1, tuple(WANTED), tuple(WANTED.items()), (), None)
    mesh = running_mesh(design_topology(request, method, routing, **options).topology)
    run = simulate(overlay, routing=routing, publications=30, seed=5)
    compared = 0
    for row in run.publications.to_pylist():
        topic = instance.topic_names[row["topic"]]
        if topic not in "abcd":
            continue
        mesh.sent.clear()
        arrived = [len(broker.arrivals) for broker in mesh.brokers]
        mesh.brokers[row["publisher"]].publish(Message(topic, b"x"))
        mesh.clock.run(mesh.clock.now + 1.0)
        got = Counter((sent.sender, sent.receiver) for sent in mesh.sent)
        messages = trace(overlay, row["topic"], row["publisher"], routing=routing)
        assert got == Counter((m.sender, m.receiver) for m in messages)
        new = [len(b.arrivals) - n for b, n in zip(mesh.brokers, arrived, strict=True)]
        assert sum(new) == row["deliveries"]
        relayed = sum(n for (_, v), n in got.items() if topic not in WANTED[v])
        assert relayed == row["overhead"]
        compared += 1
    assert compared >= 10


def test_a_publisher_outside_enters_by_a_shortest_path_of_relays():
    chain = Topology("tree", ((0, 1), (1, 2), (2, 3), (3, 4)))
    route = make_route(usable(Shape(1, chain, ALL_WELL)), frozenset({3, 4}), 0)
    hops = [(hop.sender, hop.receiver, hop.hops) for hop in route.hops]
    assert hops == [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 4)]
    assert route.reached == route.wanted == {3, 4}


def test_parts_that_an_overlay_leaves_apart_are_joined_by_relays():
    chain = Topology("tree", ((0, 1), (1, 2), (2, 3)))
    route = make_route(usable(Shape(1, chain, ALL_WELL)), frozenset({0, 3}), 0)
    assert [(hop.sender, hop.receiver) for hop in route.hops] == [(0, 1), (1, 2), (2, 3)]
    assert route.reached == {3}


def test_whoever_wants_an_unlisted_name_is_connected_without_relays():
    wanted = {0: ("a/#",), 1: ("+/b",), 2: ("a/+/c",), 3: ("#",), 4: ("x",), 5: ("+/b/+",)}
    request = Design(1, tuple(wanted), tuple(wanted.items()), (), None)
    graph = usable(Shape(1, design_topology(request).topology, ALL_WELL))
    for members in ({0, 3}, {0, 1, 3}, {0, 2, 3, 5}, {3, 4}, {1, 3}):
        for origin in members:
            route = make_route(graph, frozenset(members), origin)
            assert {hop.receiver for hop in route.hops} == members - {origin}


def test_filters_that_cross_too_often_are_left_to_relays():
    wanted = {v: (f"{v}/+", f"+/{v}") for v in range(6)}
    instance, n_left_out = mesh_instance(wanted, most_meets=5)
    everything, none_left_out = mesh_instance(wanted)
    assert (n_left_out, none_left_out) == (everything.n_topics - instance.n_topics, 0)
    assert n_left_out == 31
