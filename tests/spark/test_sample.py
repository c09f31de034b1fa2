import random
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.workload.ingest import ingest
from meshwright.workload.sample import sample
from tests.naive.breadth_first import breadth_first


def components(seed: int) -> list[tuple[str, str]]:
    """Return follows among 60 users in components of 30, 20 and 10, and no relation between."""
    rng = random.Random(seed)
    rows, first = [], 0
    for size in (30, 20, 10):
        users = range(first, first + size)
        rows += [(a, rng.choice(range(first, a))) for a in users if a > first]  # connected
        rows += [tuple(rng.sample(users, 2)) for _ in range(size // 2)]
        first += size
    order = rng.sample(range(60), 60)
    return [(f"u{order[a]:02d}", f"u{order[b]:02d}") for a, b in rows]


@pytest.fixture(scope="module")
def users(spark, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("users")
    rows = components(5)
    (place / "s.edges").write_text("".join(f"{a} {b}\n" for a, b in rows))
    ingest(spark, [str(place / "s.edges")], place / "w", directed=True)
    return place / "w"


def pairs_of(path: Path) -> set[tuple[str, str]]:
    instance = Instance.load(path)
    return {
        (instance.node_names[i], instance.topic_names[t])
        for i in range(instance.n_nodes)
        for t in instance.topics_of(i)
    }


def start_order(spark, n: int, seed: int) -> list[int]:
    hashed = spark.range(n).select(
        F.xxhash64(F.lit(seed), F.col("id").cast("int")).alias("h"), F.col("id")
    )
    return [row["id"] for row in hashed.orderBy("h", "id").collect()]


@pytest.mark.parametrize(
    ("nodes", "seeds", "seed"),
    [(7, 1, 1), (25, 3, 2), (60, 1, 3)],  # a cut level; several starts; all components
)
def test_a_sample_equals_its_naive_twin(spark, users, tmp_path, nodes, seeds, seed):
    manifest = sample(spark, users, tmp_path / "s", nodes=nodes, seeds=seeds, seed=seed)
    whole = Instance.load(users)
    follows = {(i, int(t)) for i in range(whole.n_nodes) for t in whole.topics_of(i)}
    kept = breadth_first(follows, start_order(spark, whole.n_nodes, seed), nodes, seeds)
    names = {whole.node_names[i] for i in kept}
    found = Instance.load(tmp_path / "s")
    assert manifest["n_nodes"] == manifest["n_topics"] == nodes == len(kept)
    assert list(found.node_names) == list(found.topic_names) == sorted(names)
    assert pairs_of(tmp_path / "s") == {
        (whole.node_names[a], whole.topic_names[b]) for a, b in follows if a in kept and b in kept
    }
    plain = Instance(found.node_names, found.topic_names, found.indptr, found.topics)
    assert manifest["digest"] == plain.digest
    assert manifest["parameters"]["workload_digest"] == whole.digest


def test_a_sample_does_not_depend_on_partitions(spark, users, tmp_path, monkeypatch):
    from meshwright.workload import sample as stage

    digests = set()
    for partitions in (1, 5):
        monkeypatch.setattr(stage, "parallelism", lambda _, n=partitions: n)
        out = tmp_path / str(partitions)
        digests.add(sample(spark, users, out, nodes=40, seeds=2, seed=9)["digest"])
    assert len(digests) == 1


def test_the_twin_cuts_by_id_and_goes_on_with_the_next_start_user():
    follows = {(0, 3), (0, 2), (0, 1), (4, 5)}
    assert breadth_first(follows, [0, 5, 4, 3, 2, 1], 3) == {0, 1, 2}
    assert breadth_first(follows, [0, 5, 4, 3, 2, 1], 5) == {0, 1, 2, 3, 5}
    assert breadth_first(follows, [4, 0, 5, 3, 2, 1], 3) == {4, 5, 0}


@pytest.mark.parametrize(
    ("nodes", "seeds", "message"),
    [
        (0, 1, "nodes is 0 and seeds is 1; both must be at least 1"),
        (5, 0, "nodes is 5 and seeds is 0; both must be at least 1"),
        (61, 1, r"a sample of 61 nodes was asked for, but '.*' has only 60"),
        (5, 6, "6 start users do not fit a sample of 5"),
    ],
)
def test_a_sample_that_cannot_be_is_refused(spark, users, tmp_path, nodes, seeds, message):
    with pytest.raises(InputError, match=message):
        sample(spark, users, tmp_path / "s", nodes=nodes, seeds=seeds)
    assert not (tmp_path / "s").exists()


def test_nodes_that_are_no_topics_cannot_be_followed(spark, tmp_path):
    (tmp_path / "s.csv").write_text("node,topic\na,x\nb,y\n")
    ingest(spark, [str(tmp_path / "s.csv")], tmp_path / "w")
    with pytest.raises(InputError, match="has nodes and topics of different names"):
        sample(spark, tmp_path / "w", tmp_path / "s", nodes=1)
