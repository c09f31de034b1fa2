"""The other way past one machine: blocks of similar nodes designed separately, then joined.

Nodes that share a MinHash of their topics are neighbours in an order that is cut into blocks of
equal size. `gm` designs each block by itself, as `applyInArrow` would. Components of a topic that
are left are joined through representatives, the member of each component with the most topics:
`gm` runs once more among those, each with the topics it represents.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._instances import TINY, load
from benchmarks._measure import timed
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import Components, join_all, new_components
from meshwright.overlay import design
from meshwright.runtime.arrays import Ints

NAMES = "comm100k,social100k"
BLOCKS = (2, 10, 50)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def run(arguments: list[str]) -> None:
    """Compare designs in blocks with the design in one run."""
    parser = argparse.ArgumentParser(prog="scripts/bench blocks", description=__doc__)
    parser.add_argument("--names", default=NAMES, help=f"instances [{NAMES}]")
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    options = parser.parse_args(arguments)
    print(f"{'':<12} {'blocks':>6} {'links':>10} {'of one':>8} {'most':>7} {'seconds':>8}")
    for name in options.names.split(","):
        instance = load(name, options.data)
        in_one = 0
        for n_blocks in (1, *BLOCKS):
            design_run = timed(lambda n=n_blocks, of=instance: by_blocks(of, n))  # type: ignore[misc]
            links = design_run.result
            in_one = in_one or len(links)
            most = int(np.bincount(links.ravel()).max())
            ratio = len(links) / in_one
            line = f"{name:<12} {n_blocks:>6} {len(links):>10,} {ratio:>8.2f} {most:>7,}"
            print(f"{line} {design_run.seconds:>8.1f}", flush=True)


def smoke() -> None:
    """Compare them on the smallest instance."""
    run(["--names", TINY])


def by_blocks(instance: Instance, n_blocks: int) -> Ints:
    """Return the links of all blocks, and the links that join the blocks."""
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
    """Return the nodes in an order that puts similar ones close together."""
    hashed = (instance.topics.astype(np.uint64) + np.uint64(1)) * MULTIPLIER
    hashed ^= hashed >> np.uint64(29)
    subscribed = np.diff(instance.indptr) > 0
    least = np.zeros(instance.n_nodes, np.uint64)
    least[subscribed] = np.minimum.reduceat(hashed, instance.indptr[:-1][subscribed])
    return np.argsort(least, kind="stable").astype(np.int32)


def block_links(instance: Instance, block: Ints) -> Ints:
    """Return the links of `gm` among the nodes of a block."""
    block = np.sort(block)
    rows = [instance.topics_of(int(node)) for node in block]
    return block[gm_links([len(row) for row in rows], np.concatenate(rows), instance.n_topics)]


def joining_links(instance: Instance, c: Components) -> Ints:
    """Return links between representatives that join the components left."""
    sizes = np.diff(instance.indptr)
    topics = np.repeat(np.arange(instance.n_topics), np.diff(c.topic_ptr))
    apart = np.flatnonzero(c.open_count[topics] > 1)
    # Of each component the member that wants most: the last in this order.
    order = apart[np.lexsort((sizes[c.nodes[apart]], c.label[apart]))]
    last = np.append(np.diff(c.label[order]) != 0, True)[: len(order)]
    member, topic = c.nodes[order[last]].astype(np.int32), topics[order[last]].astype(np.int32)
    by_node = np.lexsort((topic, member))
    nodes, counts = np.unique(member[by_node], return_counts=True)
    return nodes[gm_links(counts, topic[by_node], instance.n_topics)]


def gm_links(counts: npt.ArrayLike, topics: Ints, n_topics: int) -> Ints:
    """Return the links of `gm` among nodes with the given numbers of topics."""
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return design(Instance.from_arrays(indptr, topics, n_topics), "gm", certify=False).edges
