"""Who relays what it only publishes, against NetworkX."""

from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.relays import find_relays
from tests.naive import relays as naive
from tests.strategies import draws

PAIRS = st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), max_size=9)


@draws(150)
@given(PAIRS, PAIRS, st.sampled_from(["listed", "anyone"]), st.sampled_from(["gm", "minmax"]))
def test_relays_are_those_of_the_naive_twin(wanted, published, assume, method):
    if not published or not wanted:
        return
    workload = Instance.from_pairs(sorted(wanted), publications=sorted(published))
    overlay = design(workload, method, assume_publishers=assume, certify=False)
    made = overlay.instance
    taking, wanting = {}, {}
    wants = [True] * made.n_subscriptions if made.wants is None else made.wants.tolist()
    for v, t, w in zip(made.nodes.tolist(), made.topics.tolist(), wants, strict=True):
        taking.setdefault(t, set()).add(v)
        wanting.setdefault(t, set()).update([v] if w else [])
    times, topics = naive.relays(taking, wanting, overlay.edge_list())
    found = find_relays(overlay)
    assert (found.topics, found.times) == (len(topics), len(times))
    assert found.nodes == len({node for node, _ in times})
