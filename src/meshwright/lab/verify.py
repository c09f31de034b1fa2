"""Prove with real messages that a running plan does what it says.

Every subscribing broker gets each message exactly once, no other broker sees it (but the relays a
plan names), and messages of a publisher on a topic arrive in their order. What crosses each link
is counted from the arrivals: on a tree, the broker that hands a message on is known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from meshwright.errors import DeployError
from meshwright.lab.exercise import PATIENCE, Message, Tally, draw_publishers, exercise
from meshwright.lab.plan import Plan, Topic
from meshwright.lab.processes import PATIENCE as LINK_PATIENCE
from meshwright.lab.running import Lab
from meshwright.lab.witness import Probe, witnesses

MOST_NAMED = 5  # examples of each kind of finding


@dataclass(frozen=True)
class Verification:
    """What was published, what arrived, and what is wrong."""

    n_brokers: int
    n_down: int
    n_links: int
    n_topics: int
    n_publishers: int  # (topic, publisher) pairs that published
    n_possible: int  # and how many there are
    n_messages: int
    n_deliveries: int  # arrivals at brokers that want the topic, the publisher's own left out
    n_crossings: int  # arrivals over links
    n_relayed: int  # of them at relays of the plan
    crossings: tuple[tuple[str, str, int], ...]  # (from, to, messages), most first
    n_missing: int
    n_extra: int
    n_unwanted: int
    n_out_of_order: int
    n_cut_off: int  # deliveries that brokers which are not up make impossible
    seconds: float
    findings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def verify(
    lab: Lab,
    *,
    n_messages: int = 3,
    publishers: int | None = None,
    seed: int = 0,
    patience: float = PATIENCE,
    tell: Callable[[float], None] = lambda _: None,
) -> Verification:
    """Publish `n_messages` on every topic from every publisher, or from a sample of them."""
    start = time.monotonic()
    plan, up = lab.plan, lab.up
    if not up:
        raise DeployError(
            f"none of the {len(plan.brokers)} brokers runs any more; their logs are in "
            f"'{lab.place}'. Start them again with `meshwright lab up`."
        )
    drawn = draw_publishers(plan.topics, up, publishers, seed)
    n_possible = sum(len(topic.publishers or topic.subscribers) for topic in plan.topics)
    messages, streams = messages_of(drawn, up, n_messages)
    with witnesses(lab.access, up, qos=plan.qos, topics=plan.everything) as clients:
        clients.wait_for(probes_of(plan, up), LINK_PATIENCE)
        tally = exercise(clients, messages, patience=patience, tell=tell)
    counts = _count(tally, streams)
    down = [node for node in plan.nodes if node not in set(up)]
    return Verification(
        n_brokers=len(up),
        n_down=len(down),
        n_links=len(plan.links),
        n_topics=len(plan.topics),
        n_publishers=len(drawn),
        n_possible=n_possible,
        n_messages=len(messages),
        n_deliveries=counts.n_deliveries,
        n_crossings=counts.crossings.total() + len(counts.unwanted),
        n_relayed=counts.n_relayed,
        crossings=tuple((u, v, n) for (u, v), n in counts.crossings.most_common()),
        n_missing=len(counts.missing),
        n_extra=counts.n_extra,
        n_unwanted=len(counts.unwanted),
        n_out_of_order=sum(tally.out_of_order.values()),
        n_cut_off=counts.n_cut_off,
        seconds=round(time.monotonic() - start, 2),
        findings=tuple(_findings(counts, tally, down)),
    )


def await_links(lab: Lab, patience: float = LINK_PATIENCE) -> None:
    """Wait until every link between brokers that are up carries messages both ways."""
    up, plan = lab.up, lab.plan
    with witnesses(lab.access, up, qos=plan.qos, topics=plan.everything) as clients:
        clients.wait_for(probes_of(plan, up), patience)


def probes_of(plan: Plan, up: Iterable[str]) -> list[Probe]:
    """Return a probe for each way over each link, with the first and last topic on it.

    A bridge subscribes to its topics one after the other, so these two are enough.
    """
    running = set(up)
    carried: dict[tuple[str, str], list[Topic]] = {}
    for topic in plan.topics:
        for u, v in topic.edges:
            carried.setdefault((min(u, v), max(u, v)), []).append(topic)
    found = []
    for (u, v), topics in carried.items():
        if u not in running or v not in running:
            continue
        for topic in {id(topic): topic for topic in (topics[0], topics[-1])}.values():
            for one, other in ((u, v), (v, u)):
                if other not in topic.leaves_out:
                    found.append(Probe(one, topic.example, frozenset({other}), topic.example))
    return found


def messages_of(
    drawn: Sequence[tuple[Topic, str]], up: Iterable[str], n_messages: int
) -> tuple[list[Message], list[tuple[Topic, dict[str, str]]]]:
    """Return the messages to publish and, for each, its topic and who hands it to whom."""
    running = frozenset(up)
    messages, streams = [], []
    for topic, publisher in drawn:
        ways = topic.arrivals(publisher, running)
        awaited = frozenset(ways)
        for i in range(n_messages):
            messages.append(Message(topic.example, publisher, i, awaited))
            streams.append((topic, ways))
    return messages, streams


@dataclass
class _Counts:
    """What became of all messages; the lists tell which ones, for the findings."""

    crossings: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)
    n_extra: int = 0
    n_deliveries: int = 0
    n_relayed: int = 0
    n_cut_off: int = 0


def _count(tally: Tally, streams: Sequence[tuple[Topic, dict[str, str]]]) -> _Counts:
    """Compare the copies of each message with whom its topic's tree hands it to."""
    found = _Counts()
    for message, copies, (topic, ways) in zip(tally.messages, tally.copies, streams, strict=True):
        wanted = set(topic.subscribers)
        name = f"{message.topic!r} number {message.sequence} of {message.publisher}"
        found.n_cut_off += len(wanted - set(ways) - {message.publisher})
        for node in (*ways, message.publisher):
            if not copies[node] and (node in wanted or node == message.publisher):
                found.missing.append(f"{name} at {node}")
        for node, count in copies.items():
            if count > 1:
                found.n_extra += count - 1
                found.extra.append(f"{name} {count} times at {node}")
            if node == message.publisher:
                continue
            if node in ways:
                found.crossings[ways[node], node] += count
            if node in wanted:
                found.n_deliveries += 1
            elif node in ways:
                found.n_relayed += count
            else:
                found.unwanted.append(f"{name} at {node}")
    return found


