"""The instance to design for against the definition: who takes part in each concrete name."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.demand import ASSUMPTIONS, make_demand
from meshwright.patterns.filters import covers
from tests.naive import demand as naive

LEVELS = ("a", "b", "new")  # no pattern uses "new": it stands for names that nobody listed
NAMES = ["/".join(words) for n in (1, 2, 3) for words in product(LEVELS, repeat=n)]
PATTERNS = sorted(
    {"/".join(levels) for n in (1, 2) for levels in product(("a", "b", "+"), repeat=n)}
    | {"#", "a/#", "+/#", "b/a/#", "a/+/#"}
)
PAIRS = st.lists(st.tuples(st.sampled_from("uvwx"), st.sampled_from(PATTERNS)), max_size=6)


def narrowest(instance: Instance, name: str) -> int | None:
    """Return the topic that matches a name and that every other matching topic covers."""
    matching = [t for t in instance.topic_names if naive.matches(t, name)]
    found = [t for t in matching if all(covers(other, t) for other in matching)]
    return instance.topic_names.index(found[0]) if found else None


@pytest.mark.parametrize("assume", ASSUMPTIONS)
@example(wanted=[("u", "a/+"), ("v", "+/b")], published=[("w", "#")])
@example(wanted=[("u", "a/+")], published=[("w", "+/b"), ("x", "a/#")])
@given(wanted=PAIRS, published=PAIRS)
def test_each_name_belongs_to_a_topic_in_which_the_right_nodes_take_part(assume, wanted, published):
    if assume == "listed" and not published:
        return
    workload = Instance.from_pairs(wanted, nodes="uvwx", publications=published)
    made = make_demand(workload, assume)
    rows = list(zip(made.nodes.tolist(), made.topics.tolist(), strict=True))
    wants = [True] * len(rows) if made.wants is None else made.wants.tolist()
    for name in NAMES:
        subscribers, all_of_them = naive.participants(wanted, published, name, assume, "uvwx")
        topic = narrowest(made, name)
        taking = [
            (made.node_names[v], w) for (v, t), w in zip(rows, wants, strict=True) if t == topic
        ]
        assert {node for node, _ in taking} == all_of_them
        assert {node for node, want in taking if want} == subscribers


@given(wanted=PAIRS, published=PAIRS.filter(bool))
def test_a_complete_overlay_brings_every_published_name_to_its_subscribers(wanted, published):
    workload = Instance.from_pairs(wanted, nodes="uvwx", publications=published)
    overlay = design(workload, "gm")
    links = [tuple(overlay.instance.node_names[v] for v in edge) for edge in overlay.edge_list()]
    assert overlay.connected
    for name in NAMES:
        _, taking = naive.participants(wanted, published, name, "listed", "uvwx")
        reached, before = set(sorted(taking)[:1]), set()
        while reached != before:
            before = set(reached)
            for u, v in links:
                if {u, v} <= taking and (u in reached or v in reached):
                    reached |= {u, v}
        assert reached == taking
