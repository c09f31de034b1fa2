"""Mended overlays: their naive twin, their gains, and what holds at every step on the way."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import meshwright as mw
from meshwright.model.limits import Limits, Links
from meshwright.model.overlay import gains_of
from meshwright.model.small_world import violations
from meshwright.overlay import design
from meshwright.overlay.replanning import mend
from meshwright.smallworld import churn
from tests.naive import replanning as naive
from tests.naive.limited import Rules
from tests.naive.survival import split_topics
from tests.strategies import draws

SOME = draws(40)
NODES = [f"n{i}" for i in range(7)]
TOPICS = list("abcdefg")
WANTS = st.dictionaries(
    st.sampled_from(NODES), st.sets(st.sampled_from(TOPICS)), min_size=1, max_size=7
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["join", "leave", "crash", "subscribe", "unsubscribe"]),
        st.sampled_from(NODES),
        st.sets(st.sampled_from(TOPICS)),
        st.sampled_from(TOPICS),
    ),
    max_size=6,
)
MADE = {
    "join": mw.Join,
    "leave": mw.Leave,
    "crash": mw.Crash,
    "subscribe": mw.Subscribe,
    "unsubscribe": mw.Unsubscribe,
}


def possible(wants, events):
    """Return the events that can happen one after the other, and the workload after them."""
    found = []
    for kind, node, topics, topic in events:
        change = (kind, node)
        if kind == "join":
            if node in wants:
                continue
            change = (kind, node, topics)
        elif node not in wants or (kind in ("leave", "crash") and len(wants) == 1):
            continue
        elif kind in ("subscribe", "unsubscribe"):
            if (topic in wants[node]) == (kind == "subscribe"):
                continue
            change = (kind, node, topic)
        found.append(change)
        wants = naive.happen(wants, change)
    return found, wants


def workload(wants):
    pairs = [(v, t) for v, topics in wants.items() for t in topics]
    return mw.Instance.from_pairs(pairs, nodes=wants)


def wanted(instance):
    return {
        name: {instance.topic_names[t] for t in instance.topics_of(v)}
        for v, name in enumerate(instance.node_names)
    }


def named(links):
    return [tuple(sorted(link)) for link in links]


def changes_of(found):
    return [MADE[kind](*rest) for kind, *rest in found]


@SOME
@given(wants=WANTS, events=EVENTS, ties=st.sampled_from(["degree", "id"]))
def test_joining_and_dropping_equal_their_naive_twin(wants, events, ties):
    found, after = possible(wants, events)
    before = design(workload(wants), "gm", ties=ties, certify=False)
    got = mw.replan(before, changes_of(found), rounds=0)
    kept, new = naive.mend(wants, named(before.edge_list(names=True)), after, Rules(), ties)
    assert named(got.overlay.edge_list(names=True)) == kept + new
    assert (named(got.added), got.n_kept) == (new, len(kept))


@SOME
@given(wants=WANTS, events=EVENTS, survive=st.sampled_from([1, 2]))
def test_surviving_overlays_are_mended_as_their_naive_twin_does_it(wants, events, survive):
    found, after = possible(wants, events)
    assume(set(wants) & set(after))
    before = design(workload(wants), "gm", survive=survive, certify=False)
    got = mw.replan(before, changes_of(found), rounds=0)
    links = named(before.edge_list(names=True))
    kept, new = naive.mend(wants, links, after, Rules(), survive=survive)
    assert named(got.overlay.edge_list(names=True)) == kept + new
    assert (named(got.added), got.n_kept) == (new, len(kept))


@SOME
@given(
    wants=WANTS,
    events=EVENTS,
    survive=st.sampled_from([1, 2]),
    method=st.sampled_from(["gm", "minmax", "refined"]),
)
def test_surviving_overlays_survive_at_every_step(wants, events, survive, method):
    found, after = possible(wants, events)
    assume(set(wants) & set(after) and not any(kind == "crash" for kind, *_ in found))
    options = {"rounds": 20} if method == "refined" else {}
    before = design(workload(wants), method, survive=survive, certify=False, **options)
    got = mw.replan(before, changes_of(found))
    links = named(before.edge_list(names=True))
    assert naive.endangered_on_the_way(wants, after, links, got.steps, survive) == []
    assert split_topics(after, named(got.overlay.edge_list(names=True)), survive) == set()
    assert got.unjoined == ()
    assert got.overlay.parameters["survive"] == survive


@SOME
@given(
    wants=WANTS,
    events=EVENTS,
    most=st.dictionaries(st.sampled_from(NODES), st.integers(1, 3)),
    forbidden=st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES))),
)
def test_limits_are_obeyed_and_what_may_be_joined_is(wants, events, most, forbidden):
    _, after = possible(wants, events)
    assume(not wants.keys().isdisjoint(after))  # unrelated workloads are refused
    before, instance = design(workload(wants), "gm", certify=False), workload(after)
    forbidden = {(u, v) for u, v in forbidden if u < v and {u, v} <= set(after)}
    rows = [{"node": v, "max_degree": n} for v, n in most.items() if v in after]
    pairs = [{"a": u, "b": v, "allowed": "no"} for u, v in forbidden]
    limits = Limits.from_rows(rows, instance.node_names)
    links = Links.from_rows(pairs, instance.node_names)
    got = mend(before, instance, limits=limits, links=links).overlay
    most = {v: n for v, n in most.items() if v in after}
    degrees = dict(zip(instance.node_names, got.degrees.tolist(), strict=True))
    assert all(degrees[v] <= n for v, n in most.items())
    assert not forbidden & set(named(got.edge_list(names=True)))
    assert (gains_of(instance, got.edges) == got.gains).all()
    if not most:  # then the greedy rule joins what can be joined
        rules = Rules(forbidden=forbidden)
        everything = [(u, v) for u in after for v in after if u < v and (u, v) not in forbidden]
        missing = naive.missing(after, rules, named(got.edge_list(names=True)))
        assert missing == naive.missing(after, rules, everything)


@pytest.mark.parametrize("method", ["gm", "minmax", "low", "refined"])
@SOME
@given(wants=WANTS, events=EVENTS)
def test_a_mended_overlay_is_complete_and_no_topic_is_split_on_the_way(method, wants, events):
    found, after = possible(wants, events)
    options = {"rounds": 20} if method == "refined" else {}
    before = design(workload(wants), method, certify=False, **options)
    got = mw.replan(before, changes_of(found))
    overlay = got.overlay
    assert wanted(overlay.instance) == after
    assert overlay.connected
    assert (gains_of(overlay.instance, overlay.edges) == overlay.gains).all()
    assert overlay.n_edges <= mw.replan(before, changes_of(found), rounds=0).overlay.n_edges
    old = before.edge_list(names=True)
    there = {*named(old), *named(got.added)} - {*named(got.removed), *named(got.lost)}
    assert there == set(named(overlay.edge_list(names=True)))
    crashed = {node for kind, node, *_ in found if kind == "crash"}
    if not crashed:
        assert got.lost == ()
        assert naive.split_on_the_way(wants, after, old, list(got.steps)) == []
    assert all(crashed & set(link) for link in got.lost)


@SOME
@given(wants=WANTS, events=EVENTS, moves=st.integers(0, 6))
def test_no_more_links_move_than_allowed(wants, events, moves):
    found, after = possible(wants, events)
    before = design(workload(wants), certify=False)
    got = mw.replan(before, changes_of(found), moves=moves)
    gone = [link for link in got.removed if not set(link) <= set(after)]
    assert got.n_moves - len(gone) <= moves
    links = named(got.overlay.edge_list(names=True))
    apart = {t for t in naive.all_topics(after) if not naive.is_connected(after, links, t)}
    assert set(got.unjoined) == apart
    assert (gains_of(got.overlay.instance, got.overlay.edges) == got.overlay.gains).all()


@SOME
@given(wants=WANTS)
def test_nothing_moves_where_nothing_changed(wants):
    before = design(workload(wants), certify=False)
    for changes in ([], before.instance):
        got = mw.replan(before, changes)
        assert (got.steps, got.n_changed) == ((), 0)
        assert got.overlay.edges.tolist() == before.edges.tolist()
        assert got.overlay.gains.tolist() == before.gains.tolist()


@SOME
@given(wants=WANTS, events=EVENTS)
def test_changes_and_the_workload_of_today_give_the_same(wants, events):
    found, after = possible(wants, events)
    before = design(workload(wants), certify=False)
    by_changes = mw.replan(before, changes_of(found))
    by_workload = mw.replan(before, workload(after))
    assert by_changes.overlay.edge_list(names=True) == by_workload.overlay.edge_list(names=True)
    assert by_changes.overlay.instance.digest == by_workload.overlay.instance.digest


@SOME
@given(wants=WANTS, events=EVENTS, publishing=WANTS)
def test_publishers_and_filters_are_mended_too(wants, events, publishing):
    found, _ = possible(wants, events)
    made = [(v, t) for v, topics in publishing.items() for t in topics]
    pairs = [(v, f"{t}/1") for v, topics in wants.items() for t in topics]
    pairs += [(v, f"{min(topics)}/+") for v, topics in wants.items() if len(topics) > 2]
    published = [(v, f"{t}/1") for v, t in made] or [("n0", "a/1")]
    before = design(
        mw.Instance.from_pairs(pairs, nodes=wants, publications=published), certify=False
    )
    slashed = [
        (kind, node, *({f"{t}/1" for t in rest[0]} if kind == "join" else f"{rest[0]}/1",))
        if rest
        else (kind, node)
        for kind, node, *rest in found
    ]
    known = set(before.instance.node_names)
    if any(kind == "join" and node in known for kind, node, *_ in slashed):
        return
    if any(kind in ("leave", "crash") for kind, *_ in slashed):
        return  # the last publisher may leave
    got = mw.replan(before, changes_of(slashed)).overlay
    assert got.connected
    assert (gains_of(got.instance, got.edges) == got.gains).all()
    assert got.parameters["assume_publishers"] == "listed"


@pytest.mark.parametrize("method", ["sl", "none"])
@SOME
@given(wants=WANTS, events=EVENTS)
def test_a_small_world_keeps_property_1_and_one_event_is_that_of_churn(method, wants, events):
    found, _ = possible(wants, events)
    world = design(workload(wants), method, certify=False)
    for one in found:
        kind, node, *rest = one
        got = mw.replan(world, changes_of([one]))
        if kind == "join":
            expected = churn.join(world, node, rest[0])
        else:
            expected = getattr(churn, kind)(world, node, *rest)
        after = got.overlay
        names = after.instance.node_names
        assert violations(after.ring, after.fingers, names) == []
        assert [names[v] for v in after.ring] == [
            expected.instance.node_names[v] for v in expected.ring
        ]
        assert after.edge_list(names=True) == expected.edge_list(names=True)
        assert np.array_equal(after.gains, expected.gains)
        there = {*named(world.edge_list(names=True)), *named(got.added)}
        gone = {*named(got.removed), *named(got.lost)}
        assert there - gone == set(named(after.edge_list(names=True)))
        world = after
