"""The facts of workloads, overlays and runs that a report shows."""

from typing import Any

import numpy as np
import pyarrow.compute as pc

from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import Overlay, bound_on_links, count_joins, linked_parts
from meshwright.overlay.dependence import MOST_SUBSCRIPTIONS, Failing, Losses, find_dependence
from meshwright.overlay.kernels.dependence import count_lost, list_splits
from meshwright.overlay.methods.baselines import hub
from meshwright.overlay.relays import find_relays
from meshwright.overlay.topics import TopicRows, topic_rows
from meshwright.report.distributions import box, knee, rounded, short, summary, thin
from meshwright.report.picture import count_distinct, picture
from meshwright.smallworld.routing.traffic import traffic_facts
from meshwright.storage import Manifest, read_table

LEAST_BEND = 0.02  # of the support; a curve that bends less is straight and has no knee
MANY = 0.8  # the support that the 80/20 rule is about
MOST_DOTS = 1200
MOST_WORST = 10  # nodes whose loss is listed
MOST_DEAREST = 5  # links that are named


def workload_facts(name: str, instance: Instance) -> dict[str, Any]:
    """Return the sizes, the two CCDFs, the names, and the subscribers of each topic."""
    topic_ptr, members = subscribers_of(instance)
    sizes, wants = np.diff(topic_ptr), np.diff(instance.indptr)
    return {
        "name": name,
        "n_nodes": instance.n_nodes,
        "n_topics": instance.n_topics,
        "n_subscriptions": instance.n_subscriptions,
        "topics_per_node": summary(wants),
        "subscribers_per_topic": summary(sizes),
        "node_names": list(instance.node_names),
        "topic_names": list(instance.topic_names),
        "topics_of_node": wants.tolist(),
        "subscribers_of_topic": sizes.tolist(),
        "subscribers": np.split(members, topic_ptr[1:-1]) if len(sizes) else [],
    }


def overlay_facts(label: str, overlay: Overlay, manifest: Manifest) -> dict[str, Any]:
    """Return the facts of an overlay, without its links."""
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
        "relays": relays.as_dict() if (relays := find_relays(overlay)) else None,
        "dependence": dependence(overlay),
        "losses": loss_facts(overlay),
        "degree": degree_facts(overlay),
        "support_curve": support_curve(overlay),
        "topics": {
            name: getattr(topics, name).tolist()
            for name in ("links", "components", "largest", "diameter_low", "diameter_high")
        },
        "topic_sizes": topic_sizes(topics),
        "picture": picture(overlay),
        "traffic": rounded(traffic_facts(overlay)),
        "cost": cost_facts(overlay),
        "replanned": replanned_facts(manifest),
    }


def replanned_facts(manifest: Manifest) -> dict[str, int] | None:
    """Return the links kept, added and removed since the overlay before; None if designed anew."""
    said = manifest.get("replanned")
    if not isinstance(said, dict):
        return None
    names = ("kept", "added", "removed", "nodes_with_other_links")
    found = {name: said.get(name) for name in names}
    fresh = said.get("fresh")
    found["fresh_links"] = fresh.get("n_edges") if isinstance(fresh, dict) else None
    counts = {name: value for name, value in found.items() if isinstance(value, int)}
    return counts if len(counts) == len(found) else None


def cost_facts(overlay: Overlay) -> dict[str, Any] | None:
    """Return what the links cost, in the order of the links, and the dearest; None if unknown."""
    costs = overlay.link_costs
    if costs is None:
        return None
    names, known = overlay.instance.node_names, ~np.isnan(costs)
    dearest = np.argsort(np.where(known, -costs, np.inf), kind="stable")[:MOST_DEAREST]
    return {
        "total": short(costs[known].sum()),
        "n_unknown": int(np.count_nonzero(~known)),
        "of_links": [short(cost) if cost >= 0 else None for cost in costs.tolist()],
        "dearest": [
            {"ends": [names[v] for v in overlay.edges[i].tolist()], "cost": short(costs[i])}
            for i in dearest.tolist()
            if known[i]
        ],
    }


