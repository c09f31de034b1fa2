"""The same publications over a plan and over what people run today, on real brokers.

Each way to link the brokers is started, measured and stopped in turn. First clients that subscribe
to everything count what crosses links; then clients that subscribe to what their broker wants
take the time from publishing to arrival, one publication after the other, so that no message waits
for another one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from meshwright.errors import CheckError
from meshwright.lab.exercise import Message, Tally, draw_publishers, exercise
from meshwright.lab.plan import CONFIGURATION, Plan, Topic, read_plan
from meshwright.lab.running import Lab, up
from meshwright.lab.today import LAYOUTS, Layout, write_layout
from meshwright.lab.verify import probes_of
from meshwright.lab.witness import Probe, witnesses

MOST_TIMED = 300  # publications of which the time is taken
LINK_PATIENCE = 120.0  # seconds for all bridges of a full mesh
N_STEPS = len(LAYOUTS) + 1
SHARED = ("max_inflight_messages", "max_queued_messages", "set_tcp_nodelay")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one way to link the brokers cost."""

    name: str
    n_links: int
    max_degree: int
    n_messages: int
    n_deliveries: int  # at brokers that want the topic, the publisher's own left out
    n_crossings: int  # messages over links
    n_unwanted: int  # of them into brokers that do not want the topic
    n_missing: int
    n_extra: int
    median_ms: float | None  # from publishing to arrival over at least one link
    percentile_99_ms: float | None

    @property
    def crossings_per_delivery(self) -> float | None:
        """Return messages over links per delivery."""
        return self.n_crossings / self.n_deliveries if self.n_deliveries else None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"crossings_per_delivery": self.crossings_per_delivery}


def compare(
    conf: Path,
    *,
    n_messages: int = 1,
    publishers: int | None = 1,
    seed: int = 0,
    names: Sequence[str] = (),
    step: Callable[[str], Any],
) -> list[Measured]:
    """Return what each layout and the plan cost, the plan last; `names` choose layouts."""
    plan = read_plan(conf)
    drawn = draw_publishers(plan.topics, plan.nodes, publishers, seed)
    found = []
    with tempfile.TemporaryDirectory(prefix="meshwright-lab-") as temporary:
        place = Path(temporary)
        for i, layout in enumerate(LAYOUTS):
            if names and layout.name not in names:
                continue
            with step(f"measuring {layout.name}"):
                own = place / f"conf-{i}"
                linked = write_layout(layout, plan, own, shared_settings(conf, plan))
                lab = up(own, place=place / f"lab-{i}", any_ports=True, plan=linked)
                found.append(
                    _measure(lab, layout.name, drawn, n_messages, layout.probes(linked), layout)
                )
        with step("measuring the plan"):
            lab = up(conf, place=place / "lab-plan", any_ports=True, plan=plan)
            probes = probes_of(plan, plan.nodes)
            found.append(_measure(lab, "plan", drawn, n_messages, probes, None))
    return found


def shared_settings(conf: Path, plan: Plan) -> list[str]:
    """Return the settings of a plan's brokers that the others must share to be compared."""
    text = (conf / plan.brokers[0].directory / CONFIGURATION).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.split(" ")[0] in SHARED]


def _measure(
    lab: Lab,
    name: str,
    drawn: Sequence[tuple[Topic, str]],
    n_messages: int,
    probes: Sequence[Probe],
    layout: Layout | None,
) -> Measured:
    """Publish over a running lab, count and time, and stop it."""
    plan = lab.plan
    prefix = layout.prefix if layout else ""
    messages = [
        Message(topic.example, publisher, i, frozenset(topic.subscribers) - {publisher})
        for topic, publisher in drawn
        for i in range(n_messages)
    ]
    every = -(-len(drawn) // MOST_TIMED) * n_messages
    try:
        with witnesses(lab.access, plan.nodes, qos=plan.qos, topics=plan.everything) as clients:
            clients.wait_for(probes, LINK_PATIENCE)
            counted = exercise(clients, messages, prefix=prefix, window=16)
            clients.listen_to(_subscriptions(plan, prefix))
            timed = exercise(
                clients, messages[::every], prefix=prefix, window=1, own=False, quiet=0
            )
    finally:
        lab.stop()
    if counted.storm:
        raise CheckError(f"the {name} runs messages in circles, so nothing can be compared.")
    return _sum_up(name, plan, counted, timed)


def _subscriptions(plan: Plan, prefix: str) -> dict[str, list[str]]:
    """Return what the clients of each broker subscribe to; below a prefix, to both names."""
    found: dict[str, list[str]] = {node: [] for node in plan.nodes}
    for topic in plan.topics:
        for node in topic.subscribers:
            found[node] += [topic.name, prefix + topic.name] if prefix else [topic.name]
    return found


def _sum_up(name: str, plan: Plan, counted: Tally, timed: Tally) -> Measured:
    n_deliveries = n_crossings = n_unwanted = n_missing = n_extra = 0
    for message, copies in zip(counted.messages, counted.copies, strict=True):
        for node, count in copies.items():
            if node == message.publisher:
                n_extra += count - 1
                n_crossings += count - 1
                continue
            n_crossings += count
            if node in message.awaited:
                n_deliveries += 1
                n_extra += count - 1
            else:
                n_unwanted += count
        n_missing += sum(not copies[node] for node in message.awaited)
    degree = dict.fromkeys(plan.nodes, 0)
    for link in plan.links:
        for node in link:
            degree[node] += 1
    delays = sorted(timed.delays)
    return Measured(
        name=name,
        n_links=len(plan.links),
        max_degree=max(degree.values(), default=0),
        n_messages=len(counted.messages),
        n_deliveries=n_deliveries,
        n_crossings=n_crossings,
        n_unwanted=n_unwanted,
        n_missing=n_missing,
        n_extra=n_extra,
        median_ms=percentile(delays, 50),
        percentile_99_ms=percentile(delays, 99),
    )


def percentile(delays: Sequence[int], p: int) -> float | None:
    """Return a percentile of sorted nanoseconds in milliseconds: the smallest that `p`% reach.

    Examples
    --------
    >>> percentile([1_000_000, 2_000_000, 3_000_000], 50)
    2.0

    """
    if not delays:
        return None
    return delays[max(0, -(-len(delays) * p // 100) - 1)] / 1e6
