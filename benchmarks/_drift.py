"""How a small world drifts under churn, against a redesign after each event.

A tenth of the nodes starts outside. An event is a join of a node that is outside, with the
interests it had, a departure or crash, a new subscription or a cancelled one; all five kinds are
equally likely, and so are nodes and topics.
"""

from __future__ import annotations

import time

import numpy as np

from meshwright.routing import simulate
from meshwright.smallworld import SmallWorld, churn, design
from meshwright.values import Instance

KINDS = ("join", "leave", "crash", "subscribe", "unsubscribe")


def drift(instance: Instance, events: int, reports: int, publications: int, seed: int) -> None:
    """Print the mended world beside one designed anew; the overhead is per delivery, by pie."""
    rng = np.random.default_rng(seed)
    everybody = interests(instance)
    outside = {v: everybody[v] for v in rng.permutation(sorted(everybody))[: len(everybody) // 10]}
    world = design(without(instance, set(outside)), "sl", certify=False)
    columns = ("support", "overhead", "path", "links")
    print(f"{'':14}" + "".join(f"{column:>16}" for column in columns))
    print(f"{'events':>7} {'nodes':>6}" + f"{'mended':>8}{'anew':>8}" * len(columns))
    seconds = []
    for number in range(events + 1):
        if number % max(1, events // reports) == 0:
            report(number, world, publications)
        started = time.process_time()
        world = happen(world, outside, rng)
        seconds.append(time.process_time() - started)
    print(f"an event takes {1000 * np.mean(seconds):.0f} ms of CPU on average")


def happen(
    world: SmallWorld, outside: dict[str, list[str]], rng: np.random.Generator
) -> SmallWorld:
    """Return the world after one event; those outside are kept track of."""
    kind = KINDS[rng.integers(len(KINDS))]
    instance = world.instance
    node = instance.node_names[int(rng.integers(instance.n_nodes))]
    if kind == "join" and outside:
        new = sorted(outside)[int(rng.integers(len(outside)))]
        return churn.join(world, new, outside.pop(new))
    if kind in ("leave", "crash"):
        outside[node] = interests(instance)[node]
        return churn.leave(world, node)
    v = list(instance.node_names).index(node)
    wanted = instance.topics_of(v)
    others = np.setdiff1d(np.arange(instance.n_topics), wanted)
    among = others if kind == "subscribe" else wanted
    if kind == "join" or len(among) == 0:
        return world
    topic = instance.topic_names[int(among[rng.integers(len(among))])]
    return (churn.subscribe if kind == "subscribe" else churn.unsubscribe)(world, node, topic)


def report(number: int, world: SmallWorld, publications: int) -> None:
    anew = design(world.instance, "sl", certify=False)
    cells = []
    for each in (world, anew):
        totals = simulate(each, "pie", publications=publications).totals
        cells.append((each.support, totals["overhead"] / totals["deliveries"], totals["hops_mean"]))
    (support, overhead, path), (best, least, short) = cells
    print(
        f"{number:7} {world.instance.n_nodes:6}{support:8.4f}{best:8.4f}{overhead:8.3f}{least:8.3f}"
        f"{path:8.2f}{short:8.2f}{world.n_edges:8,}{anew.n_edges:8,}",
        flush=True,
    )


def interests(instance: Instance) -> dict[str, list[str]]:
    """Return who wants what, by names."""
    topics = list(instance.topic_names)
    return {
        node: [topics[t] for t in instance.topics_of(v)]
        for v, node in enumerate(instance.node_names)
    }


def without(instance: Instance, nodes: set[str]) -> Instance:
    """Return the instance without some nodes; topics stay as far as they are wanted."""
    stay = {v: wanted for v, wanted in interests(instance).items() if v not in nodes}
    return Instance.from_pairs(((v, t) for v in stay for t in stay[v]), nodes=stay)
