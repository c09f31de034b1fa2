"""Two agents of one broker: a directory was copied, and both run."""

import re
import shutil
import subprocess
import sys

import pytest

from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.mesh.config import AGENT_FILE, PLANNER_PLACE
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.status import ask_planner
from meshwright.mesh.verify import verify
from tests.patience import SECONDS


@pytest.fixture
def mesh(tmp_path):
    with LocalMesh(tmp_path / "lab", ("edge-1", "edge-2", "edge-3")) as made:
        made.wait_until_linked()
        yield made


def copy_agent(mesh, place):
    """Copy the directory of edge-1, as for another host: with ports of its own."""
    shutil.copytree(mesh.config.place / "edge-1", place)
    file = place / AGENT_FILE
    text = file.read_text()
    for key, port in zip(("listen", "metrics"), free_ports(2), strict=True):
        text, n = re.subn(rf'(?m)^{key} = ".*"$', f'{key} = "127.0.0.1:{port}"', text)
        assert n == 1, f"{key} in {text}"
    file.write_text(text)


def test_a_copy_of_an_agent_is_refused_and_status_says_what_to_stop(mesh, tmp_path):
    place = tmp_path / "elsewhere" / "edge-1"  # the client id at the broker has this name
    copy_agent(mesh, place)
    words = [sys.executable, "-m", "meshwright", "mesh", "agent", str(place)]
    with (tmp_path / "copy.log").open("wb") as log:
        copy = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            says = "two agents say that they are edge-1, from 127.0.0.1 port"
            found = []

            def is_said():
                found[:] = [words for words in mesh.status().findings if says in words]
                return bool(found)

            assert wait_until(is_said, SECONDS), (tmp_path / "copy.log").read_text()
            assert "stop one of them" in found[0]
            member = mesh.config.brokers[0]
            assert copy.poll() is None
            planner = ask_planner(mesh.config)
            assert planner["name"] == PLANNER_PLACE
            assert member.node in planner["links"]
        finally:
            copy.terminate()
            copy.wait(SECONDS)
    assert wait_until(lambda: mesh.status().findings == [], SECONDS)
    assert verify(mesh.config.place).findings == []