def _findings(counts: _Counts, tally: Tally, down: Sequence[str]) -> list[str]:
    """Return what is wrong, in words."""
    late = [f"{topic!r} of {u} at {v}" for v, u, topic in tally.out_of_order]
    storm = ["messages run in circles: a storm; the brokers still send copies"]
    found = [
        *(storm if tally.storm else []),
        *_finding(len(counts.missing), "messages did not arrive", counts.missing),
        *_finding(counts.n_extra, "copies too many arrived", counts.extra),
        *_finding(len(counts.unwanted), "messages came where nobody wants them", counts.unwanted),
        *_finding(sum(tally.out_of_order.values()), "messages came after later ones", late),
        *_finding(tally.renamed, "messages arrived under another topic", []),
    ]
    if not down:
        return found + _finding(counts.n_cut_off, "deliveries have no way in the plan", [])
    verb = "broker is" if len(down) == 1 else "brokers are"
    cut_off = f"{verb} not up, which {counts.n_cut_off:,} deliveries need"
    return found + _finding(len(down), cut_off, down)


def _finding(count: int, what: str, examples: Sequence[str]) -> list[str]:
    """Return a finding with some examples, or nothing when there is none."""
    if not count:
        return []
    named = "; ".join(examples[:MOST_NAMED])
    more = "; ..." if len(examples) > MOST_NAMED else ""
    return [f"{count:,} {what}: {named}{more}" if named else f"{count:,} {what}"]
