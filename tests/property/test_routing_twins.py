"""Every protocol sends, message by message, what its reference sends; and what must always hold."""

from collections import Counter
from functools import partial
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.overlay import design
from meshwright.smallworld.routing.kernels.publications import (
    DELIVERIES,
    HOPS_MAX,
    MISSED,
    OVERHEAD,
)
from meshwright.smallworld.routing.protocols import ROUTINGS, router
from meshwright.smallworld.routing.routes import parents
from meshwright.smallworld.routing.simulate import new_draws, simulate_range
from meshwright.smallworld.routing.trace import sketch, trace
from tests.naive import routing as naive
from tests.naive.random_numbers import stream, uniform
from tests.strategies import draws, instance_of, interests
from tests.worlds import N_TOPICS, DrawnWorld, fingers_by, long_way, near_end, worlds

SOME = draws(100)
CONVEYING = {"po": naive.po, "pal": naive.pal, "pie": naive.pie}
MEETING = {"scribe": naive.scribe_parents, "iscribe": naive.iscribe_parents}
MOST = 9  # nodes, and so topics, where each node has one of its own
TOPICS = st.integers(0, N_TOPICS - 1)
WAYS = [  # options of routing on a ring
    {"direction": "one", "match": "fingers"},
    {"direction": "both", "match": "fingers"},
    {"direction": "both", "match": "neighbours"},
]
each_way = pytest.mark.parametrize("way", WAYS, ids=["one", "both", "neighbours"])
any_way = st.sampled_from(WAYS)


def publisher_of(drawn: DrawnWorld, topic: int, number: int) -> int:
    """Return the position of a publisher: a subscriber if there is one."""
    may = sorted(drawn.wanting(topic)) or list(range(drawn.n))
    return may[number % len(may)]


def reference(
    drawn: DrawnWorld, topic: int, publisher: int, routing: str, way: dict[str, str]
) -> list[naive.Message]:
    """Return the messages of the naive twin, by positions."""
    wanting = drawn.wanting(topic)
    links = naive.in_both_directions(drawn.fingers)
    hop = partial(naive.towards_either_way, links) if way["direction"] == "both" else None
    if routing in CONVEYING:
        matched = links if way["match"] == "neighbours" else drawn.fingers
        return list(naive.convey(CONVEYING[routing], matched, wanting, publisher, hop=hop))
    root = naive.rendezvous(f"topic-{topic}", drawn.n)
    return list(naive.meet(MEETING[routing], drawn.fingers, wanting, publisher, root, hop))


def by_nodes(drawn: DrawnWorld, messages: list[naive.Message]) -> list[tuple[int, ...]]:
    """Return messages between positions as messages between the nodes there, sorted."""
    name = {**dict(enumerate(drawn.ring)), naive.NO_RANGE: naive.NO_RANGE}
    return sorted((*(name[end] for end in m[:4]), m.hops) for m in messages)


@pytest.mark.parametrize("routing", [*CONVEYING, *MEETING])
@each_way
@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23))
def test_the_kernel_sends_what_the_reference_sends(routing, way, drawn, topic, number):
    publisher = publisher_of(drawn, topic, number)
    ref = reference(drawn, topic, publisher, routing, way)
    got = trace(drawn.world, topic, drawn.ring[publisher], routing=routing, **way)
    assert sorted(got) == by_nodes(drawn, ref)


@SOME
@given(drawn=worlds(), topic=TOPICS, publisher=st.integers(0, 23), way=any_way)
def test_a_publisher_that_does_not_subscribe_is_served_too(drawn, topic, publisher, way):
    publisher %= drawn.n
    for routing in (*CONVEYING, *MEETING):
        ref = reference(drawn, topic, publisher, routing, way)
        got = trace(drawn.world, topic, drawn.ring[publisher], routing=routing, **way)
        assert sorted(got) == by_nodes(drawn, ref)
        assert naive.counts(ref, drawn.wanting(topic), publisher).missed == 0


