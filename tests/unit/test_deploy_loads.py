"""What links of a plan carry, what a failure costs, and in which order brokers start."""

import json

import pytest

from meshwright.deploy import plan, read_plan, write_conf
from meshwright.deploy.failures import Failure, failures, n_deliveries
from meshwright.deploy.loads import link_loads
from meshwright.deploy.restart import start_order
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.smallworld.routing.traffic import traffic
from tests.deploying import brokers_of, overlay_of

LINE = [("a", "b"), ("b", "c"), ("c", "d")]  # links
EDGES = [("edge-1", "temp", 2.0, 100), ("edge-2", "temp", 3.0, None), ("edge-2", "door", None, 9)]


def telemetry():
    wanted = [("cloud", "temp"), ("log", "temp"), ("cloud", "door")]
    workload = Instance.from_pairs(wanted, publications=EDGES)
    overlay = design(workload, "gm", publishers_as="leaf")
    return overlay, plan(overlay, brokers_of(overlay.instance.node_names))


def line_of_four():
    overlay = overlay_of([(node, "t") for node in "abcd"] + [("a", "u"), ("b", "u")], LINE)
    return plan(overlay, brokers_of("abcd"))


def test_rates_go_from_the_workload_into_the_plan_and_back(tmp_path):
    _, made = telemetry()
    write_conf(made, tmp_path / "conf")
    read = read_plan(tmp_path / "conf")
    assert read == made
    rates = {rate for route in read.routes for rate in route.rates}
    assert rates == {("edge-1", 2.0, 100.0), ("edge-2", 3.0, None)}


@pytest.mark.parametrize("wrong", [-1, "2", float("nan"), 1e13])
def test_rates_that_cannot_be_are_refused(tmp_path, wrong):
    _, made = telemetry()
    write_conf(made, tmp_path / "conf")
    file = tmp_path / "conf" / "plan.json"
    content = json.loads(file.read_text())
    topic = next(topic for topic in content["topics"] if "rates" in topic)
    topic["rates"][0]["messages"] = wrong
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"is damaged: .*rates|cannot be read"):
        read_plan(tmp_path / "conf")


def test_the_links_of_a_plan_carry_what_the_overlay_was_said_to():
    overlay, made = telemetry()
    loads, expected = link_loads(made), traffic(overlay)
    assert sum(load.messages for load in loads.values()) == expected.messages.sum() == 10.0
    assert sum(load.bytes for load in loads.values()) == expected.bytes.sum()
    carried = {name for load in loads.values() for name, _ in load.topics}
    assert carried == {"temp", "door"}


def test_messages_are_counted_the_way_they_go():
    _, made = telemetry()
    for (u, v), load in link_loads(made).items():
        # Nobody at the edge wants anything: all goes to the cloud.
        for edge, away in ((u, load.messages_out), (v, load.messages_in)):
            if edge.startswith("edge"):
                assert away == load.messages


def test_a_broker_inside_a_tree_costs_others_their_messages():
    made = line_of_four()
    # Without b: a apart from c and d, 4 deliveries of the 12, and all three miss somebody.
    assert failures(made) == {
        "a": Failure(),
        "b": Failure(topics=1, subscribers=3, deliveries=4),
        "c": Failure(topics=1, subscribers=3, deliveries=4),
        "d": Failure(),
    }
    assert n_deliveries(made) == 12 + 2


def test_subscribers_beside_all_publishers_miss_nothing():
    wanted = [(node, "t") for node in "bcd"]
    workload = Instance.from_pairs(wanted, publications=[("a", "t")])
    overlay = design(workload, "gm")
    made = plan(overlay, brokers_of(overlay.instance.node_names))
    cost = failures(made)
    assert cost["a"] == Failure()  # what it publishes is its own loss
    for node in "bcd":
        assert cost[node].deliveries == cost[node].subscribers  # one publisher


def test_brokers_start_before_those_that_dial_them():
    made = line_of_four()
    order = start_order(made)
    assert sorted(order) == list("abcd")
    for dialling, dialled in made.links:
        assert order.index(dialled) < order.index(dialling)
