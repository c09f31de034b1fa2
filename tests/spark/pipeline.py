"""Run every stage on the master with the given URL and print the digests.

It runs in a process of its own, because a process has only one Spark:
pipeline.py DIRECTORY all|flow|design [MASTER]
"""

import json
import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from meshwright.cli.reproduce import require_papers
from meshwright.content.problem import generate as content
from meshwright.content.problem import ingest as content_ingest
from meshwright.content.problem.synthetic import content_arguments
from meshwright.overlay.check import check
from meshwright.overlay.dataset import load_overlay
from meshwright.overlay.greedy.spark_design import design_on_spark
from meshwright.runtime.progress import no_progress
from meshwright.runtime.session import spark_session
from meshwright.smallworld.routing.spark_simulation import simulate_on_spark
from meshwright.workload.generate import TopicModel, generate
from meshwright.workload.ingest import ingest
from meshwright.workload.sample import sample
from meshwright.workload.statistics import statistics

EDGES = "".join(f"ü{i * 37 % 401:03d} ü{i * i % 397:03d}\n" for i in range(1500)) + "only\n"
TASKS = {"task_positions": 1000, "local_positions": 100}  # so that a round has many tasks


def run(place: Path, what: str = "all", master: str | None = None) -> dict[str, object]:
    """Return the digests and counts of the pipeline."""
    # Executors read no variable for their JVM; they get the options that the driver's has.
    options = {"spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", "")}
    spark = spark_session(master, settings=options)
    (place / "s.edges").write_text(EDGES)
    users = ingest(spark, [str(place / "s.edges")], place / "users", directed=False)
    design_on_spark(spark, place / "users", place / "o", "gm", **TASKS)
    found: dict[str, object] = {
        "ingest": users["digest"],
        "n_rejected": users["n_rejected"],
        "design": load_overlay(place / "o").digest,
    }
    if what == "design":
        return found
    found["check"] = list(check(spark, place / "o").findings)
    routed = simulate_on_spark(spark, place / "o", place / "run", routing="tree", publications=9000)
    found["simulate"] = routed["digest"]
    found["reproduce"] = reproduce(spark, place / "papers")
    if what == "flow":
        return found
    model = TopicModel(family="zipf", nodes=600, topics=50, subscriptions=(1, 9), alpha=0.5)
    drawn = generate(spark, place / "zipf", model)
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


def reproduce(spark: SparkSession, place: Path) -> list[int]:
    """Return the edges of the cells of an experiment; `papers` is shipped with it."""
    require_papers()
    from papers.model import Cell, Experiment
    from papers.run import run_experiments
    from papers.workloads import family

    def cells(full: bool) -> list[Cell]:
        workload = family("unif", 30, 20, (2, 5), 1)
        given = [{"workload": workload, "method": method, "seed": 1} for method in ("gm", "minmax")]
        return [Cell("measure_overlay:overlay", one) for one in given]

    experiment = Experiment("ton11-fig2", "a trial", cells, lambda rows, title: "<svg/>", "", "")
    (outcome,) = run_experiments(
        spark, [experiment], place, data=None, full=False, progress=no_progress()
    )
    assert not outcome.problem, outcome.problem
    return pq.read_table(place / "ton11-fig2" / "cells.parquet")["edges"].to_pylist()


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
