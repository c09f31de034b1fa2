"""Relays of an overlay, topic by topic, with NetworkX."""

import networkx as nx


def relays(taking, wanting, edges):
    """Return the pairs (node, topic) that relay, and the topics that need relays.

    `taking` and `wanting` are dicts of topics to sets of nodes; `edges` are in the order added.
    """
    found, needed = set(), set()
    for topic, members in taking.items():
        links = [edge for edge in edges if set(edge) <= members]
        whole, without = nx.Graph(), nx.Graph()
        whole.add_nodes_from(members)
        without.add_nodes_from(members)
        whole.add_edges_from(links)
        wants = wanting[topic]
        without.add_edges_from(edge for edge in links if set(edge) <= wants)
        for node in members - wants:  # it may send, and passes nothing on
            near = sorted(set(whole[node]) & wants)
            without.add_edges_from((node, other) for other in near[:1])
        if nx.number_connected_components(without) == nx.number_connected_components(whole):
            continue
        needed.add(topic)
        tree = nx.Graph()
        tree.add_nodes_from(members)
        for u, v in links:
            if not nx.has_path(tree, u, v):
                tree.add_edge(u, v)
        found |= {(node, topic) for node in members - wants if tree.degree(node) > 1}
    return found, needed
