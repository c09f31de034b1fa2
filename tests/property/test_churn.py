"""After any sequence of events a world has Property 1, and every protocol delivers exactly."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.small_world import SmallWorld, violations
from meshwright.overlay import design
from meshwright.smallworld import churn
from meshwright.smallworld.routing.kernels.publications import DELIVERIES, MISSED
from meshwright.smallworld.routing.protocols import ROUTINGS, router
from tests.naive.small_worlds import phases
from tests.strategies import draws

SOME = draws(60)
METHODS = [
    ("sl", {}),
    ("s", {"fingers": "chord"}),
    ("l", {"fill": "interest"}),
    ("l", {"fill": "random"}),
    ("none", {"fingers": "chord"}),
    ("none", {"fingers": "random"}),
]
TOPICS = ["a", "c", "e", "g"]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["join", "leave", "crash", "subscribe", "unsubscribe"]),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    max_size=8,
)
INTEREST = st.dictionaries(
    st.sampled_from([f"n{i:02}" for i in range(0, 20, 2)]),
    st.sets(st.sampled_from(TOPICS)),
    min_size=1,
    max_size=10,
)


def start(interest: dict[str, set[str]], method: str, parameters: dict[str, str]) -> SmallWorld:
    pairs = [(v, t) for v, wanted in interest.items() for t in wanted]
    return design(
        Instance.from_pairs(pairs, nodes=interest), method, seed=3, certify=False, **parameters
    )


def happen(world: SmallWorld, interest: dict[str, set[str]], event: tuple[str, int, int]):
    """Apply an event to the world and to the record of who wants what; None if it cannot be."""
    kind, i, j = event
    nodes, topic = sorted(interest), "abcdefgh"[j % 8]  # half of them are new
    node = nodes[i % len(nodes)]
    if kind == "join":
        new = f"n{i:02}"
        if new in interest:
            return None
        interest[new] = {t for k, t in enumerate("abcdefgh") if j >> k & 1}
        return churn.join(world, new, interest[new])
    if kind in ("leave", "crash"):
        if len(nodes) == 1:
            return None
        del interest[node]
        return (churn.leave if kind == "leave" else churn.crash)(world, node)
    if (topic in interest[node]) == (kind == "subscribe"):
        return None
    interest[node] ^= {topic}
    return getattr(churn, kind)(world, node, topic)


def wants(world: SmallWorld) -> dict[str, set[str]]:
    names = world.instance.topic_names
    return {
        node: {names[t] for t in world.instance.topics_of(v)}
        for v, node in enumerate(world.instance.node_names)
    }


def fingers(world: SmallWorld) -> dict[tuple[str, int], str]:
    names = world.instance.node_names
    return {
        (names[v], i): names[w]
        for v, row in enumerate(world.fingers.tolist())
        for i, w in enumerate(row)
    }


def ring(world: SmallWorld) -> list[str]:
    return [world.instance.node_names[v] for v in world.ring]


def check_delivery(world: SmallWorld) -> None:
    """Publish on every topic from every subscriber by every protocol."""
    instance = world.instance
    pairs = [(int(t), v) for v in range(instance.n_nodes) for t in instance.topics_of(v)]
    topics, publishers = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    others = np.bincount(instance.topics, minlength=instance.n_topics)[topics] - 1
    for routing, direction in product(ROUTINGS, ("one", "both")):
        counts = router(world, routing, direction).route(topics, publishers).counts
        assert (counts[:, DELIVERIES] + counts[:, MISSED]).tolist() == others.tolist()
        if routing != "tree":  # it stays inside the topic's links, which may be in pieces
            assert not counts[:, MISSED].any()


@pytest.mark.parametrize(("method", "parameters"), METHODS)
@SOME
@given(interest=INTEREST, events=EVENTS)
def test_delivery_stays_exact_after_any_sequence_of_events(method, parameters, interest, events):
    world, n_events = start(interest, method, parameters), 0
    for event in events:
        after = happen(world, interest, event)
        if after is None:
            continue
        n_events += 1
        assert wants(after) == interest
        assert list(after.instance.topic_names) == sorted(after.instance.topic_names)
        assert violations(after.ring, after.fingers, after.instance.node_names) == []
        if after.instance.n_subscriptions:
            check_delivery(after)
        world = after
    assert (world.method, world.parameters.get("events", 0)) == (method, n_events)


@pytest.mark.parametrize(("method", "parameters"), METHODS)
@SOME
@given(interest=INTEREST, events=EVENTS)
def test_nothing_moves_that_need_not(method, parameters, interest, events):
    world = start(interest, method, parameters)
    for event in events:
        after = happen(world, interest, event)
        if after is None:
            continue
        stay = set(ring(world)) & set(ring(after))
        assert [v for v in ring(world) if v in stay] == [v for v in ring(after) if v in stay]
        place, n = {v: p for p, v in enumerate(ring(after))}, len(interest)
        now = fingers(after)
        for (v, phase), w in fingers(world).items():
            if v in stay and w in stay and phase < len(phases(n)):
                inside = (place[w] - place[v]) % n in phases(n)[phase]
                assert (now[v, phase] == w) or not inside
        world = after


@SOME
@given(interest=INTEREST, wanted=st.sets(st.sampled_from(TOPICS)), i=st.integers(1, 9))
def test_a_new_node_joins_and_points_where_most_is_shared(interest, wanted, i):
    new = f"n{2 * i - 1:02}"
    before = ring(start(interest, "sl", {}))
    after = churn.join(start(interest, "sl", {}), new, wanted)
    interest = {**interest, new: wanted}
    n = len(interest)

    def worth(k: int) -> int:
        one, other = (interest[before[p % len(before)]] for p in (k, k + 1))
        return len(one & wanted) + len(other & wanted) - len(one & other)

    best = max(range(len(before)), key=lambda k: (worth(k), -k))
    assert ring(after) == [*before[: best + 1], new, *before[best + 1 :]]
    for phase, distances in enumerate(phases(n)):
        shared = [len(interest[ring(after)[(best + 1 + d) % n]] & wanted) for d in distances]
        found = ring(after)[(best + 1 + distances[shared.index(max(shared))]) % n]
        assert fingers(after)[new, phase] == found


def test_a_small_world_can_shrink_to_one_node_and_grow_again():
    world = start({"a": {"x"}, "b": {"x"}, "c": {"x"}}, "sl", {})
    for node in ("b", "a"):
        world = churn.leave(world, node)
    assert (ring(world), world.n_phases) == (["c"], 0)
    for i in range(9):
        world = churn.join(world, f"d{i}", ["x"])
    assert (world.instance.n_nodes, world.n_phases, world.support) == (10, 4, 1.0)


def test_what_cannot_happen_is_refused():
    world = start({"a": {"x"}, "b": {"y"}}, "sl", {})
    with pytest.raises(InputError, match="node 'a' already exists"):
        churn.join(world, "a")
    with pytest.raises(InputError, match="there is no node 'c' among 2"):
        churn.leave(world, "c")
    with pytest.raises(InputError, match="'b' is the last node"):
        churn.crash(churn.leave(world, "a"), "b")
    with pytest.raises(InputError, match="'a' wants 'x' already"):
        churn.subscribe(world, "a", "x")
    with pytest.raises(InputError, match="'a' does not want 'y'"):
        churn.unsubscribe(world, "a", "y")
    with pytest.raises(InputError, match="there is no topic 'z' among 2"):
        churn.unsubscribe(world, "a", "z")
    with pytest.raises(InputError, match="names are text and not empty; got ''"):
        churn.join(world, "")
