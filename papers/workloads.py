"""The workloads of the cells, in memory: drawn at random, or a sample of a graph."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.model.instance import Instance

EACH = "each"  # how `draw_each` draws: sizes vary


def family(
    name: str,
    nodes: int,
    topics: int,
    sizes: tuple[int, int],
    seed: int,
    *,
    alpha: float | None = None,
    draw: str = "successive",
    size_law: str = "uniform",
) -> dict[str, Any]:
    """Return the description of a drawn workload, for cells."""
    return {
        "family": name,
        "nodes": nodes,
        "topics": topics,
        "low": sizes[0],
        "high": sizes[1],
        "alpha": alpha,
        "draw": draw,
        "size_law": size_law,
        "seed": seed,
    }


def instance_of(workload: Mapping[str, Any], place: Path) -> Instance:
    """Return the workload that a cell describes; samples are datasets below `place`."""
    return _cached(json.dumps(dict(workload), sort_keys=True), str(place))


@lru_cache(maxsize=1)  # the cells of a task come in the order of their workloads
def _cached(workload: str, place: str) -> Instance:
    given = json.loads(workload)
    if "sample" in given:
        return Instance.load(Path(place) / given["sample"])
    if given["draw"] == EACH:
        return draw_each(given["nodes"], given["topics"], given["low"], given["seed"])
    return draw_instance(**given)


def draw_each(nodes: int, topics: int, size: int, seed: int) -> Instance:
    """Return a workload where each node wants each topic with probability size / topics."""
    wants = np.random.default_rng(seed).random((nodes, topics)) < size / topics
    indptr = np.concatenate(([0], np.cumsum(wants.sum(axis=1), dtype=np.int64)))
    return Instance.from_arrays(indptr, np.nonzero(wants)[1].astype(np.int32), n_topics=topics)


def draw_instance(
    family: str,
    nodes: int,
    topics: int,
    low: int,
    high: int,
    alpha: float | None,
    draw: str,
    seed: int,
    size_law: str = "uniform",
) -> Instance:
    """Return the workload that `generate` would write with these arguments."""
    from meshwright.workload.generate import TopicModel

    model = TopicModel(
        family=family,
        nodes=nodes,
        topics=topics,
        subscriptions=(low, high),
        alpha=alpha,
        draw=draw,
        size_law=size_law,
        seed=seed,
    )
    n_drawn, wanted = model.drawer()(0, nodes)
    indptr = np.concatenate(([0], np.cumsum(n_drawn, dtype=np.int64)))
    return Instance.from_arrays(indptr, wanted, n_topics=topics)
