"""What a design must obey besides its method, put together; and which methods can."""

from functools import partial
from pathlib import Path

import numpy as np

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.model.limits import LIMIT_COLUMNS, LINK_COLUMNS, NO_LIMIT, Limits, Links, Rows
from meshwright.model.method import choose
from meshwright.model.overlay import Overlay, frozen_flags
from meshwright.overlay.bounds.counting import links_needed
from meshwright.overlay.bounds.kernels.counting import NO_PARTNER
from meshwright.overlay.carriers import settle_carriers
from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.overlay.greedy.key_order import greedy_edges
from meshwright.overlay.greedy.rule import Engine, PairCosts, Restrictions
from meshwright.overlay.methods import METHODS, RESTRICTABLE
from meshwright.runtime.arrays import Bools
from meshwright.storage.csv_files import read_rows

MOST_LISTED = 10  # nodes in one message


LimitsGiven = Limits | Rows | str | Path | None
LinksGiven = Links | Rows | str | Path | None


def restrict(
    instance: Instance,
    *,
    carries: Bools | None = None,
    publishers_as: str | None = None,
    limits: Limits | None = None,
    links: Links | None = None,
) -> Restrictions:
    """Return what a design for an instance must obey."""
    may_carry = np.ones(instance.n_subscriptions, np.bool_)
    if carries is not None:
        may_carry &= frozen_flags(instance, carries)
    if publishers_as == "leaf" and instance.wants is not None:
        may_carry &= instance.wants
    if limits is not None:
        may_carry &= ~limits.is_leaf[instance.nodes]
    settled = None if may_carry.all() else settle_carriers(instance, may_carry)
    return restrictions_of(settled, limits, links)


def restrictions_of(
    carries: Bools | None, limits: Limits | None, links: Links | None
) -> Restrictions:
    """Return restrictions with who carries topics settled, as an overlay has them."""
    # Links may say no more than who can dial, or what pairs cost.
    decides = links is not None and (links.only_listed or len(links.forbidden) > 0)
    return Restrictions(
        carries,
        max_links=limits.max_degree if limits is not None and limits.has_caps else None,
        pairs=links.restricting if links is not None and decides else None,
        only_listed=links is not None and links.only_listed,
        costs=None if links is None else costs_of(links),
    )


def costs_of(links: Links) -> PairCosts | None:
    """Return what pairs cost, None if no cost is said."""
    if links.cost is None:
        return None
    known = ~np.isnan(links.cost)
    return PairCosts(links.pairs[known], links.cost[known])


def read_limits(given: LimitsGiven, instance: Instance) -> Limits | None:
    """Return limits from a CSV file or from rows, mappings of column to value."""
    if given is None or isinstance(given, Limits):
        return given
    if not isinstance(given, str | Path):
        return Limits.from_rows(given, instance.node_names)
    lines = read_rows(Path(given), LIMIT_COLUMNS[:1], LIMIT_COLUMNS[1:])
    rows, numbers = [row for _, row in lines], [line for line, _ in lines]
    return Limits.from_rows(rows, instance.node_names, f"'{given}'", numbers)


def read_links(given: LinksGiven, instance: Instance) -> Links | None:
    """Return links from a CSV file or from rows, mappings of column to value."""
    if given is None or isinstance(given, Links):
        return given
    if not isinstance(given, str | Path):
        return Links.from_rows(given, instance.node_names)
    lines = read_rows(Path(given), LINK_COLUMNS[:2], LINK_COLUMNS[2:])
    rows, numbers = [row for _, row in lines], [line for line, _ in lines]
    return Links.from_rows(rows, instance.node_names, f"'{given}'", numbers)


def ignored_by_bounds(restrictions: Restrictions) -> list[str]:
    """Return what the bounds of a restricted design leave out; they hold all the more."""
    ignored = []
    if restrictions.max_links is not None:
        ignored.append("max_degree of nodes")
    if restrictions.pairs is not None:
        ignored.append("pairs, but in counting links and degrees")
    if restrictions.carries is not None:
        ignored.append("leaves, but in counting")
    return ignored