def headline(overlay: Overlay) -> dict[str, Any]:
    """Return the measures that a manager asks for first, and those of a full mesh and a star."""
    instance = overlay.instance
    n = instance.n_nodes
    full = n * (n - 1) // 2
    joins = np.maximum(np.bincount(instance.topics, minlength=instance.n_topics) - 1, 0)
    n_shared = int(np.count_nonzero(joins))
    apart = int(np.count_nonzero(overlay.components > 1))
    # Relays can join subscribers within a part of the overlay; between two parts there is no path.
    part = linked_parts(n, overlay.edges)[np.repeat(np.arange(n), np.diff(instance.indptr))]
    n_parts = count_distinct(instance.topics, part, instance.n_topics)
    cut_off = int(np.count_nonzero(n_parts > 1))
    # A star joins the topics that its hub wants, and relays the others.
    by_hub = joins[instance.topics_of(hub(instance))] if n else joins
    by_star = n_shared - int(np.count_nonzero(by_hub))
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
        "support_of_star": short(by_hub.sum() / joins.sum()) if n_shared else 1.0,
    }


def certificate(overlay: Overlay) -> dict[str, Any]:
    """Return each measure with the bound that no overlay can beat, and the gap between them.

    The bounds on links and on the maximum degree hold for overlays that connect every topic.
    """
    bounds = overlay.bounds
    complete = bounds if overlay.connected else None
    links = bound_on_links(complete.edges, overlay.parameters) if complete else None
    best = min(bounds.support_with_edges, bounds.support_with_degree) if bounds else None
    # Both are fractions of the same whole number: a smaller difference is a rounding error.
    gap = max(0.0, round(best - overlay.support, 12)) / best if best else None

    def row(measure: str, value: float, bound: float | None, gap: float | None) -> dict[str, Any]:
        if gap is None and bound:
            gap = value / bound - 1
        facts = {"measure": measure, "value": value, "bound": bound, "gap": gap}
        return {name: rounded(fact) for name, fact in facts.items()}

    rows = [
        row("links", overlay.n_edges, links, None),
        row("maximum degree", overlay.max_degree, complete.max_degree if complete else None, None),
        row("average degree", overlay.average_degree, None, None),
        row("support", overlay.support, best, gap),
    ]
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


def dependence(overlay: Overlay) -> dict[str, Any] | None:
    """Return what most depends on, as facts and in sentences."""
    found = find_dependence(overlay)
    if found is None:
        return None
    return {**found.as_dict(), "share": short(found.share), "sentences": found.sentences()}


def loss_facts(overlay: Overlay) -> dict[str, Any] | None:
    """Return what the loss of one node costs: the worst, and the topics that each node splits."""
    instance = overlay.instance
    if instance.n_subscriptions > MOST_SUBSCRIPTIONS:
        return None
    failing = Failing.of(instance, overlay.carries, overlay.edges)
    found, splitting = count_lost(*failing, 0, instance.n_topics)
    losses = Losses(*found)
    splits = list_splits(*failing, splitting)
    order = np.argsort(splits[:, 0], kind="stable")
    ends = np.searchsorted(splits[order, 0], np.arange(1, instance.n_nodes))
    names = instance.node_names
    return {
        "n_nodes": int(np.count_nonzero(losses.topics)),
        "n_topics": int(np.count_nonzero(splitting)),
        "worst": [
            {"node": names[v]} | {name: int(of[v]) for name, of in losses._asdict().items()}
            for v in losses.worst(MOST_WORST).tolist()
        ],
        "splits": [part.tolist() for part in np.split(splits[order, 1], ends)],
    }


def degree_facts(overlay: Overlay) -> dict[str, Any]:
    """Return the distribution of links per node, each node's, and the busiest nodes."""
    degrees = overlay.degrees
    order = np.argsort(-degrees, kind="stable")[:5].tolist()
    names = overlay.instance.node_names
    return {
        **summary(degrees),
        "histogram": np.column_stack(np.unique(degrees, return_counts=True)).tolist(),
        "of_node": degrees.tolist(),
        "busiest": [{"node": names[v], "links": int(degrees[v])} for v in order],
    }


