"""deploy from the command line, and real brokers that take the files it writes."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import free_ports
from meshwright.model.instance import Instance
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process
from tests.patience import SECONDS

SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
MOSQUITTO = shutil.which("mosquitto", path=SEARCH)
needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed")

NODES = [f"edge {i}" for i in range(4)]
PAIRS = [(node, f"plant/{t}") for i, node in enumerate(NODES) for t in (i, (i + 1) % 4, 7)]
PAIRS += [("edge 0", "#"), ("edge 1", "plant/+"), ("edge 2", "+/7"), ("edge 3", "größe/数")]
PAIRS += [("edge 1", "press/4/oil level"), ("edge 2", "press/4/oil level"), ("edge 0", 'q"/x')]
# Names that could be taken for something else, each wanted twice so that a bridge carries it.
STRANGE = [
    "\u2028listener",
    "\u00a0",
    "%u",
    "-x",
    "topic",
    "'a'/\"b\"",
    "\ufeff",
    "\U0001f600",
    "a//b",
    "/",
]
PAIRS += [(node, name) for node in NODES[1:3] for name in STRANGE]


def meshwright(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "meshwright", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def inventory(path: Path, ports, columns="node,host,port", more=lambda i: "") -> None:
    rows = [f"{node},127.0.0.1,{ports[i]}{more(i)}" for i, node in enumerate(NODES)]
    path.write_text("\n".join([columns, *rows, ""]))


@pytest.fixture
def overlay(tmp_path, monkeypatch, capsys):
    """An overlay of the expanded workload."""
    write_instance(Instance.from_pairs(PAIRS), tmp_path / "w")
    monkeypatch.chdir(tmp_path)
    for words in (["deploy", "expand", "w", "-o", "w2"], ["design", "w2", "-o", "o"]):
        code, _, err = run_in_process(monkeypatch, capsys, *words)
        assert code == 0, err
    return tmp_path / "o"


def test_deploy_and_check_and_diff(overlay, tmp_path, monkeypatch, capsys):
    inventory(tmp_path / "brokers.csv", range(21_000, 21_004))
    (tmp_path / "pubs.csv").write_text("node,topic\nedge 3,press/4/oil level\nedge 2,new/name\n")
    words = ["deploy", "mosquitto", "o", "--inventory", "brokers.csv", "--layout", "whole"]
    code, out, err = run_in_process(
        monkeypatch, capsys, *words, "-o", "conf", "--publishers", "pubs.csv"
    )
    assert code == 0, err
    assert "next: meshwright lab up conf" in out
    assert "no message can loop" in out
    assert "space cross links by a +; so do other names that match\n  'press/4/oil level' as" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert run_in_process(monkeypatch, capsys, "deploy", "check", "conf")[0] == 0
    code, out, _ = run_in_process(
        monkeypatch, capsys, *words, "-o", "conf2", "--tree", "balanced", "--qos", "2", "--json"
    )
    assert (code, json.loads(out)["tree"]) == (0, "balanced")
    code, out, err = run_in_process(monkeypatch, capsys, "deploy", "diff", "conf", "conf2")
    assert code == 0, err
    assert "no topic has a loop at any step" in out
    code, out, _ = run_in_process(monkeypatch, capsys, "deploy", "diff", "conf", "conf", "--json")
    assert json.loads(out)["steps"] == []
    path = tmp_path / "conf" / "edge%200" / "mosquitto.conf"
    path.write_text(path.read_text() + "connection x\naddress 127.0.0.1:1\nremote_clientid x\n")
    code, _, err = run_in_process(monkeypatch, capsys, "deploy", "check", "conf")
    assert code == 1
    assert "'conf' must not be used" in err


def test_a_wrong_inventory_ends_with_2_and_writes_nothing(overlay, tmp_path, monkeypatch, capsys):
    inventory(tmp_path / "brokers.csv", [1883, 1883, 99999, 21_003])
    words = ["deploy", "mosquitto", "o", "--inventory", "brokers.csv", "-o", "conf"]
    words += ["--layout", "whole"]
    code, out, err = run_in_process(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert "2 problems; nothing was written" in err
    assert "'edge 0', 'edge 1' share the endpoint 127.0.0.1:1883" in err
    assert "line 4: port '99999'" in err
    assert not (tmp_path / "conf").exists()


def test_passwords_stay_out_of_what_is_printed(overlay, tmp_path):
    columns = "node,host,port,username,password_env"
    ports = range(21_000, 21_004)
    inventory(tmp_path / "brokers.csv", ports, columns, lambda i: f",user-{i},MESH_{i}")
    words = ["deploy", "mosquitto", overlay, "--inventory", "brokers.csv", "-o", "conf"]
    secrets = {f"MESH_{i}": f"hidden-{i}" for i in range(4)}
    done = meshwright(*words, cwd=tmp_path, **secrets)
    assert done.returncode == 0, done.stderr
    assert "hidden" not in done.stdout + done.stderr
    assert "hidden" not in (tmp_path / "conf" / "plan.json").read_text()
    again = meshwright(*words, "--force", cwd=tmp_path, **{**secrets, "MESH_2": ""})
    assert again.returncode == 2
    assert "environment variable 'MESH_2' for 'edge 2' is empty or not set" in again.stderr
    assert "hidden" not in again.stderr


@contextmanager
def running(conf: Path):
    """Start every broker in its own directory; yield the logs; stop them all."""
    processes = []
    try:
        for path in sorted(conf.glob("*/mosquitto.conf")):
            if os.geteuid() == 0:  # as root it would become another user, who may not read this
                path.write_text("user root\n" + path.read_text())
            log = (path.parent / "log").open("w")
            processes.append(
                subprocess.Popen(
                    [str(MOSQUITTO), "-c", path.name, "-v"],
                    cwd=path.parent,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=SECONDS)


def wait_until(condition, what: str) -> None:
    for _ in range(600):  # a bound, not a measure: it ends as soon as it is so
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"{what} did not happen")


def logs(conf: Path) -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in conf.glob("*/log")}


def acknowledged(conf: Path) -> int:
    return sum(text.count("Received SUBACK from") for text in logs(conf).values())


def n_incoming(conf: Path) -> int:
    """Return the lines for which bridges subscribe at the other end: one packet each."""
    text = "".join(path.read_text() for path in conf.glob("*/mosquitto.conf"))
    return text.count(" both 1\n") + text.count(" in 1\n")


@needs_mosquitto
@pytest.mark.parametrize("secured", [False, True], ids=["open", "secured"])
def test_real_brokers_take_the_files_and_every_bridge_connects(
    overlay, tmp_path, monkeypatch, capsys, secured
):
    ports = free_ports(4)
    if secured:
        for i in range(4):
            monkeypatch.setenv(f"MESH_{i}", f"pass word #{i} \"'ß")
        columns, more = "node,host,port,username,password_env", lambda i: f",user {i},MESH_{i}"
        inventory(tmp_path / "brokers.csv", ports, columns, more)
    else:
        inventory(tmp_path / "brokers.csv", ports)
    (tmp_path / "pubs.csv").write_text("node,topic\nedge 3,press/4/oil level\n")
    words = ["deploy", "mosquitto", "o", "--inventory", "brokers.csv", "-o", "conf"]
    words += ["--layout", "whole"]
    code, _, err = run_in_process(monkeypatch, capsys, *words, "--publishers", "pubs.csv")
    assert code == 0, err
    conf = tmp_path / "conf"
    links = len(json.loads((conf / "plan.json").read_text())["links"])
    with running(conf) as processes:

        def connected() -> int:
            return sum(text.count("Received CONNACK") for text in logs(conf).values())

        wait_until(lambda: connected() >= links, "a connection of every bridge")
        wait_until(lambda: acknowledged(conf) >= n_incoming(conf), "every subscription")
        assert all(process.poll() is None for process in processes)
    for node, text in logs(conf).items():
        assert "Config loaded from mosquitto.conf." in text, node
        for word in ("Error found", "Unknown configuration", "not authorised", "Invalid"):
            assert word not in text, (node, text)
    assert {path.name for path in (conf / "edge%200").iterdir()} >= {"mosquitto.db"}


@needs_mosquitto
def test_a_space_cannot_be_written_in_a_topic_line_of_this_mosquitto(tmp_path):
    """The reason for the `+`: should a later Mosquitto take a space, this test will say so."""
    for topic in ("a b", '"a b"', "a\\ b", "'a b'"):
        lines = ["connection x", "address 127.0.0.1:1", f"topic {topic} both 1"]
        conf = tmp_path / "mosquitto.conf"
        conf.write_text("\n".join([f"listener {free_ports(1)[0]} 127.0.0.1", *lines, ""]))
        done = subprocess.run(
            [str(MOSQUITTO), "-c", str(conf)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 3
        assert "Invalid bridge topic direction" in done.stdout + done.stderr
