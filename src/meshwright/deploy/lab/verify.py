"""Prove with real messages that a running plan does what it says.

Every subscribing broker gets each message exactly once, no other broker sees it (except the relays
that the plan names), and messages of a publisher on a topic arrive in order. What crosses each link
is counted from the arrivals: on a tree, the broker that passes a message on is known.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meshwright.deploy.lab.clients import link_probes
from meshwright.deploy.lab.processes import MAX_WAIT
from meshwright.deploy.lab.running import Lab
from meshwright.deploy.lab.traffic import PATIENCE, Message, Traffic, draw_publishers, send
from meshwright.deploy.route import Route
from meshwright.errors import DeployError
from meshwright.runtime.progress import OnProgress

MAX_EXAMPLES = 5  # of each kind of finding


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
    unpublished: tuple[str, ...]  # topics and filters that brokers want and none may publish
    seconds: float
    findings: tuple[str, ...]


def verify(
    lab: Lab,
    *,
    n_messages: int = 3,
    publishers: int | None = None,
    seed: int = 0,
    patience: float = PATIENCE,
    on_progress: OnProgress = None,
) -> Verification:
    """Publish `n_messages` on every topic from every publisher, or from a sample of them."""
    start = time.monotonic()
    plan, up = lab.plan, lab.up
    if not up:
        raise DeployError(
            f"none of the {len(plan.brokers)} brokers is running; their logs are in "
            f"'{lab.place}'. Start them again with `meshwright lab up`."
        )
    drawn = draw_publishers(plan.routes, up, publishers, seed)
    messages, ways = [], []
    for route, publisher in drawn:
        arrivals = route.arrivals(publisher, up)
        for i in range(n_messages):
            messages.append(Message(route.example, publisher, i, frozenset(arrivals)))
            ways.append((route, arrivals))
    with lab.clients() as clients:
        clients.wait_for(link_probes(plan, up), MAX_WAIT)
        traffic = send(clients, messages, patience=patience, on_progress=on_progress)
    counts = _count(traffic, ways)
    down = [node for node in plan.nodes if node not in up]
    return Verification(
        n_brokers=len(up),
        n_down=len(down),
        n_links=len(plan.links),
        n_topics=len(plan.routes),
        n_publishers=len(drawn),
        n_possible=sum(len(route.publishers) for route in plan.routes),
        n_messages=len(messages),
        n_deliveries=counts.n_deliveries,
        n_crossings=counts.crossings.total() + len(counts.unwanted),
        n_relayed=counts.n_relayed,
        crossings=tuple((u, v, n) for (u, v), n in counts.crossings.most_common()),
        n_missing=len(counts.missing),
        n_extra=counts.n_extra,
        n_unwanted=len(counts.unwanted),
        n_out_of_order=traffic.out_of_order.total(),
        n_cut_off=counts.n_cut_off,
        unpublished=tuple(r.name for r in plan.routes if r.subscribers and not r.publishers),
        seconds=round(time.monotonic() - start, 2),
        findings=tuple(_findings(counts, traffic, down)),
    )


@dataclass
class _Counts:
    """What became of all messages; the lists say which ones, for the findings."""

    crossings: Counter[tuple[str, str]]
    missing: list[str]
    extra: list[str]
    unwanted: list[str]
    n_extra: int = 0
    n_deliveries: int = 0
    n_relayed: int = 0
    n_cut_off: int = 0


def await_links(lab: Lab, seconds: float = MAX_WAIT) -> None:
    """Wait until every link between brokers that are up carries messages both ways."""
    with lab.clients() as clients:
        clients.wait_for(link_probes(lab.plan, lab.up), seconds)


def _count(traffic: Traffic, ways: Sequence[tuple[Route, Mapping[str, str]]]) -> _Counts:
    """Compare the copies of each message with the arrivals that its route says."""
    found = _Counts(Counter(), [], [], [])
    for message, copies, (route, arrivals) in zip(
        traffic.messages, traffic.copies, ways, strict=True
    ):
        wanted = set(route.subscribers)
        name = f"{message.topic!r} number {message.sequence} of {message.publisher}"
        found.n_cut_off += len(wanted - set(arrivals) - {message.publisher})
        for node in (*arrivals, message.publisher):
            if not copies[node] and (node in wanted or node == message.publisher):
                found.missing.append(f"{name} at {node}")
        for node, count in copies.items():
            if count > 1:
                found.n_extra += count - 1
                found.extra.append(f"{name} {count} times at {node}")
            if node == message.publisher:
                continue
            if node in arrivals:
                found.crossings[arrivals[node], node] += count
            if node in wanted:
                found.n_deliveries += 1
            elif node in arrivals:
                found.n_relayed += count
            else:
                found.unwanted.append(f"{name} at {node}")
    return found


def _findings(counts: _Counts, traffic: Traffic, down: Sequence[str]) -> list[str]:
    """Return what is wrong, in words, each with some examples."""
    late = [f"{topic!r} of {u} at {v}" for v, u, topic in traffic.out_of_order]
    kinds: list[tuple[int, str, Sequence[str]]] = [
        (len(counts.missing), "messages did not arrive", counts.missing),
        (counts.n_extra, "duplicates arrived", counts.extra),
        (len(counts.unwanted), "messages reached brokers that do not want them", counts.unwanted),
        (traffic.out_of_order.total(), "messages arrived after later ones", late),
        (traffic.n_renamed, "messages arrived under another topic", ()),
    ]
    if down:
        verb = "broker is" if len(down) == 1 else "brokers are"
        what = f"{verb} not up, which {counts.n_cut_off:,} deliveries need"
        kinds.append((len(down), what, down))
    else:
        kinds.append((counts.n_cut_off, "deliveries have no path in the plan", ()))
    found = ["messages run in circles: a storm; the brokers still send copies"] * traffic.storm
    for count, what, examples in kinds:
        if count:
            named = "; ".join(examples[:MAX_EXAMPLES])
            more = "; ..." if len(examples) > MAX_EXAMPLES else ""
            found.append(f"{count:,} {what}: {named}{more}" if named else f"{count:,} {what}")
    return found
