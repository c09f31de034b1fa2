"""GSwicoSL, Alg. 1 of paper 4: rings and fingers of small worlds by gain, with the greedy engine.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018). The rule is that of `gm`: higher gain, lower
larger degree, smaller ids. The engine's rows exclude pairs that may never be linked. They are used
for dense interests too: a table of all pairs takes more memory than a small world.
"""

import numpy as np

from meshwright.model.instance import Instance, Subscribers
from meshwright.model.kernels.components import join_all
from meshwright.model.kernels.graphs import group_by_key
from meshwright.model.small_world import count_phases, positions_of
from meshwright.overlay.greedy.kernels.exclusions import (
    Exclusions,
    exclude_filled_slots,
    exclude_path_ends,
)
from meshwright.overlay.greedy.kernels.row_queue import scan_due, set_row_cap
from meshwright.overlay.greedy.kernels.rows import new_rows, new_scratch
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.kernels.tuning import EDGES_PER_CALL, ROW_CACHE
from meshwright.overlay.greedy.rule import GreedyRun, Rule, rank_nodes, reorder_nodes
from meshwright.runtime.arrays import Ints
from meshwright.runtime.progress import OnProgress
from meshwright.runtime.threads import ScratchPool, in_parts
from meshwright.smallworld.kernels import worlds as kernel


def gswico_ring(instance: Instance, on_progress: OnProgress = None) -> Ints:
    """Return the ring of GSwicoS: greedy by gain.

    Each edge is the best among those that can still end in one circle through all nodes: no node
    gets three links, and no path is closed before all nodes are on it. Two nodes of different
    paths have no topic joined yet, so the gain of such an edge is always the common interest of
    its ends.

    The paper leaves three points open. Ties: the lower of the larger degrees, then smaller ids, as
    everywhere here. When no edge gains any more, the remaining paths are joined end to end, the
    smallest pair first (the interests of their ends have nothing in common). Position 0 is node 0,
    and the circle is walked towards its smaller neighbour.

    Cost: one scan over the pairs that share a topic and parts of it again; memory proportional to
    the subscriptions.

    Examples
    --------
    >>> wants = {"a": "pq", "b": "rs", "c": "qr", "d": "sp"}
    >>> pairs = [(node, topic) for node, topics in wants.items() for topic in topics]
    >>> gswico_ring(Instance.from_pairs(pairs)).tolist()  # a, c, b, d
    [0, 2, 1, 3]
    """
    n = instance.n_nodes
    if n < 3:
        return np.arange(n, dtype=np.int32)
    return kernel.walk_circle(kernel.close_circle(n, circle_edges(instance, on_progress)))


def circle_edges(
    instance: Instance, on_progress: OnProgress = None, *, cache: int = ROW_CACHE
) -> Ints:
    """Return the edges of positive gain that GSwicoS takes, in the order added."""
    rule = Rule(max_edges=max(instance.n_nodes - 1, 0))
    greedy = GreedyRun(instance, rank_nodes(instance), rule, on_progress)
    return _add_edges(greedy, exclude_path_ends(instance.n_nodes), 2, cache)


def gswico_fingers(instance: Instance, ring: Ints, on_progress: OnProgress = None) -> Ints:
    """Return the fingers of GSwicoL, the best gain first, the ring's links given; or EMPTY.

    Each edge is the best among those that fill an empty slot (a node's finger of a phase from 1
    on) and fills that slot only, even where it would also fit one of its other end.

    The paper leaves open: ties (lower larger degree, smaller ids, then the slot of the smaller
    node; degrees count each link once, those of the ring included), and slots in which no edge
    gains. These are EMPTY here.

    Cost: as `gm`; memory proportional to the subscriptions and n log n.

    Examples
    --------
    >>> pairs = [("a", "x"), ("d", "x"), ("b", "y"), ("e", "y"), ("c", "z")]
    >>> gswico_fingers(Instance.from_pairs(pairs), np.arange(5, dtype=np.int32)).tolist()
    [[1, 3, -1], [2, 4, -1], [3, -1, -1], [4, -1, -1], [0, -1, -1]]
    """
    edges = finger_edges(instance, ring, on_progress)
    return kernel.fill_slots(positions_of(ring)[edges], ring, count_phases(len(ring)))


def finger_edges(
    instance: Instance, ring: Ints, on_progress: OnProgress = None, *, cache: int = ROW_CACHE
) -> Ints:
    """Return the edges of positive gain that GSwicoL adds to a ring, in the order added."""
    n, ids = len(ring), rank_nodes(instance)
    rule = Rule(max_edges=n * max(count_phases(n) - 1, 0))
    greedy = GreedyRun(instance, ids, rule, on_progress)
    links = np.column_stack((ring, np.roll(ring, -1)))
    links = greedy.run.rank[links if n > 2 else links[: n - 1]]
    greedy.joined = int(join_all(greedy.run.components, links).sum(dtype=np.int64))
    greedy.run.degree[:] = np.bincount(links.ravel(), minlength=n)
    return _add_edges(greedy, exclude_filled_slots(ids, ring), NO_LIMIT, cache)


def fill_by_interest(instance: Instance, ring: Ints, slots: Ints) -> None:
    """Fill the empty slots by common interest, then the nearest. Writes `slots`.

    Cost: at most one scan of all pairs that share a topic.
    """
    indptr, topics = reorder_nodes(instance, ring)
    positions = np.repeat(np.arange(len(ring), dtype=np.int32), np.diff(indptr))
    subscribers = Subscribers(*group_by_key(topics, positions, instance.n_topics))

    def fill(first: int, last: int) -> None:
        kernel.fill_rest(slots, indptr, topics, subscribers, first, last)

    in_parts(fill, len(ring))


def _add_edges(greedy: GreedyRun, exclusions: Exclusions, cap: int, cache: int) -> Ints:
    """Return the best edges that are not excluded, under a degree cap."""
    run = greedy.run
    rows = new_rows(run.components.indptr, cache=cache, exclusions=exclusions)
    scratches = ScratchPool(lambda: new_scratch(run.components, cache))

    def scan(first: int, last: int) -> None:
        with scratches.borrow() as scratch:
            scan_due(run, rows, scratch, first, last)

    in_parts(scan, len(run.ids))
    set_row_cap(run, rows, cap)
    with scratches.borrow() as scratch:
        greedy.add_edges(lambda: kernel.run_small_world(run, rows, scratch), EDGES_PER_CALL)
    return greedy.edges()[0]
