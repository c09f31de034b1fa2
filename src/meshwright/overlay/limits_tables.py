"""What an overlay was designed within, as tables of its dataset: leaves, limits, links.

Each is there only if it was given; `leaves` lists who takes part in a topic without carrying it.
"""

from math import fsum
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.errors import InputError, damaged
from meshwright.model.instance import Instance
from meshwright.model.limits import ALLOWED, DIALS, MOST_COST, NO_LIMIT, ROLES, Limits, Links
from meshwright.model.overlay import Overlay
from meshwright.overlay.restricted import costs_of, ignored_by_bounds, restrictions_of
from meshwright.runtime.arrays import Bools, Floats, Ints
from meshwright.storage import Manifest, read_table
from meshwright.storage.digest import pack


def limit_tables(overlay: Overlay) -> dict[str, pa.Table]:
    """Return the tables `leaves`, `limits`, `links` and `costs`, those that an overlay needs."""
    tables: dict[str, pa.Table] = {}
    if overlay.carries is not None:
        leaf = ~overlay.carries
        instance = overlay.instance
        columns = {"node": instance.nodes[leaf], "topic": instance.topics[leaf]}
        tables["leaves"] = pa.table(columns)
    if (limits := overlay.limits) is not None:
        limited = np.flatnonzero((limits.max_degree < NO_LIMIT) | (limits.role >= 0))
        most = limits.max_degree[limited]
        tables["limits"] = pa.table(
            {
                "node": limited.astype(np.int32),
                "max_degree": pa.array(most, mask=most == NO_LIMIT),
                "role": _words(limits.role[limited], ROLES),
            }
        )
    if (links := overlay.links) is not None:
        tables["links"] = pa.table(
            {
                "u": links.pairs[:, 0],
                "v": links.pairs[:, 1],
                "allowed": _words(links.allowed, ALLOWED),
                "dial": _words(links.dial, DIALS),
            }
        )
        if (costs := costs_of(links)) is not None:
            u, v = costs.pairs.T
            tables["costs"] = pa.table({"u": u, "v": v, "cost": costs.values})
    return tables


def limit_facts(overlay: Overlay) -> dict[str, Any]:
    """Return the facts of the manifest about what an overlay was designed within."""
    facts: dict[str, Any] = {}
    if overlay.carries is not None:
        facts["n_leaves"] = int(np.count_nonzero(~overlay.carries))
    for name, given in (("limits", overlay.limits), ("links", overlay.links)):
        if given is not None:
            facts[f"{name}_digest"] = given.digest
    facts |= cost_facts(overlay)
    if facts and overlay.bounds is not None:
        restrictions = restrictions_of(overlay.carries, overlay.limits, overlay.links)
        facts["bounds_ignore"] = ignored_by_bounds(restrictions)
    return facts


def cost_facts(overlay: Overlay) -> dict[str, Any]:
    """Return what the links cost together, and how many have no cost; nothing if none is said."""
    costs = overlay.link_costs
    if costs is None:
        return {}
    known = costs[~np.isnan(costs)]
    return {"cost": fsum(known.tolist()), "n_links_without_cost": len(costs) - len(known)}


def read_limit_tables(
    manifest: Manifest, instance: Instance
) -> tuple[Bools | None, Limits | None, Links | None]:
    """Return what an overlay was designed within, from its dataset.

    That is which subscriptions carry (bool[n_subscriptions]), the limits of nodes, and the rules
    for pairs with their costs.

    Each is None if the dataset has no such table.
    """
    carries, limits, links = None, None, None
    if "leaves" in manifest.rows:
        table = read_table(manifest, "leaves")
        node, topic = _ids(table, "node"), _ids(table, "topic")
        leaf = pack(node, topic)
        known = pack(instance.nodes, instance.topics)
        carries = ~np.isin(known, leaf)
        if np.count_nonzero(~carries) != len(leaf):
            raise _damaged(manifest, "leaves", "it lists a topic that its node does not want")
    if "limits" in manifest.rows:
        table = read_table(manifest, "limits")
        node = _nodes(manifest, table, "limits", ("node",), instance.n_nodes)[:, 0]
        most = np.full(instance.n_nodes, NO_LIMIT, np.int64)
        role = np.full(instance.n_nodes, -1, np.int32)
        most[node] = table.column("max_degree").fill_null(NO_LIMIT).to_numpy()
        role[node] = _numbers(manifest, table, "limits", "role", ROLES)
        if len(np.unique(node)) < len(node) or (most < 0).any():
            raise _damaged(manifest, "limits", "a node is listed twice or has a negative limit")
        limits = Limits(most.astype(np.int32), role)
    if "links" in manifest.rows:
        table = read_table(manifest, "links")
        pairs = _nodes(manifest, table, "links", ("u", "v"), instance.n_nodes)
        allowed = _numbers(manifest, table, "links", "allowed", ALLOWED)
        if not (pairs[:, 0] < pairs[:, 1]).all():
            raise _damaged(manifest, "links", "a pair is not given as u < v")
        dial = _numbers(manifest, table, "links", "dial", DIALS)
        links = Links(pairs, allowed, dial, _read_costs(manifest, pairs, instance.n_nodes))
    return carries, limits, links