def check_possible(instance: Instance, restrictions: Restrictions) -> None:
    """Raise InfeasibleError if a node needs more links than it may have, or has no partner."""
    if not restrictions.exclude_pairs:
        return
    needed = links_needed(instance, restrictions)
    most = np.full(instance.n_nodes, NO_LIMIT, np.int64)
    if restrictions.max_links is not None:
        most = restrictions.max_links.astype(np.int64)
    names = instance.node_names
    wrong = [
        f"{names[v]!r} may have {most[v]:,} links and needs at least {needed[v]:,}"
        for v in np.flatnonzero((needed > most) & (needed < NO_PARTNER)).tolist()
    ]
    alone = np.flatnonzero(needed == NO_PARTNER).tolist()
    wrong += [
        f"{names[v]!r} may be linked to nobody who carries "
        f"{_lonely_topic(instance, restrictions, v)!r}"
        for v in alone[:MOST_LISTED]
    ]
    wrong += [f"{names[v]!r} likewise" for v in alone[MOST_LISTED:]]
    if wrong:
        more = f"\n  and {len(wrong) - MOST_LISTED:,} more" if len(wrong) > MOST_LISTED else ""
        raise InfeasibleError(
            "no plan within these limits connects every topic:\n  "
            + "\n  ".join(wrong[:MOST_LISTED])
            + f"{more}\nRaise these limits, allow more pairs, or choose gpa or gpm, which connect "
            "what they can."
        )


def _lonely_topic(instance: Instance, restrictions: Restrictions, node: int) -> str:
    """Return the name of a topic in which a node needs a partner and may have none."""
    carries = restrictions.carries
    carries = np.ones(instance.n_subscriptions, np.bool_) if carries is None else carries
    nodes, first = instance.nodes, instance.indptr[node]
    exclusions = restrictions.exclusions(np.arange(instance.n_nodes, dtype=np.int32))
    for k, topic in enumerate(instance.topics_of(node).tolist()):
        others = (instance.topics == topic) & (nodes != node)
        partners = others & carries if (others & carries).any() else others & carries[first + k]
        found = nodes[partners].tolist()
        if found and all(is_excluded(exclusions, node, w) for w in found):
            return str(instance.topic_names[topic])
    return ""


def refuse_impossible(overlay: Overlay) -> None:
    """Raise InfeasibleError if forbidden pairs alone keep topics of a greedy overlay apart.

    Without a limit of links, the greedy methods stop only when no pair that may be linked gains:
    so no plan joins what is apart then.
    """
    caps = overlay.limits is not None and overlay.limits.has_caps
    if caps or overlay.connected:
        return
    apart = np.flatnonzero(overlay.components > 1)
    listed = [
        f"{overlay.instance.topic_names[t]!r} in {overlay.components[t]:,} parts"
        for t in apart[:MOST_LISTED].tolist()
    ]
    more = f"\n  and {len(apart) - MOST_LISTED:,} more" if len(apart) > MOST_LISTED else ""
    raise InfeasibleError(
        "the pairs that may be linked leave topics apart, whatever links are chosen:\n  "
        + "\n  ".join(listed)
        + f"{more}\nAllow pairs between these parts, or choose gpa or gpm, which connect what "
        "they can."
    )


def check_restrictable(method: str, *, budget_ratio: float | None, on_spark: bool) -> None:
    """Raise InputError unless a method obeys leaves, limits and links."""
    if not choose(METHODS, method).restrictable:
        raise InputError(
            f"{method} does not obey leaves, limits or links; {', '.join(RESTRICTABLE)} do."
        )
    if on_spark:
        raise InputError("engine spark does not obey leaves, limits or links; choose driver.")
    if budget_ratio is not None:
        raise InputError(
            "budget_ratio does not go with leaves, limits or links: it is a share of an overlay "
            "without them. Give max_edges or max_degree."
        )


def refuse_costs(method: str, restrictions: Restrictions) -> None:
    """Raise InputError if pairs have costs, for a method that counts links alone."""
    if restrictions.costs is not None:
        raise InputError(f"{method} knows no costs of pairs; leave the column cost out, or use gm.")


def restricted_engine(restrictions: Restrictions) -> Engine:
    """Return the engine that obeys."""
    return partial(greedy_edges, restrictions=restrictions)
