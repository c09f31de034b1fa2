"""How a small world drifts under churn, compared with a redesign.

A tenth of the nodes starts outside. An event is a join of a node from outside with its old
interests, a departure, a crash, a new subscription or a cancelled one; all five kinds, all nodes
and all topics are equally likely.
"""

import numpy as np

from benchmarks._measure import timed
from meshwright.model.instance import Instance
from meshwright.model.small_world import SmallWorld
from meshwright.overlay import design
from meshwright.smallworld import churn
from meshwright.smallworld.routing.simulate import simulate

KINDS = ("join", "leave", "crash", "subscribe", "unsubscribe")


def drift(instance: Instance, events: int, reports: int, publications: int, seed: int) -> None:
    """Print the measures of the repaired world and of a redesign after each share of the events."""
    rng = np.random.default_rng(seed)
    interest = interests(instance)
    outside = {v: interest[v] for v in rng.permutation(sorted(interest))[: len(interest) // 10]}
    world = design(without(instance, set(outside)), "sl", certify=False)
    columns = ("support", "overhead", "path", "links")
    print(f"{'':14}" + "".join(f"{column:>20}" for column in columns))
    print(f"{'events':>7} {'nodes':>6}" + f"{'repaired':>10}{'redesign':>10}" * len(columns))
    seconds = []
    for number in range(events + 1):
        if number % max(1, events // reports) == 0:
            report(number, world, publications)
        event = timed(lambda world=world: next_event(world, outside, rng))  # type: ignore[misc]
        world = event.result
        seconds.append(event.cpu)
    print(f"an event takes {1000 * np.mean(seconds):.0f} ms of CPU on average")


def next_event(
    world: SmallWorld, outside: dict[str, list[str]], rng: np.random.Generator
) -> SmallWorld:
    """Return the world after one event, and update the nodes outside."""
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
    subscribed = instance.topics_of(v)
    others = np.setdiff1d(np.arange(instance.n_topics), subscribed)
    candidates = others if kind == "subscribe" else subscribed
    if kind == "join" or len(candidates) == 0:
        return world
    topic = instance.topic_names[int(candidates[rng.integers(len(candidates))])]
    return (churn.subscribe if kind == "subscribe" else churn.unsubscribe)(world, node, topic)


def report(number: int, world: SmallWorld, publications: int) -> None:
    """Print the measures of a world and of its redesign."""
    line = f"{number:7} {world.instance.n_nodes:6}"
    redesigned = design(world.instance, "sl", certify=False)
    pair = [measures(each, publications) for each in (world, redesigned)]
    for repaired, redesign in zip(*pair, strict=True):
        line += f"{repaired:>10}{redesign:>10}"
    print(line, flush=True)


def measures(world: SmallWorld, publications: int) -> tuple[str, str, str, str]:
    """Return support, overhead of pie per delivery, mean path and links, as they are printed."""
    totals = simulate(world, "pie", publications=publications).totals
    overhead = totals["overhead"] / totals["deliveries"]
    path = totals["hops_mean"]
    return f"{world.support:.4f}", f"{overhead:.3f}", f"{path:.2f}", f"{world.n_edges:,}"


def interests(instance: Instance) -> dict[str, list[str]]:
    """Return the topics of each node, by names."""
    topics = list(instance.topic_names)
    return {
        node: [topics[t] for t in instance.topics_of(v)]
        for v, node in enumerate(instance.node_names)
    }


def without(instance: Instance, nodes: set[str]) -> Instance:
    """Return the instance without some nodes and without topics that nobody wants any more."""
    rest = {v: topics for v, topics in interests(instance).items() if v not in nodes}
    return Instance.from_pairs(((v, t) for v in rest for t in rest[v]), nodes=rest)