@SOME
@given(interest=interests(MOST, N_TOPICS), budget=st.integers(1, 12), topic=TOPICS)
def test_the_tree_kernel_sends_what_the_reference_sends(interest, budget, topic):
    overlay = design(instance_of(interest, MOST), "random-average", max_edges=budget, certify=False)
    wanting = {v for v, topics in interest.items() if topic in topics}
    for publisher in interest:
        ref = list(naive.tree(overlay.edge_list(), wanting, publisher))
        assert sorted(trace(overlay, topic, publisher, routing="tree")) == sorted(ref)


@pytest.mark.parametrize("routing", ROUTINGS)
@SOME
@given(drawn=worlds(), seed=st.integers(0, 2**63 - 1), way=any_way)
def test_counts_and_load_are_those_of_the_references_messages(routing, drawn, seed, way):
    world = drawn.world
    draws = new_draws(world.instance)
    if len(draws.live) == 0:
        return
    part = simulate_range(router(world, routing, **way), draws, 3, 9, seed)
    sent, received = Counter(), Counter()
    for i, counts in enumerate(part.tally.counts.tolist()):
        topic, node = int(part.topics[i]), int(part.publishers[i])
        if routing == "tree":
            wanting = {v for v in drawn.interest if topic in drawn.interest[v]}
            ref = list(naive.tree(world.edge_list(), wanting, node))
            assert tuple(counts) == naive.counts(ref, wanting, node)
            moved = [(m.sender, m.receiver) for m in ref]
        else:
            publisher = drawn.ring.index(node)
            ref = reference(drawn, topic, publisher, routing, way)
            assert tuple(counts) == naive.counts(ref, drawn.wanting(topic), publisher)
            moved = [(drawn.ring[m.sender], drawn.ring[m.receiver]) for m in ref]
        sent.update(u for u, _ in moved)
        received.update(w for _, w in moved)
    assert dict(enumerate(part.tally.sent.tolist())) == {v: sent[v] for v in range(drawn.n)}
    assert dict(enumerate(part.tally.received.tolist())) == {v: received[v] for v in range(drawn.n)}


@SOME
@given(drawn=worlds(), seed=st.integers(0, 2**63 - 1), first=st.integers(0, 99))
def test_publications_are_drawn_as_defined(drawn, seed, first):
    live = [t for t in range(N_TOPICS) if drawn.wanting(t)]
    if not live:
        return
    world = drawn.world
    part = simulate_range(router(world, "tree"), new_draws(world.instance), first, first + 5, seed)
    for i in range(5):
        key = stream(seed, first + i)
        topic = live[int(uniform(key, 0) * len(live))]
        nodes = [v for v in sorted(drawn.interest) if topic in drawn.interest[v]]
        publisher = nodes[int(uniform(key, 1) * len(nodes))]
        assert (int(part.topics[i]), int(part.publishers[i])) == (topic, publisher)


@pytest.mark.parametrize("routing", ROUTINGS)
@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23), way=any_way)
def test_every_other_subscriber_is_delivered_to_once_and_nobody_else(
    routing, drawn, topic, number, way
):
    world, publisher = drawn.world, drawn.ring[publisher_of(drawn, topic, number)]
    messages = trace(world, topic, publisher, routing=routing, **way)
    wanting = {v for v in drawn.interest if topic in drawn.interest[v]}
    reached = Counter(m.low for m in messages if m.receiver == m.low and m.low != publisher)
    wanted = {v: count for v, count in reached.items() if v in wanting}
    tally = router(world, routing, **way).route(
        np.array([topic], np.int32), np.array([publisher], np.int32)
    )
    assert all(count == 1 for v, count in wanted.items())
    assert len(wanted) == tally.counts[0, DELIVERIES]
    if routing == "tree":
        assert reached.keys() <= wanting
    else:
        assert wanted.keys() == wanting - {publisher}
        assert tally.counts[0, MISSED] == 0


