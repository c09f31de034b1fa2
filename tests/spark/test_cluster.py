"""The pipeline on two executor processes, ingest and simulate through Spark Connect: as locally.

Nothing may rely on the driver's memory or on what only the driver's process has loaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark import pipeline

KEPT = ("PATH", "HOME", "JAVA_HOME", "TMPDIR", "LANG", "MESHWRIGHT_MEMORY")


def elsewhere(place: Path, *arguments: str, **variables: str) -> dict[str, object]:
    """Run the pipeline in a process of its own, away from the repository."""
    place.mkdir()
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    done = subprocess.run(
        [sys.executable, pipeline.__file__, str(place), *arguments],
        capture_output=True,
        text=True,
        cwd=place,
        env={**environment, **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def locally(spark, tmp_path_factory):
    return pipeline.run(tmp_path_factory.mktemp("local"))


def test_a_cluster_of_two_processes_gives_the_same_digests(locally, tmp_path):
    assert elsewhere(tmp_path / "cluster", "all", "local-cluster[2,1,1024]") == locally


def test_a_spark_connect_server_gives_the_same_digests(locally, tmp_path):
    found = elsewhere(tmp_path / "connect", "ingest", SPARK_REMOTE="local[2]")
    assert found == {name: locally[name] for name in ("ingest", "n_rejected", "simulate")}
