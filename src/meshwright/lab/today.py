"""What people run today on Mosquitto, as configurations to compare a plan with.

A hub is a star of bridges. With `#` both ways every broker gets everything; by topic, each bridge
takes in what its broker wants and sends out what its broker publishes.

A full mesh of plain bridges loops: a broker cannot tell what came over a bridge from what its own
clients publish. The usual way out keeps the two apart by name: clients publish below a prefix,
bridges forward what is below it and take the prefix off, so that nothing is forwarded twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from meshwright.deployment.names import written
from meshwright.lab.plan import CONFIGURATION, Link, Plan
from meshwright.lab.witness import Probe

PREFIX = "pub/"
PROBE_TOPIC = "meshwright-lab-probe"


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to link all brokers, and how clients use it."""

    name: str
    mesh: bool  # all pairs; otherwise a star
    by_topic: bool

    @property
    def prefix(self) -> str:
        """Return what stands before the topics that clients publish on."""
        return PREFIX if self.mesh else ""

    def links(self, plan: Plan) -> list[Link]:
        """Return the bridges."""
        if self.mesh:
            nodes = plan.nodes
            return [(nodes[i], nodes[j]) for i in range(len(nodes)) for j in range(i)]
        centre = hub(plan)
        return [(node, centre) for node in plan.nodes if node != centre]

    def lines(self, plan: Plan, u: str, v: str) -> list[str]:
        """Return the topic lines of the bridge that `u` has to `v`."""
        if self.mesh:
            return self._mesh_lines(plan, u, v)
        if not self.by_topic:
            return [f"topic {topics} both {plan.qos}" for topics in plan.everything]
        takes, gives = wanted_by(plan, u), published_by(plan, u)
        return [
            f"topic {line} {'both' if t in gives else 'in'} {plan.qos}" for t, line in takes.items()
        ] + [f"topic {line} out {plan.qos}" for t, line in gives.items() if t not in takes]

    def _mesh_lines(self, plan: Plan, u: str, v: str) -> list[str]:
        gives = wanted_by(plan, v).values() if self.by_topic else ["#"]
        takes = wanted_by(plan, u).values() if self.by_topic else ["#"]
        return [f'topic {line} out {plan.qos} {PREFIX} ""' for line in gives] + [
            f'topic {line} in {plan.qos} "" {PREFIX}' for line in takes
        ]

    def probes(self, plan: Plan) -> list[Probe]:
        """Return probes that get through when every bridge is there, both ways."""
        reached: dict[str, set[str]] = {node: set() for node in plan.nodes}
        for u, v in self.links(plan):
            reached[u].add(v)
            reached[v].add(u)
        return [
            Probe(node, self.prefix + PROBE_TOPIC, frozenset(near), PROBE_TOPIC)
            for node, near in reached.items()
            if near
        ]


LAYOUTS = (
    Layout("full mesh", mesh=True, by_topic=False),
    Layout("full mesh by topic", mesh=True, by_topic=True),
    Layout("hub", mesh=False, by_topic=False),
    Layout("hub by topic", mesh=False, by_topic=True),
)


def hub(plan: Plan) -> str:
    """Return the broker with most subscriptions, the first of them, as the method `star` does."""
    count = dict.fromkeys(plan.nodes, 0)
    for topic in plan.topics:
        for node in topic.subscribers:
            count[node] += 1
    return max(count, key=lambda node: count[node])


def wanted_by(plan: Plan, node: str) -> dict[str, str]:
    """Return the topics a broker wants, each with its filter in a bridge."""
    return {t.name: written(t.name) for t in plan.topics if node in t.subscribers}


def published_by(plan: Plan, node: str) -> dict[str, str]:
    """Return the topics on which a broker publishes, each with its filter in a bridge."""
    return {t.name: written(t.name) for t in plan.topics if node in (t.publishers or t.subscribers)}


def write_layout(layout: Layout, plan: Plan, conf: Path, settings: Iterable[str] = ()) -> Plan:
    """Write the configuration directory of a layout and return its plan; `settings` are global.

    It has no users and no TLS: what is compared are links and messages.
    """
    links = layout.links(plan)
    conf.mkdir(parents=True)
    directories = {broker.node: broker for broker in plan.brokers}
    for node in plan.nodes:
        broker = directories[node]
        lines = [*settings, f"listener {broker.port} {broker.host}", "allow_anonymous true"]
        for i, (u, v) in enumerate(links):
            if u == node:
                lines += _bridge(f"link-{i}", directories[v].host, directories[v].port)
                lines += layout.lines(plan, u, v)
                # A topic of the lab's own at the end: when it works, all before it do.
                lines += _probe_lines(layout, plan.qos)
        (conf / broker.directory).mkdir()
        text = "\n".join([*lines, ""])
        (conf / broker.directory / CONFIGURATION).write_text(text, encoding="utf-8")
    plain = tuple(replace(broker, tls=False) for broker in plan.brokers)
    return Plan(plain, tuple(links), plan.topics, plan.qos)


def _bridge(name: str, host: str, port: int) -> list[str]:
    return [
        f"connection {name}",
        f"address {host}:{port}",
        f"remote_clientid {name}",
        f"local_clientid local-{name}",
        "cleansession true",
        "notifications false",
        "try_private true",
    ]


def _probe_lines(layout: Layout, qos: int) -> list[str]:
    if not layout.by_topic:
        return []
    if not layout.mesh:
        return [f"topic {PROBE_TOPIC} both {qos}"]
    return [
        f'topic {PROBE_TOPIC} out {qos} {PREFIX} ""',
        f'topic {PROBE_TOPIC} in {qos} "" {PREFIX}',
    ]
