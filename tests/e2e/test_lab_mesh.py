"""`lab mesh` with few brokers: one command, faults on request, and a table of what clients saw."""

import json
import os
import subprocess
import sys

import pytest

from meshwright.mesh.lab.faults import FAULTS
from tests.patience import SECONDS


def lab_mesh(*words):
    return subprocess.run(
        [sys.executable, "-m", "meshwright", "lab", "mesh", *words],
        capture_output=True,
        text=True,
        timeout=3 * SECONDS,  # nine faults, one after the other
        env=dict(os.environ),
    )


@pytest.mark.parametrize(
    ("faults", "more"),
    [(tuple(FAULTS), ()), (("agent",), ("--exactly-once",))],
)
def test_the_mesh_keeps_its_promises_through_every_fault(faults, more):
    words = [word for name in faults for word in ("--fault", name)]
    done = lab_mesh("--seconds", "3", "--rate", "50", "--json", *words, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["well"]
    assert found["n_brokers"] == 6
    assert found["n_delivered"] == found["n_expected"] > 0
    assert found["n_subscriptions"] > 0
    first, *_ = found["waits"]
    assert first["what"] == "kill -9 of an agent"
    assert len(first["brokers"]) == 1
    assert len(found["waits"]) == len(faults)
    if more:
        assert found["n_possibly_doubled"] == 0
    assert "clients subscribe ..." in done.stderr
    assert "kill -9 of an agent" in done.stderr


def test_a_fault_that_does_not_exist_is_refused_before_anything_starts():
    done = lab_mesh("--fault", "planer")
    assert done.returncode == 2
    assert "unknown fault 'planer'; did you mean 'planner'" in done.stderr
