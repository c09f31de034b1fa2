"""`refined`: the fewest links that connect every topic, with no node above a given degree.

Ours; no paper has it. Three steps, none worse than the one before:

1. A start. Without a limit of links, that is `gm`. Within limits it is `low`, with k as small as
   connects every topic, or `minmax` if that has fewer links: a small k gives few links, a large one
   keeps room at the busy nodes. Smaller k lack joins and have fewer links: the most promising one
   is the start if the search can mend it.
2. Links that no topic needs are dropped.
3. Large-neighbourhood search (Shaw, "Using Constraint Programming and Local Search Methods to
   Solve Vehicle Routing Problems", CP 1998): free the links around a few nodes, complete the plan
   by links of great gain, drop what no topic needs, and keep the result if it is no worse. While
   joins are missing, they count together with the links, and a join that is missing for long counts
   more and more, so that the search leaves plans that it cannot mend (breakout: Morris, "The
   Breakout Method for Escaping from Local Minima", AAAI 1993).

Equal seeds and rounds give equal overlays: rounds draw from a counter-based generator, and the
search runs on one thread.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.interests import Interests
from meshwright.model.kernels.components import new_components
from meshwright.model.overlay import count_joins, gains_of
from meshwright.overlay.bounds.prices import least_links
from meshwright.overlay.greedy.key_order import greedy_edges
from meshwright.overlay.greedy.rule import Restrictions, Rule
from meshwright.overlay.kernels import neighbourhood as kernel
from meshwright.overlay.kernels.completion import FEWEST, MISSING, Batch, Search, Settings
from meshwright.overlay.kernels.plan import N_LINKS, Members, Plan, index_members, link_all
from meshwright.overlay.kernels.topic_parts import Parts
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.progress import OnProgress

# Thresholds of `low` for the start, until one connects every topic; minmax keeps most room.
THRESHOLDS = (1, 1.5, 1.75, 2, 2.5, 3, 5, 10)
LINKS_PER_JOIN = 2  # that mending adds, about: on unif 1,000 x 1,000 95 for 47 joins, 31 for 19
MENDING_ROUNDS = 300  # without progress, until a start that lacks joins is given up
MOST_NODES, MOST_FREED, NOISE = 8, 20, 0.5  # of a round; half or double cost 1 to 3% of the links
ROUNDS_PER_NODE, FEWEST_ROUNDS, MOST_ROUNDS = 20, 5_000, 20_000  # unless a limit is given
BATCH_SECONDS = 0.05  # between looks at the clock; batches do not change the result
MOST_BYTES = 4 << 30  # of the table that says which node takes part in which topic


def refined(
    instance: Instance,
    *,
    max_degree: int | None = None,
    seconds: float | None = None,
    rounds: int | None = None,
    seed: int = 1,
    on_progress: OnProgress = None,
    restrictions: Restrictions | None = None,
) -> tuple[Ints, Ints, dict[str, Any]]:
    """Return the edges of `refined`, their gains, and the rounds that the search made.

    Without `seconds` and `rounds` the search makes as many rounds as the size of the instance asks
    for. Ctrl-C ends it, with the best plan so far.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")])
    >>> refined(instance, max_degree=2)[0].tolist()
    [[0, 1], [0, 2], [2, 3]]
    """
    check_size(instance)
    restrictions = with_cap(instance, restrictions or Restrictions(), max_degree)
    started = time.monotonic()
    edges, shorter = start_links(instance, restrictions)
    if rounds is None and seconds is None:
        rounds = min(max(ROUNDS_PER_NODE * instance.n_nodes, FEWEST_ROUNDS), MOST_ROUNDS)
    facts: dict[str, Any] = {}
    until = None if seconds is None else started + seconds
    search = PlanSearch(instance, edges if shorter is None else shorter, restrictions, seed)
    try:
        least = least_links(instance, target=len(edges))
        if shorter is not None:
            search.mend(rounds, until, least=least, on_progress=on_progress)
            if search.n_missing or search.n_links >= len(edges):
                search = PlanSearch(instance, edges, restrictions, seed, search.n_rounds)
        search.run(rounds, until, least=least, on_progress=on_progress)
    except KeyboardInterrupt:
        facts["interrupted"] = True
        if search.n_missing and shorter is not None:
            search = PlanSearch(instance, edges, restrictions, seed, search.n_rounds)
    found = search.links()
    return (
        found,
        gains_of(instance, found, restrictions.carries),
        {"rounds": search.n_rounds} | facts,
    )


def check_size(instance: Instance) -> None:
    """Raise InputError if the table of who takes part in what would be too large."""
    needed = 20 * instance.n_nodes * -(-instance.n_topics // 64)
    if needed > MOST_BYTES:
        raise InputError(
            f"refined would need {needed / 2**30:,.0f} GB for {instance.n_nodes:,} nodes and "
            f"{instance.n_topics:,} topics; it takes {MOST_BYTES >> 30} at most. Use gm, minmax or "
            "low, or sample the workload."
        )


def with_cap(
    instance: Instance, restrictions: Restrictions, max_degree: int | None
) -> Restrictions:
    """Return the restrictions with a most number of links for every node."""
    if max_degree is None:
        return restrictions
    cap = np.full(instance.n_nodes, max_degree, np.int32)
    if restrictions.max_links is not None:
        cap = np.minimum(cap, restrictions.max_links).astype(np.int32)
    return replace(restrictions, max_links=cap)


def start_links(instance: Instance, restrictions: Restrictions) -> tuple[Ints, Ints | None]:
    """Return the links that the search starts from, and fewer links that may be mended, or None.

    The first are complete if any start is. The second lack joins: of the thresholds before the
    first complete one, those that promise the fewest links when they are mended.
    """
    if restrictions.max_links is None:
        return greedy_edges(instance, Rule(), restrictions=restrictions)[0], None
    rules = [Rule() if k == 1 else Rule(threshold=Fraction(k)) for k in THRESHOLDS]
    best = greedy_edges(instance, Rule(rising_cap=True), restrictions=restrictions)
    full, shorter, fewest = count_joins(instance, restrictions.carries), None, 0
    for rule in rules:
        found = greedy_edges(instance, rule, restrictions=restrictions)
        joins, most = int(found[1].sum()), int(best[1].sum())
        if joins > most or (joins == most and len(found[0]) < len(best[0])):
            best = found
        if joins == full:
            break
        promised = len(found[0]) + LINKS_PER_JOIN * (full - joins)
        if shorter is None or promised <= fewest:
            shorter, fewest = found[0], promised
    if int(best[1].sum()) < full or shorter is None or len(shorter) >= len(best[0]):
        return best[0], None
    return best[0], shorter


class PlanSearch:
    """A plan, and the search that improves it."""

    def __init__(
        self,
        instance: Instance,
        edges: Ints,
        restrictions: Restrictions,
        seed: int,
        n_rounds: int = 0,
        *,
        drop: bool = True,
    ) -> None:
        """Begin with `edges`, and with `drop` without those that no topic needs.

        `n_rounds` are the rounds that were made before, with another plan.
        """
        self.n_rounds = n_rounds
        n = instance.n_nodes
        self._members = make_members(instance, restrictions)
        degrees: Longs = np.bincount(edges.ravel(), minlength=n)
        busiest = int(degrees.max(initial=0))
        cap = np.full(n, 2 * busiest + 8, np.int32)  # far more than a node of a good plan has
        if restrictions.max_links is not None:
            cap = np.minimum(cap, restrictions.max_links).astype(np.int32)
        self._plan = make_plan(instance, edges, int(cap.max(initial=0)))
        limited = replace(restrictions, max_links=cap)
        ids = np.arange(n, dtype=np.int32)
        self._exclusions = limited.exclusions(ids, self._plan.degree)
        self._settings = Settings(seed, min(MOST_NODES, max(n, 1)), MOST_FREED, NOISE)
        self._search = new_search(instance, self._settings, self._plan.neighbours.shape[1])
        if drop:
            kernel.drop_all_redundant(self._members, self._plan, edges[::-1].copy())
        kernel.count_parts(self._members, self._plan, self._search)
        kernel.keep_plan(self._plan, self._search, self._search.counts[MISSING])

    @property
    def n_links(self) -> int:
        """The links of the plan."""
        return int(self._plan.counts[N_LINKS])

    @property
    def n_missing(self) -> int:
        """The joins that the best plan lacks."""
        return int(self._search.best[FEWEST])

    def mend(
        self,
        rounds: int | None,
        until: float | None,
        *,
        least: int = 0,
        on_progress: OnProgress = None,
    ) -> None:
        """Search until no join is missing, or no round of the last `MENDING_ROUNDS` helped.

        `least` is what no complete plan goes below, for the progress; it ends nothing.
        """
        while self.n_missing > 0 and len(self._plan.degree):
            before, last = self.n_missing, self.n_rounds + MENDING_ROUNDS
            end = last if rounds is None else min(last, rounds)
            self.run(end, until, least=least, until_best=False, on_progress=on_progress)
            if self.n_missing == before or self.n_rounds < last:
                return

    def run(
        self,
        rounds: int | None,
        until: float | None,
        *,
        least: int = 0,
        until_best: bool = True,
        on_progress: OnProgress = None,
    ) -> None:
        """Search until `rounds` are made, `until` is past, or the plan has but `least` links."""
        started = time.monotonic()
        last = np.iinfo(np.int64).max if rounds is None else rounds
        batch = 1
        while self.n_rounds < last and len(self._plan.degree):
            begun = time.monotonic()
            is_best = self.n_missing == 0 and self.n_links <= least
            if (is_best and until_best) or (until is not None and begun >= until):
                return
            end = min(self.n_rounds + batch, last)
            self.n_rounds = kernel.search_rounds(
                self._members,
                self._plan,
                self._search,
                self._exclusions,
                self._settings,
                Batch(self.n_rounds, end, least if until_best else -1),
            )
            took = time.monotonic() - begun
            batch = max(1, batch // 2) if took > 2 * BATCH_SECONDS else batch
            batch = 2 * batch if took < BATCH_SECONDS / 2 else batch
            if on_progress is not None:
                by_time = (begun - started) / max(until - started, 1e-9) if until else 0.0
                on_progress(min(max(self.n_rounds / last, by_time), 1.0), self._how_far(least))

    def _how_far(self, least: int) -> str:
        """Return the links, the bound on them, and the gap, or what is missing to have one."""
        text = f"{self.n_links:,} links" + (f", bound {least:,}" if least else "")
        if self.n_missing:
            return f"{text}, {self.n_missing:,} joins missing"
        return f"{text}, gap {self.n_links / least - 1:.0%}" if least else text

    def links(self) -> Ints:
        """Return the links that topics need, those of most common topics first."""
        if self.n_missing:
            kernel.restore_plan(self._plan, self._search)
        found = np.empty((self.n_links, 2), np.int32)
        kernel.list_links(self._plan, found)
        common = kernel.count_common(self._members, found)
        order = np.lexsort((found[:, 1], found[:, 0], -common))
        found = found[order]
        kernel.drop_all_redundant(self._members, self._plan, found[::-1].copy())
        kept = kernel.are_linked(self._plan, found)
        links: Ints = found[kept]
        return links


def needed_links(instance: Instance, edges: Ints, restrictions: Restrictions) -> Ints:
    """Return the links that some topic needs, in their order; the last ones are dropped first."""
    check_size(instance)
    plan = make_plan(instance, edges)
    kernel.drop_all_redundant(make_members(instance, restrictions), plan, edges[::-1].copy())
    kept: Ints = edges[kernel.are_linked(plan, edges)]
    return kept


def make_plan(instance: Interests, edges: Ints, room: int = 1) -> Plan:
    """Return a plan of these links, with room for so many of each node at least."""
    n = instance.n_nodes
    degrees: Longs = np.bincount(edges.ravel(), minlength=n)
    plan = Plan(
        degree=np.zeros(n, np.int32),
        neighbours=np.zeros((n, max(room, int(degrees.max(initial=0)), 1)), np.int32),
        seen=np.zeros(instance.n_subscriptions, np.int64),
        queue=np.zeros(n, np.int32),
        counts=np.zeros(2, np.int64),
    )
    link_all(plan, edges)
    return plan


def make_members(instance: Interests, restrictions: Restrictions) -> Members:
    """Return who takes part in which topic."""
    n, words = instance.n_nodes, -(-instance.n_topics // 64)
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    carries = restrictions.carries
    members = Members(
        instance.indptr,
        instance.topics,
        topic_ptr=components.topic_ptr,
        nodes=components.nodes.astype(np.int32),
        slot_at=components.slot_at,
        node_of=instance.nodes,
        carries=np.ones(len(instance.topics), np.bool_) if carries is None else carries,
        has_topic=np.zeros((n, words), np.uint64),
        before=np.zeros((n, words), np.int32),
        carried=np.zeros((n, words), np.uint64),
    )
    index_members(members)
    return members


def new_search(instance: Interests, settings: Settings, room: int = 0) -> Search:
    """Return what rounds work with, before the first; `room` links of a node can be kept."""
    n, n_topics, n_slots = instance.n_nodes, instance.n_topics, instance.n_subscriptions
    most, most_logged = settings.most_nodes, 32 * settings.most_freed + 256

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int32)

    parts = Parts(
        label=np.full(n_slots, -1, np.int64),
        owner=ints(n_slots),
        next_reached=ints(n_slots),
        next_waiting=ints(n_slots),
        reached=ints(2 * most_logged, 2),
        waiting=ints(2 * most_logged, 2),
        parent=ints(2 * most_logged),
    )
    return Search(
        chosen=ints(most),
        is_chosen=np.zeros(n, np.bool_),
        gain=ints(most, n),
        touched=ints(most, n),
        n_touched=ints(most),
        topic_round=np.zeros(n_topics, np.int64),
        affected=ints(n_topics),
        open_topics=ints(n_topics),
        n_parts=ints(n_topics),
        n_parts_before=ints(n_topics),
        weight=np.ones(n_topics, np.int32),
        parts=parts,
        removed=ints(most_logged, 2),
        log=ints(most_logged, 3),
        best=np.zeros(2, np.int64),
        best_degree=ints(n),
        best_neighbours=ints(n, room),
        counts=np.zeros(10, np.int64),
    )
