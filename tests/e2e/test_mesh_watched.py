"""What a running mesh tells those who watch it: metrics, and `status --watch`."""

import base64
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.errors import DeployError
from meshwright.mesh.dashboard import PANELS
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.members import look_at
from meshwright.mesh.monitoring import ALERTS
from meshwright.mesh.status import mesh_status, post
from meshwright.mesh.verify import verify
from tests.patience import SECONDS

LEAVE_SCREEN = b"\x1b[?1049l"
NODES = ("edge-1", 'edge "2"', "Halle 3")
EXPRESSIONS = [alert.expression for alert in ALERTS] + [
    expression for panel in PANELS for expression, _ in panel.queries
]


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    place = tmp_path_factory.mktemp("watched") / "lab"
    with LocalMesh(place, NODES, per_process=3) as made:
        made.wait_until_linked()
        yield made


def samples(mesh) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return what all processes of a mesh export: labels and value, by metric."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    ends = [mesh.config.metrics, *(member.metrics for member in mesh.config.brokers)]
    for end in ends:
        with urllib.request.urlopen(f"http://{end}/metrics", timeout=SECONDS) as answer:
            text = answer.read().decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_every_metric_of_an_alert_or_of_the_dashboard_is_exported(mesh):
    verify(mesh.config.place)
    found = samples(mesh)
    named = {
        (name, labels)
        for expression in EXPRESSIONS
        for name, labels in re.findall(r"\b(meshwright_\w+)(?:\{([^}]*)\})?", expression)
    }
    assert len(named) > 30
    for name, labels in named:
        assert name in found, name
        for label, sign, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', labels):
            if label == "mesh":  # given by the one who scrapes
                continue
            present = {own[label] for own, _ in found[name]}
            wanted = set(value.split("|")) if sign == "=~" else {value}
            assert wanted <= present, f"{name}: {label} {wanted - present}"
    words = set(re.findall(r"\b[a-z]+_[a-z_]+\b", " ".join(EXPRESSIONS)))
    unknown = {word for word in words if word.startswith("mesh") and word not in found}
    assert unknown == set()


def test_the_metrics_say_what_happened(mesh):
    found = verify(mesh.config.place)
    told = {}

    def value(name, **labels):
        return [n for own, n in told[name] if all(own[key] == text for key, text in labels.items())]

    def is_calm():
        """Whether the links are those of the plan: it may have changed just now."""
        told.update(samples(mesh))
        up, planned = value("meshwright_links"), value("meshwright_plan_links")
        return sum(up) == 2 * sum(planned) and value("meshwright_links_missing") == [0, 0, 0]

    assert wait_until(is_calm, SECONDS)
    assert value("meshwright_plan_links")[0] in (2, 3)
    assert sum(value("meshwright_delivered_total")) >= found.n_delivered > 0
    assert {own["peer"] for own, _ in told["meshwright_link_received_total"]} <= set(NODES)
    came, by_link = told["meshwright_received_total"], told["meshwright_link_received_total"]
    assert sum(n for _, n in came) == sum(n for _, n in by_link) > 0
    assert value("meshwright_agents") == value("meshwright_agents_connected") == [3]
    assert value("meshwright_waiting_messages_limit", store="journal") == [100_000] * 3
    assert value("meshwright_events_total", kind="dropped_old") == [0, 0, 0]
    assert sorted(own["name"] for own, _ in told["meshwright_info"]) == sorted([*NODES, "planner"])


