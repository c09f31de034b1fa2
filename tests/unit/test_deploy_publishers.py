"""Plans for workloads that say who publishes: trees, directions, relays, rights."""

from dataclasses import replace

import pytest

from meshwright.deploy import plan, read_conf, validate, write_conf
from meshwright.model.instance import Instance
from meshwright.overlay import design
from tests.deploying import brokers_of

WANTED = [("cloud-1", "dev/+/telemetry"), ("cloud-2", "#")]
EDGES = [f"edge-{i}" for i in range(1, 7)]


def planned(published, assume=None, wanted=WANTED, **options):
    workload = Instance.from_pairs(wanted, nodes=EDGES, publications=published)
    overlay = design(workload, "gm", assume_publishers=assume)
    return plan(overlay, brokers_of(overlay.instance.node_names), **options)


def route(made, name):
    return next(route for route in made.routes if route.name == name)


def test_brokers_that_only_publish_send_and_get_nothing():
    made = planned([(edge, f"dev/{edge}/telemetry") for edge in EDGES])
    for edge in EDGES:
        found = route(made, f"dev/{edge}/telemetry")
        assert found.subscribers == ("cloud-1", "cloud-2")
        assert found.publishers == (edge,)
        assert found.relays == ()
        assert set(found.arrivals(edge)) == {"cloud-1", "cloud-2"}
        assert edge not in found.arrivals("cloud-1")


def test_a_publisher_of_a_filter_has_a_line_with_the_filter():
    made = planned([("edge-1", "dev/+/telemetry"), ("edge-2", "dev/2/#")])
    lines = {line for rows in made.lines.values() for line in rows}
    assert ("dev/+/telemetry", "out") in {tuple(line) for line in lines}
    # cloud-1 wants of dev/2/# only the meet with its own filter, cloud-2 all of it.
    assert route(made, "dev/2/telemetry").subscribers == ("cloud-1", "cloud-2")
    assert route(made, "dev/2/#").subscribers == ("cloud-2",)


def test_a_line_of_a_wider_filter_is_not_repeated_for_what_it_covers():
    made = planned([("edge-1", "#"), ("edge-1", "dev/1/telemetry")])
    rows = [line for link, lines in made.lines.items() if "edge-1" in link for line in lines]
    assert {line.pattern for line in rows} <= {"#", "dev/+/telemetry"}


def test_a_publisher_inside_a_tree_is_a_relay_and_gets_only_what_comes_from_behind():
    pairs = [("sub", "t")]
    workload = Instance.from_pairs(pairs, publications=[("near", "t"), ("far", "t")])
    overlay = design(workload, "gm")
    names = list(overlay.instance.node_names)
    far, near, sub = (names.index(name) for name in ("far", "near", "sub"))
    overlay = replace(
        overlay, edges=sorted([sorted((far, near)), sorted((near, sub))]), gains=overlay.gains
    )
    made = plan(overlay, brokers_of(names))
    found = route(made, "t")
    assert found.relays == ("near",)
    assert found.reaches_relays
    assert found.arrivals("far") == {"near": "far", "sub": "near"}
    assert found.arrivals("sub") == {}


def test_a_relay_is_reached_if_a_message_of_some_subscriber_would_come_to_it():
    overlay = design(Instance.from_pairs([("s", "t"), ("u", "t")], publications=[("p", "t")]), "gm")
    names = list(overlay.instance.node_names)
    p, s, u = (names.index(name) for name in "psu")
    overlay = replace(overlay, edges=sorted([sorted((p, s)), sorted((p, u))]), gains=overlay.gains)
    found = route(plan(overlay, brokers_of(names), qos=1), "t")
    assert found.reaches_relays == any("p" in found.arrivals(x) for x in "su")


def test_further_publishers_are_attached_to_the_trees():
    made = planned([("edge-1", "dev/1/telemetry")], publishers=[("edge-3", "dev/77/telemetry")])
    found = route(made, "dev/77/telemetry")
    assert found.publishers == ("edge-3",)
    assert set(found.arrivals("edge-3")) == {"cloud-1", "cloud-2"}
    assert {"edge-3"} & {node for link in made.added for node in link}


def test_if_anyone_may_publish_every_name_reaches_its_subscribers_from_everywhere():
    made = planned([], assume="anyone")
    for found in made.routes:
        for node in made.nodes:
            assert set(found.arrivals(node)) >= set(found.subscribers) - {node}


@pytest.mark.parametrize("assume", [None, "anyone"])
def test_the_files_of_plans_with_publishers_pass_their_proof(tmp_path, assume):
    published = [("edge-1", "dev/1/telemetry"), ("edge-2", "dev/+/telemetry"), ("edge-3", "#")]
    made = planned(published, assume)
    write_conf(made, tmp_path / "conf")
    assert validate(tmp_path / "conf") == []
    read = read_conf(tmp_path / "conf").plan
    assert read == made


def test_a_missing_line_of_a_publisher_fails_the_proof(tmp_path):
    made = planned([("edge-1", "dev/1/telemetry")])
    write_conf(made, tmp_path / "conf")
    for file in (tmp_path / "conf").glob("*/meshwright.conf"):
        text = file.read_text().replace("topic dev/1/telemetry out 1", "topic dev/1/telemetry in 1")
        file.write_text(text)
    findings = validate(tmp_path / "conf")
    assert any("from 'edge-1' does not reach 'cloud-1'" in finding for finding in findings)


def test_a_publisher_in_the_middle_of_its_own_topic_receives_nothing():
    workload = Instance.from_pairs([("a", "t"), ("b", "t")], publications=[("middle", "t")])
    overlay = replace(design(workload, "gm"), edges=[[0, 2], [1, 2]])
    made = plan(overlay, brokers_of(overlay.instance.node_names))
    assert route(made, "t").relays == ("middle",)  # whatever else is published at a or b
    assert route(made, "t").unwanted == 0
    assert made.summary()["relayed_topics"] == 0


@pytest.mark.parametrize("assume", [None, "subscribers", "anyone"])
def test_a_further_publisher_may_be_a_filter(tmp_path, assume):
    filters = [("edge-3", "dev/+/telemetry"), ("edge-4", "dev/4/#"), ("edge-5", "nobody/#")]
    listed = [("edge-1", "dev/1/telemetry"), ("edge-3", "dev/3/telemetry")]
    made = planned(
        listed,
        assume,
        wanted=[("cloud-1", "dev/+/telemetry"), ("cloud-1", "plant/1")],
        publishers=filters,
    )
    for node, name in (("edge-3", "dev/+/telemetry"), ("edge-4", "dev/4/telemetry")):
        found = route(made, name)
        assert node in found.publishers
        assert "cloud-1" in found.arrivals(node)
    # What the filter covers, others' topics too; and nothing that nobody wants.
    assert "edge-3" in route(made, "dev/1/telemetry").publishers
    assert "dev/4/#" not in {found.name for found in made.routes if found.edges}
    assert made.unheard == (("edge-5", "nobody/#"),)
    write_conf(made, tmp_path / "conf")
    assert validate(tmp_path / "conf") == []


def test_a_further_filter_over_names_publishes_those_that_are_wanted():
    made = planned(
        [],
        "subscribers",
        wanted=[("a", "t/1"), ("b", "t/1"), ("b", "u")],
        publishers=[("edge-1", "t/#")],
    )
    found = route(made, "t/1")
    assert "edge-1" in found.publishers
    assert set(found.arrivals("edge-1")) == {"a", "b"}
    assert "edge-1" not in route(made, "u").publishers
