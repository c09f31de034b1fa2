"""Chen, Tock, Girdzijauskas, "BeaConvey: Co-Design of Overlay and Routing", DEBS 2018.

Figures 1 and 2, with the hops, ranges and pure forwarders that the text states. It leaves open the
fingers of most nodes: node 1's are stated, and of the others only what the stated hops need is
chosen (a finger of node 7 leads to 10, one of node 5 to 8), the rest as Chord has them.
"""

import numpy as np
import pytest

from meshwright.model.overlay import Overlay
from meshwright.smallworld.routing.kernels.protocols import (
    NO_PIVOT,
    PIVOT_ALWAYS,
    PIVOT_IF_FINGER,
    convey,
    next_hops,
)
from meshwright.smallworld.routing.kernels.publications import (
    Members,
    Publication,
    new_tally,
    set_places,
)
from meshwright.smallworld.routing.protocols import Links, RingTables
from meshwright.smallworld.routing.routes import Message
from tests.naive import routing as naive
from tests.naive.overlays import gain, tcc
from tests.naive.small_worlds import chord, gswico_l, gswico_s, property_1, ring_edges
from tests.strategies import instance_of

N = 16
WANTING = {1, 4, 7, 10, 12, 14}
LOW, HIGH = 1, 11
PIVOTS = {"po": NO_PIVOT, "pal": PIVOT_ALWAYS, "pie": PIVOT_IF_FINGER}
FIGURES = {  # the fingers of node 1
    "a": [2, 3, 7, 9],
    "b": [2, 3, 5, 9],
    "c": [2, 3, 5, 9],
    "d": [2, 3, 5, 13],  # that of phase 3 lies outside [6, 11)
}


def fingers_of(figure: str) -> list[list[int]]:
    fingers = [chord(list(range(N)))[v] for v in range(N)]
    fingers[1] = FIGURES[figure]
    fingers[5][1] = 8
    fingers[7][1] = 10
    assert property_1(N, list(range(N)), dict(enumerate(fingers)))
    return fingers


def arrays(figure: str):
    fingers = np.array(fingers_of(figure))
    reach = ((fingers - np.arange(N)[:, None]) % N).astype(np.int32)
    members, place = np.array(sorted(WANTING), np.int32), np.zeros(N, np.int32)
    set_places(members, place)
    links = Links(np.arange(N + 1, dtype=np.int64) * reach.shape[1], reach.ravel())
    nodes = np.arange(N, dtype=np.int32)
    wanting = np.ones(len(members), np.bool_)
    taking = Members(np.array([0, len(members)]), members, wanting, np.array([len(members)]))
    ring = RingTables(nodes, nodes, reach, False, links, links, taking)
    tally = new_tally(1, N, 40)
    return ring, Publication(0, LOW, members, wanting, len(members), place, tally)


def hops_of_node_1(figure: str, routing: str) -> list[int]:
    """Return node 1's next hops by the kernel, after comparing them with the reference's."""
    ring, publication = arrays(figure)
    room = np.empty(6, np.int64)
    count = next_hops(PIVOTS[routing], ring, publication, LOW, HIGH - LOW, room)
    got = [LOW + int(offset) for offset in room[:count]]
    assert got == getattr(naive, routing)(fingers_of(figure), WANTING, LOW, LOW, HIGH)
    return got


def messages(figure: str, routing: str) -> list[Message]:
    """Return the messages of the range [1, 11) by the kernel, compared with the reference's."""
    ring, publication = arrays(figure)
    stack, room, tally = np.empty((N, 3), np.int64), np.empty(6, np.int64), publication.tally
    convey(PIVOTS[routing], ring, publication, HIGH - LOW, stack, room)
    got = [Message(*row) for row in tally.trace[: int(tally.n_messages[0])].tolist()]
    ref = naive.convey(getattr(naive, routing), fingers_of(figure), WANTING, LOW, HIGH)
    assert sorted(got) == sorted(ref)
    return got


def pure_forwarders(sent: list[Message]) -> set[int]:
    return {m.receiver for m in sent if m.receiver not in WANTING}


