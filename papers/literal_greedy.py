"""GM, MinMax-ODA and Low-ODA to the letter: components counted anew for every pair.

Lines 11 to 13 of paper 2's Alg. 1 say w{u, v} = NC(V, E) - NC(V, E + {u, v}) for each pair, after
each edge, where NC counts the components of all topics. Ours does that, by a union of both ends of
every edge in every topic that they share; nothing is kept from one pair, or one edge, to the next.
With |V| steps, |V|^2 pairs and |V| edges to count, time grows as |V|^4.

`naive_greedy.py` keeps components up to date and takes O(1) per topic of a pair; both choose the
same edges.
"""

from meshwright.model.instance import Instance
from meshwright.runtime.arrays import Ints
from papers.kernels.literal_greedy import count_and_add
from papers.naive_greedy import RULES


def edges(instance: Instance, method: str) -> tuple[Ints, Ints]:
    """Return the edges of gm, minmax or low (k = 2) in the order added, and their gains."""
    rule = RULES[method]
    return count_and_add(instance.indptr, instance.topics, rule)
