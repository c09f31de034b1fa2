import json

import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.publications import Publications
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.overlay.demand import make_demand
from meshwright.overlay.relays import find_relays, price_of_anyone
from meshwright.workload.write import expand_workload, write_workload

WANTED = [("cloud-1", "dev/+/telemetry"), ("cloud-2", "#")]
PUBLISHED = [(f"edge-{i}", f"dev/{i}/telemetry", 2.0, 100) for i in range(1, 7)]


@pytest.fixture
def trial():
    return Instance.from_pairs(WANTED, publications=PUBLISHED)


def names_of(overlay):
    names = overlay.instance.node_names
    return {(names[u], names[v]) for u, v in overlay.edge_list()}


def test_nodes_may_only_publish(trial):
    assert trial.n_nodes == 8
    assert trial.n_subscriptions == 2
    assert trial.n_publications == 6
    assert trial.publications.rates.tolist() == [2.0] * 6


def test_a_workload_without_publications_keeps_its_digest():
    plain = Instance.from_pairs([("a", "x"), ("b", "x")])
    assert plain.digest.startswith("1dd46ef5e60e21e91eb086383b3f5aed")  # as before publications
    published = Instance.from_pairs([("a", "x"), ("b", "x")], publications=[("a", "x")])
    assert published.digest != plain.digest


@pytest.mark.parametrize("rows", [[("a", "x", 1.0)], [("a", "x", None, 5)], [("a", "x", 2.0)]])
def test_rates_and_bytes_are_part_of_the_digest(rows):
    bare = Instance.from_pairs([("b", "x")], publications=[("a", "x")])
    assert Instance.from_pairs([("b", "x")], publications=rows).digest != bare.digest


def test_rows_of_one_node_and_topic_become_one():
    made = Publications.merged([1, 0, 1], [2, 0, 2], [3.0, np.nan, 1.0], [10.0, np.nan, 50.0])
    assert made.nodes.tolist() == [0, 1]
    assert np.isnan(made.rates[0])
    assert made.rates[1] == 4.0
    assert made.sizes[1] == 20.0  # (3 * 10 + 1 * 50) / 4


