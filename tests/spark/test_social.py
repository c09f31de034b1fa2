from dataclasses import replace

import numpy as np
import pytest

from meshwright.model.instance import Instance
from meshwright.storage import open_dataset
from meshwright.workload.generate import generate_social
from meshwright.workload.social_law import SocialModel


def test_the_digest_does_not_depend_on_partitions(spark, tmp_path):
    model = SocialModel(nodes=3_000, mean_degree=12.0, directed=True, seed=5)
    found = {
        generate_social(spark, tmp_path / "w", model, partitions=n, force=True)["digest"]
        for n in (1, 2, 7)
    }
    kept = Instance.load(tmp_path / "w")
    plain = Instance(kept.node_names, kept.topic_names, kept.indptr, kept.topics)
    assert found == {plain.digest}


def test_users_publish_their_own_topics_if_asked(spark, tmp_path):
    model = SocialModel(nodes=500, mean_degree=8.0, seed=3)
    plain = generate_social(spark, tmp_path / "plain", model)
    assert Instance.load(tmp_path / "plain").n_publications == 0
    manifest = generate_social(spark, tmp_path / "w", replace(model, publish=True))
    made = Instance.load(tmp_path / "w")
    assert manifest["n_publications"] == 500
    assert made.publications.nodes.tolist() == made.publications.topics.tolist() == [*range(500)]
    assert np.isnan(made.publications.rates).all()
    wanted = Instance(made.node_names, made.topic_names, made.indptr, made.topics)
    assert wanted.digest == plain["digest"]


def test_users_are_nodes_and_topics(spark, tmp_path):
    model = SocialModel(nodes=1_000, mean_degree=10.0)
    manifest = generate_social(spark, tmp_path / "w", model)
    instance = Instance.load(tmp_path / "w")
    assert instance.node_names[7] == instance.topic_names[7] == "user-007"
    assert manifest["node_names_digest"] == manifest["topic_names_digest"]
    assert manifest["n_subscriptions"] == len(instance.topics) == pytest.approx(10_000, rel=0.02)
    assert manifest["n_self_loops"] + manifest["n_duplicates"] > 0
    nodes = np.repeat(np.arange(1_000), np.diff(instance.indptr))
    assert not (nodes == instance.topics).any()
    assert manifest["parameters"]["max_degree"] == 999
    assert open_dataset(tmp_path / "w").rows["rejected"] == 0
