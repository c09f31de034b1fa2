"""What a report tells of one overlay: headline, certificate, distributions, topics, picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.datasets import Manifest
from meshwright.evaluation.topics import TopicRows, topic_rows
from meshwright.overlay.today import hub
from meshwright.report.distributions import histogram, knee, short, summary, thin
from meshwright.report.picture import overlay_parts, picture
from meshwright.values import Instance, Overlay

LEAST_BEND = 0.02  # of the support; a curve that bends less is straight and has no knee
MANY = 0.8  # the support that the 80/20 rule is about


def overlay_facts(label: str, overlay: Overlay, manifest: Manifest) -> dict[str, Any]:
    """Return everything that is shown of an overlay but its links and its topics' subscribers."""
    topics = topic_rows(overlay)
    return {
        "label": label,
        "method": overlay.method,
        "parameters": {k: v for k, v in overlay.parameters.items() if v is not None},
        "seed": overlay.seed,
        "seconds": short(overlay.seconds),
        "command": manifest.command,
        "created": manifest.created,
        "headline": headline(overlay),
        "certificate": certificate(overlay),
        "degree": degree_facts(overlay),
        "support_curve": support_curve(overlay),
        "topics": topic_columns(topics),
        "topic_sizes": topic_sizes(topics),
        "picture": picture(overlay),
    }


def headline(overlay: Overlay) -> dict[str, Any]:
    """Return what a manager asks first, beside a full mesh and a star."""
    instance = overlay.instance
    n = instance.n_nodes
    shared = np.bincount(instance.topics, minlength=instance.n_topics) > 1
    n_shared = int(np.count_nonzero(shared))
    apart = int(np.count_nonzero(overlay.components > 1))
    cut_off = int(np.count_nonzero(parts_reached(overlay) > 1))
    full = n * (n - 1) // 2
    by_star, support_of_star = beside_star(instance)
    return {
        "links": overlay.n_edges,
        "links_of_full_mesh": full,
        "links_of_star": max(n - 1, 0),
        "star_of_full_mesh": short((n - 1) / full) if full else 0.0,
        "average_degree_of_star": short(2 * (n - 1) / n) if n else 0.0,
        "of_full_mesh": short(overlay.n_edges / full) if full else 0.0,
        "saved_of_full_mesh": short(1 - overlay.n_edges / full) if full else 0.0,
        "maximum_fan_out": overlay.max_degree,
        "maximum_fan_out_of_full_mesh": max(n - 1, 0),
        "topics_shared": n_shared,
        "topics_connected": n_shared - apart,
        "share_connected": short((n_shared - apart) / n_shared) if n_shared else 1.0,
        "topics_relayed": apart - cut_off,
        "topics_cut_off": cut_off,
        "topics_relayed_of_star": by_star,
        "share_connected_of_star": short(1 - by_star / n_shared) if n_shared else 1.0,
        "support": short(overlay.support),
        "support_of_star": short(support_of_star),
    }


