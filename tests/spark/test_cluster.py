"""The pipeline on a real cluster, with a worker killed, and through Spark Connect: as locally.

Nothing may rely on the driver's memory or on what only the driver's process has loaded.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import meshwright
from tests.spark import pipeline
from tests.spark.standalone import PATIENCE, Cluster, kill

KEPT = ("PATH", "HOME", "JAVA_HOME", "TMPDIR", "LANG", "MESHWRIGHT_MEMORY")
KEPT += ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS")  # tests/__init__.py sets them
PIPELINE_SECONDS = 600.0  # at most for the pipeline, many times what it takes
ON_LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


@contextmanager
def begin(place: Path, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start the pipeline in a process of its own, away from the repository; end it with the block.

    Its JVM and Python workers end with it.
    """
    place.mkdir()
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    with subprocess.Popen(
        [sys.executable, pipeline.__file__, str(place), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        env={**environment, **variables},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def end(running: subprocess.Popen[str]) -> dict[str, object]:
    """Return the digests that the pipeline printed at its end."""
    output, errors = running.communicate(timeout=PIPELINE_SECONDS)
    assert running.returncode == 0, errors[-3000:]
    return json.loads(output.splitlines()[-1])


@pytest.fixture(scope="module")
def locally(spark, tmp_path_factory):
    return pipeline.run(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def kernels(locally, tmp_path_factory):
    """The compiled code that the local run has left in the tree, where all processes find it.

    Executors import the package from an archive, and would compile it again.
    """
    place = tmp_path_factory.mktemp("kernels")
    for code in Path(meshwright.__file__).parent.rglob("__pycache__/*.nbc"):
        shutil.copy(code, place)
    return {"NUMBA_CACHE_DIR": str(place)}


@pytest.fixture(scope="module")
def cluster(kernels, tmp_path_factory):
    running = Cluster(tmp_path_factory.mktemp("cluster"), n_workers=2, variables=kernels)
    yield running
    running.stop()


def test_a_cluster_of_two_workers_gives_the_same_digests(locally, cluster, kernels, tmp_path):
    variables = ON_LOOPBACK | kernels
    with begin(tmp_path / "cluster", "all", cluster.url, **variables) as running:
        assert end(running) == locally


def test_a_design_survives_the_death_of_a_worker(locally, cluster, kernels, tmp_path):
    variables = ON_LOOPBACK | kernels
    with begin(tmp_path / "killed", "design", cluster.url, **variables) as running:
        rounds = tmp_path / "killed" / "o.rounds"
        until = time.monotonic() + PATIENCE
        while not any(rounds.glob("*/run-0/round-*/found-*")):
            assert running.poll() is None, running.communicate()[1][-3000:]
            assert time.monotonic() < until, "the design has not finished its first part"
            time.sleep(0.005)
        kill(cluster.workers[0])
        assert not (tmp_path / "killed" / "o").exists()  # it was under way
        assert end(running)["design"] == locally["design"]


def test_a_spark_connect_server_gives_the_same_digests(locally, kernels, tmp_path):
    variables = kernels | {"SPARK_REMOTE": "local[2]"}
    with begin(tmp_path / "connect", "flow", **variables) as running:
        found = end(running)
    assert found == {name: locally[name] for name in found}
    assert "simulate" in found
