from collections import Counter

import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.storage import open_dataset
from meshwright.workload.generate import TopicModel, generate

SIZES = {"nodes": 700, "topics": 60, "subscriptions": (2, 9)}


def plain(instance: Instance) -> Instance:
    """Return the same instance without the digest that the manifest claims."""
    return Instance(instance.node_names, instance.topic_names, instance.indptr, instance.topics)


def test_the_digest_does_not_depend_on_partitions(spark, tmp_path):
    model = TopicModel(family="zipf", alpha=0.5, **SIZES)
    digests = {
        generate(spark, tmp_path / "w", model, partitions=n, force=True)["digest"]
        for n in (1, 5, 50)
    }
    assert len(digests) == 1
    loaded = Instance.load(tmp_path / "w")
    assert digests == {plain(loaded).digest}


def test_the_tables_are_what_the_manifest_says(spark, tmp_path):
    manifest = generate(spark, tmp_path / "w", TopicModel(family="expo", **SIZES, seed=4))
    instance = Instance.load(tmp_path / "w")
    sizes = np.diff(instance.indptr)
    assert (sizes.min(), sizes.max()) == (2, 9)
    assert manifest["n_subscriptions"] == sizes.sum()
    assert (instance.n_nodes, instance.n_topics) == (700, 60)
    assert (instance.node_names[7], instance.topic_names[7]) == ("node-007", "topic-07")
    assert list(instance.node_names) == sorted(instance.node_names)
    assert manifest["parameters"]["rate"] == 10.0
    assert open_dataset(tmp_path / "w").rows["rejected"] == 0


def test_seeds_laws_and_families_give_other_workloads(spark, tmp_path):
    small = {"nodes": 100, "topics": 20, "subscriptions": (3, 3)}
    variants = [
        {"family": "zipf", "alpha": 2.0},
        {"family": "zipf", "alpha": 2.0, "seed": 2},
        {"family": "zipf", "alpha": 2.0, "draw": "conditional"},
        {"family": "unif"},
        {"family": "unif", "subscriptions": (2, 9)},
        {"family": "unif", "subscriptions": (2, 9), "size_law": "steep"},
    ]
    models = [TopicModel(**{**small, **variant}) for variant in variants]
    found = [generate(spark, tmp_path / "w", model, force=True)["digest"] for model in models]
    assert len(set(found)) == len(variants)


def test_conditional_and_successive_draws_differ_as_their_laws_do(spark, tmp_path):
    """With weights 8:4:2:1 and two topics, the first is in 84% (successive) or 88% of the sets."""
    share = {}
    for draw in ("successive", "conditional"):
        sizes = {"nodes": 4000, "topics": 4, "subscriptions": (2, 2)}
        model = TopicModel(family="expo", **sizes, rate=float(4 * np.log(2)), draw=draw)
        assert model.weights / model.weights[-1] == pytest.approx([8, 4, 2, 1])
        generate(spark, tmp_path / draw, model)
        counts = Counter(Instance.load(tmp_path / draw).topics.tolist())
        share[draw] = counts[0] / 4000
    w = [8, 4, 2, 1]
    by_turns = w[0] / 15 + sum(w[i] / 15 * w[0] / (15 - w[i]) for i in (1, 2, 3))
    odds = [x / (15 - x) for x in w]
    pairs = {(i, j): odds[i] * odds[j] for i in range(4) for j in range(i)}
    by_size = sum(p for pair, p in pairs.items() if 0 in pair) / sum(pairs.values())
    noise = 4 * (0.25 / 4000) ** 0.5
    assert share["successive"] == pytest.approx(by_turns, abs=noise)
    assert share["conditional"] == pytest.approx(by_size, abs=noise)


def test_every_topic_wanted_by_every_node_is_legal(spark, tmp_path):
    model = TopicModel(family="zipf", nodes=3, topics=5, subscriptions=(5, 5), alpha=10.0)
    manifest = generate(spark, tmp_path / "w", model)
    assert manifest["n_subscriptions"] == 15


@pytest.mark.parametrize(
    ("family", "options", "weights"),
    [
        ("unif", {}, [1, 1, 1, 1]),
        ("zipf", {"alpha": 2.0}, [1, 1 / 4, 1 / 9, 1 / 16]),
        ("zipf", {"alpha": 0}, [1, 1, 1, 1]),
        ("expo", {"rate": 4.0}, np.exp([-1, -2, -3, -4])),
        ("expo", {}, np.exp([-2.5, -5, -7.5, -10])),
    ],
)
def test_popularity_is_that_of_the_papers(family, options, weights):
    model = TopicModel(family=family, nodes=1, topics=4, subscriptions=(1, 1), **options)
    assert model.weights == pytest.approx(weights)


GOOD = {
    "family": "zipf",
    "nodes": 5,
    "topics": 5,
    "subscriptions": (1, 2),
    "alpha": 1.0,
    "rate": None,
    "draw": "successive",
    "size_law": "uniform",
    "seed": 1,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "zipff"}, r"unknown family 'zipff'; did you mean 'zipf'\?"),
        ({"alpha": None}, r"zipf needs alpha: the papers use 0\.5 and 2\.0"),
        ({"alpha": -1.0}, r"alpha is -1\.0; give 0 to 10"),
        ({"alpha": float("nan")}, r"alpha is nan; give 0 to 10"),
        ({"rate": 2.0}, "rate belongs to expo, not to zipf"),
        ({"family": "unif"}, "alpha belongs to zipf, not to unif"),
        ({"family": "expo", "alpha": None, "rate": 701.0}, r"rate is 701\.0; give 0 to 700"),
        ({"draw": "conditonal"}, r"unknown draw 'conditonal'; did you mean 'conditional'\?"),
        ({"size_law": "step"}, r"unknown size_law 'step'; did you mean 'steep'\?"),
        ({"size_law": "steep", "subscriptions": (0, 2)}, r"0-2; steep sizes begin at 1 or more"),
        ({"nodes": 0}, r"nodes is 0 and topics is 5; give 1 to"),
        ({"nodes": 2**31 - 1}, r"nodes is 2147483647"),
        ({"topics": 0}, r"topics is 0; give at least 1"),
        ({"subscriptions": (3, 2)}, r"subscriptions is 3-2; give the least first"),
        ({"subscriptions": (-1, 2)}, r"subscriptions is -1-2"),
        ({"subscriptions": (1, 6)}, r"a node cannot want 6 of 5 topics"),
        ({"seed": -1}, r"seed is -1; give a whole number from 0"),
        ({"seed": 2**63}, r"seed is 9223372036854775808"),
    ],
)
def test_arguments_that_cannot_be_are_refused(changes, message):
    TopicModel(**GOOD)
    with pytest.raises(InputError, match=message):
        TopicModel(**{**GOOD, **changes})


def test_a_conditional_table_that_does_not_fit_is_refused(spark, tmp_path, monkeypatch):
    from meshwright.workload import generate as stage

    monkeypatch.setattr(stage, "machine_memory", lambda: 8 * 1000)
    with pytest.raises(InputError, match=r"--draw conditional needs a table of .* Use --draw succ"):
        generate(spark, tmp_path / "w", TopicModel(family="unif", draw="conditional", **SIZES))
    assert not (tmp_path / "w").exists()
