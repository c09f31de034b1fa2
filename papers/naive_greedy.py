"""GM and MinMax-ODA (paper 2, Sec. III and Alg. 1) and Low-ODA (paper 3, Sec. 4), without an index.

Each step computes the gain of every pair from the components and keeps the best. Time
O(|V| |I|) a step, with |I| <= |V| |T| subscriptions, and at most |V|^2 steps: O(|V|^4 |T|), as
both papers say. Memory O(|I| + |T|): the weights of Alg. 1 are used once, so they are not stored.

Where the papers leave a choice, or ours differs:
- A node's labels are spread over its topics once per row, so a gain is one walk along the other
  node's topics.
- Low-ODA finds both its edges in one scan, not two.
- Edges of gain 0 are never added and count in no degree (paper 3); Alg. 1 of paper 2 adds and
  later discards them.
"""

from meshwright.model.instance import Instance
from meshwright.runtime.arrays import Ints
from papers.kernels.naive_greedy import GM, LOW, MINMAX, scan_and_add

RULES = {"gm": GM, "minmax": MINMAX, "low": LOW}


def edges(instance: Instance, method: str) -> tuple[Ints, Ints]:
    """Return the edges of gm, minmax or low (k = 2) in the order added, and their gains."""
    rule = RULES[method]
    return scan_and_add(instance.indptr, instance.topics, instance.n_topics, rule)
