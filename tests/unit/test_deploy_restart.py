"""What changes between two configurations, and in which order it takes effect."""

import pytest

from meshwright.deploy import compare_confs, plan, read_conf, restarts_between
from tests.deploying import brokers_of, deployed, overlay_of

PAIRS = [(node, "x") for node in "abc"]
CHAIN = [("a", "b"), ("b", "c")]


def reported(change) -> list[tuple[str, str]]:
    return [(step.action, step.node) for step in change.steps]


@pytest.fixture
def secured(tmp_path, monkeypatch):
    """A function that writes a configuration with passwords."""

    def write(name, pairs=PAIRS, password="secret"):
        for i in range(3):
            monkeypatch.setenv(f"MESH_{i}", f"{password}-{i}")
        users = {"username": lambda i: f"user-{i}", "password_env": lambda i: f"MESH_{i}"}
        overlay = overlay_of(pairs, CHAIN)
        return deployed(overlay, tmp_path / name, brokers_of("abc", **users))

    return write


def test_equal_plans_change_nothing(tmp_path):
    one = deployed(overlay_of(PAIRS, CHAIN), tmp_path / "one")
    other = deployed(overlay_of(PAIRS, CHAIN), tmp_path / "other")
    assert reported(compare_confs(one, other)) == []


def test_only_brokers_whose_bridges_change_are_restarted(tmp_path):
    one = deployed(overlay_of(PAIRS, CHAIN), tmp_path / "one")
    more = [*PAIRS, ("a", "y"), ("b", "y")]
    other = deployed(overlay_of(more, CHAIN), tmp_path / "other")
    assert reported(compare_confs(one, other)) == [("restart", "a")]


@pytest.mark.parametrize(
    "pairs", [[*PAIRS, ("a", "y"), ("b", "y")], [("b", "x"), ("c", "x")], PAIRS]
)
@pytest.mark.parametrize("links", [CHAIN, [("a", "c"), ("c", "b")]])
def test_restarts_are_known_from_two_plans_as_from_their_files(tmp_path, pairs, links):
    nodes = sorted({node for node, _ in pairs})
    kept = [link for link in links if set(link) <= set(nodes)] or [("b", "c")]
    overlays = overlay_of(PAIRS, CHAIN), overlay_of(pairs, kept)
    brokers = {broker.node: broker for broker in brokers_of("abc")}
    inventories = [[brokers[n] for n in o.instance.node_names] for o in overlays]
    old, new = (
        deployed(overlay, tmp_path / str(i), inventory, complete="relay")
        for i, (overlay, inventory) in enumerate(zip(overlays, inventories, strict=True))
    )
    both = zip(overlays, inventories, strict=True)
    plans = [plan(o, inventory, complete="relay") for o, inventory in both]
    assert restarts_between(*plans) == compare_confs(old, new).restarted


def test_restarts_of_plans_with_users_need_no_passwords(secured, tmp_path):
    users = {"username": lambda i: f"user-{i}", "password_env": lambda i: "NOT_SET"}
    more = [*PAIRS, ("a", "y"), ("b", "y")]
    plans = [plan(overlay_of(p, CHAIN), brokers_of("abc", **users)) for p in (PAIRS, more)]
    restarted = compare_confs(secured("one"), secured("other", more)).restarted
    assert restarts_between(*plans) == restarted == ("a",)


def test_removed_brokers_stop_first_and_new_ones_start(tmp_path):
    one = deployed(overlay_of(PAIRS, CHAIN), tmp_path / "one")
    inventory = [broker for broker in brokers_of("abcd") if broker.node != "b"]
    pairs = [(node, "x") for node in "acd"]
    overlay = overlay_of(pairs, [("a", "c"), ("c", "d")])
    change = compare_confs(one, deployed(overlay, tmp_path / "other", inventory))
    assert (change.added, change.removed) == (("d",), ("b",))
    assert reported(change)[0] == ("stop", "b")
    assert set(reported(change)[1:]) == {("restart", "a"), ("restart", "c"), ("start", "d")}


def test_rights_are_reloaded_before_the_bridge_that_needs_them_is_restarted(secured):
    change = compare_confs(secured("one"), secured("two", [*PAIRS, ("a", "y"), ("b", "y")]))
    assert reported(change)[-1] == ("restart", "a")
    assert ("reload", "b") in reported(change)


def test_new_salts_are_no_new_passwords_but_new_passwords_are(secured):
    one, same, new = secured("one"), secured("same"), secured("new", password="other")
    assert read_conf(one).brokers["a"].users != read_conf(same).brokers["a"].users
    # b dials nobody: its password is in no bridge, so it cannot be tried.
    assert reported(compare_confs(one, same)) == [("reload", "b")]
    change = compare_confs(one, new)
    assert {node for action, node in reported(change) if action == "reload"} == {"a", "b", "c"}
    assert {node for action, node in reported(change) if action == "restart"} == {"a", "c"}
