"""Units for systemd: what `mesh init` writes, as systemd itself reads it."""

import shutil
import subprocess

import pytest

from meshwright.mesh.init import InitRequest, init

ROWS = ("edge-1,10.0.0.1,1883", "Halle 3 $HOME,10.0.0.2,1883")


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "brokers.csv"
    path.write_text("\n".join(["node,host,port", *ROWS]) + "\n")
    init(InitRequest(path, tmp_path / "my mesh"))
    return tmp_path / "my mesh"


def units(mesh):
    return sorted(mesh.glob("*/meshwright-*.service"))


def test_a_unit_names_its_directory_and_what_comes_before_it(mesh):
    text = (mesh / "edge-1" / "meshwright-agent.service").read_text()
    assert f'ExecStart=/usr/bin/env meshwright mesh agent "{mesh}/edge-1"' in text
    assert "After=network-online.target mosquitto.service" in text
    assert "Restart=on-failure" in text
    assert "StartLimitIntervalSec=0" in text
    text = (mesh / "planner" / "meshwright-planner.service").read_text()
    assert f'ExecStart=/usr/bin/env meshwright mesh planner "{mesh}"' in text


def test_characters_that_systemd_would_replace_are_escaped(mesh):
    text = (mesh / "Halle%203%20%24HOME" / "meshwright-agent.service").read_text()
    assert 'Halle%%203%%20%%24HOME"' in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong_with_the_units(mesh):
    found = units(mesh)
    assert len(found) == 3
    for unit in found:
        line = ["systemd-analyze", "verify", "--man=no", str(unit)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        ours = [words for words in done.stderr.splitlines() if "meshwright" in words]
        assert (done.returncode, ours) == (0, []), done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_would_say_what_is_wrong(mesh):
    unit = units(mesh)[0]
    unit.write_text(unit.read_text().replace("%%", "%").replace("RestartSec=1", "RestartSec=x"))
    line = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert "meshwright-agent.service" in done.stderr
