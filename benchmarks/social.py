"""Generated social graphs next to real ones: degrees, clustering and incidences.

The curves are written to a file that `docs/figures/make_figures.py` draws; the table is printed.
The graphs are generated in this process, by the code that runs on Spark.
"""

import argparse
import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks._instances import load, results
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.runtime.arrays import Floats, Longs

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "social.csv"
POINTS = 60  # of a curve
ROWS_AT_ONCE = 2_000

Row = tuple[str, str, str, str, str]  # graph, source, curve, x, y


def run(arguments: list[str]) -> None:
    """Measure the real graphs and the graphs generated to resemble them."""
    parser = argparse.ArgumentParser(prog="scripts/bench social", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--out", type=Path, default=FIGURE, help="the file of the curves")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for name, parameters in fitted().items():
        rows += measure(name, "real", matrix(load(name, options.data)))
        rows += measure(name, "generated", generated(**parameters))
    write(options.out, rows)


def smoke() -> None:
    """Measure a generated graph of 300 users."""
    graph = generated(nodes=300, mean_degree=10)
    write(results() / "social.csv", measure("tiny", "generated", graph))


def write(path: Path, rows: list[Row]) -> None:
    """Write the curves."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("graph", "source", "curve", "x", "y"))
        writer.writerows(rows)


def fitted() -> dict[str, dict[str, float]]:
    """Return the parameters that generate a graph like each real one: counts, the rest by trial."""
    return {
        "cornell5": {
            "nodes": 18_660,
            "mean_degree": 84.756,
            "exponent": 50,
            "max_degree": 3_156,
            "mixing": 0.25,
            "density": 0.35,
            "largest_community": 500,
        },
        "ego-twitter": {
            "nodes": 81_306,
            "mean_degree": 21.747,
            "exponent": 3.1,
            "max_degree": 3_383,
            "mixing": 0.05,
            "density": 0.7,
            "largest_community": 150,
            "directed": True,
            "reciprocity": 0.48,
        },
    }


def matrix(instance: Instance) -> csr_matrix:
    """Return the matrix of the users and the users they subscribe to."""
    ones = np.ones(len(instance.topics), dtype=np.int32)
    shape = (instance.n_nodes, instance.n_topics)
    return csr_matrix((ones, instance.topics, instance.indptr), shape=shape)


def generated(**parameters: float) -> csr_matrix:
    """Return the matrix of a generated graph."""
    from meshwright.storage.digest import unpack
    from meshwright.workload.generate import piece_firsts, piece_of_work
    from meshwright.workload.social_law import SocialModel, law_of

    model = SocialModel(**parameters)  # type: ignore[arg-type]
    law = law_of(model)
    firsts = piece_firsts(law)
    keys = np.unique(np.concatenate([piece_of_work(law, firsts, i) for i in range(firsts[-1])]))
    nodes, topics = unpack(keys)
    real = nodes != topics
    ones = np.ones(int(real.sum()), dtype=np.int32)
    graph = csr_matrix((ones, (nodes[real], topics[real])), shape=(model.nodes, model.nodes))
    graph.sort_indices()
    return graph


def measure(name: str, source: str, graph: csr_matrix) -> list[Row]:
    """Print the facts of a graph and return its curves."""
    followees, followers = (np.asarray(graph.sum(axis=axis)).ravel() for axis in (1, 0))
    relations = graph.maximum(graph.T).tocsr()
    degrees = np.diff(relations.indptr).astype(np.int64)
    closed = closed_pairs(relations)
    pairs = degrees * (degrees - 1)
    clustering = np.divide(closed, pairs, out=np.zeros(len(degrees)), where=pairs > 0)
    followers = followers.astype(np.int64)
    shown = {
        "subscriptions": f"{graph.nnz:,}",
        "degree": f"{followees.mean():.2f}",
        "returned": f"{graph.multiply(graph.T).nnz / graph.nnz:.2f}",
        "followees": quantiles(followees),
        "followers": quantiles(followers),
        "clustering": f"{clustering.mean():.3f}",
        "transitivity": f"{closed.sum() / pairs.sum():.3f}",
        "assortativity": f"{assortativity(relations, degrees):.2f}",
        "unrelated": f"{(degrees == 0).mean():.1%}",
        "incidences": f"{int((followers * (followers - 1) // 2).sum()):,}",
        "most similar": f"shares {most_shared(graph):.0%} of a user's topics",
        "gm": links(graph),
    }
    print(f"{name} {source}")
    for fact, value in shown.items():
        print(f"  {fact:<14} {value}")
    curves = {"followees": ccdf(followees), "followers": ccdf(followers)}
    curves["clustering"] = by_degree(degrees, clustering)
    return [
        (name, source, curve, f"{x:.4g}", f"{y:.4g}")
        for curve, points in curves.items()
        for x, y in points
    ]


def assortativity(relations: csr_matrix, degrees: Longs) -> float:
    """Return the correlation of the degrees at both ends of a relation."""
    one, other = relations.nonzero()
    return float(np.corrcoef(degrees[one], degrees[other])[0, 1])


def most_shared(graph: csr_matrix) -> float:
    """Return the mean share of its topics that a user has in common with the most similar user."""
    subscribers = graph.T.tocsr()
    sizes = np.diff(graph.indptr)
    most = np.zeros(len(sizes), dtype=np.int64)
    for start in range(0, len(sizes), ROWS_AT_ONCE):
        shared = (graph[start : start + ROWS_AT_ONCE] @ subscribers).tocoo()
        users = shared.row + start
        np.maximum.at(most, users, np.where(shared.col == users, 0, shared.data))
    return float((most[sizes > 0] / sizes[sizes > 0]).mean())


def links(graph: csr_matrix) -> str:
    """Return the size of a complete overlay, as text."""
    instance = Instance.from_arrays(graph.indptr, graph.indices, graph.shape[1])
    overlay = design(instance, "gm", certify=False)
    return f"{overlay.n_edges:,} links, maximum degree {overlay.max_degree:,}"


def closed_pairs(relations: csr_matrix) -> Longs:
    """Return, for each user, the ordered pairs of its relations that are related to each other."""
    found = []
    for start in range(0, relations.shape[0], ROWS_AT_ONCE):
        rows = relations[start : start + ROWS_AT_ONCE]
        found.append(np.asarray((rows @ relations).multiply(rows).sum(axis=1)).ravel())
    return np.concatenate(found).astype(np.int64)


def quantiles(values: Longs) -> str:
    """Return the median, the 90th, 99th and 99.9th percentile, and the largest."""
    return " / ".join(f"{x:,.0f}" for x in np.quantile(values, (0.5, 0.9, 0.99, 0.999, 1)))


def ccdf(values: Longs) -> list[tuple[float, float]]:
    """Return the share of values of at least x, for x evenly spaced on a log axis."""
    ordered = np.sort(values)
    places = np.unique(np.geomspace(1, ordered[-1], POINTS).round())
    above = len(ordered) - np.searchsorted(ordered, places)
    return list(zip(places.tolist(), (above / len(ordered)).tolist(), strict=True))


def by_degree(degrees: Longs, clustering: Floats) -> list[tuple[float, float]]:
    """Return the mean clustering of users of similar degree, at least five users to a point."""
    edges = np.geomspace(2, degrees.max() + 1, 20)
    points = []
    for low, high in pairwise(edges.tolist()):
        users = (degrees >= low) & (degrees < high)
        if users.sum() >= 5:
            points.append((float(degrees[users].mean()), float(clustering[users].mean())))
    return points
