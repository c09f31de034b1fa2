import hashlib

import numpy as np
import pyarrow as pa
import pytest

from meshwright.model.instance import Instance
from meshwright.storage.digest import (
    BLOCK,
    PairHasher,
    combine,
    name_blocks,
    names_digest,
    pack,
    pairs_digest,
    unpack,
    workload_digest,
)


def pairs_of(n_nodes: int, seed: int = 3):
    rng = np.random.default_rng(seed)
    nodes = np.repeat(np.arange(n_nodes, dtype=np.int32), 3)
    topics = rng.integers(0, 1000, len(nodes)).astype(np.int32)
    return np.unique(pack(nodes, topics))


def test_packing_and_unpacking_are_inverse_and_keep_the_order():
    nodes = np.array([0, 0, 1, 2**31 - 3], dtype=np.int32)
    topics = np.array([0, 2**31 - 3, 0, 5], dtype=np.int32)
    packed = pack(nodes, topics)
    assert np.all(np.diff(packed) > 0)
    back = unpack(packed)
    assert np.array_equal(back[0], nodes)
    assert np.array_equal(back[1], topics)


@pytest.mark.parametrize("batch", [1, 7, 1000, 10**6])
def test_the_digest_of_pairs_does_not_depend_on_the_batches(batch):
    pairs = pairs_of(5 * BLOCK + 3)
    hasher = PairHasher()
    found = []
    for start in range(0, len(pairs), batch):
        found += hasher.update(pairs[start : start + batch])
    found += hasher.finish()
    assert combine(found) == pairs_digest(pairs)


def test_the_digest_of_pairs_does_not_depend_on_which_task_has_which_blocks():
    pairs = pairs_of(6 * BLOCK)
    cut = np.searchsorted(pairs, pack(np.array([2 * BLOCK]), np.array([0]))[0])
    found = []
    for part in (pairs[cut:], pairs[:cut]):  # the later blocks first
        hasher = PairHasher()
        found += [*hasher.update(part), *hasher.finish()]
    assert combine(found) == pairs_digest(pairs)


def test_the_digest_of_names_does_not_depend_on_which_task_has_which_blocks():
    names = pa.array([f"name-{i:05d}-ü" for i in range(3 * BLOCK + 1)])
    ids = np.arange(len(names), dtype=np.int32)
    cut = 2 * BLOCK
    found = [*name_blocks(ids[cut:], names[cut:]), *name_blocks(ids[:cut], names[:cut])]
    assert combine(found) == names_digest(names)


def test_names_are_hashed_as_the_module_says():
    lengths = (1).to_bytes(8, "little") + (2).to_bytes(8, "little")
    block = hashlib.sha256(lengths + "aü".encode()).digest()
    expected = hashlib.sha256((0).to_bytes(8, "little") + block).hexdigest()
    assert names_digest(pa.array(["a", "ü"])) == expected


def test_moving_a_letter_from_one_name_to_the_next_changes_the_digest():
    assert names_digest(pa.array(["ab", "c"])) != names_digest(pa.array(["a", "bc"]))


@pytest.mark.parametrize("changed", range(6))
def test_each_part_of_a_workload_counts(changed):
    digests = ["00" * 32, "11" * 32, "22" * 32]
    parts = [2, 3, 4, *digests]
    other = list(parts)
    other[changed] = 9 if changed < 3 else "ff" * 32
    assert workload_digest(*parts) != workload_digest(*other)


def test_nothing_has_a_digest():
    assert names_digest(pa.array([], pa.string())) == hashlib.sha256().hexdigest()
    assert pairs_digest(np.empty(0, dtype=np.int64)) == hashlib.sha256().hexdigest()
    assert len(Instance.from_pairs([]).digest) == 64


def test_an_instance_has_one_digest_however_it_was_made():
    pairs = [("node-1", "topic-0"), ("node-0", "topic-1"), ("node-1", "topic-1")]
    by_names = Instance.from_pairs(pairs)
    by_arrays = Instance.from_arrays([0, 1, 3], [1, 0, 1])
    assert by_names.digest == by_arrays.digest
    assert by_names.digest == Instance.from_pairs([*reversed(pairs), pairs[0]]).digest


def test_renaming_a_topic_changes_the_digest():
    before = Instance.from_pairs([("a", "x"), ("b", "x")])
    after = Instance.from_pairs([("a", "y"), ("b", "y")])
    assert before.digest != after.digest


def test_a_node_without_subscription_changes_the_digest():
    before = Instance.from_pairs([("a", "x")])
    after = Instance.from_pairs([("a", "x")], nodes=["b"])
    assert before.digest != after.digest
