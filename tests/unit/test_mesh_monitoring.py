"""Alerts and the dashboard: each alert is explained, and the files are as their readers expect."""

import json
import re
from pathlib import Path

import pytest

from meshwright.errors import InputError
from meshwright.mesh.config import Member, MeshConfig
from meshwright.mesh.core.events import JOURNAL, MAILBOX, STATE
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.monitoring import ALERTS, write_monitoring
from meshwright.mesh.shell.agent import ADAPTER
from meshwright.mesh.shell.metrics import AGENT, PLANNER, WATCHED

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"
HOSTILE = ('say "hi" \\ {{ $labels }}', "<script>alert(1)</script>", "مرحبا: - [x]", "x" * 300)


@pytest.fixture
def written(tmp_path):
    brokers = tuple(
        Member(name, f"b{i}", f"h:{i}", f"h:1{i}", f"127.0.0.1:2{i}")
        for i, name in enumerate(HOSTILE)
    )
    config = MeshConfig(tmp_path, "plant", "h:7900", "h:7901", "gm", "tree", 0, brokers)
    return write_monitoring(config)


def explained() -> dict[str, str]:
    """Return the paragraphs of the runbook's section on alerts, by heading."""
    section = RUNBOOK.read_text(encoding="utf-8").partition("## What each alert means\n")[2]
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    found = re.split(r"^### (.*)\n", section, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], map(str.strip, found[1::2]), strict=True))


def test_every_alert_is_in_the_runbook_and_the_other_way_round():
    assert sorted(explained()) == sorted(alert.name for alert in ALERTS)
    assert all(len(text) > 80 for text in explained().values())


def test_the_runbook_says_which_alerts_are_critical():
    critical = {name for name, text in explained().items() if text.startswith("*critical.*")}
    assert critical == {alert.name for alert in ALERTS if alert.severity == "critical"}


def test_a_disk_that_refuses_records_of_any_store_is_an_alert_and_explained():
    (alert,) = (alert for alert in ALERTS if alert.name == "MeshDiskFailing")
    for store in (STATE, JOURNAL, MAILBOX, ADAPTER):
        assert f"{store}_failed" in WATCHED[AGENT]
        assert re.search(rf"\b{store}_failed\b", alert.expression)
        assert f"`{store}_failed`" in explained()[alert.name]
    assert f"{STATE}_failed" in WATCHED[PLANNER]


def test_every_target_has_a_line_and_hostile_names_stay_inside_their_quotes(written):
    lines = (written / "prometheus.yml").read_text(encoding="utf-8").splitlines()
    targets = [line for line in lines if line.startswith("      - targets: ")]
    assert targets == [
        f'      - targets: ["{end}"]'
        for end in ("h:7901", *(f"127.0.0.1:2{i}" for i in range(len(HOSTILE))))
    ]
    labels = [line.strip() for line in lines if line.startswith("        labels: ")]
    for name, line in zip(HOSTILE, labels[1:], strict=True):
        found = re.fullmatch(r'labels: \{mesh: "plant", process: "agent", broker: (".*")\}', line)
        assert json.loads(found[1]) == name


@pytest.mark.parametrize(
    ("host", "planner", "agent"),
    [
        ("127.0.0.1", "127.0.0.1:7901", "127.0.0.1:11883"),
        ("0.0.0.0", "10.0.0.9:7901", "0.0.0.0:11883"),
    ],
)
def test_metrics_are_on_loopback_unless_the_mesh_is_to_be_watched_from_elsewhere(
    tmp_path, host, planner, agent
):
    inventory = tmp_path / "brokers.csv"
    inventory.write_text("node,host,port\na,10.0.0.1,1883\nb,10.0.0.2,1883\n", encoding="utf-8")
    request = InitRequest(inventory, tmp_path / "mesh", planner="10.0.0.9:7900", metrics_host=host)
    config = init(request)
    assert config.metrics == f"{host}:7901"
    scraped = (config.place / "monitoring" / "prometheus.yml").read_text(encoding="utf-8")
    assert f'- targets: ["{planner}"]' in scraped
    assert '- targets: ["10.0.0.1:11883"]' in scraped
    assert ("on loopback of their hosts only" in scraped) == (host == "127.0.0.1")
    assert f'metrics = "{agent}"' in (config.place / "a" / "agent.toml").read_text(encoding="utf-8")


def test_an_address_of_one_host_is_no_place_for_the_metrics_of_all(tmp_path):
    inventory = tmp_path / "brokers.csv"
    inventory.write_text("node,host,port\na,10.0.0.1,1883\nb,10.0.0.2,1883\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"--metrics-host is '10.0.0.9'; give 127.0.0.1"):
        init(InitRequest(inventory, tmp_path / "mesh", metrics_host="10.0.0.9"))


def test_the_dashboard_fits_its_grid_and_no_two_panels_overlap(written):
    board = json.loads((written / "dashboard.json").read_text(encoding="utf-8"))
    cells = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not own & cells
        cells |= own
        assert all('mesh=~"$mesh"' in target["expr"] for target in panel["targets"])
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
