"""The same publications over a plan and over the usual layouts, on real brokers.

A hub is a star of bridges. With `#` both ways every broker gets everything; by topic, each bridge
takes in what its broker wants and sends out what its broker publishes. A full mesh of plain bridges
loops: a broker cannot tell what came over a bridge from what its own clients publish. The usual way
out keeps the two apart by name: clients publish below a prefix, bridges forward what is below it
and remove the prefix, so that nothing is forwarded twice.

Each layout is started, measured and stopped in turn. First, clients that subscribe to everything
count what crosses links; then clients that subscribe to what their broker wants measure the time
from publishing to arrival, one publication after the other, so that no message waits for another.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.deploy.failures import find_dependence
from meshwright.deploy.graphs import neighbours
from meshwright.deploy.lab.clients import Probe, link_probes
from meshwright.deploy.lab.running import Lab, running_lab
from meshwright.deploy.lab.traffic import Message, Traffic, draw_publishers, send
from meshwright.deploy.mosquitto import STORE
from meshwright.deploy.plan import CONFIGURATION, Plan, read_plan
from meshwright.deploy.plan import LAYOUTS as FILES
from meshwright.deploy.route import Link
from meshwright.errors import CheckError
from meshwright.overlay.dependence import LEAST_STAR, Dependence

PREFIX = "pub/"
PROBE_TOPIC = "meshwright-lab-probe"
HUB_BY_TOPIC = "hub by topic"
MAX_TIMED = 300  # publications of which the time is taken
LINK_SECONDS = 120.0  # for all bridges of a full mesh to open
SHARED = ("max_inflight_messages", "max_queued_messages", "set_tcp_nodelay")
BRIDGE = """\
connection {name}
address {address}
remote_clientid {name}
local_clientid local-{name}
cleansession true
notifications false
try_private true
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to link all brokers."""

    name: str
    mesh: bool  # all pairs; otherwise a star
    by_topic: bool

    @property
    def prefix(self) -> str:
        """The prefix of the topics that clients publish on."""
        return PREFIX if self.mesh else ""

    def links(self, plan: Plan) -> tuple[Link, ...]:
        """Return the bridges."""
        if self.mesh:
            return tuple((v, u) for i, v in enumerate(plan.nodes) for u in plan.nodes[:i])
        centre = hub(plan)
        return tuple((node, centre) for node in plan.nodes if node != centre)

    def lines(self, plan: Plan, u: str, v: str) -> str:
        """Return the topic lines of the bridge that `u` has to `v`."""
        takes = gives = ["#"] if self.mesh else list(plan.match_all)
        if self.by_topic:
            wanted, others = (
                [r.pattern for r in plan.routes if node in r.subscribers] for node in (u, v)
            )
            published = [r.pattern for r in plan.routes if u in (r.publishers or r.subscribers)]
            takes = [*wanted, PROBE_TOPIC]
            gives = [*(others if self.mesh else published), PROBE_TOPIC]
        text = ""
        # The lab's own topic comes last: when it works, all before it do.
        for pattern in sorted({*takes, *gives}, key=lambda p: (p == PROBE_TOPIC, p)):
            into, out = pattern in takes, pattern in gives
            if self.mesh:
                text += f'topic {pattern} out {plan.qos} {PREFIX} ""\n' if out else ""
                text += f'topic {pattern} in {plan.qos} "" {PREFIX}\n' if into else ""
            else:
                direction = "both" if into and out else "out" if out else "in"
                text += f"topic {pattern} {direction} {plan.qos}\n"
        return text

    def probes(self, plan: Plan) -> list[Probe]:
        """Return probes that arrive when every bridge is open, both ways."""
        near, topic = neighbours(self.links(plan)), self.prefix + PROBE_TOPIC
        return [Probe(node, topic, frozenset(ends), PROBE_TOPIC) for node, ends in near.items()]


LAYOUTS = (
    Layout("full mesh", mesh=True, by_topic=False),
    Layout("full mesh by topic", mesh=True, by_topic=True),
    Layout("hub", mesh=False, by_topic=False),
    Layout(HUB_BY_TOPIC, mesh=False, by_topic=True),
)
N_STEPS = len(LAYOUTS) + 1


def hub(plan: Plan) -> str:
    """Return the broker with most subscriptions, the first of them, as the method `star` does."""
    count = Counter(node for route in plan.routes for node in route.subscribers)
    return max(plan.nodes, key=lambda node: count[node])


def write_layout(layout: Layout, plan: Plan, conf: Path, settings: Iterable[str] = ()) -> Plan:
    """Write the configuration of a layout, without users and TLS, and return its plan."""
    links = layout.links(plan)
    brokers = {broker.node: broker for broker in plan.brokers}
    for node, broker in brokers.items():
        head = (*settings, f"listener {broker.port} {broker.host}", "allow_anonymous true", "")
        text = "\n".join(head)
        for i, (u, v) in enumerate(links):
            if u == node:
                text += BRIDGE.format(name=f"link-{i}", address=brokers[v].endpoint)
                text += layout.lines(plan, u, v)
        directory = conf / plan.directories[node]
        directory.mkdir(parents=True)
        (directory / CONFIGURATION).write_text(text, encoding="utf-8")
    plain = tuple(replace(broker, tls=False) for broker in plan.brokers)
    routes = tuple(replace(route, edges=()) for route in plan.routes)
    return replace(plan, brokers=plain, links=links, routes=routes, layout="whole")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one layout cost."""

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
    dependence: Dependence | None = None  # of the plan: what depends on one broker

    @property
    def crossings_per_delivery(self) -> float | None:
        """Messages over links per delivery."""
        return self.n_crossings / self.n_deliveries if self.n_deliveries else None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"crossings_per_delivery": self.crossings_per_delivery}


