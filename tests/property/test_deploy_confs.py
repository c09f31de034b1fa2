"""Written configurations, looked at by someone who knows only Mosquitto's lines."""

import tempfile
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.deploy import Conf, compare_confs, plan, read_conf, validate, write_conf
from meshwright.deploy.validate import Carrier, carriers_of, cycle_findings, find_cycle
from meshwright.errors import InputError
from meshwright.patterns.filters import PatternIndex, covers, meet
from tests.deploying import brokers_of, deployed, overlay_of
from tests.naive import deployment as naive
from tests.strategies import draws

PATTERNS = ["a", "a/b", "a/c", "b/c", "a/b/c", "#", "+", "a/#", "a/+", "+/b", "+/c", "+/+", "+/b/#"]
LEVELS = ["a", "b", "c", "other"]
NAMES = ["/".join(levels) for n in (1, 2, 3) for levels in product(LEVELS, repeat=n)]
NODES = [f"n{i}" for i in range(6)]


@st.composite
def wishes(draw):
    """Who wants which patterns, and who publishes which names."""
    n = draw(st.integers(2, len(NODES)))
    pool = draw(st.sampled_from([PATTERNS, PATTERNS[:5], ["a/+", "+/b", "+/c", "a/b", "#"]]))
    wanted = {node: draw(st.sets(st.sampled_from(pool), max_size=4)) for node in NODES[:n]}
    published = draw(st.sets(st.tuples(st.sampled_from(NODES[:n]), st.sampled_from(NAMES[:20]))))
    return wanted, sorted(published)


def bridges(conf: Path) -> dict[str, list[tuple[str, str, list[tuple[str, str]]]]]:
    """Return for each node its bridges as (node, address, [(pattern, direction)])."""
    found = {}
    for path in sorted(conf.glob("*/mosquitto.conf")):
        node, here = path.parent.name, []
        for line in path.read_text().splitlines():
            words = line.split(" ")
            if words[0] == "address":
                here.append((node, NODES[int(words[1].split(":")[1]) - 20_000], []))
            elif words[0] == "topic":
                here[-1][2].append((words[1], words[2]))
        found[node] = here
    return found


def edges_of(all_bridges, name: str) -> list[tuple[str, str, str]]:
    return [
        (u, v, direction)
        for here in all_bridges.values()
        for u, v, lines in here
        for pattern, direction in lines
        if naive.matches(pattern, name)
    ]


def arrivals(edges, start: str) -> set[str]:
    seen, queue = {start}, [start]
    for node in queue:
        for u, v, direction in edges:
            for a, b, only in ((u, v, "out"), (v, u, "in")):
                if a == node and direction in ("both", only) and b not in seen:
                    seen.add(b)
                    queue.append(b)
    return seen


def written(wanted, place: Path, **options) -> Path:
    pairs = [(node, topic) for node, topics in wanted.items() for topic in topics]
    overlay = overlay_of(pairs, nodes=wanted)
    inventory = [b for b in brokers_of(NODES) if b.node in wanted]
    return deployed(overlay, place, inventory, **options)


@draws(150)
@given(wishes(), st.sampled_from(["shallow", "balanced"]))
def test_every_name_travels_over_a_forest_to_all_who_want_it(drawn, tree):
    wanted, published = drawn
    with tempfile.TemporaryDirectory() as place:
        conf = written(wanted, Path(place) / "conf", tree=tree, publishers=published)
        assert validate(conf) == []
        found = bridges(conf)
    for name in NAMES:
        edges = edges_of(found, name)
        assert not naive.has_cycle({(u, v) for u, v, _ in edges}), name
        wanting = {n for n, topics in wanted.items() if any(naive.matches(t, name) for t in topics)}
        publishers = wanting | {node for node, topic in published if topic == name}
        for publisher in publishers:
            assert wanting <= arrivals(edges, publisher), name


@draws(150)
@given(wishes(), st.data(), st.sampled_from(["shallow", "balanced"]))
def test_relays_complete_any_connected_overlay(drawn, data, tree):
    wanted, published = drawn
    nodes = sorted(wanted)
    spine = {(data.draw(st.sampled_from(nodes[:i])), nodes[i]) for i in range(1, len(nodes))}
    more = data.draw(st.sets(st.sampled_from(list(combinations(nodes, 2)))))
    pairs = [(node, topic) for node, topics in wanted.items() for topic in topics]
    overlay = overlay_of(pairs, spine | more, nodes=nodes)
    inventory = [b for b in brokers_of(NODES) if b.node in wanted]
    with tempfile.TemporaryDirectory() as place:
        conf = deployed(
            overlay,
            Path(place) / "conf",
            inventory,
            tree=tree,
            publishers=published,
            complete="relay",
        )
        found = bridges(conf)
    for name in NAMES:
        edges = edges_of(found, name)
        assert not naive.has_cycle({(u, v) for u, v, _ in edges}), name
        wanting = {n for n, topics in wanted.items() if any(naive.matches(t, name) for t in topics)}
        for publisher in wanting | {node for node, topic in published if topic == name}:
            assert wanting <= arrivals(edges, publisher), name


