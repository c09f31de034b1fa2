"""Publications in statistics, samples and generated workloads."""

import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.workload.generate import TopicModel, generate
from meshwright.workload.sample import sample
from meshwright.workload.statistics import statistics
from meshwright.workload.write import write_workload

MODEL = {"family": "unif", "nodes": 600, "topics": 300, "subscriptions": (1, 3), "seed": 5}


def test_statistics_match_publishers_with_subscribers_by_filters(spark, tmp_path):
    wanted = [("cloud", "dev/+/temp"), ("cloud", "alarm"), ("hub", "plant/7"), ("hub", "x")]
    published = [
        ("a", "dev/1/temp", 2.5),
        ("b", "dev/1/temp", 0.25),
        ("a", "plant/#", None),
        ("a", "nobody/wants", 1.0),
        ("b", "x", 4.0),
    ]
    write_workload(Instance.from_pairs(wanted, publications=published), tmp_path / "w")
    found = statistics(spark, tmp_path / "w").publishing
    assert found.n_publications == 5
    assert found.publishers_per_topic == ((0, 3), (1, 3), (2, 1))
    assert found.n_unpublished == 1  # alarm
    assert found.n_unwanted == 1  # nobody/wants
    assert (found.rate, found.n_without_rate) == (7.75, 1)


def test_a_sample_keeps_the_publications_among_its_users(spark, tmp_path):
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "c")]
    published = [("a", "a", 1.5, 10.0), ("d", "b", None, 0.1)]
    users = [(u, u) for u in "abcd"]  # so that nodes and topics are the same
    whole = Instance.from_pairs(pairs + users, publications=published)
    write_workload(whole, tmp_path / "w")
    assert sample(spark, tmp_path / "w", tmp_path / "all", nodes=4)["digest"] == whole.digest


def test_publishers_are_drawn_whatever_the_partitions(spark, tmp_path):
    model = TopicModel(**MODEL, publishers=2)
    made = [generate(spark, tmp_path / f"w{n}", model, partitions=n) for n in (1, 2)]
    assert made[0]["digest"] == made[1]["digest"]
    found = Instance.load(tmp_path / "w1")
    assert np.bincount(found.publications.topics).tolist() == [2] * 300
    assert len(set(found.publications.nodes.tolist())) > 300  # not always the same
    assert np.isnan(found.publications.rates).all()


def test_more_publishers_than_nodes_are_refused():
    with pytest.raises(InputError, match="publishers is 601; give 0 to 600"):
        TopicModel(**MODEL, publishers=601)