def verdicts(found: Sequence[Measured]) -> list[str]:
    """Return remarks on how the plan, the last of these, compares with the usual layouts."""
    plan, said = found[-1], []
    if plan.n_links >= LEAST_STAR and plan.max_degree == plan.n_links:
        said.append("The plan is a star: every link ends at one broker, and all fail with it.")
    for hub in found[:-1]:
        costs = (hub.n_links, hub.n_crossings, hub.n_unwanted, hub.n_missing)
        own = (plan.n_links, plan.n_crossings, plan.n_unwanted, plan.n_missing)
        as_good = all(theirs <= ours for theirs, ours in zip(costs, own, strict=True))
        if hub.name == HUB_BY_TOPIC and as_good and plan.max_degree >= hub.max_degree:
            said.append("A hub by topic did as well: no more links, messages or unwanted ones.")
    if plan.dependence is not None:
        said += plan.dependence.sentences()
    return said


def compare(
    conf: Path,
    *,
    n_messages: int = 1,
    publishers: int | None = 1,
    seed: int = 0,
    step: Callable[[str], Any],
) -> list[Measured]:
    """Return what each layout and the plan cost, the plan last."""
    plan = read_plan(conf)
    drawn = draw_publishers(plan.routes, plan.nodes, publishers, seed)
    messages = [
        Message(route.example, publisher, i, frozenset(route.subscribers) - {publisher})
        for route, publisher in drawn
        for i in range(n_messages)
    ]
    timed = messages[:: max(-(-len(drawn) // MAX_TIMED), 1) * n_messages]
    file = conf / plan.directories[plan.nodes[0]] / FILES[plan.layout]
    text = STORE if plan.layout == "include" else ""
    text += file.read_text(encoding="utf-8")
    settings = [line for line in text.splitlines() if line.split(" ")[0] in SHARED]
    found = []
    with tempfile.TemporaryDirectory(prefix="meshwright-lab-") as temporary:
        place = Path(temporary)
        for i, layout in enumerate(LAYOUTS):
            with step(f"measuring {layout.name}"):
                linked = write_layout(layout, plan, place / f"conf-{i}", settings)
                probes = layout.probes(linked)
                places = place / f"conf-{i}", place / f"lab-{i}"
                with running_lab(places[0], place=places[1], any_ports=True, plan=linked) as lab:
                    found.append(_measure(lab, layout.name, messages, timed, probes, layout.prefix))
        with step("measuring the plan"):
            probes = link_probes(plan, plan.nodes)
            with running_lab(conf, place=place / "lab-plan", any_ports=True, plan=plan) as lab:
                measured = _measure(lab, "plan", messages, timed, probes, "")
        found.append(replace(measured, dependence=find_dependence(plan)))
    return found


def _measure(
    lab: Lab,
    name: str,
    messages: Sequence[Message],
    timed: Sequence[Message],
    probes: Sequence[Probe],
    prefix: str,
) -> Measured:
    """Publish over a running lab, count and time."""
    wanted: dict[str, list[str]] = {node: [] for node in lab.plan.nodes}
    for route in lab.plan.routes:
        for node in route.subscribers:
            wanted[node] += dict.fromkeys((route.name, prefix + route.name))
    with lab.clients() as clients:
        clients.wait_for(probes, LINK_SECONDS)
        counted = send(clients, messages, prefix=prefix, window=16)
        clients.listen_to(wanted)
        times = send(clients, timed, prefix=prefix, window=1, own=False, quiet=0)
    if counted.storm:
        raise CheckError(f"the {name} runs messages in circles, so nothing can be compared.")
    return _summarize(name, lab.plan, counted, times.delays)


def _summarize(name: str, plan: Plan, counted: Traffic, delays: Sequence[int]) -> Measured:
    n_deliveries = n_crossings = n_unwanted = n_missing = n_extra = 0
    for message, copies in zip(counted.messages, counted.copies, strict=True):
        for node, count in copies.items():
            own = node == message.publisher
            n_crossings += count - own
            if own or node in message.awaited:
                n_deliveries += not own
                n_extra += count - 1
            else:
                n_unwanted += count
        n_missing += sum(not copies[node] for node in message.awaited)
    degrees = Counter(node for link in plan.links for node in link)
    median, percentile_99 = (
        (float(np.percentile(delays, p, method="inverted_cdf")) / 1e6 if delays else None)
        for p in (50, 99)
    )
    return Measured(
        name=name,
        n_links=len(plan.links),
        max_degree=max(degrees.values(), default=0),
        n_messages=len(counted.messages),
        n_deliveries=n_deliveries,
        n_crossings=n_crossings,
        n_unwanted=n_unwanted,
        n_missing=n_missing,
        n_extra=n_extra,
        median_ms=median,
        percentile_99_ms=percentile_99,
    )
