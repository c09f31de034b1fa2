import json

import numpy as np
import pyarrow as pa
import pytest

import meshwright
from meshwright.errors import InputError
from meshwright.model.instance import Instance, check_csr
from meshwright.overlay.forecast import workload_forecast
from meshwright.storage import staging, write_table


def write_workload(path, nodes, topics, pairs, *, names=None, **facts):
    """Write a workload by hand, with whatever mistakes the test wants."""
    node_names, topic_names = names or (
        [f"n{i}" for i in range(nodes)],
        [f"t{i}" for i in range(topics)],
    )
    with staging(path, "workload") as stage:
        tables = {
            "subscriptions": {"node": [u for u, _ in pairs], "topic": [t for _, t in pairs]},
            "nodes": {"node": range(len(node_names)), "name": node_names},
            "topics": {"topic": range(len(topic_names)), "name": topic_names},
            "rejected": {"source": [], "record": [], "reason": []},
        }
        for table, columns in tables.items():
            arrays = {
                column: pa.array(
                    list(values), pa.int32() if column in ("node", "topic") else pa.string()
                )
                for column, values in columns.items()
            }
            write_table(stage.table(table), pa.table(arrays))
        stage.publish(
            {
                "n_nodes": nodes,
                "n_topics": topics,
                "n_subscriptions": len(pairs),
                "digest": "0" * 64,
                **facts,
            }
        )


def test_pairs_give_dense_ids_in_the_order_of_the_sorted_names():
    instance = Instance.from_pairs([("b", "y"), ("a", "z"), ("b", "x"), ("Z", "y")])
    assert list(instance.node_names) == ["Z", "a", "b"]  # code points: capitals first
    assert list(instance.topic_names) == ["x", "y", "z"]
    assert [instance.topics_of(i).tolist() for i in range(3)] == [[1], [2], [0, 1]]


def test_repeated_pairs_count_once():
    instance = Instance.from_pairs([("a", "x"), ("a", "x")])
    assert (instance.n_nodes, instance.n_topics, instance.n_subscriptions) == (1, 1, 1)


def test_further_nodes_may_want_nothing():
    instance = Instance.from_pairs([("b", "x")], nodes=["a", "b", "c"])
    assert list(instance.node_names) == ["a", "b", "c"]
    assert instance.indptr.tolist() == [0, 0, 1, 1]


def test_no_pairs_are_an_empty_instance():
    instance = Instance.from_pairs([])
    assert (instance.n_nodes, instance.n_topics, instance.n_subscriptions) == (0, 0, 0)


@pytest.mark.parametrize("pair", ["ab", ("a",), ("a", "b", "c"), 5])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(InputError, match=r"a pair is \(node, topic\); got"):
        Instance.from_pairs([pair])


@pytest.mark.parametrize("name", ["", 5, None])
def test_a_name_that_is_no_text_or_empty_is_refused(name):
    with pytest.raises(InputError, match=r"names are text and not empty; got"):
        Instance.from_pairs([("a", name)])


def test_a_name_that_is_no_unicode_is_refused():
    with pytest.raises(InputError, match=r"holds a lone surrogate"):
        Instance.from_pairs([("a", "x\udc80")])


def test_an_empty_further_node_is_refused():
    with pytest.raises(InputError, match=r"names are text and not empty; got ''"):
        Instance.from_pairs([("a", "x")], nodes=[""])


def test_arrays_get_numbered_names():
    instance = Instance.from_arrays([0, 2, 2, 3], [0, 11, 4])
    assert list(instance.node_names) == ["node-0", "node-1", "node-2"]
    assert instance.n_topics == 12
    assert instance.topic_names[3] == "topic-03"
    assert instance.topic_names[-1] == "topic-11"


def test_arrays_may_have_topics_that_nobody_wants():
    assert Instance.from_arrays([0, 1], [0], n_topics=5).n_topics == 5


def test_arrays_of_an_instance_cannot_be_changed_and_are_copies():
    topics = np.array([0, 1], dtype=np.int32)
    instance = Instance.from_arrays([0, 2], topics)
    topics[0] = 1
    assert instance.topics.tolist() == [0, 1]
    for array in (instance.indptr, instance.topics):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("indptr", "topics", "n_topics", "message"),
    [
        ([], [], None, "indptr is empty"),
        ([0, 1.5], [0], None, "indptr must be integers; got an array of float64"),
        ([0, 1], [True], None, "topics must be integers; got an array of bool"),
        ([0, 1], [2**31], None, r"topics must fit int32; they reach 2147483648"),
        ([[0, 1]], [0], None, "indptr must be one-dimensional; got 2 dimensions"),
        (5, [0], None, "indptr must be one-dimensional; got 0 dimensions"),
        ([0, 2], [0], None, r"indptr must run from 0 to 1 in 2 entries; got 2 .* to \[2\]"),
        ([1, 1], [0], None, r"got 2 entries from \[1\]"),
        ([0, 2, 1, 2], [0, 1], None, "indptr must not fall from one node to the next"),
        ([0, 1], [3], 3, r"topics must lie in 0\.\.2; got up to 3"),
        ([0, 1], [-1], 3, r"topics must lie in 0\.\.2"),
        ([0, 2], [1, 0], None, "topics must be sorted and distinct within a node"),
        ([0, 2], [1, 1], None, "topics must be sorted and distinct within a node"),
        ([0], [], -1, r"n_topics is -1; it must be 0 or more"),
    ],
)
def test_arrays_that_are_no_csr_are_refused(indptr, topics, n_topics, message):
    with pytest.raises(InputError, match=message):
        Instance.from_arrays(indptr, topics, n_topics)


