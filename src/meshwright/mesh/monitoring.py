"""Files for Prometheus and Grafana: what to scrape, when to call somebody, and a dashboard.

Each alert has its paragraph in docs/runbook.md, which a test compares.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from meshwright.mesh.config import MeshConfig, is_wildcard, split_endpoint
from meshwright.mesh.dashboard import dashboard

PLACE = "monitoring"  # beside the brokers' directories
SCRAPE_FILE, ALERT_FILE, DASHBOARD_FILE = "prometheus.yml", "alerts.yml", "dashboard.json"
SCRAPE_SECONDS = 15
DISK = "state_failed|journal_failed|mailbox_failed|adapter_failed|log_not_written"
LOST = "dropped_journal_full|dropped_old|too_large|broker_refused"
FULL = 0.8  # of a limit: time is left to act


class Alert(NamedTuple):
    """One rule."""

    name: str
    expression: str
    lasting: str  # before somebody is called
    severity: str  # critical: messages do not arrive now; warning: they may not soon
    summary: str


def _filling(store: str) -> str:
    return " or ".join(
        f'meshwright_waiting_{unit}{{store="{store}"}} / meshwright_waiting_{unit}_limit > {FULL}'
        for unit in ("messages", "bytes")
    )


def _counted(kinds: str, minutes: int) -> str:
    return f'increase(meshwright_events_total{{kind=~"{kinds}"}}[{minutes}m])'


ALERTS = (
    Alert(
        "MeshPlannerDown",
        'up{job="meshwright", process="planner"} == 0',
        "1m",
        "critical",
        "The planner of {{ $labels.mesh }} does not answer: new subscriptions do not work.",
    ),
    Alert(
        "MeshAgentDown",
        'up{job="meshwright", process="agent"} == 0',
        "1m",
        "critical",
        "The agent of {{ $labels.broker }} does not answer.",
    ),
    Alert(
        "MeshRestarting",
        "changes(meshwright_start_time_seconds[30m]) > 3",
        "0m",
        "warning",
        "{{ $labels.name }} was started {{ $value }} times in half an hour.",
    ),
    Alert(
        "MeshBrokerDown",
        "meshwright_broker_up == 0",
        "1m",
        "critical",
        "The broker {{ $labels.name }} is out of its agent's reach.",
    ),
    Alert(
        "MeshInterestsUnknown",
        "meshwright_broker_followed == 0 and meshwright_broker_up == 1",
        "2m",
        "critical",
        "The agent of {{ $labels.name }} does not know what its clients want.",
    ),
    Alert(
        "MeshStaticBridges",
        'meshwright_events_total{kind="static_bridges"} > 0',
        "0m",
        "critical",
        "The broker {{ $labels.name }} has bridges of a static deployment: messages come twice.",
    ),
    Alert(
        "MeshPlannerCutOff",
        "meshwright_planner_connected == 0",
        "2m",
        "critical",
        "The agent of {{ $labels.name }} is not connected to the planner.",
    ),
    Alert(
        "MeshAgentAway",
        "meshwright_agents_away > 0",
        "2m",
        "critical",
        "{{ $value }} agents are reached neither by the planner nor by other agents.",
    ),
    Alert(
        "MeshLinkDown",
        "meshwright_links_missing > 0",
        "2m",
        "warning",
        "{{ $value }} links of {{ $labels.name }} are not up: messages take other ways.",
    ),
    Alert(
        "MeshVersionBehind",
        "meshwright_version < on (mesh) group_left () max by (mesh) (meshwright_version offset 1m)",
        "2m",
        "warning",
        "{{ $labels.name }} does not hold the newest version of the log.",
    ),
    Alert(
        "MeshTwoPlanners",
        "meshwright_planner_retired == 1",
        "0m",
        "critical",
        "A planner gave up because another one took over: two run for one mesh.",
    ),
    Alert(
        "MeshTwoAgents",
        f"{_counted('agents_twice', 5)} > 0",
        "0m",
        "critical",
        "{{ $labels.name }} met two agents that say that they are the same one.",
    ),
    Alert(
        "MeshDesignFailing",
        f"{_counted('failed_designs', 30)} > 0",
        "0m",
        "warning",
        "The planner could not design an overlay; the one before stays.",
    ),
    Alert(
        "MeshJournalFilling",
        _filling("journal"),
        "5m",
        "warning",
        "The journal of {{ $labels.name }} is {{ $value | humanizePercentage }} full.",
    ),
    Alert(
        "MeshMailboxFilling",
        _filling("mailbox"),
        "5m",
        "warning",
        "The mailbox of {{ $labels.name }} is {{ $value | humanizePercentage }} full.",
    ),
    Alert(
        "MeshMessagesDropped",
        f"{_counted(LOST, 5)} > 0",
        "0m",
        "critical",
        "{{ $labels.name }} gave up messages: {{ $labels.kind }}.",
    ),
    Alert(
        "MeshDiskFailing",
        f'{_counted(DISK, 5)} > 0 or meshwright_events_total{{kind="damaged_bytes"}} > 0',
        "0m",
        "critical",
        "{{ $labels.name }} cannot write its files, or found damage: {{ $labels.kind }}.",
    ),
    Alert(
        "MeshOrderGivenUp",
        f"{_counted('order_given_up', 10)} > 0",
        "0m",
        "warning",
        "{{ $labels.name }} published messages without one that should have come before them.",
    ),
    Alert(
        "MeshLogGap",
        f"{_counted('log_gaps', 30)} > 0",
        "0m",
        "warning",
        "The agent of {{ $labels.name }} missed lines of its broker's log.",
    ),
    Alert(
        "MeshSubscriptionsUnknown",
        "meshwright_subscriptions_unknown > 0",
        "2m",
        "warning",
        "The broker {{ $labels.name }} has {{ $value }} subscriptions that its agent missed.",
    ),
    Alert(
        "MeshStrangers",
        f"{_counted('links_refused', 10)} > 5",
        "0m",
        "warning",
        "{{ $labels.name }} turned away {{ $value }} connections in ten minutes.",
    ),
    Alert(
        "MeshSoftwareApart",
        f"{_counted('versions_refused', 10)} > 0",
        "0m",
        "critical",
        "{{ $labels.name }} met a process whose Meshwright is too old or too new.",
    ),
)


def write_monitoring(config: MeshConfig) -> Path:
    """Write the files of a mesh, over those that are there; return their directory."""
    place = config.place / PLACE
    place.mkdir(exist_ok=True)
    files = {
        SCRAPE_FILE: "\n".join(scrape_lines(config)),
        ALERT_FILE: "\n".join(alert_lines()),
        DASHBOARD_FILE: json.dumps(dashboard(), indent=1),
    }
    for name, text in files.items():
        (place / name).write_text(text + "\n", encoding="utf-8")
    return place


def scrape_lines(config: MeshConfig) -> Iterator[str]:
    """Yield a configuration of Prometheus that scrapes all processes of a mesh."""
    yield "# To add the mesh to a Prometheus that runs already, copy the job and the rule file."
    if not is_wildcard(split_endpoint(config.metrics)[0]):
        yield "# Planner and agents answer on loopback of their hosts only, as is the default."
        yield '# For a Prometheus elsewhere, set metrics = "0.0.0.0:PORT" in mesh.toml and in every'
        yield "# agent.toml and run `mesh monitoring`, or begin with `mesh init --metrics-host`."
    yield f"global: {{scrape_interval: {SCRAPE_SECONDS}s, evaluation_interval: {SCRAPE_SECONDS}s}}"
    yield f"rule_files: [{ALERT_FILE}]"
    yield "scrape_configs:"
    yield "  - job_name: meshwright"
    yield "    static_configs:"
    targets = [(config.watched_at, {"process": "planner"})]
    targets += [
        (member.metrics, {"process": "agent", "broker": member.name}) for member in config.brokers
    ]
    for target, labels in targets:
        yield f"      - targets: [{_quoted(target)}]"
        listed = ", ".join(
            f"{key}: {_quoted(text)}" for key, text in {"mesh": config.mesh, **labels}.items()
        )
        yield f"        labels: {{{listed}}}"


def alert_lines() -> Iterator[str]:
    """Yield the rules as Prometheus reads them."""
    yield "# What each alert means, and what to do: docs/runbook.md."
    yield "groups:"
    yield "  - name: meshwright"
    yield "    rules:"
    for alert in ALERTS:
        yield f"      - alert: {alert.name}"
        yield f"        expr: {_quoted(alert.expression)}"
        yield f"        for: {alert.lasting}"
        yield f"        labels: {{severity: {alert.severity}}}"
        yield "        annotations:"
        yield f"          summary: {_quoted(alert.summary)}"
        yield f"          runbook: {_quoted(f'docs/runbook.md#{alert.name.lower()}')}"


def _quoted(text: str) -> str:
    """Return text quoted for YAML, as a JSON string that keeps other characters than ASCII."""
    return json.dumps(text, ensure_ascii=False)