def test_figure_2a_po_sends_to_the_nearest_subscriber_and_the_finger_that_subscribes():
    assert hops_of_node_1("a", "po") == [4, 7]
    assert sorted(messages("a", "po")) == [
        Message(sender=1, receiver=3, low=4, high=7, hops=1),
        Message(sender=1, receiver=7, low=7, high=11, hops=1),
        Message(sender=3, receiver=4, low=4, high=7, hops=2),
        Message(sender=7, receiver=10, low=10, high=11, hops=2),
    ]
    assert pure_forwarders(messages("a", "po")) == {3}


def test_figure_2a_node_4_and_node_10_send_nothing_further():
    assert {m.sender for m in messages("a", "po")} == {1, 3, 7}


def test_figure_2b_po_has_only_the_nearest_subscriber():
    assert hops_of_node_1("b", "po") == [4]
    sent = messages("b", "po")
    first = [(m.receiver, m.low, m.high) for m in sent if m.sender == 1]
    assert first == [(3, 4, 11)]
    # The range goes from one subscriber to the next: 4, 7, 10.
    assert [(m.low, m.high) for m in sent if m.receiver == m.low] == [(4, 11), (7, 11), (10, 11)]


@pytest.mark.parametrize("routing", ["pal", "pie"])
def test_figure_2c_finger_9_is_the_pivot(routing):
    assert hops_of_node_1("c", routing) == [4, 9]
    sent = messages("c", routing)
    assert Message(sender=1, receiver=9, low=9, high=11, hops=1) in sent
    assert Message(sender=3, receiver=4, low=4, high=9, hops=2) in sent
    assert {3, 9} <= pure_forwarders(sent)


def test_figure_2d_pal_takes_8_as_the_pivot_over_two_pure_forwarders():
    assert hops_of_node_1("d", "pal") == [4, 8]
    sent = messages("d", "pal")
    to_pivot = [m for m in sent if m.low == 8]
    assert to_pivot == [
        Message(sender=1, receiver=5, low=8, high=11, hops=1),
        Message(sender=5, receiver=8, low=8, high=11, hops=2),
    ]
    assert pure_forwarders(to_pivot) == {5, 8}


def test_figure_2d_pie_behaves_like_po():
    assert hops_of_node_1("d", "pie") == [4]
    first = [m for m in messages("d", "pie") if m.sender == 1]
    assert first == [m for m in messages("d", "po") if m.sender == 1]


@pytest.mark.parametrize("routing", PIVOTS)
@pytest.mark.parametrize("figure", FIGURES)
def test_in_every_figure_the_three_subscribers_of_the_range_are_reached_once(figure, routing):
    reached = [m.low for m in messages(figure, routing) if m.receiver == m.low]
    assert sorted(v for v in reached if v in WANTING) == [4, 7, 10]


def test_the_distant_range_of_1_to_11_is_6_to_11():
    assert naive.distant_range(LOW, HIGH, N) == [6, 7, 8, 9, 10]


# Figure 1: six nodes, and neighbours on the ring A-B-C-D-E-F-A share one topic each.
SIX = {v: {v, (v + 5) % 6} for v in range(6)}


def support(interest, edges) -> float:
    full = [(u, v) for u in interest for v in interest if u < v]
    return (tcc(interest, []) - tcc(interest, edges)) / (tcc(interest, []) - tcc(interest, full))


def test_figure_1_gswico_s_returns_the_ring_of_neighbours_with_support_1():
    assert gswico_s(SIX) == [0, 1, 2, 3, 4, 5]
    assert support(SIX, ring_edges(SIX)) == 1.0
    edges = sorted(ring_edges(SIX))
    overlay = Overlay(instance_of(SIX), np.array(edges), np.ones(6, np.int32), "gswico_s")
    assert overlay.support == 1.0


def test_figure_1d_another_circle_contributes_nothing():
    circle = [(0, 2), (2, 5), (3, 5), (1, 3), (1, 4), (0, 4)]  # A-C-F-D-B-E-A
    assert [gain(SIX, circle[:i], *edge) for i, edge in enumerate(circle)] == [0] * 6
    assert support(SIX, circle) == 0.0


def test_gswico_l_fills_every_slot_of_the_ring_of_figure_1():
    ring = gswico_s(SIX)
    fingers = gswico_l(SIX, ring)
    assert property_1(6, ring, fingers)
    # Nothing is left to gain, so common interest decides, then the nearest.
    assert fingers[0] == [1, 2, 5]