@pytest.mark.parametrize("routing", ROUTINGS)
@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23), way=any_way)
def test_every_message_has_a_cause_and_every_receipt_a_line(routing, drawn, topic, number, way):
    world, publisher = drawn.world, drawn.ring[publisher_of(drawn, topic, number)]
    messages = trace(world, topic, publisher, routing=routing, **way)
    for message, cause in zip(messages, parents(messages), strict=True):
        if cause < 0:
            assert (message.sender, message.hops) == (publisher, 1)
        else:
            before = messages[cause]
            assert (before.receiver, before.hops) == (message.sender, message.hops - 1)
            assert before.low == before.receiver or before[2:4] == message[2:4]
    lines = list(sketch(world, topic, publisher, routing=routing, **way))
    assert len(lines) == len(messages) + 1
    carried = sum("(relay)" in line or "(pivot)" in line for line in lines)
    assert carried == sum(topic not in drawn.interest[m.receiver] for m in messages)


@pytest.mark.parametrize("routing", ["po", "pal", "pie", "tree"])
@SOME
@given(drawn=worlds(), topic=TOPICS, publisher=st.integers(0, 23), way=any_way)
def test_a_trace_sends_message_by_message_what_the_simulation_sends(
    routing, drawn, topic, publisher, way
):
    publisher %= drawn.n
    topics, publishers = np.array([topic], np.int32), np.array([publisher], np.int32)
    route = router(drawn.world, routing, **way).route
    room = int(route(topics, publishers).n_messages[0])
    ref = [tuple(row) for row in route(topics, publishers, room).trace.tolist()]
    got = trace(drawn.world, topic, publisher, routing=routing, **way)
    assert ref == got


def ring_range(low: int, high: int, n: int) -> list[int]:
    """The positions of a range, in order; the whole ring if it ends where it begins."""
    return [(low + i) % n for i in range(naive.range_length(low, high, n))]


@pytest.mark.parametrize("routing", CONVEYING)
@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23), way=any_way)
def test_ranges_handed_on_are_disjoint_and_inside_the_one_received(
    routing, drawn, topic, number, way
):
    world, publisher = drawn.world, publisher_of(drawn, topic, number)
    place = {v: p for p, v in enumerate(drawn.ring)}
    messages = [
        (place[m.sender], place[m.receiver], place[m.low], place[m.high])
        for m in trace(world, topic, drawn.ring[publisher], routing=routing, **way)
    ]
    own = {low: (low, high) for _, receiver, low, high in messages if receiver == low}
    own[publisher] = (publisher, publisher)
    passed_by = {(receiver, low) for _, receiver, low, _ in messages if receiver != low}
    handed_on: dict[int, list[int]] = {v: [] for v in own}
    for sender, _, low, high in messages:
        if (sender, low) not in passed_by:
            handed_on[sender] += ring_range(low, high, drawn.n)
    for v, given_away in handed_on.items():
        assert len(set(given_away)) == len(given_away)
        assert set(given_away) <= set(ring_range(*own[v], drawn.n)) - {v}


@pytest.mark.parametrize("routing", ROUTINGS)
@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23), way=any_way)
def test_no_message_comes_back_to_a_node_on_its_own_path(routing, drawn, topic, number, way):
    publisher = drawn.ring[publisher_of(drawn, topic, number)]
    messages = trace(drawn.world, topic, publisher, routing=routing, **way)
    # A node hears of a publication for one reader once, so for each reader a path can be walked.
    assert len({(m.receiver, m.low) for m in messages}) == len(messages)
    most_links = max(map(len, naive.in_both_directions(drawn.fingers)))
    assert len(messages) <= drawn.n * (most_links + 2)
    assert max((m.hops for m in messages), default=0) <= 2 * drawn.n


@SOME
@given(drawn=worlds(64, kinds=("chord",)), topic=TOPICS, number=st.integers(0, 63))
def test_on_chord_fingers_the_paths_of_pal_are_short(drawn, topic, number):
    publisher = drawn.ring[publisher_of(drawn, topic, number)]
    messages = trace(drawn.world, topic, publisher, routing="pal")
    longest = max((m.hops for m in messages if m.receiver == m.low), default=0)
    assert longest <= 3 * log2(drawn.n)
    assert longest <= chord_bound(drawn.n)


def chord_bound(n: int) -> int:
    """No path of Pal on Chord fingers is longer: docs/routing.md says why."""
    k = ceil(log2(n))
    return k * (k + 1) // 2


