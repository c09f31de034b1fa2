"""A real Prometheus reads a real mesh with the files that `mesh init` wrote."""

import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.mesh.dashboard import PANELS
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.monitoring import ALERTS, SCRAPE_SECONDS
from meshwright.mesh.verify import verify
from tests.patience import SECONDS

NODES = ("edge-1", 'edge "2"', "Halle 3")
PROGRAM = shutil.which("prometheus")

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="prometheus is not installed")


class Prometheus:
    """A server that scrapes every second instead of every quarter of a minute."""

    def __init__(self, files: Path, place: Path) -> None:
        (self.port,) = free_ports(1)
        own = place / "monitoring"
        shutil.copytree(files, own)
        config = own / "prometheus.yml"
        text = config.read_text(encoding="utf-8")
        assert text.count(f"{SCRAPE_SECONDS}s") == 2
        config.write_text(text.replace(f"{SCRAPE_SECONDS}s", "1s"), encoding="utf-8")
        with (place / "prometheus.log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    str(PROGRAM),
                    f"--config.file={config}",
                    f"--storage.tsdb.path={place / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=log,
            )

    def ask(self, path: str, **parameters: str):
        """Return what its interface says; None while it does not answer."""
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.SERVICE_UNAVAILABLE:  # it has only begun
                return None
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        except OSError:
            return None

    def rules(self) -> dict[str, dict]:
        """Return the state of each alert."""
        groups = (self.ask("rules") or {"groups": []})["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    with LocalMesh(tmp_path_factory.mktemp("scraped") / "lab", NODES) as made:
        made.wait_until_linked()
        yield made


@pytest.fixture(scope="module")
def prometheus(mesh, tmp_path_factory):
    server = Prometheus(mesh.config.place / "monitoring", tmp_path_factory.mktemp("prometheus"))
    yield server
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(timeout=SECONDS)


def test_every_process_is_scraped_and_every_rule_can_be_evaluated(mesh, prometheus):
    def scraped():
        found = prometheus.ask("targets", state="active")
        return found and [target["health"] for target in found["activeTargets"]] == ["up"] * 4

    assert wait_until(scraped, SECONDS)
    assert wait_until(
        lambda: {rule["health"] for rule in prometheus.rules().values()} == {"ok"}, SECONDS
    )
    assert sorted(prometheus.rules()) == sorted(alert.name for alert in ALERTS)
    found = prometheus.ask("query", query="meshwright_broker_up")["result"]
    assert {series["metric"]["name"] for series in found} == set(NODES)


def test_every_panel_of_the_dashboard_shows_something(mesh, prometheus):
    verify(mesh.config.place)
    for panel in PANELS:
        for expression, _ in panel.queries:
            # Panels of trouble leave out what is 0, which is all of it here.
            query = expression.replace("$mesh", "lab").replace(" > 0", "")
            shown = partial(prometheus.ask, "query", query=query)
            assert wait_until(lambda shown=shown: (shown() or {}).get("result"), SECONDS), (
                panel.title
            )


def test_an_alert_begins_when_an_agent_is_killed_and_ends_when_it_is_back(mesh, prometheus):
    assert wait_until(lambda: prometheus.rules()["MeshAgentDown"]["state"] == "inactive", SECONDS)
    mesh.kill("agents-0")
    assert wait_until(lambda: prometheus.rules()["MeshAgentDown"]["state"] != "inactive", SECONDS)
    (alert,) = prometheus.rules()["MeshAgentDown"]["alerts"]
    assert alert["annotations"]["summary"] == "The agent of edge-1 does not answer."
    mesh.start_agents(0)
    assert wait_until(lambda: prometheus.rules()["MeshAgentDown"]["state"] == "inactive", SECONDS)
    mesh.wait_until_linked()
