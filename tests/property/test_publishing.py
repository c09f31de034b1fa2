"""Simulation and traffic of workloads that say who publishes, against the definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.smallworld.routing.simulate import new_draws, simulate
from meshwright.smallworld.routing.trace import trace
from meshwright.smallworld.routing.traffic import traffic, traffic_facts
from tests.naive.publishing import crossings

NODES, TOPICS = "abcdef", "xyz"
PAIRS = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(TOPICS)), max_size=12)
RATES = st.dictionaries(
    st.tuples(st.sampled_from(NODES), st.sampled_from(TOPICS)),
    st.integers(1, 9),
    min_size=1,
    max_size=8,
)


def designed(wanted, rates):
    rows = [(*pair, float(rate), 10.0 * rate) for pair, rate in rates.items()]
    workload = Instance.from_pairs(wanted, nodes=NODES, topics=TOPICS, publications=rows)
    return design(workload, "gm", certify=False)


def roles(overlay, topic):
    instance = overlay.instance
    here = instance.topics == topic
    taking = instance.nodes[here].tolist()
    return taking, instance.nodes[here & instance.wants].tolist()


@given(wanted=PAIRS, rates=RATES)
def test_a_message_crosses_the_paths_to_those_who_want_it(wanted, rates):
    overlay = designed(wanted, rates)
    links = overlay.edge_list()
    for (node, topic), _ in rates.items():
        publisher, t = NODES.index(node), TOPICS.index(topic)
        taking, wanting = roles(overlay, t)
        if not wanting:
            continue
        messages = trace(overlay, t, publisher, routing="tree")
        expected = crossings(links, taking, wanting, publisher)
        assert {(m.sender, m.receiver) for m in messages} == expected
        assert len(messages) == len(expected)


@given(wanted=PAIRS, rates=RATES)
def test_traffic_is_the_sum_over_all_publications(wanted, rates):
    overlay = designed(wanted, rates)
    links = overlay.edge_list()
    messages = np.zeros((len(links), 2))
    sizes = np.zeros((len(links), 2))
    for (node, topic), rate in rates.items():
        taking, wanting = roles(overlay, TOPICS.index(topic))
        if not wanting:
            continue
        for u, v in crossings(links, taking, wanting, NODES.index(node)):
            place = links.index((min(u, v), max(u, v))), int(u > v)
            messages[place] += rate
            sizes[place] += rate * 10.0 * rate
    found = traffic(overlay)
    assert found is not None
    assert found.messages.tolist() == messages.tolist()
    assert found.bytes.tolist() == sizes.tolist()
    of_nodes = found.of_nodes(len(NODES))
    for node in range(len(NODES)):
        mine = [node in link for link in links]
        assert [flow[node] for flow in of_nodes] == [messages[mine].sum(), sizes[mine].sum()]
    facts = traffic_facts(overlay)
    assert facts is not None
    assert (facts["messages"], facts["bytes"]) == (messages.sum(), sizes.sum())
    flows = [row["messages"] for row in facts["links"]]
    assert flows == [flow for flow in sorted(messages.sum(axis=1), reverse=True)[:5] if flow]
    for row in facts["nodes"]:
        mine = [NODES.index(row["node"]) in link for link in links]
        assert (row["messages"], row["bytes"]) == (messages[mine].sum(), sizes[mine].sum())


@given(wanted=PAIRS, rates=RATES, seed=st.integers(0, 9))
def test_publications_are_drawn_among_publishers_and_reach_all_subscribers(wanted, rates, seed):
    overlay = designed(wanted, rates)
    if len(new_draws(overlay.instance).live) == 0:
        return
    run = simulate(overlay, "tree", publications=20, seed=seed)
    assert run.totals["missed"] == 0
    for row in run.publications.to_pylist():
        assert (NODES[row["publisher"]], TOPICS[row["topic"]]) in rates
        _, wanting = roles(overlay, row["topic"])
        assert row["deliveries"] == len(set(wanting) - {row["publisher"]})


@given(wanted=PAIRS, rates=RATES)
def test_publishers_that_do_not_subscribe_publish_on_a_small_world_too(wanted, rates):
    rows = [(*pair, float(rate)) for pair, rate in rates.items()]
    workload = Instance.from_pairs(wanted, nodes=NODES, topics=TOPICS, publications=rows)
    world = design(workload, "sl", certify=False)
    if len(new_draws(world.instance).live) == 0:
        return
    for routing in ("po", "pal", "pie", "scribe", "iscribe"):
        run = simulate(world, routing, publications=20)
        assert run.totals["missed"] == 0


def test_rates_decide_how_often_topics_and_publishers_are_drawn():
    workload = Instance.from_pairs(
        [("a", "x"), ("a", "y")],
        publications=[("b", "x", 6.0), ("c", "x", 3.0), ("d", "y", 1.0), ("d", "z", 90.0)],
    )
    run = simulate(design(workload, "gm"), "tree", publications=2000)
    drawn = run.publications.group_by(["topic", "publisher"]).aggregate([([], "count_all")])
    share = {(r["topic"], r["publisher"]): r["count_all"] / 2000 for r in drawn.to_pylist()}
    assert share.keys() == {(0, 1), (0, 2), (1, 3)}  # nobody wants z
    for pair, expected in {(0, 1): 0.6, (0, 2): 0.3, (1, 3): 0.1}.items():
        assert abs(share[pair] - expected) < 0.05
