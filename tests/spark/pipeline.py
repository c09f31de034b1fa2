"""Ingest, simulate, generate, sample and stats on a master given by its URL; prints the digests.

Run as a process of its own, since a process has but one Spark:
pipeline.py DIRECTORY all|ingest [MASTER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from meshwright.problem import generate as content
from meshwright.problem import ingest as content_ingest
from meshwright.problem.arguments import content_arguments
from meshwright.routing.on_spark import simulate_on_spark
from meshwright.spark.session import spark_session
from meshwright.values import Instance, Overlay
from meshwright.workload.generate import generate
from meshwright.workload.ingest import ingest
from meshwright.workload.sample import sample
from meshwright.workload.statistics import statistics

EDGES = "".join(f"ü{i * 37 % 401:03d} ü{i * i % 397:03d}\n" for i in range(1500)) + "only\n"


def run(place: Path, what: str = "all", master: str | None = None) -> dict[str, object]:
    """Return the digests and counts of the pipeline."""
    spark = spark_session(master)
    (place / "s.edges").write_text(EDGES)
    users = ingest(spark, [str(place / "s.edges")], place / "users", directed=False)
    linked = chain(place / "users")
    routed = simulate_on_spark(spark, linked, place / "run", routing="tree", publications=9000)
    found: dict[str, object] = {
        "ingest": users["digest"],
        "n_rejected": users["n_rejected"],
        "simulate": routed["digest"],
    }
    if what == "ingest":
        return found
    drawn = generate(
        spark, "zipf", place / "zipf", nodes=600, topics=50, subscriptions=(1, 9), alpha=0.5
    )
    made = content.generate(spark, place / "made", content_arguments(subscribers=600, brokers=5))
    (place / "s.csv").write_text("name,location_0,low_0,high_0\nann,1,0,1\nbob,2,3,3\n")
    (place / "b.csv").write_text("name,parent,location_0\nhq,,0\neast,hq,5\n")
    tables = str(place / "s.csv"), str(place / "b.csv")
    limits = content_arguments().limits
    own = content_ingest.ingest(spark, *tables, place / "own", max_delay=0.3, limits=limits)
    few = sample(spark, place / "users", place / "few", nodes=100, seeds=2)
    stats = statistics(spark, place / "few").as_dict()
    return {
        **found,
        "generate": drawn["digest"],
        "generate content": made["digest"],
        "ingest content": own["digest"],
        "sample": few["digest"],
        "stats": json.loads(json.dumps(stats)),
    }


def chain(workload: Path) -> Overlay:
    """Return an overlay of the users in which each is linked to the next."""
    instance = Instance.load(workload)
    edges = np.column_stack((np.arange(instance.n_nodes - 1), np.arange(1, instance.n_nodes)))
    return Overlay(instance, edges, np.zeros(len(edges), np.int32), "chain")


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
