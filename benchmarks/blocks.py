"""The other way past one machine: blocks of similar nodes designed apart, then joined.

Nodes that share a MinHash of their topics stand together, and the order is cut into blocks of equal
size. `gm` designs each block by itself, as `applyInArrow` would. What is still apart in a topic is
joined through representatives: of each component the member that wants most topics, and `gm` once
more among those, each with the topics it speaks for.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._instances import RESULTS, load, prepare
from meshwright.kernels.components import Components, join_all, new_components
from meshwright.overlay import design
from meshwright.values import Instance

Ints = npt.NDArray[np.int32]
NAMES = "comm100k,social100k"
BLOCKS = (2, 10, 50)
HASHES = np.uint64(0x9E3779B97F4A7C15)


def run(arguments: list[str]) -> None:
    """Compare blocks with the whole."""
    parser = argparse.ArgumentParser(prog="scripts/bench blocks", description=__doc__)
    parser.add_argument("--names", default=NAMES, help=f"instances [{NAMES}]")
    parser.add_argument("--data", type=Path, help="the directory of the graphs")
    options = parser.parse_args(arguments)
    print(f"{'':<12} {'blocks':>6} {'links':>10} {'of whole':>8} {'most':>7} {'seconds':>8}")
    for name in options.names.split(","):
        place = RESULTS / "instances" / name  # a workload that another benchmark made, or
        instance = load(place if place.exists() else prepare(name, options.data))
        whole = 0
        for n_blocks in (1, *BLOCKS):
            started = time.perf_counter()
            links = by_blocks(instance, n_blocks)
            seconds = time.perf_counter() - started
            whole = whole or len(links)
            most = int(np.bincount(links.ravel()).max())
            ratio = len(links) / whole
            line = f"{name:<12} {n_blocks:>6} {len(links):>10,} {ratio:>8.2f} {most:>7,}"
            print(f"{line} {seconds:>8.1f}", flush=True)


def by_blocks(instance: Instance, n_blocks: int) -> Ints:
    """Return the links of all blocks, and those that join them."""
    parts = [block_links(instance, block) for block in np.array_split(similar(instance), n_blocks)]
    links = np.concatenate(parts)
    c = new_components(instance.indptr, instance.topics, instance.n_topics)
    join_all(c, links)
    links = np.concatenate([links, joining_links(instance, c)])
    join_all(c, links)
    if c.open_count.max(initial=0) > 1:
        raise SystemExit("error: the blocks were not joined")
    return links


def similar(instance: Instance) -> Ints:
    """Return the nodes in an order in which similar ones are near."""
    hashed = (instance.topics.astype(np.uint64) + np.uint64(1)) * HASHES
    hashed ^= hashed >> np.uint64(29)
    some = np.diff(instance.indptr) > 0
    least = np.zeros(instance.n_nodes, np.uint64)
    least[some] = np.minimum.reduceat(hashed, instance.indptr[:-1][some])
    return np.argsort(least, kind="stable").astype(np.int32)


def block_links(instance: Instance, block: Ints) -> Ints:
    """Return the links that `gm` gives some nodes by themselves."""
    block = np.sort(block)
    rows = [instance.topics_of(int(node)) for node in block]
    return block[gm_links([len(row) for row in rows], np.concatenate(rows), instance.n_topics)]


def joining_links(instance: Instance, c: Components) -> Ints:
    """Return links between representatives that join what is apart."""
    sizes = np.diff(instance.indptr)
    topics = np.repeat(np.arange(instance.n_topics), np.diff(c.topic_ptr))
    apart = np.flatnonzero(c.open_count[topics] > 1)
    # Of each component the member that wants most: the last in this order.
    order = apart[np.lexsort((sizes[c.nodes[apart]], c.label[apart]))]
    last = np.append(np.diff(c.label[order]) != 0, True)[: len(order)]
    speaks, of = c.nodes[order[last]].astype(np.int32), topics[order[last]].astype(np.int32)
    by_node = np.lexsort((of, speaks))
    nodes, counts = np.unique(speaks[by_node], return_counts=True)
    return nodes[gm_links(counts, of[by_node], instance.n_topics)]


def gm_links(counts: npt.ArrayLike, topics: Ints, n_topics: int) -> Ints:
    """Return the links of `gm` among nodes that want so many topics each."""
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return design(Instance.from_arrays(indptr, topics, n_topics), "gm", certify=False).edges