def test_topics_may_fall_from_one_node_to_the_next_even_around_nodes_without_any():
    instance = Instance.from_arrays([0, 0, 2, 2, 3, 3], [4, 5, 0])
    assert [instance.topics_of(i).tolist() for i in range(5)] == [[], [4, 5], [], [0], []]


def test_more_names_than_int32_ids_are_refused():
    with pytest.raises(InputError, match=r"2,147,483,647 names do not fit int32 ids"):
        check_csr(np.zeros(1, np.int64), np.zeros(0, np.int32), 2**31 - 1, 0)


def test_a_workload_loads_with_its_names_and_digest(tmp_path):
    write_workload(tmp_path / "w", 2, 3, [(0, 1), (0, 2), (1, 0)], digest="ab" * 32)
    instance = Instance.load(tmp_path / "w")
    assert instance.indptr.tolist() == [0, 2, 3]
    assert instance.topics.tolist() == [1, 2, 0]
    assert list(instance.node_names) == ["n0", "n1"]
    assert instance.topic_names[1:] == ("t1", "t2")
    assert instance.digest == "ab" * 32
    assert Instance.load(str(tmp_path / "w")).digest == instance.digest


def test_a_workload_whose_rows_lost_their_order_loads_all_the_same(tmp_path):
    write_workload(tmp_path / "w", 2, 3, [(1, 0), (0, 2), (0, 1)])
    assert Instance.load(tmp_path / "w").topics.tolist() == [1, 2, 0]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_order_is_asked_across_pieces_too(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("meshwright.model.instance.PAIRS_AT_ONCE", at_once)
    pairs = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)]
    for i in range(len(pairs)):
        write_workload(tmp_path / str(i), 3, 3, pairs[i:] + pairs[:i])
        loaded = Instance.load(tmp_path / str(i))
        assert loaded.indptr.tolist() == [0, 2, 4, 5]
        assert loaded.topics.tolist() == [0, 1, 0, 2, 1]


def test_a_workload_without_subscriptions_loads(tmp_path):
    write_workload(tmp_path / "w", 2, 0, [])
    assert Instance.load(tmp_path / "w").indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("node", [-1, 2])
def test_a_workload_with_a_node_that_is_not_there_is_refused(tmp_path, node):
    write_workload(tmp_path / "w", 2, 1, [(node, 0)])
    with pytest.raises(InputError, match=r"a subscription of a node outside 0\.\.1"):
        Instance.load(tmp_path / "w")


@pytest.mark.parametrize("read", [Instance.load, workload_forecast])
@pytest.mark.parametrize("topic", [-1, 1, 2**31 - 1])
def test_a_workload_with_a_topic_that_is_not_there_is_refused(tmp_path, read, topic):
    write_workload(tmp_path / "w", 1, 1, [(0, topic)])
    with pytest.raises(InputError, match=r"a subscription of a topic outside 0\.\.0\. Make"):
        read(tmp_path / "w")


def test_a_workload_with_a_repeated_subscription_is_refused(tmp_path):
    write_workload(tmp_path / "w", 1, 1, [(0, 0), (0, 0)])
    with pytest.raises(InputError, match="sorted and distinct within a node"):
        Instance.load(tmp_path / "w")


@pytest.mark.parametrize("count", [1, 3, 10**15])
@pytest.mark.parametrize("what", ["nodes", "topics"])
def test_a_manifest_with_another_number_of_names_is_refused(tmp_path, what, count):
    write_workload(tmp_path / "w", 2, 2, [(0, 0), (1, 1)])
    manifest = json.loads((tmp_path / "w" / "manifest.json").read_text())
    manifest[f"n_{what}"] = count
    (tmp_path / "w" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=f"'n_{what}' is {count:,}, and table '{what}' has 2 rows"):
        Instance.load(tmp_path / "w")


def test_a_workload_with_fewer_names_than_nodes_is_refused(tmp_path):
    write_workload(tmp_path / "w", 2, 1, [(1, 0)], names=(["n0"], ["t0"]))
    with pytest.raises(InputError, match="'n_nodes' is 2, and table 'nodes' has 1 rows"):
        Instance.load(tmp_path / "w")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "a"], "not sorted and distinct; 'a' follows 'a'"),
        (["b", "a"], "not sorted and distinct; 'a' follows 'b'"),
        (["a", None], "has nulls"),
        (["", "a"], "'' is not a name"),
        (["a", "b\nc"], r"'b\\nc' is not a name"),
        (["a", "b\u0085c"], r"'b\\x85c' is not a name"),
        (["a", "b" * 65_536], "'bbb.*' is not a name"),
    ],
)
@pytest.mark.parametrize("table", ["nodes", "topics"])
def test_a_workload_with_bad_names_is_damaged(tmp_path, table, names, message):
    good = ["a", "b"]
    both = (names, good) if table == "nodes" else (good, names)
    write_workload(tmp_path / "w", 2, 2, [(0, 0), (1, 1)], names=both)
    with pytest.raises(InputError, match=f"is damaged: .*{table}.* {message}"):
        Instance.load(tmp_path / "w")


def test_a_workload_without_its_counts_is_refused(tmp_path):
    write_workload(tmp_path / "w", 1, 1, [(0, 0)])
    file = tmp_path / "w" / "manifest.json"
    content = json.loads(file.read_text())
    del content["n_nodes"]
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match="manifest of this workload has no 'n_nodes'"):
        Instance.load(tmp_path / "w")


def test_loading_something_that_is_no_workload_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no dataset at"):
        Instance.load(tmp_path / "nothing")


def test_the_package_offers_instance():
    assert meshwright.Instance is Instance
