"""The greedy engine in key order, in this process: each edge is the best of all pairs.

Pairs are ordered by gain, cost if they have one, larger degree and ids, so ties are settled. Where
interests are dense, a table keeps the gains of all pairs; otherwise rows keep a few partners of
each node. The edges are the same. Restricted runs go by rows; where pairs are excluded or have
costs, down to the last pair that gains.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import drop_all_connected, forget_labels
from meshwright.model.kernels.leaves import split_leaves
from meshwright.overlay.greedy.kernels import key_order as kernel
from meshwright.overlay.greedy.kernels import last_level, tuning
from meshwright.overlay.greedy.kernels.row_queue import ROWS_DUE, order_heap, scan_due
from meshwright.overlay.greedy.kernels.rows import N_DUE, Rows, new_rows, new_scratch
from meshwright.overlay.greedy.kernels.run import LOWEST_GAIN, NO_LIMIT
from meshwright.overlay.greedy.kernels.table import fill, new_table, table_bytes
from meshwright.overlay.greedy.kernels.table_sweep import mark_blocks, new_sweep
from meshwright.overlay.greedy.rule import Edges, GreedyRun, Restrictions, Rule, rank_nodes
from meshwright.runtime.progress import OnProgress
from meshwright.runtime.threads import SMALLEST, ScratchPool, in_parts
from meshwright.workload.forecast import DENSE_BYTES


@dataclass(frozen=True, slots=True)
class Options:
    """Settings that change the time and memory of a run, never its edges."""

    table: bool | None = None  # keep the gains of all pairs; by default if `is_dense`
    cache: int = tuning.ROW_CACHE  # partners kept of a row at least, without a table
    block: int = tuning.TABLE_BLOCK  # pairs in a block of the table
    threads: int | None = None  # by default one for each processor
    wide: bool = False  # keep gains in 32 bits even where 16 are enough


def greedy_edges(
    instance: Instance,
    rule: Rule,
    on_progress: OnProgress = None,
    options: Options | None = None,
    restrictions: Restrictions | None = None,
) -> Edges:
    """Return the edges of a rule in the order added, and their gains; all within `restrictions`.

    Cost: time in the order of the incidences, the sum over topics of |V(t)|^2 / 2, a few times;
    memory about 80 bytes per subscription, up to 64 more with a table, and 0.7 kB per node, 1.3 kB
    for `low`.
    """
    restrictions, options = restrictions or Restrictions(), options or Options()
    if restrictions.carries is not None:
        split = split_leaves(
            instance.indptr, instance.topics, instance.n_topics, restrictions.carries
        )
        instance = Instance.from_arrays(split.indptr, split.topics, split.n_topics)
        restrictions = replace(restrictions, leaf_node=split.leaf_node)
    run = _KeyOrderRun(instance, rule, on_progress, options, restrictions)
    run.add_all()
    return run.edges()


def is_dense(instance: Instance) -> bool:
    """Return whether a table of all pairs takes at most DENSE_BYTES per subscription."""
    largest = int(np.diff(instance.indptr).max(initial=0))
    return table_bytes(instance.n_nodes, largest) <= DENSE_BYTES * instance.n_subscriptions


class _KeyOrderRun(GreedyRun):
    """One run in key order."""

    def __init__(
        self,
        instance: Instance,
        rule: Rule,
        on_progress: OnProgress,
        options: Options,
        restrictions: Restrictions,
    ) -> None:
        n_nodes = instance.n_nodes
        table = is_dense(instance) if options.table is None else options.table
        # The table knows neither excluded pairs nor carriers that are joined before the first edge.
        table = table and not restrictions.any
        ids = np.arange(n_nodes, dtype=np.int32) if table else rank_nodes(instance)
        super().__init__(instance, ids, rule, on_progress, restrictions)
        self._exclusions = restrictions.exclusions(ids, self.run.degree)
        # The last level knows neither excluded pairs nor costs.
        by_rows = restrictions.exclude_pairs or restrictions.costs is not None
        self._lowest_gain = 1 if by_rows else LOWEST_GAIN
        self._options = options
        self._largest = int(np.diff(instance.indptr).max(initial=0))
        components = self.run.components
        counts = components.open_count.astype(np.int64)
        n_incidences = int((counts * (counts - 1) // 2).sum())
        self._one_thread = options.threads is None and n_incidences < tuning.FEW_INCIDENCES
        n_table = n_nodes if table else 0
        gains = new_table(n_table, self._largest, wide=options.wide)
        scratch = new_scratch(components, options.cache)
        last_gain = 0 if table else self._lowest_gain - 1
        self._state = kernel.State(self.run, scratch, gains, table, last_gain)
        self._in_parts(lambda first, last: fill(components, gains, first, last), n_table)
        self._in_parts(lambda first, last: drop_all_connected(components, first, last), n_nodes)
        self._queue = self._new_queue(self._lowest_gain)

    def _new_queue(self, lowest_gain: int) -> kernel.Queue:
        """Return a queue of the pairs that gain at least `lowest_gain`."""
        run, table, options = self.run, self._state.table, self._options
        by_table = self._state.uses_table
        sweep = new_sweep(len(run.ids) if by_table else 0, self._largest, block=options.block)
        self._in_parts(
            lambda first, last: mark_blocks(run, table, sweep, first, last), len(sweep.row)
        )
        batches = self.rule.threshold is None and not self._one_thread
        rows = new_rows(
            np.zeros(1, dtype=np.int64) if by_table else run.components.indptr,
            lowest_gain=lowest_gain,
            cache=options.cache,
            min_batch=SMALLEST if batches else NO_LIMIT,
            exclusions=self._exclusions,
        )
        self._scan_due(rows)
        return kernel.Queue(sweep, rows)

    def add_all(self) -> None:
        """Add all edges of the rule, cap by cap."""
        state, queue, k = self._state, self._queue, self.rule.threshold
        last_level.compile_last_level(self.run)
        if k is None:
            for cap in self.caps():
                kernel.set_cap(state, queue, cap)
                self._run_queue(lambda: kernel.run_queue(state, queue), cap)
            return
        # `low` compares gains, and asks its second queue for pairs of gain 1 too.
        capped = self._new_queue(1)
        kernel.set_cap(state, queue, NO_LIMIT)
        self._run_queue(
            lambda: kernel.run_low(state, queue, capped, k.numerator, k.denominator), NO_LIMIT
        )

    def _run_queue(self, add: Callable[[], int], cap: int) -> None:
        """Add edges until none is left under the cap."""
        gain_left = kernel.MORE
        while gain_left < 0 and not self.is_complete:
            self.set_stop(tuning.EDGES_PER_CALL)
            gain_left = add()
            self.report()
            if gain_left == ROWS_DUE:
                self._scan_due(self._queue.rows)
                order_heap(self._queue.rows)
        if gain_left >= 0 and self._state.last_gain == 1:
            # `gm`, `minmax` and `low` agree on the best pair once all pairs gain the same.
            level = last_level.new_last_level(self.run)
            self.add_edges(
                lambda: last_level.run_last_level(self.run, level, cap), tuning.EDGES_PER_CALL
            )
            forget_labels(self._state.scratch.labels)

    def _scan_due(self, rows: Rows) -> None:
        """Scan the rows that are due; at first all are."""
        pool = ScratchPool(lambda: new_scratch(self.run.components, self._options.cache))

        def scan(first: int, last: int) -> None:
            with pool.borrow() as scratch:
                scan_due(self.run, rows, scratch, first, last)

        self._in_parts(scan, int(rows.state[N_DUE]))

    def _in_parts(self, work: Callable[[int, int], None], size: int) -> None:
        if self._one_thread:
            work(0, size)
        else:
            in_parts(work, size, threads=self._options.threads)
