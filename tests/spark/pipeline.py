"""Ingest, design, check, simulate and the rest on a master given by its URL; prints the digests.

Run as a process of its own, since a process has but one Spark:
pipeline.py DIRECTORY all|flow|design [MASTER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from meshwright.evaluation.check import check
from meshwright.overlay.dataset import load_overlay
from meshwright.overlay.levels.design import design_on_spark
from meshwright.problem import generate as content
from meshwright.problem import ingest as content_ingest
from meshwright.problem.arguments import content_arguments
from meshwright.routing.digest import overlay_digest
from meshwright.routing.on_spark import simulate_on_spark
from meshwright.spark.session import spark_session
from meshwright.workload.generate import generate
from meshwright.workload.ingest import ingest
from meshwright.workload.sample import sample
from meshwright.workload.statistics import statistics

EDGES = "".join(f"ü{i * 37 % 401:03d} ü{i * i % 397:03d}\n" for i in range(1500)) + "only\n"
TASKS = {"part": 1000, "little": 100}  # rounds of many tasks


def run(place: Path, what: str = "all", master: str | None = None) -> dict[str, object]:
    """Return the digests and counts of the pipeline."""
    spark = spark_session(master)
    (place / "s.edges").write_text(EDGES)
    users = ingest(spark, [str(place / "s.edges")], place / "users", directed=False)
    design_on_spark(spark, place / "users", place / "o", "gm", **TASKS)
    found: dict[str, object] = {
        "ingest": users["digest"],
        "n_rejected": users["n_rejected"],
        "design": overlay_digest(load_overlay(place / "o")),
    }
    if what == "design":
        return found
    found["check"] = list(check(spark, place / "o").findings)
    routed = simulate_on_spark(spark, place / "o", place / "run", routing="tree", publications=9000)
    found["simulate"] = routed["digest"]
    if what == "flow":
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


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
