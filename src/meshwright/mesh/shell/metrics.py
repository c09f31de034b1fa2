"""Metrics of an agent or planner in Prometheus text; `mesh/monitoring.py` uses them by name."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from meshwright.mesh.shell.runner import Runner

PLANNER, AGENT = "planner", "agent"
# Events with a rule: from 0 on, because Prometheus sees no increase in a series that just began.
WATCHED = {
    AGENT: (
        *("adapter_failed", "agents_twice", "broker_refused", "damaged_bytes"),
        *("dropped_journal_full", "dropped_old", "expired"),
        *("journal_failed", "links_lost", "links_refused", "log_gaps", "mailbox_failed"),
        *("order_given_up", "possibly_doubled", "relayed", "state_failed", "static_bridges"),
        *("too_large", "versions_refused"),
    ),
    PLANNER: (
        "agents_twice",
        "failed_designs",
        "links_lost",
        "links_refused",
        "log_not_written",
        "meets_left_out",
        "state_failed",
        "versions_refused",
    ),
}


class Metric(NamedTuple):
    """One metric: counters are told from gauges by their name, which ends in _total."""

    name: str
    help: str
    labels: tuple[str, ...]  # beside `name`
    rows: Iterable[tuple[tuple[str, ...], float]]  # values of the labels, and the metric's


def metrics(runner: Runner) -> bytes:
    """Return the metrics of a runner in Prometheus text."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(runner.status()))
    text: bytes = generate_latest(registry)
    return text


def metrics_of(status: dict[str, Any]) -> Iterator[Metric]:
    """Yield the metrics in what `mesh status` shows."""
    is_agent = status["kind"] == AGENT
    counters = {**dict.fromkeys(WATCHED[status["kind"]], 0), **status["counters"]}
    yield Metric("events_total", "What was counted, by kind.", ("kind",), _by(counters))
    yield Metric("info", "The installed version.", ("version",), [((status["software"],), 1)])
    yield _one("start_time_seconds", "When the process started.", status["started"])
    yield _one("version", "The newest version of the log that is held.", status["version"][1])
    stores = {store: facts["bytes"] for store, facts in status["stores"].items()}
    yield Metric("store_bytes", "Files on disk, by store.", ("store",), _by(stores))
    records = {store: facts["records"] for store, facts in status["stores"].items()}
    yield Metric("records", "Records on disk, by store.", ("store",), _by(records))
    yield from _of_agent(status) if is_agent else _of_planner(status)


def _of_agent(status: dict[str, Any]) -> Iterator[Metric]:
    yield _one("taken_total", "Messages taken from clients of this broker.", status["taken"])
    yield _one("delivered_total", "Messages published at this broker.", status["delivered"])
    yield _one("received_total", "Messages that came over links.", status["received"])
    came = _by(status["received_from"])
    yield Metric("link_received_total", "Messages that came over each link.", ("peer",), came)
    yield _one("broker_up", "1 if the broker is connected.", status["broker_up"])
    yield _one("broker_followed", "1 if the agent learns what clients want.", status["follows"])
    yield _one("planner_connected", "1 if the planner is connected.", -1 in status["links"])
    yield _one("links", "Links to other agents that are up.", sum(n >= 0 for n in status["links"]))
    yield _one("links_planned", "Links that the plan has here.", status["planned_links"])
    missing = len(status["missing_links"])
    yield _one("links_missing", "Links of the plan that are not up.", missing)
    yield _one("filters_wanted", "Filters that clients want.", status["wanted"])
    doubts = sum(status["in_doubt"].values())
    yield _one("filters_in_doubt", "Of them, those that may have ended.", doubts)
    yield _one("subscriptions_unknown", "Missed ones that the broker has.", status["unknown"])
    waiting = status["waiting"].items()
    for key, unit in (("messages", "messages"), ("bytes", "bytes")):
        rows = {store: facts[key] for store, facts in waiting}
        most = {store: facts[f"most_{key}"] for store, facts in waiting}
        words = f"Payload {unit}" if key == "bytes" else "Messages"
        yield Metric(f"waiting_{unit}", f"{words} on disk, by store.", ("store",), _by(rows))
        yield Metric(f"waiting_{unit}_limit", "The most, by store.", ("store",), _by(most))


def _of_planner(status: dict[str, Any]) -> Iterator[Metric]:
    yield _one("agents", "Agents of the mesh.", status["agents"])
    yield _one("agents_connected", "Agents that are connected.", len(status["links"]))
    yield _one("agents_away", "Agents out of reach.", len(status["away"]))
    yield _one("plan_links", "Links of the plan.", status["planned_links"])
    yield _one("plan_links_down", "Links of the plan that are down.", status["down_links"])
    yield _one("interests", "Pairs of a broker and a filter.", status["interests"])
    yield _one("planner_term", "The planner's term.", status["term"])
    yield _one("planner_retired", "1 if another planner took over.", status["retired"])
    yield _one("designs_total", "Designs made.", status["designs"])
    yield _one("design_seconds", "How long the last design took.", status["design_seconds"])


def _one(name: str, help: str, value: float) -> Metric:
    return Metric(name, help, (), [((), value)])


def _by(values: dict[str, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((key,), value) for key, value in values.items()]


class _Collector:
    """What prometheus_client asks for metrics."""

    def __init__(self, status: dict[str, Any]) -> None:
        self._status = status

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for metric in metrics_of(self._status):
            is_count = metric.name.endswith("_total")
            family = (CounterMetricFamily if is_count else GaugeMetricFamily)(
                f"meshwright_{metric.name}", metric.help, labels=["name", *metric.labels]
            )
            for labels, value in metric.rows:
                family.add_metric([self._status["name"], *labels], float(value))
            yield family
