"""The instances of the benchmarks and the directory of results.

Instances are made on first use and kept with the results. Those named after Facebook and Twitter
are made from the real graphs, whose directory is given with `--data`; all others are drawn.
"""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from meshwright.model.instance import Instance

RESULTS_VARIABLE = "MESHWRIGHT_BENCH_RESULTS"  # where results go, if not to benchmarks/results
FACEBOOK = "facebook100-cornell5/Cornell5.edges.txt.gz"
TWITTER = "ego-twitter/twitter_combined.rebuilt.txt.gz"
GRAPHS = ("cornell5", "ego-twitter")
SAMPLES = {
    "fb200": ("cornell5", 200),
    "fb1k": ("cornell5", 1_000),
    "fb10k": ("cornell5", 10_000),
    "tw1k": ("ego-twitter", 1_000),
    "tw10k": ("ego-twitter", 10_000),
    "tw20k": ("ego-twitter", 20_000),
    "tw40k": ("ego-twitter", 40_000),
    "tw80k": ("ego-twitter", 80_000),
}
UNIFORM = {"unif1k": 1_000, "unif2k": 2_000, "unif10k": 10_000}
TINY = "tiny"  # the instance of --smoke
COMMUNITIES = {TINY: 500, "comm100k": 100_000, "comm300k": 300_000, "comm1m": 1_000_000}
SOCIAL = {"social100k": 100_000, "social1m": 1_000_000, "social3m": 3_000_000}
FRIENDS = 18.87  # of each user of a social graph, as in paper 1's Facebook
ZIPF = {"zipf200": (200, 50), "zipf1k": (1_000, 100), "zipf10k": (10_000, 100)}
NAMES = (*SAMPLES, *GRAPHS, *ZIPF, *UNIFORM, *COMMUNITIES, *SOCIAL)
SEED = 1


def results() -> Path:
    """Return the directory of results, which a fresh clone does not have, and make it."""
    directory = Path(os.environ.get(RESULTS_VARIABLE) or Path(__file__).parent / "results")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def instances() -> Path:
    """Return the directory of the instances, and make it."""
    directory = results() / "instances"
    directory.mkdir(exist_ok=True)
    return directory


def load(name: str, data: Path | None) -> Instance:
    """Return an instance by its name."""
    return load_file(prepare(name, data))


def load_file(path: Path) -> Instance:
    """Return a prepared instance."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return Instance.from_arrays(arrays["indptr"], arrays["topics"])
    return Instance.load(path)


def prepare(name: str, data: Path | None) -> Path:
    """Return the path of an instance, made on first use."""
    path = instances() / (f"{name}.npz" if name in COMMUNITIES else name)
    if path.exists():
        return path
    if name not in NAMES:
        raise SystemExit(f"error: unknown instance {name!r}; choose from: {', '.join(NAMES)}")
    if name in COMMUNITIES:
        indptr, topics = communities(COMMUNITIES[name])
        np.savez(path, indptr=indptr, topics=topics)
        return path
    if name in SOCIAL:
        return social(SOCIAL[name])
    from meshwright.runtime.session import spark_session
    from meshwright.workload.generate import TopicModel, generate
    from meshwright.workload.ingest import ingest
    from meshwright.workload.sample import sample

    if name in GRAPHS and data is None:
        raise SystemExit(f"error: {name} is made from a real graph; give its directory: --data DIR")
    if name in SAMPLES:
        graph, nodes = SAMPLES[name]
        sample(spark_session(), prepare(graph, data), path, nodes=nodes, seed=SEED)
    elif data is not None and name in GRAPHS:
        source = data / (FACEBOOK if name == "cornell5" else TWITTER)
        directed = name != "cornell5"
        ingest(spark_session(), [str(source)], path, format="edges", directed=directed)
    elif name in UNIFORM:
        count, sizes = UNIFORM[name], (20, 600)
        model = TopicModel(family="unif", nodes=count, topics=1_000, subscriptions=sizes)
        generate(spark_session(), path, model)
    else:
        count, n_topics = ZIPF[name]
        model = TopicModel(
            family="zipf", nodes=count, topics=n_topics, subscriptions=(10, 10), alpha=0.5
        )
        generate(spark_session(), path, model)
    return path


def social(n_users: int) -> Path:
    """Return the path of a generated social graph, made on first use."""
    names = {users: name for name, users in SOCIAL.items()}
    path = instances() / names.get(n_users, f"social{n_users}")
    if not path.exists():
        from meshwright.runtime.session import spark_session
        from meshwright.workload.generate import generate_social
        from meshwright.workload.social_law import SocialModel

        generate_social(spark_session(), path, SocialModel(nodes=n_users, mean_degree=FRIENDS))
    return path


def communities(n_nodes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the CSR arrays of nodes with about 20 subscriptions each.

    Half are drawn among the 500 topics of the node's community, half from as many topics as there
    are nodes by Zipf 0.8; a topic drawn twice counts once. The popular topics are spread over the
    communities.
    """
    rng = np.random.default_rng(SEED)
    nodes = np.repeat(np.arange(n_nodes, dtype=np.int64), 10)
    community = rng.permutation(n_nodes) // 500
    local = community[nodes] * 500 + rng.integers(0, 500, len(nodes))
    cumulative = np.cumsum(np.arange(1, n_nodes + 1) ** -0.8)
    drawn = np.searchsorted(cumulative, rng.random(len(nodes)) * cumulative[-1])
    popular = rng.permutation(n_nodes)[drawn]
    pairs = np.unique(np.concatenate((nodes, nodes)) * n_nodes + np.concatenate((local, popular)))
    indptr = np.searchsorted(pairs, np.arange(n_nodes + 1) * n_nodes)
    return indptr.astype(np.int64), (pairs % n_nodes).astype(np.int32)


def zipf_rows(
    n_nodes: int, n_topics: int, per_node: int, alpha: float = 0.5
) -> list[npt.NDArray[np.int64]]:
    """Return the topics of each node, `per_node` distinct ones drawn by Zipf's law."""
    rng = np.random.default_rng(SEED)
    popularity = np.arange(1, n_topics + 1) ** -alpha
    popularity /= popularity.sum()
    return [rng.choice(n_topics, per_node, replace=False, p=popularity) for _ in range(n_nodes)]