def test_sizes_are_not_weighted_where_a_rate_is_unknown():
    made = Publications.merged([0, 0], [0, 0], [3.0, np.nan], [10.0, 50.0])
    assert (made.rates.tolist(), made.sizes.tolist()) == ([3.0], [30.0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a",), r"a publication is \(node, topic"),
        ("ab", r"a publication is \(node, topic"),
        (("a", "x", "often"), r"rate and bytes of a publication are numbers; got \('a', 'x', 'of"),
        (("a", "x", -1), "rates of publications are numbers from 0 to 1e"),
        (("a", "x", 1, float("inf")), "sizes of publications are numbers from 0"),
        (("", "x"), "names are text and not empty"),
    ],
)
def test_a_wrong_publication_is_refused(row, message):
    with pytest.raises(InputError, match=message):
        Instance.from_pairs([], publications=[row])


def test_a_dataset_keeps_publications_and_their_unknowns(tmp_path, trial):
    more = Instance.from_pairs(WANTED, publications=[*PUBLISHED, ("edge-9", "dev/9/#")])
    write_workload(more, tmp_path / "w")
    read = Instance.load(tmp_path / "w")
    assert read.compute_digest() == more.digest == read.digest
    assert np.isnan(read.publications.rates).sum() == 1


def test_a_dataset_of_format_version_1_is_read_without_publications(tmp_path):
    plain = Instance.from_pairs([("a", "x"), ("b", "x")])
    write_workload(plain, tmp_path / "w")
    path = tmp_path / "w" / "manifest.json"
    content = json.loads(path.read_text())
    assert content["format_version"] == 2
    content["format_version"] = 1
    del content["n_publications"]
    path.write_text(json.dumps(content))
    assert Instance.load(tmp_path / "w").digest == plain.digest


def test_publishers_are_joined_to_the_subscribers_of_their_topics(trial):
    overlay = design(trial, "gm")
    assert overlay.connected
    assert overlay.n_edges == 7
    assert overlay.parameters["assume_publishers"] == "listed"
    for i in range(1, 7):
        assert {(f"cloud-{c}", f"edge-{i}") for c in (1, 2)} & names_of(overlay)


def test_without_publishers_only_subscribers_are_joined(trial):
    overlay = design(trial, "gm", assume_publishers="subscribers")
    assert names_of(overlay) == {("cloud-1", "cloud-2")}


def test_if_anyone_may_publish_all_take_part(trial):
    overlay = design(trial, "gm", assume_publishers="anyone")
    assert overlay.connected
    assert overlay.n_edges == 7
    # 8 topics (the filters and 6 names): all 8 brokers take part, cloud-1 does not want "#".
    assert len(overlay.instance.topics) == 64
    assert np.count_nonzero(overlay.instance.wants) == 7 + 8


def test_a_topic_that_nobody_publishes_needs_no_links():
    workload = Instance.from_pairs([("a", "x"), ("b", "x"), ("b", "y")], publications=[("c", "y")])
    overlay = design(workload, "gm")
    assert names_of(overlay) == {("b", "c")}


def test_a_workload_without_filters_and_publications_is_designed_for_as_it_is():
    plain = Instance.from_pairs([("a", "x"), ("b", "x")])
    assert make_demand(plain) is plain


def test_listed_publishers_need_a_list():
    with pytest.raises(InputError, match=r"has no publications\. Give them to ingest"):
        design(Instance.from_pairs([("a", "x")]), "gm", assume_publishers="listed")


def test_an_unknown_assumption_is_refused_with_the_choices():
    with pytest.raises(InputError, match="unknown assume_publishers 'all'"):
        design(Instance.from_pairs([("a", "x")]), "gm", assume_publishers="all")


def test_too_many_pairs_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr("meshwright.overlay.demand.MOST_PAIRS", 3)
    with pytest.raises(InputError, match=r"4 pairs of a node and a topic take part, 3 at most"):
        design(Instance.from_pairs([("a", "x"), ("b", "y")]), "gm", assume_publishers="anyone")


def test_an_overlay_on_disk_is_read_for_the_same_participants(tmp_path, trial):
    write_workload(trial, tmp_path / "w")
    overlay = design(Instance.load(tmp_path / "w"), "gm")
    manifest = write_overlay(overlay, tmp_path / "o", tmp_path / "w")
    assert manifest["workload_digest"] == trial.digest
    assert manifest["n_only_publishing"] == 6
    assert manifest["n_topics_unpublished"] == 2  # the two filters themselves
    assert load_overlay(tmp_path / "o").digest == overlay.digest


def test_a_plan_of_anyone_says_what_that_costs(trial):
    def made(assume):
        return design(trial, "gm", assume_publishers=assume)

    given, anyone = made("listed"), made("anyone")
    price = price_of_anyone(anyone, trial, {"method": "gm"})["without_anyone"]
    assert price["assume_publishers"] == "listed"
    assert price["n_edges"] == given.n_edges
    assert price["relayed"] == find_relays(given).times
    assert find_relays(anyone).topics > 0
    assert price_of_anyone(given, trial, {"method": "gm"}) == {}


def test_expanding_a_workload_expands_its_publications(tmp_path):
    given = Instance.from_pairs(WANTED, publications=[("edge-7", "dev/7/#", 3.0)])
    write_workload(given, tmp_path / "w")
    expand_workload(tmp_path / "w", tmp_path / "x")
    made = Instance.load(tmp_path / "x")
    rates = {
        made.topic_names[t]: rate
        for t, rate in zip(made.publications.topics, made.publications.rates, strict=True)
    }
    assert rates.keys() == {"dev/7/#", "dev/7/telemetry"}
    assert rates["dev/7/#"] == 3.0
    assert np.isnan(rates["dev/7/telemetry"])
