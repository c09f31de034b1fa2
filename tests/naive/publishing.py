"""What one publication costs on a topic's spanning tree, path by path, with NetworkX."""

from itertools import pairwise

import networkx as nx


def tree_of(links, taking) -> nx.Graph:
    """Return the breadth-first trees of a topic, each from its smallest member."""
    near = nx.Graph(link for link in links if set(link) <= set(taking))
    near.add_nodes_from(taking)
    tree, left = nx.Graph(), sorted(taking)
    tree.add_nodes_from(taking)
    seen: set[int] = set()
    for root in left:
        queue = [] if root in seen else [root]
        seen.add(root)
        for u in queue:
            for v in sorted(near[u]):
                if v not in seen:
                    seen.add(v)
                    tree.add_edge(u, v)
                    queue.append(v)
    return tree


def crossings(links, taking, wanting, publisher) -> set[tuple[int, int]]:
    """Return the (from, to) that a message crosses: the paths to all who want it."""
    tree = tree_of(links, taking)
    found: set[tuple[int, int]] = set()
    for goal in set(wanting) - {publisher}:
        if nx.has_path(tree, publisher, goal):
            path = nx.shortest_path(tree, publisher, goal)
            found |= set(pairwise(path))
    return found
