"""How a small world drifts under churn, compared with a redesign.

A tenth of the nodes starts outside. An event is a join of a node from outside with its old
interests, a departure, a crash, a new subscription or a cancelled one; all five kinds, all nodes
and all topics are equally likely. Events are applied as a running system applies them: by `replan`,
one change at a time.
"""

import numpy as np

from benchmarks._measure import timed
from meshwright.model.changes import Change, Crash, Join, Leave, Subscribe, Unsubscribe
from meshwright.model.instance import Instance
from meshwright.model.small_world import SmallWorld
from meshwright.overlay import design
from meshwright.smallworld.routing.simulate import simulate
from meshwright.verbs import replan

KINDS = (Join, Leave, Crash, Subscribe, Unsubscribe)


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
    change = draw_event(world.instance, outside, rng)
    if change is None:
        return world
    found = replan(world, [change]).overlay
    assert isinstance(found, SmallWorld)
    return found


def draw_event(
    instance: Instance, outside: dict[str, list[str]], rng: np.random.Generator
) -> Change | None:
    """Return one event, None if it cannot be; the nodes outside are updated."""
    kind = KINDS[rng.integers(len(KINDS))]
    v = int(rng.integers(instance.n_nodes))
    node = instance.node_names[v]
    if kind is Join:
        if not outside:
            return None
        new = sorted(outside)[int(rng.integers(len(outside)))]
        return Join(new, outside.pop(new))
    subscribed = instance.topics_of(v)
    if kind is Leave or kind is Crash:
        outside[node] = [instance.topic_names[t] for t in subscribed]
        return Leave(node) if kind is Leave else Crash(node)
    others = np.setdiff1d(np.arange(instance.n_topics), subscribed)
    candidates = others if kind is Subscribe else subscribed
    if len(candidates) == 0:
        return None
    topic = instance.topic_names[int(candidates[rng.integers(len(candidates))])]
    return Subscribe(node, topic) if kind is Subscribe else Unsubscribe(node, topic)


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
