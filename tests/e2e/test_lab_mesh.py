"""`lab mesh` with few brokers: one command, and a table of what clients saw."""

import json
import os
import subprocess
import sys


def test_the_lab_of_the_mesh_keeps_its_promises():
    words = ["lab", "mesh", "--seconds", "3", "--rate", "50", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", *words],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["well"]
    assert found["n_brokers"] == 6
    assert found["n_delivered"] == found["n_expected"] > 0
    assert found["n_subscriptions"] > 0
    assert "clients subscribe ..." in done.stderr
