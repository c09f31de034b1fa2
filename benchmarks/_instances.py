"""The instances of the overlay benchmarks, made on first use and kept with the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from meshwright.values import Instance

RESULTS = Path(__file__).parent / "results"
FACEBOOK = "facebook100-cornell5/Cornell5.edges.txt.gz"
TWITTER = "ego-twitter/twitter_combined.rebuilt.txt.gz"
WHOLE = ("cornell5", "ego-twitter")
SAMPLES = {
    "fb1k": ("cornell5", 1_000),
    "fb10k": ("cornell5", 10_000),
    "tw10k": ("ego-twitter", 10_000),
    "tw20k": ("ego-twitter", 20_000),
    "tw40k": ("ego-twitter", 40_000),
    "tw80k": ("ego-twitter", 80_000),
}
UNIFORM = {"unif2k": 2_000, "unif10k": 10_000}
COMMUNITIES = {"comm100k": 100_000, "comm300k": 300_000, "comm1m": 1_000_000}
NAMES = (*SAMPLES, *WHOLE, "zipf10k", *UNIFORM, *COMMUNITIES)
SEED = 1


def load(place: Path) -> Instance:
    """Return a prepared instance."""
    if place.suffix == ".npz":
        with np.load(place) as arrays:
            return Instance.from_arrays(arrays["indptr"], arrays["topics"])
    return Instance.load(place)


def prepare(name: str, data: Path | None) -> Path:
    """Return where an instance is, made on first use."""
    if name not in NAMES:
        raise SystemExit(f"error: no instance {name}; there are: {', '.join(NAMES)}")
    place = RESULTS / "instances" / (f"{name}.npz" if name in COMMUNITIES else name)
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    if name in COMMUNITIES:
        indptr, topics = communities(COMMUNITIES[name])
        np.savez(place, indptr=indptr, topics=topics)
        return place
    from meshwright.spark.session import spark_session
    from meshwright.workload.generate import generate
    from meshwright.workload.ingest import ingest
    from meshwright.workload.sample import sample

    spark = spark_session()
    if name == "zipf10k":
        ten = (10, 10)
        generate(spark, "zipf", place, nodes=10_000, topics=100, subscriptions=ten, alpha=0.5)
    elif name in UNIFORM:
        many = (20, 600)
        generate(spark, "unif", place, nodes=UNIFORM[name], topics=1_000, subscriptions=many)
    elif name in SAMPLES:
        whole, nodes = SAMPLES[name]
        sample(spark, prepare(whole, data), place, nodes=nodes, seed=SEED)
    elif data is None:
        raise SystemExit(f"error: {name} is made from the real graphs; give --data DIR")
    else:
        source = data / (FACEBOOK if name == "cornell5" else TWITTER)
        ingest(spark, [str(source)], place, format="edges", directed=name != "cornell5")
    return place


def communities(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes with about 20 subscriptions each, as arrays.

    Half are drawn among the 500 topics of the node's community, half from as many topics as there
    are nodes by Zipf 0.8; a topic drawn twice counts once. The popular topics are spread over the
    communities.
    """
    rng = np.random.default_rng(SEED)
    nodes = np.repeat(np.arange(n_nodes, dtype=np.int64), 10)
    community = rng.permutation(n_nodes) // 500
    local = community[nodes] * 500 + rng.integers(0, 500, len(nodes))
    law = np.cumsum(np.arange(1, n_nodes + 1) ** -0.8)
    drawn = np.searchsorted(law, rng.random(len(nodes)) * law[-1])
    popular = rng.permutation(n_nodes)[drawn]
    pairs = np.unique(np.concatenate((nodes, nodes)) * n_nodes + np.concatenate((local, popular)))
    indptr = np.searchsorted(pairs, np.arange(n_nodes + 1) * n_nodes)
    return indptr.astype(np.int64), (pairs % n_nodes).astype(np.int32)
