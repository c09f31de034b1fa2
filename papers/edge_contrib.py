"""Paper 3's EdgeContrib index (Class 2, Alg. 1 and 3-8): every pair indexed by gain and degree.

edgeArray[c][d] holds a doubly linked list of the pairs of contribution c and larger degree d.
An edge that joins two components of a topic takes one off every pair between them, at once. Time
O(sum of co-interests) = O(|V|^2 |T|); memory 16 bytes for each of the |V|(|V|-1)/2 pairs and 4 for
each entry of edgeArray that is ever used.

Where the paper leaves a choice, or ours differs:
- edgeMap is not a hash table: a pair's number, counted along the rows (0,1), (0,2), ..., is its
  place in the array of EDGESTRUCTs.
- TCC-Nodes is one list per component, in node order, so pairs are met along the rows.
- Alg. 5 moves a pair once per topic joined, and so does `edges`. With `summed`, which the paper
  does not have, the falls of an edge are summed first and a pair moves once per edge: the same
  entries afterwards, for 2 more bytes per pair and up to 4 for those that one edge changes.
  The added edge needs no deleteEdge of its own: each topic it joins takes one off it too.
- getOneEdge must give the smallest (u, v). An entry is sorted when the scan arrives there. That
  stays true while the scan stays, since pairs only come from entries that it has found empty.
- Alg. 6 starts at curDegree, which passes over lower degrees when maxContrib has just fallen
  (and may find nothing); the scan that finds maxContrib (Alg. 5, part 4) gives the degree here.
"""

import numpy as np

from meshwright.model.instance import Instance
from meshwright.runtime.arrays import Ints
from papers.kernels.edge_contrib import CONTRIB, count_common_topics, gen_oda
from papers.naive_greedy import RULES

MOST = 2**16 - 1  # nodes, so that pairs fit uint32; topics of a node, so that falls fit uint16


def edges(instance: Instance, method: str, *, summed: bool = False) -> tuple[Ints, Ints]:
    """Return the edges of gm, minmax or low (k = 2) in the order added, and their gains."""
    n_nodes = instance.n_nodes
    indptr, topics = instance.indptr, instance.topics
    if max(n_nodes, np.diff(indptr).max(initial=0)) > MOST:
        raise ValueError(f"EdgeContrib takes up to {MOST:,} nodes and topics of a node.")
    owner = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(indptr))
    u = np.arange(n_nodes, dtype=np.int64)
    # The pair (u, v) is number row[u] + v. Numbers are unsigned: Numba tests each signed index
    # for counting from the end, which took a twentieth of the time.
    row = (u * n_nodes - u * (u + 3) // 2).astype(np.uint32)
    # Zeros come from the system untouched: entries that no pair visits take no memory.
    structs = np.zeros((n_nodes * (n_nodes - 1) // 2 + 1, 4), np.uint32)
    count_common_topics(structs, row, owner, topics, instance.n_topics)
    max_contrib = int(structs[:, CONTRIB].max())
    array = np.zeros((max_contrib + 1, max(n_nodes, 1)), np.uint32)
    return gen_oda(structs, array, row, indptr, topics, owner, RULES[method], summed)