@given(st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=7))
def test_a_circle_is_found_where_its_naive_twin_finds_one(links):
    ends = [(u, v) for u, v in links if u != v]
    carriers = [Carrier(u, v, i, "x", "both") for i, (u, v) in enumerate(ends)]
    found = find_cycle(carriers)
    assert bool(found) == naive.has_cycle(ends)
    if found:  # what it names is a circle by itself
        assert naive.has_cycle([(c.at, c.to) for c in found])
        assert not naive.has_cycle([(c.at, c.to) for c in found[1:]])


@given(st.lists(st.sampled_from(PATTERNS), unique=True), st.sampled_from(PATTERNS))
def test_the_index_finds_what_shares_a_name(patterns, one):
    names = {p: {n for n in NAMES if naive.matches(p, n)} for p in PATTERNS}
    index = PatternIndex(patterns)
    assert index.overlapping(one) == sorted(p for p in patterns if names[p] & names[one])
    assert index.covering(one) == sorted(p for p in patterns if covers(p, one))


@given(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS))
def test_meets_and_covers_are_what_the_names_say(one, other):
    both = {n for n in NAMES if naive.matches(one, n) and naive.matches(other, n)}
    shared = meet(one, other)
    assert both == ({n for n in NAMES if naive.matches(shared, n)} if shared else set())
    if covers(one, other):
        assert {n for n in NAMES if naive.matches(other, n)} == both


def mixed(old: Conf, new: Conf, state: dict[str, str]) -> Conf:
    """Return the configuration that is in force while a redeploy is under way."""
    files = {"old": old.brokers, "new": new.brokers}
    running = {node: files[which][node] for node, which in state.items() if which != "down"}
    return Conf(new.path, replace(new.plan, routes=()), running)


@draws(100)
@given(wishes(), wishes(), st.sampled_from(["shallow", "balanced"]))
def test_no_state_on_the_way_to_a_new_plan_has_a_cycle(one, other, tree):
    with tempfile.TemporaryDirectory() as place:
        old_path = written(one[0], Path(place) / "old")
        new_path = written(other[0], Path(place) / "new", tree=tree)
        old, new = read_conf(old_path), read_conf(new_path)
        lines = {"old": bridges(old_path), "new": bridges(new_path)}
        steps = compare_confs(old, new).steps
    state = dict.fromkeys(old.brokers, "old")
    for step in steps:
        if step.action != "reload":
            state[step.node] = "down" if step.action == "stop" else "new"
        now = mixed(old, new, state)
        assert cycle_findings(carriers_of(now), now) == []
        running = {n: lines[w][n] for n, w in state.items() if w != "down"}
        for name in NAMES:
            ends = [(u, v) for u, v, _ in set(edges_of(running, name)) if state.get(v) != "down"]
            assert not naive.has_cycle(ends), (name, steps)
    touched = {step.node for step in steps}
    for node in new.brokers:
        if node not in touched:
            assert lines["old"][node] == lines["new"][node]
        else:
            assert state[node] == "new"


def test_a_broker_is_stopped_where_no_single_restart_is_free_of_cycles(tmp_path):
    # x gives up n1 - n2 for n0 - n2, y does the opposite: n0 and n1 wait for each other.
    pairs = [(node, topic) for node in NODES[:3] for topic in ("x", "y")]
    made = plan(overlay_of(pairs, combinations(NODES[:3], 2)), brokers_of(NODES[:3]))
    links = (("n0", "n1"), ("n0", "n2"), ("n1", "n2"))
    x, y = made.routes
    for name, first, second in (("old", y, x), ("new", x, y)):
        routes = (
            replace(first, edges=(links[0], links[1])),
            replace(second, edges=(links[0], links[2])),
        )
        write_conf(replace(made, links=links, routes=routes), tmp_path / name)
    steps = compare_confs(tmp_path / "old", tmp_path / "new").steps
    reported = [(step.action, step.node) for step in steps]
    assert reported == [("stop", "n0"), ("restart", "n1"), ("start", "n0")]
    assert compare_confs(tmp_path / "new", tmp_path / "new").steps == ()


def test_a_configuration_with_a_cycle_cannot_be_compared(tmp_path):
    pairs = [(node, "x") for node in NODES[:3]]
    made = plan(overlay_of(pairs, combinations(NODES[:3], 2)), brokers_of(NODES[:3]))
    for name in ("old", "new"):
        write_conf(made, tmp_path / name, layout="whole")
    more = "connection n2\naddress 127.0.0.1:20002\nremote_clientid more\ntopic x both 1\n"
    path = tmp_path / "new" / "n1" / "mosquitto.conf"
    path.write_text(path.read_text() + more)
    with pytest.raises(InputError, match="is not free of cycles: 'x' goes in circles"):
        compare_confs(tmp_path / "old", tmp_path / "new")


def test_endpoints_that_change_hands_are_refused(tmp_path):
    overlay = overlay_of([("n0", "x"), ("n1", "x")])
    old = deployed(overlay, tmp_path / "old")
    new = deployed(overlay, tmp_path / "new", list(reversed_ports(overlay)))
    with pytest.raises(InputError, match="belonged to 'n1' and now to 'n0'"):
        compare_confs(old, new)


def reversed_ports(overlay):
    names = list(overlay.instance.node_names)
    for broker, other in zip(brokers_of(names), reversed(brokers_of(names)), strict=True):
        yield type(broker)(broker.node, broker.host, other.port)