@pytest.mark.parametrize("n", [500, 1024, 3000])
def test_on_chord_fingers_and_random_interests_the_paths_of_pal_are_within_3_log_n(n):
    rng = np.random.default_rng(n)
    shares = rng.random(20) ** 4
    interest = {v: set(np.flatnonzero(rng.random(20) < shares).tolist()) for v in range(n)}
    world = DrawnWorld(list(range(n)), fingers_by(n, near_end), interest).world
    part = simulate_range(router(world, "pal"), new_draws(world.instance), 0, 20, 1)
    assert 0 < part.tally.counts[:, HOPS_MAX].max() <= 3 * log2(n)


@pytest.mark.parametrize(
    ("n", "wanting", "longest"),
    [
        (129, {0, 7, 70, 101, 116, 123, 126}, 23),
        (257, {0, 7, 134, 197, 228, 243, 250, 253}, 30),
        (1025, {0, 127, 638, 893, 900, 963, 994, 1009, 1016, 1019}, 47),
    ],
)
def test_on_chord_fingers_the_paths_of_pal_can_be_longer_than_3_log_n(n, wanting, longest):
    # The way to the nearest subscriber takes up to log n hops, and that in each of log n ranges.
    interest = {v: {0} if v in wanting else set() for v in range(n)}
    world = DrawnWorld(list(range(n)), fingers_by(n, near_end), interest).world
    messages = trace(world, 0, 0, routing="pal")
    assert max(m.hops for m in messages if m.low in wanting) == longest
    assert 3 * log2(n) < longest <= chord_bound(n)


@pytest.mark.parametrize("routing", ["pal", "pie"])
@pytest.mark.parametrize("n", [64, 128, 256, 1024])
def test_fingers_at_the_far_end_of_the_range_make_paths_linear(routing, n):
    # The paper's O(log n) needs more than Property 1.
    fingers, wanting = long_way(n)
    interest = {v: {0} if v in wanting else set() for v in range(n)}
    messages = trace(DrawnWorld(list(range(n)), fingers, interest).world, 0, 0, routing=routing)
    longest = max(m.hops for m in messages if m.receiver == m.low and m.low in wanting)
    assert longest == n // 4 + 1
    assert n < 128 or longest > 3 * log2(n)


@SOME
@given(drawn=worlds(), topic=TOPICS, number=st.integers(0, 23))
def test_po_has_no_more_overhead_than_flooding_along_the_ring(drawn, topic, number):
    wanting = drawn.wanting(topic)
    if not wanting:
        return
    publisher = publisher_of(drawn, topic, number)
    messages = trace(drawn.world, topic, drawn.ring[publisher], routing="po")
    overhead = sum(topic not in drawn.interest[m.receiver] for m in messages)
    around = naive.along_the_ring(drawn.n, wanting, publisher)
    assert overhead <= naive.counts(around, wanting, publisher).overhead


@SOME
@given(drawn=worlds(), topic=TOPICS)
def test_routes_from_a_rendezvous_never_meet_again_after_parting(drawn, topic):
    root = naive.rendezvous(f"topic-{topic}", drawn.n)
    above: dict[int, set[int]] = {}
    for subscriber in drawn.wanting(topic):
        v = root
        while v != subscriber:
            w = naive.towards(drawn.fingers, v, subscriber)
            above.setdefault(w, set()).add(v)
            v = w
    assert all(len(parents) == 1 for parents in above.values())


@SOME
@given(
    interest=interests(MOST, N_TOPICS), method=st.sampled_from(["gm", "minmax", "ring-per-topic"])
)
def test_on_a_complete_overlay_the_tree_reaches_everyone_without_overhead(interest, method):
    instance = instance_of(interest, MOST)
    draws = new_draws(instance)
    if len(draws.live) == 0:
        return
    overlay = design(instance, method, certify=False)
    part = simulate_range(router(overlay, "tree"), draws, 0, 8, 1)
    assert part.tally.counts[:, MISSED].tolist() == [0] * 8
    assert part.tally.counts[:, OVERHEAD].tolist() == [0] * 8
