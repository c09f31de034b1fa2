"""Filters expanded: a node with a filter wants, or publishes, everything the filter matches."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow.compute as pc

from meshwright.model.instance import Instance
from meshwright.model.names import NumberedNames, arrow_names
from meshwright.patterns.filters import PatternIndex, all_meets, is_filter


def has_filters(instance: Instance) -> bool:
    """Return whether a topic of an instance is a filter."""
    names = instance.topic_names
    if isinstance(names, NumberedNames):
        return False
    if isinstance(names, tuple):
        text = "\0".join(names)
        return "+" in text or "#" in text
    return bool(pc.any(pc.match_substring_regex(arrow_names(names), "[+#]")).as_py())


def expand(instance: Instance, names: Iterable[str] = ()) -> Instance:
    """Return the instance in which a filter's node wants everything that the filter matches.

    The node becomes a subscriber of every concrete topic and every narrower filter that its
    filter covers. Where filters cross, their meet becomes a topic that the subscribers of both
    want. Further `names` that a filter matches become topics too. Publishers of a filter become
    publishers of what it covers in the same way; the rate stays with the filter, because nobody
    knows how it is spread. An instance without filters is returned unchanged.

    Examples
    --------
    >>> expanded = expand(Instance.from_pairs([("a", "x/1"), ("log", "#")]))
    >>> [expanded.topic_names[t] for t in expanded.topics_of(1)]
    ['#', 'x/1']
    >>> published = [("edge", "dev/7/#")]
    >>> expanded = expand(Instance.from_pairs([("cloud", "dev/+/temp")], publications=published))
    >>> [expanded.topic_names[t] for t in expanded.publications.topics]
    ['dev/7/#', 'dev/7/temp']
    """
    if not has_filters(instance):
        return instance
    topics = list(instance.topic_names)
    wanting: dict[str, set[str]] = {}
    for node, node_name in enumerate(instance.node_names):
        for topic in instance.topics_of(node).tolist():
            wanting.setdefault(topics[topic], set()).add(node_name)
    publishing: dict[str, set[str]] = {}
    rates: dict[tuple[str, str], tuple[float, float]] = {}
    made = instance.publications
    columns = (made.nodes, made.topics, made.rates, made.sizes)
    for node, topic, rate, size in zip(*(column.tolist() for column in columns), strict=True):
        pair = instance.node_names[node], topics[topic]
        publishing.setdefault(pair[1], set()).add(pair[0])
        rates[pair] = rate, size
    listed = {*topics, *names}
    patterns = listed | all_meets(listed)
    published = _narrowed(publishing, patterns)
    unknown = (np.nan, np.nan)
    return Instance.from_pairs(
        _narrowed(wanting, patterns),
        nodes=instance.node_names,
        publications=[(*pair, *rates.get(pair, unknown)) for pair in sorted(published)],
        topics=topics,
    )


def _narrowed(nodes: Mapping[str, set[str]], patterns: Iterable[str]) -> set[tuple[str, str]]:
    """Return each node with the patterns that its own patterns cover."""
    filters = PatternIndex(filter(is_filter, nodes))
    return {
        (node, pattern)
        for pattern in patterns
        for node in nodes.get(pattern, set()).union(
            *(nodes[wide] for wide in filters.covering(pattern))
        )
    }
