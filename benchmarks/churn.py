"""Churn: an overlay or a small world mended step by step, beside a design from scratch.

In each step of a drawn trace 1% of the subscriptions and 0.2% of the nodes change. Half of the
changed subscriptions go; as many come, of a node that is drawn by its number of subscriptions, to a
topic of another node that it shares a topic with. Half of the changed nodes leave; as many join,
each with most of the topics of a node that is there. At the end single changes are timed. Seconds
are processor time of all threads, which a busy machine changes less than the clock. Every trace is
drawn for each method: `gm`, and the small world `sl`. What the aims ask for and what was reached is
printed below each trace; a last line counts those that were missed.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._instances import TINY, load_file, prepare
from benchmarks._required import Required
from benchmarks.quality import get
from meshwright.model.changes import Change, Join, Leave, Subscribe, Unsubscribe
from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.verbs import replan

INSTANCES = ("example", "fb1k", "tw10k")
METHODS = ("gm", "sl")
STEPS = 100
SUBSCRIPTIONS, NODES = 0.01, 0.002  # the share that changes in each step
RESEMBLANCE = 0.9  # of a node that joins to the one it is like
SINGLES = 50  # single changes that are timed
# The aims: links and maximum degree by those of a fresh design after the last step, links moved per
# changed subscription, time of a step by that of a design, and of one change on a large instance.
MOST_LINKS, MOST_DEGREE = 0.03, 0.05
MOST_MOVED, MOST_DESIGNS = 1.5, 1.0
MOST_MILLISECONDS, LARGE = 10.0, 10_000  # nodes
HEAD = (
    f"{'step':>5} {'links':>7} {'fresh':>7} {'drift':>7} {'degree':>6} {'fresh':>6} {'drift':>7} "
    f"{'support':>8} {'fresh':>8} {'moves':>6} {'s':>7} {'fresh s':>7}"
)


class Row(NamedTuple):
    """One step: the mended overlay beside a fresh one."""

    links: int
    fresh_links: int
    degree: int
    fresh_degree: int
    support: float
    fresh_support: float
    changed: int  # pairs of a node and a topic
    moves: int  # links added and removed
    seconds: float  # of processor time
    fresh_seconds: float

    @property
    def drifts(self) -> tuple[float, float]:
        """Links and maximum degree by those of the fresh design, less one."""
        return (
            (self.links - self.fresh_links) / max(self.fresh_links, 1),
            (self.degree - self.fresh_degree) / max(self.fresh_degree, 1),
        )


def run(arguments: list[str]) -> None:
    """Print the tables of the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench churn", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default=",".join(INSTANCES))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--method", default=",".join(METHODS))
    parser.add_argument("--every", type=int, default=10, help="print each so many steps")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    required = Required()
    for name in options.instances.split(","):
        instance = get(name, options.data)
        for method in options.method.split(","):
            print(
                f"{name}: {instance.n_nodes:,} nodes, {instance.n_subscriptions:,} subscriptions, "
                f"{method}"
            )
            measure(instance, method, options.steps, options.every, options.seed, required)
    print(required.summary())


def smoke() -> None:
    """Take two steps on the smallest instance, of an overlay and of a small world."""
    required = Required()
    for method in METHODS:
        measure(load_file(prepare(TINY, None)), method, 2, 1, 1, required)
    print(required.summary())


def measure(
    instance: Instance, method: str, steps: int, every: int, seed: int, required: Required
) -> None:
    """Print the steps of a trace, what single changes take, and whether the aims are reached."""
    print(HEAD)
    overlay = design(instance, method, certify=False)
    first = draw_changes(instance, np.random.default_rng(0), "first")
    step(overlay, first, method)  # compiled before anything is timed
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(1, steps + 1):
        changes = draw_changes(overlay.instance, rng, f"new-{number}")
        overlay, row = step(overlay, changes, method)
        rows.append(row)
        if number % every == 0 or number in (1, steps):
            show(number, row)
    judge(rows, required)
    print_singles(overlay, rng, required if instance.n_nodes >= LARGE else None)


def judge(rows: list[Row], required: Required) -> None:
    """Print what the steps had to reach and what they reached, and the drift of support."""
    links, degree = rows[-1].drifts
    changed = max(sum(row.changed for row in rows), 1)
    mean, fresh = (np.mean([getattr(r, n) for r in rows]) for n in ("seconds", "fresh_seconds"))
    for text in (
        required.at_most("links over a fresh design", MOST_LINKS, links, ".1%"),
        required.at_most("maximum degree over a fresh design", MOST_DEGREE, degree, ".1%"),
        required.at_most(
            "links moved per changed subscription",
            MOST_MOVED,
            sum(row.moves for row in rows) / changed,
        ),
        f"{required.at_most('time of a step by that of a design', MOST_DESIGNS, mean / fresh)} "
        f"({mean:.3f} s, {fresh:.3f} s)",
        f"support of a fresh design less that of the mended one: "
        f"{rows[-1].fresh_support - rows[-1].support:.3%} at the end, "
        f"{max(row.fresh_support - row.support for row in rows):.3%} at most",
    ):
        print(text, flush=True)


def step(overlay: Overlay, changes: list[Change], method: str) -> tuple[Overlay, Row]:
    """Return the overlay after some changes, and the step beside a design from scratch."""
    started = time.process_time()
    found = replan(overlay, changes)
    seconds = time.process_time() - started
    mended = found.overlay
    started = time.process_time()
    fresh = design(mended.instance, method, certify=False)
    fresh_seconds = time.process_time() - started
    return mended, Row(
        mended.n_edges,
        fresh.n_edges,
        mended.max_degree,
        fresh.max_degree,
        mended.support,
        fresh.support,
        found.n_changed,
        found.n_moves,
        seconds,
        fresh_seconds,
    )


def show(number: int, row: Row) -> None:
    """Print one step."""
    links, degree = (f"{drift:+.1%}" for drift in row.drifts)
    print(
        f"{number:5} {row.links:7,} {row.fresh_links:7,} {links:>7} {row.degree:6,} "
        f"{row.fresh_degree:6,} {degree:>7} {row.support:8.3%} {row.fresh_support:8.3%} "
        f"{row.moves:6,} {row.seconds:7.3f} {row.fresh_seconds:7.3f}",
        flush=True,
    )


def print_singles(overlay: Overlay, rng: np.random.Generator, required: Required | None) -> None:
    """Print how long single changes of each kind take, median and longest; judge the median.

    Without `required`, the instance is too small for the aim.
    """
    for kind in (Subscribe, Unsubscribe, Join, Leave):
        times, moves = [], []
        for number in range(SINGLES):
            one = next(c for c in draw_each(overlay.instance, rng, number) if type(c) is kind)
            started = time.process_time()
            found = replan(overlay, [one])
            times.append(1000 * (time.process_time() - started))
            moves.append(found.n_moves)
            overlay = found.overlay
        median, verdict = float(np.median(times)), ""
        if required is not None:
            verdict = f"; {required.at_most('median', MOST_MILLISECONDS, median, '.1f')}"
        print(
            f"one {kind.__name__:12} median {median:7.2f} ms, longest {max(times):7.2f} "
            f"ms, {np.mean(moves):.2f} links moved{verdict}",
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