class Terminal:
    """`mesh status --watch` on a terminal of 80 columns and 24 lines."""

    def __init__(self, mesh) -> None:
        self._handle, self._slave = pty.openpty()
        self.resize(24, 80)
        self._before = termios.tcgetattr(self._slave)
        self.text = b""
        words = ["mesh", "status", str(mesh.config.place), "--watch"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "meshwright", *words],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm-256color"},
            start_new_session=True,
        )

    def resize(self, lines: int, columns: int) -> None:
        """Set the size, as a terminal's window does."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)

    def shows(self, text: bytes) -> bool:
        """Wait until a text was printed; forget what was printed before it."""

        def came() -> bool:
            while select.select([self._handle], [], [], 0)[0]:
                self.text += os.read(self._handle, 65_536)
            return text in self.text

        if not wait_until(came, SECONDS):
            return False
        self.text = self.text.partition(text)[2]
        return True

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._handle, key)

    def end(self) -> int:
        """Wait for the end; the terminal must be as it was before."""
        code = self.process.wait(SECONDS)
        assert self.shows(LEAVE_SCREEN)
        assert termios.tcgetattr(self._slave) == self._before
        os.close(self._handle)
        os.close(self._slave)
        return code


@pytest.mark.parametrize("way", ["q", "SIGINT"])
def test_watching_fills_the_terminal_and_ends_cleanly(mesh, way):
    terminal = Terminal(mesh)
    try:
        assert terminal.shows(b"brokers 3/3")
        assert terminal.shows(b"delivered/s")
        assert terminal.shows(b"Halle 3")
        terminal.resize(14, 60)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        assert terminal.shows(b"broker")
        if way == "q":
            terminal.press(b"q")
        else:
            os.kill(terminal.process.pid, signal.SIGINT)
        assert terminal.end() == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_without_a_terminal_each_look_is_a_line(mesh, options):
    words = ["mesh", "status", str(mesh.config.place), "--watch", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "meshwright", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = [line for line, _ in zip(process.stdout, range(3), strict=False)]
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
    if options:
        assert all(json.loads(line)["planner_up"] for line in lines)
    else:
        looks = [line for line in lines if "brokers 3/3" in line]
        assert looks
        assert all(len(line) <= 81 for line in looks)


def test_agents_that_can_be_asked_on_their_own_hosts_only_are_shown_all_the_same(mesh, tmp_path):
    """As on another host, nobody answers where mesh.toml says that they do."""
    text = (mesh.config.place / "mesh.toml").read_text(encoding="utf-8")
    for member, port in zip(mesh.config.brokers, free_ports(len(NODES)), strict=True):
        text = text.replace(f'metrics = "{member.metrics}"', f'metrics = "127.0.0.1:{port}"')
    (tmp_path / "mesh.toml").write_text(text, encoding="utf-8")
    assert wait_until(lambda: mesh_status(tmp_path).n_told == len(NODES), SECONDS)
    found = mesh_status(tmp_path)
    assert (found.findings, found.n_agents_up, found.n_brokers_up) == ([], 3, 3)
    assert found.links == mesh.status().links
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", "mesh", "status", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert "3 of 3 up, 3 as they told the planner" in done.stdout
    assert look_at(tmp_path, NODES[0]).waiting == (0, 0)


def test_a_planner_that_listens_elsewhere_makes_a_token_and_asks_for_it(tmp_path):
    """At 0.0.0.0, which is more than loopback; asked here over loopback all the same."""
    local = LocalMesh(tmp_path / "lab", NODES)
    place, port = local.config.place, local.config.metrics.rpartition(":")[2]
    file = place / "mesh.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f'"127.0.0.1:{port}"', f'"0.0.0.0:{port}"'), encoding="utf-8")

    def code(path, password=None):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
        if password is not None:
            given = base64.b64encode(f"me:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {given}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    try:
        local.start_planner()
        assert wait_until(lambda: code("/status") == 200, SECONDS)
        token = (place / "planner" / "page-token").read_text().strip()
        assert [code(path) for path in ("/", "/live", "/picture")] == [401] * 3
        assert [code(path, "wrong") for path in ("/", "/live")] == [401] * 2
        assert [code(path, token) for path in ("/", "/live", "/picture")] == [200] * 3
        assert code("/metrics") == 200
        said, page = tmp_path / "lab" / "planner.log", f"http://127.0.0.1:{port}/"
        assert wait_until(lambda: f"the page of the mesh is at {page}" in said.read_text(), SECONDS)
        assert local.status().planner_up
        assert post(local.config, "/members") == {"brokers": 3}
        (place / "planner" / "page-token").unlink()
        with pytest.raises(DeployError, match=r"asks for its token\. Run this where it runs"):
            post(local.config, "/members")
        assert str(place / "planner" / "page-token") in said.read_text()
        assert token not in said.read_text()
    finally:
        local.__exit__()