def parts_reached(overlay: Overlay) -> npt.NDArray[np.int64]:
    """Return over how many parts of the overlay each topic's subscribers are spread.

    Within one part relays can join them; between two there is no way at all.
    """
    instance = overlay.instance
    part = overlay_parts(overlay)
    node = np.repeat(np.arange(instance.n_nodes), np.diff(instance.indptr))
    n_parts = int(part.max(initial=-1)) + 1
    pairs = np.unique(instance.topics.astype(np.int64) * max(n_parts, 1) + part[node])
    return np.bincount(pairs // max(n_parts, 1), minlength=instance.n_topics)


def beside_star(instance: Instance) -> tuple[int, float]:
    """Return how many shared topics the hub of a star does not want, and the star's support."""
    if instance.n_nodes == 0:
        return 0, 1.0
    sizes = np.bincount(instance.topics, minlength=instance.n_topics)
    joins = np.maximum(sizes - 1, 0)
    wanted = np.zeros(instance.n_topics, np.bool_)
    wanted[instance.topics_of(hub(instance))] = True
    full = int(joins.sum())
    return int(np.count_nonzero(joins[~wanted])), joins[wanted].sum() / full if full else 1.0


def certificate(overlay: Overlay) -> dict[str, Any]:
    """Return each measure beside what no overlay can beat, and how far from it this one is.

    The bounds on links and on the maximum degree are those of complete overlays.
    """
    bounds = overlay.bounds
    rows: list[dict[str, Any]] = []

    def add(name: str, value: float, bound: float | None, gap: float | None) -> None:
        told = {"measure": name, "value": short(value) if isinstance(value, float) else value}
        rows.append({**told, "bound": bound, "gap": None if gap is None else short(gap)})

    complete = bounds if overlay.connected else None
    for name, value, bound in (
        ("links", overlay.n_edges, complete.edges if complete else None),
        ("maximum degree", overlay.max_degree, complete.max_degree if complete else None),
    ):
        add(name, value, bound, value / bound - 1 if bound else None)
    add("average degree", overlay.average_degree, None, None)
    best = min(bounds.support_with_edges, bounds.support_with_degree) if bounds else None
    # Both are quotients of the same whole number: what differs by less is the same.
    lack = max(0.0, round(best - overlay.support, 12)) if best else None
    gap = lack / best if best and lack is not None else None
    add("support", overlay.support, short(best) if best is not None else None, gap)
    apart = np.flatnonzero(overlay.components > 1)
    worst = apart[np.argsort(-overlay.components[apart], kind="stable")][:10]
    names = overlay.instance.topic_names
    return {
        "connected": overlay.connected,
        "rows": rows,
        "n_disconnected": len(apart),
        "disconnected": [
            {"topic": names[t], "components": int(overlay.components[t])} for t in worst.tolist()
        ],
    }


def degree_facts(overlay: Overlay) -> dict[str, Any]:
    """Return the distribution of links per node, each node's, and the busiest nodes."""
    degrees = overlay.degrees
    order = np.argsort(-degrees, kind="stable")[:5].tolist()
    names = overlay.instance.node_names
    return {
        **summary(degrees),
        "histogram": histogram(degrees),
        "of_node": degrees.tolist(),
        "busiest": [{"node": names[v], "links": int(degrees[v])} for v in order],
    }


def support_curve(overlay: Overlay) -> dict[str, Any]:
    """Return support against links in the order added, its knee, and where it reaches 80%."""
    sizes = np.bincount(overlay.instance.topics, minlength=overlay.instance.n_topics)
    full = overlay.instance.n_subscriptions - int(np.count_nonzero(sizes))
    gained = np.concatenate(([0], np.cumsum(overlay.gains, dtype=np.int64)))
    support = gained / full if full else np.ones(len(gained))
    at, height = knee(support)
    many = int(np.searchsorted(support, MANY - 1e-12))
    marks = [at, *([many] if many < len(support) else [])]

    def mark(links: int) -> dict[str, Any]:
        share = short(links / overlay.n_edges) if overlay.n_edges else 0.0
        return {"links": links, "share_of_links": share, "support": short(support[links])}

    return {
        "points": [[i, short(support[i])] for i in thin(len(support), marks)],
        "knee": mark(at) if height >= LEAST_BEND else None,
        "eighty_percent": mark(many) if many < len(support) else None,
    }


def topic_columns(topics: TopicRows) -> dict[str, list[int]]:
    """Return a column per measure, an entry per topic."""
    return {
        "links": topics.links.tolist(),
        "components": topics.components.tolist(),
        "largest": topics.largest.tolist(),
        "diameter_low": topics.diameter_low.tolist(),
        "diameter_high": topics.diameter_high.tolist(),
    }


def topic_sizes(topics: TopicRows) -> dict[str, Any]:
    """Return, against the size of topics: components and diameters, as dots and as means.

    Diameters are those of connected topics: one in pieces has none, and its pieces small ones. A
    dot is (subscribers, value, how many topics); a mean is over sizes from one power of the square
    root of two to the next: (mean size, mean value, topics).
    """
    shared = topics.subscribers > 1
    whole = shared & (topics.components == 1)
    exact = (topics.diameter_low == topics.diameter_high)[shared]
    return {
        "components": _against(topics.subscribers[shared], topics.components[shared]),
        "diameter": _against(topics.subscribers[whole], topics.diameter_high[whole]),
        "n_in_pieces": int(np.count_nonzero(shared & ~whole)),
        "largest_diameter": [
            int(topics.diameter_low.max(initial=0)),
            int(topics.diameter_high.max(initial=0)),
        ],
        "n_diameters_bounded": int(np.count_nonzero(~exact)),
    }


def _against(sizes: Any, values: Any) -> dict[str, Any]:
    if len(sizes) == 0:
        return {"dots": [], "means": []}
    pairs, counts = np.unique(np.column_stack((sizes, values)), axis=0, return_counts=True)
    bins = np.floor(2 * np.log2(sizes)).astype(np.int64)
    means = [
        [short(sizes[bins == b].mean()), short(values[bins == b].mean()), int((bins == b).sum())]
        for b in np.unique(bins).tolist()
    ]
    # The most crowded first: where dots are too many to draw, the rarest are left to the means.
    order = np.argsort(-counts, kind="stable")[:1200]
    dots = [[*pairs[i].tolist(), int(counts[i])] for i in sorted(order.tolist())]
    return {"dots": dots, "means": means}
