"""Datasets to report on, made without Spark; names as hostile as users may choose them."""

from pathlib import Path

import numpy as np

from meshwright.content.dataset import write_assignment
from meshwright.content.methods.registry import assign
from meshwright.content.problem.dataset import write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.deploy import Broker, plan, write_conf
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.overlay.frontier import write_frontier
from meshwright.smallworld.routing.simulate import simulate
from meshwright.smallworld.routing.spark_simulation import busiest, ratios
from meshwright.storage import staging, write_table
from tests.datasets import write_instance

HOSTILE = "<script>alert(1)</script>"
HOSTILE_TOPIC = '"><img src=x onerror=alert(2)>&amp;{{7*7}}'
SITES = ("lyon", "porto", "turin", "berlin")


def company() -> Instance:
    """Four sites of eight brokers, each with topics of its own, some shared by all."""
    pairs = [(HOSTILE, HOSTILE_TOPIC)]
    for s, site in enumerate(SITES):
        for b in range(8):
            node = f"{site}-{chr(97 + b)}"
            pairs += [(node, f"{site}/{chr(97 + (b + k) % 8)}") for k in range(3)]
            pairs += [(node, "all/time")] if b % 2 == 0 else []
        hub = f"{site}-a"
        pairs += [(HOSTILE, f"{site}/a"), (hub, HOSTILE_TOPIC), (f"{SITES[s - 1]}-b", f"{site}/b")]
    return Instance.from_pairs(pairs)


def write_designs(place: Path, instance: Instance, **methods: dict) -> Path:
    """Write the workload and an overlay per keyword: its name, and the arguments of `design`."""
    workload = write_instance(instance, place / "workload")
    for name, arguments in methods.items():
        write_overlay(design(instance, **arguments), place / name, workload)
    return place


def write_points(place: Path, instance: Instance, *caps: int) -> Path:
    """Write a frontier `frontier` with these caps, and its workload."""
    workload = write_instance(instance, place / "workload")
    found = {cap: design(instance, "refined", rounds=20, max_degree=cap) for cap in (*caps, None)}
    write_frontier(found, place / "frontier", workload)
    return place / "frontier"


def deployment(out: Path) -> Path:
    """Write the configuration of a design of `company`, in which half of the brokers publish."""
    wanted = company()
    names, topics = wanted.node_names, wanted.topic_names
    pairs = zip(wanted.nodes.tolist(), wanted.topics.tolist(), strict=True)
    published = [
        (names[v], topics[t], 0.5 * (1 + v % 7), 100 + t) for v, t in pairs if (v + t) % 2 == 0
    ]
    overlay = design(wanted.with_publications(published), "gm")
    inventory = [Broker(node, "127.0.0.1", 20_000 + i) for i, node in enumerate(names)]
    write_conf(plan(overlay, inventory), out)
    return out


def write_run(overlay: Path, out: Path, routing: str, against: str | None = None) -> Path:
    """Simulate in memory and write what `meshwright simulate` would."""
    here = load_overlay(overlay)
    run = simulate(here, routing, publications=300)
    with staging(out, "run") as stage:
        write_table(stage.table("publications"), run.publications)
        write_table(stage.table("load"), run.load)
        facts = {
            "overlay": str(overlay),
            "overlay_digest": here.digest,
            "workload_digest": here.instance.digest,
            "method": here.method,
            "n_edges": here.n_edges,
            "max_degree": here.max_degree,
            "routing": routing,
            "parameters": dict(run.parameters),
            "seed": run.seed,
            "totals": dict(run.totals),
            "busiest": busiest(here, run.load),
            "digest": run.digest,
            "seconds": 0.25,
        }
        if against is not None:
            totals = simulate(here, against, publications=300).totals
            facts["against"] = {
                "routing": against,
                "totals": dict(totals),
                "ratios": ratios(run.totals, totals),
            }
        stage.publish(facts)
    return out


def write_assignments(place: Path, *methods: str, subscribers: int = 300) -> list[Path]:
    """Write a small problem of the first workload set, and an assignment per method."""
    problem = draw_problem(
        content_arguments(subscribers=subscribers, brokers=5, beta=1.1, beta_max=1.2)
    )
    write_problem(place / "problem", problem)
    for method in methods:
        write_assignment(assign(problem, method, seed=1), place / method, place / "problem")
    return [place / method for method in methods]


def crowd(n_nodes: int, n_topics: int, per_node: int, seed: int = 1) -> Instance:
    """Many nodes, each wanting some topics, popular ones more often."""
    draw = np.random.default_rng(seed)
    weight = 1 / np.arange(1, n_topics + 1)
    keys = draw.random((n_nodes, n_topics)) ** (1 / weight)
    rows = np.sort(np.argpartition(-keys, per_node, axis=1)[:, :per_node], axis=1)
    pointers = np.arange(0, n_nodes * per_node + 1, per_node)
    return Instance.from_arrays(pointers, rows.ravel(), n_topics)
