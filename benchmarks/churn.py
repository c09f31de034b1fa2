"""Churn: an overlay that is mended step by step, beside a design from scratch at each step.

In each step of a drawn trace 1% of the subscriptions and 0.2% of the nodes change. Half of the
changed subscriptions go; as many come, of a node that is drawn by its number of subscriptions, to a
topic of another node that it shares a topic with. Half of the changed nodes leave; as many join,
each with most of the topics of a node that is there. At the end single changes are timed. Seconds
are processor time of all threads, which a busy machine changes less than the clock.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._instances import TINY, load_file, prepare
from benchmarks.quality import get
from meshwright.model.changes import Change, Join, Leave, Subscribe, Unsubscribe
from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.verbs import replan

INSTANCES = ("example", "fb1k", "tw10k")
STEPS = 100
SUBSCRIPTIONS, NODES = 0.01, 0.002  # the share that changes in each step
RESEMBLANCE = 0.9  # of a node that joins to the one it is like
SINGLES = 50  # single changes that are timed
HEAD = (
    f"{'step':>5} {'links':>7} {'fresh':>7} {'drift':>7} {'degree':>6} {'fresh':>6} {'drift':>7} "
    f"{'support':>8} {'moves':>6} {'s':>7} {'fresh s':>7}"
)


class Row(NamedTuple):
    """One step: the mended overlay beside a fresh one."""

    links: int
    fresh_links: int
    degree: int
    fresh_degree: int
    support: float
    changed: int  # pairs of a node and a topic
    moves: int  # links added and removed
    seconds: float  # of processor time
    fresh_seconds: float


def run(arguments: list[str]) -> None:
    """Print the tables of the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench churn", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default=",".join(INSTANCES))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--method", default="gm")
    parser.add_argument("--every", type=int, default=10, help="print each so many steps")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    for name in options.instances.split(","):
        instance = get(name, options.data)
        print(
            f"{name}: {instance.n_nodes:,} nodes, {instance.n_subscriptions:,} subscriptions, "
            f"{options.method}"
        )
        measure(instance, options.method, options.steps, options.every, options.seed)


def smoke() -> None:
    """Take two steps on the smallest instance."""
    measure(load_file(prepare(TINY, None)), "gm", 2, 1, 1)


def measure(instance: Instance, method: str, steps: int, every: int, seed: int) -> list[Row]:
    """Print and return the steps of a trace, and print what single changes take."""
    print(HEAD)
    overlay = design(instance, method, certify=False)
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(1, steps + 1):
        changes = draw_changes(overlay.instance, rng, f"new-{number}")
        overlay, row = step(overlay, changes, method)
        rows.append(row)
        if number % every == 0 or number in (1, steps):
            show(number, row)
    moves, changed = sum(row.moves for row in rows), sum(row.changed for row in rows)
    mean, fresh = (np.mean([getattr(r, n) for r in rows]) for n in ("seconds", "fresh_seconds"))
    print(
        f"links moved per changed subscription {moves / changed:.2f}; "
        f"{mean:.3f} s a step, {fresh:.3f} s a design"
    )
    print_singles(overlay, rng)
    return rows


def step(overlay: Overlay, changes: list[Change], method: str) -> tuple[Overlay, Row]:
    """Return the overlay after some changes, and the step beside a design from scratch."""
    started = time.process_time()
    found = replan(overlay, changes)
    seconds = time.process_time() - started
    mended = found.overlay
    started = time.process_time()
    fresh = design(mended.instance, method, certify=False)
    return mended, Row(
        mended.n_edges,
        fresh.n_edges,
        mended.max_degree,
        fresh.max_degree,
        mended.support,
        found.n_changed,
        found.n_moves,
        seconds,
        time.process_time() - started,
    )


def show(number: int, row: Row) -> None:
    """Print one step."""
    links, degree = (
        f"{value / max(fresh, 1) - 1:+.1%}"
        for value, fresh in ((row.links, row.fresh_links), (row.degree, row.fresh_degree))
    )
    print(
        f"{number:5} {row.links:7,} {row.fresh_links:7,} {links:>7} {row.degree:6,} "
        f"{row.fresh_degree:6,} {degree:>7} {row.support:8.3%} {row.moves:6,} "
        f"{row.seconds:7.3f} {row.fresh_seconds:7.3f}",
        flush=True,
    )


def print_singles(overlay: Overlay, rng: np.random.Generator) -> None:
    """Print how long single changes of each kind take: the median and the longest."""
    for kind in (Subscribe, Unsubscribe, Join, Leave):
        times, moves = [], []
        for number in range(SINGLES):
            one = next(c for c in draw_each(overlay.instance, rng, number) if type(c) is kind)
            started = time.process_time()
            found = replan(overlay, [one])
            times.append(1000 * (time.process_time() - started))
            moves.append(found.n_moves)
            overlay = found.overlay
        print(
            f"one {kind.__name__:12} median {np.median(times):7.2f} ms, longest {max(times):7.2f} "
            f"ms, {np.mean(moves):.2f} links moved",
            flush=True,
        )


def draw_changes(instance: Instance, rng: np.random.Generator, name: str) -> list[Change]:
    """Return the changes of one step."""
    half = max(1, round(instance.n_subscriptions * SUBSCRIPTIONS / 2))
    few = max(1, round(instance.n_nodes * NODES / 2))
    leaving = set(rng.choice(instance.n_nodes, few, replace=False).tolist())
    found: dict[tuple[int, int], Change] = {}
    for kind in (Unsubscribe, Subscribe):
        wanted = len(found) + half
        drawn = _pairs(instance, rng, new=kind is Subscribe)
        while len(found) < wanted:
            v, t = next(drawn)
            if v not in leaving and (v, t) not in found:
                found[v, t] = kind(instance.node_names[v], instance.topic_names[t])
    joins = [_join(instance, rng, f"{name}-{k}") for k in range(few)]
    leaves = [Leave(instance.node_names[v]) for v in sorted(leaving)]
    return [*found.values(), *joins, *leaves]


def draw_each(instance: Instance, rng: np.random.Generator, number: int) -> list[Change]:
    """Return one change of each kind."""
    names, topics = instance.node_names, instance.topic_names
    gone, new = (next(_pairs(instance, rng, new=flag)) for flag in (False, True))
    return [
        Unsubscribe(names[gone[0]], topics[gone[1]]),
        Subscribe(names[new[0]], topics[new[1]]),
        _join(instance, rng, f"single-{number}"),
        Leave(names[int(rng.integers(instance.n_nodes))]),
    ]


def _pairs(instance: Instance, rng: np.random.Generator, *, new: bool) -> Iterator[tuple[int, int]]:
    """Yield pairs of a node and a topic: subscriptions, or new ones to what others like it want."""
    nodes, members = instance.nodes, subscribers_of(instance) if new else None
    while True:
        k = int(rng.integers(instance.n_subscriptions))
        v, t = int(nodes[k]), int(instance.topics[k])
        if members is None:
            yield v, t
            continue
        like = int(members.nodes[rng.integers(members.pointers[t], members.pointers[t + 1])])
        row = instance.topics_of(like)
        other = int(row[rng.integers(len(row))])
        if other not in instance.topics_of(v):
            yield v, other


def _join(instance: Instance, rng: np.random.Generator, name: str) -> Join:
    """Return a new node that wants most of what another one wants."""
    row = instance.topics_of(int(rng.integers(instance.n_nodes)))
    kept = row[rng.random(len(row)) < RESEMBLANCE]
    return Join(name, [instance.topic_names[t] for t in kept.tolist()])