def support_curve(overlay: Overlay) -> dict[str, Any]:
    """Return support against links in the order added, its knee, and where it reaches 80%."""
    full = count_joins(overlay.instance, overlay.carries)
    gained = np.concatenate(([0], np.cumsum(overlay.gains, dtype=np.int64)))
    support = gained / full if full else np.ones(len(gained))
    at, height = knee(support)
    many = int(np.searchsorted(support, MANY - 1e-12))

    def mark(links: int) -> dict[str, Any]:
        share = short(links / overlay.n_edges) if overlay.n_edges else 0.0
        return {"links": links, "share_of_links": share, "support": short(support[links])}

    listed = thin(len(support), [at, min(many, overlay.n_edges)])
    return {
        "points": [[i, short(support[i])] for i in listed],
        "knee": mark(at) if height >= LEAST_BEND else None,
        "eighty_percent": mark(many) if many <= overlay.n_edges else None,
    }


def topic_sizes(topics: TopicRows) -> dict[str, Any]:
    """Return the components and diameters of topics against their size, as dots and as means.

    Diameters are those of connected topics. A dot is (subscribers, value, number of topics); a
    mean is over sizes from one power of the square root of two to the next: (mean size, mean
    value, number of topics).
    """
    shared = topics.subscribers > 1
    whole = shared & (topics.components == 1)
    exact = (topics.diameter_low == topics.diameter_high)[shared]
    return {
        "components": _against(topics.subscribers[shared], topics.components[shared]),
        "diameter": _against(topics.subscribers[whole], topics.diameter_high[whole]),
        "n_in_pieces": int(np.count_nonzero(shared & ~whole)),
        "largest_diameter": [
            int(bound.max(initial=0)) for bound in (topics.diameter_low, topics.diameter_high)
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
    # Where there are too many dots to draw, those of the fewest topics are left out.
    order = np.argsort(-counts, kind="stable")[:MOST_DOTS]
    dots = [[*pairs[i].tolist(), int(counts[i])] for i in sorted(order.tolist())]
    return {"dots": dots, "means": means}


def run_facts(label: str, manifest: Manifest) -> list[dict[str, Any]]:
    """Return the facts of a run, and of the one it was simulated against, which has only totals."""
    rows = read_table(manifest, "publications", ["overhead", "hops_mean", "hops_max"])
    load = read_table(manifest, "load", ["sent", "received"])
    loads = load.column("sent").to_numpy() + load.column("received").to_numpy()
    common = {
        "overlay": manifest["method"],
        "overlay_digest": manifest["overlay_digest"],
        "links": manifest["n_edges"],
        "publications": manifest["parameters"]["publications"],
        "weighted": manifest["parameters"]["weighted"],
        "seed": manifest["seed"],
        "seconds": short(manifest["seconds"]),
        "command": manifest.command,
        "created": manifest.created,
    }
    found = [
        {
            "label": label,
            "routing": manifest["routing"],
            **common,
            "totals": _totals(manifest["totals"]),
            "overhead_per_publication": summary(rows.column("overhead").to_numpy()),
            "mean_path": summary(_numbers(rows.column("hops_mean"))),
            "longest_path": summary(_numbers(rows.column("hops_max"))),
            "load": {**summary(loads), "box": box(loads)},
            "busiest": manifest["busiest"],
        }
    ]
    other = manifest.get("against")
    if other is not None:
        alone = {"label": f"{label} ({other['routing']})", "routing": other["routing"]}
        found.append({**alone, **common, "totals": _totals(other["totals"])})
    return found


def measured_facts(run: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a run that are shown in the headline of its overlay."""
    totals = run["totals"]
    return {
        "run": run["label"],
        "routing": run["routing"],
        "overhead_per_delivery": totals["overhead_per_delivery"],
        "missed": totals["missed"],
        "deliveries_wanted": totals["deliveries"] + totals["missed"],
    }


def _totals(totals: dict[str, Any]) -> dict[str, Any]:
    """Return the totals of a run, rounded, and the overhead per delivery."""
    ratio = totals["overhead"] / totals["deliveries"] if totals["deliveries"] else None
    every = {**totals, "overhead_per_delivery": ratio}
    return {name: rounded(value) for name, value in every.items()}


def _numbers(column: Any) -> Any:
    """Return a column without its nulls: a publication without deliveries has no path."""
    return pc.drop_null(column).to_numpy().astype(np.float64).round(6)