def _read_costs(manifest: Manifest, pairs: Ints, n_nodes: int) -> Floats | None:
    """Return the costs of the listed pairs, NaN for those that have none."""
    if "costs" not in manifest.rows:
        return None
    table = read_table(manifest, "costs")
    priced = _nodes(manifest, table, "costs", ("u", "v"), n_nodes)
    values = table.column("cost").to_numpy()
    known, wanted = pack(pairs[:, 0], pairs[:, 1]), pack(priced[:, 0], priced[:, 1])
    if not np.isin(wanted, known).all() or not ((values >= 0) & (values <= MOST_COST)).all():
        raise _damaged(manifest, "costs", "it has other pairs than links, or costs below 0")
    costs = np.full(len(pairs), np.nan)
    costs[np.searchsorted(known, wanted)] = values
    return costs


def limit_findings(manifest: Manifest, overlay: Overlay) -> list[str]:
    """Return where the links of an overlay do not obey what it was designed within."""
    instance, names = overlay.instance, overlay.instance.node_names
    wrong = []
    if (limits := overlay.limits) is not None:
        degrees = overlay.degrees
        wrong += [
            f"{names[v]!r} has {degrees[v]:,} links; its limit is {limits.max_degree[v]:,}"
            for v in np.flatnonzero(degrees > limits.max_degree).tolist()
        ]
        wrong += _role_findings(overlay, limits)
    if (links := overlay.links) is not None:
        made = pack(overlay.edges[:, 0], overlay.edges[:, 1])
        listed = pack(links.restricting[:, 0], links.restricting[:, 1])
        stray = np.isin(made, listed) != links.only_listed
        wrong += [
            f"{names[u]!r} - {names[v]!r} is linked and may not be"
            for u, v in overlay.edges[stray].tolist()
        ]
    named = ("limits_digest", "links_digest", "n_leaves", "cost", "n_links_without_cost")
    claimed = {name: manifest.get(name) for name in named}
    real = {**dict.fromkeys(claimed), **limit_facts(overlay)}
    wrong += [
        f"the manifest says {name} is {value}; it is {real[name]}"
        for name, value in claimed.items()
        if value != real[name]
    ]
    if manifest["parameters"].get("publishers_as") == "leaf" and instance.wants is not None:
        carries = overlay.carries
        if carries is None or (carries & ~instance.wants).any():
            wrong.append("nodes that only publish a topic carry it, and are to be leaves")
    return wrong


def _role_findings(overlay: Overlay, limits: Limits) -> list[str]:
    """Return which leaves carry a topic that they are not the only carrier of."""
    instance = overlay.instance
    carries = np.ones(instance.n_subscriptions, np.bool_)
    if overlay.carries is not None:
        carries = overlay.carries
    n_carriers = np.bincount(instance.topics[carries], minlength=instance.n_topics)
    bad = carries & limits.is_leaf[instance.nodes] & (n_carriers[instance.topics] > 1)
    pairs = zip(instance.nodes[bad].tolist(), instance.topics[bad].tolist(), strict=True)
    return [
        f"{instance.node_names[v]!r} is a leaf and carries {instance.topic_names[t]!r}"
        for v, t in pairs
    ]


def _words(numbers: Ints, words: tuple[str, ...]) -> pa.Array:
    return pa.array([words[i] if i >= 0 else None for i in numbers.tolist()], pa.string())


def _numbers(
    manifest: Manifest, table: pa.Table, name: str, column: str, words: tuple[str, ...]
) -> Ints:
    found = table.column(column).to_pylist()
    unknown = {word for word in found if word is not None and word not in words}
    if unknown:
        raise _damaged(manifest, name, f"{column} is {min(unknown)!r}")
    return np.array([-1 if w is None else words.index(w) for w in found], dtype=np.int32)


def _nodes(
    manifest: Manifest, table: pa.Table, name: str, columns: tuple[str, ...], n_nodes: int
) -> Ints:
    ids = np.column_stack([_ids(table, column) for column in columns])
    if len(ids) and not (ids.min() >= 0 and ids.max() < n_nodes):
        raise _damaged(manifest, name, f"a node is outside 0..{n_nodes - 1}")
    return ids


def _ids(table: pa.Table, column: str) -> Ints:
    return table.column(column).to_numpy().astype(np.int32)


def _damaged(manifest: Manifest, table: str, why: str) -> InputError:
    return damaged(manifest.path, f"table {table!r}: {why}", "Design it again")
