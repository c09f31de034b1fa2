"""Which of several overlays of one workload to take, in a sentence with its reason.

The rule, in this order: fewest topics cut off, fewest topics relayed (so a complete overlay comes
before any other), fewest links, lowest maximum fan-out, smallest share of deliveries that depend
on one node, first named. A complete overlay with a single point of failure is still named, because
the way out costs links; the sentence then says what depends on it, and which complete overlay
without one has the fewest links. docs/report.md says the same to users.
"""

from collections.abc import Sequence
from typing import Any

from meshwright.overlay.dependence import MANY
from meshwright.report.page import counted, number, percent

Facts = dict[str, Any]  # of an overlay, as `overlay_facts` returns them


def recommend(overlays: Sequence[Facts]) -> Facts | None:
    """Return the overlay to take and why; None if there is nothing to choose from."""
    if len(overlays) < 2:
        return None
    order = sorted(overlays, key=_key)
    best = order[0]
    complete = [o for o in order if _is_complete(o)]
    safer = next((o for o in complete if o is not best and not _is_single_point(o)), None)
    said = [f"{_reach(best)}, {_why(best, order)}."]
    found = best["dependence"]
    if found is not None and found["node"]:
        said.append(
            f"{percent(found['share'])} of the deliveries depend on {found['node']!r}, in "
            f"{number(found['topics'])} of {counted(found['of_topics'], 'topic')}"
            + (": a single point of failure." if _is_single_point(best) else ".")
        )
    if _is_single_point(best) and _is_complete(best):
        said.append(
            f"Without one, take {safer['label']!r}: "
            f"{counted(safer['headline']['links'], 'link')}, and at most "
            f"{percent(safer['dependence']['share'])} depend on a node."
            if safer is not None
            else "None of the complete overlays here is without one."
        )
    if not complete:
        said.append("None of the overlays here connects every topic.")
    return {
        "overlay": best["label"],
        "sentence": " ".join(said),
        "alternative": safer["label"] if safer is not None and _is_single_point(best) else None,
    }


def _key(overlay: Facts) -> tuple[float, ...]:
    shown, found = overlay["headline"], overlay["dependence"]
    return (
        shown["topics_cut_off"],
        shown["topics_relayed"],
        shown["links"],
        shown["maximum_fan_out"],
        found["share"] if found is not None else 0.0,
    )


def _is_complete(overlay: Facts) -> bool:
    shown = overlay["headline"]
    return not shown["topics_cut_off"] and not shown["topics_relayed"]


def _is_single_point(overlay: Facts) -> bool:
    found = overlay["dependence"]
    return found is not None and found["share"] >= MANY


def _reach(overlay: Facts) -> str:
    """Return what an overlay connects, and with how many links."""
    shown = overlay["headline"]
    links = counted(shown["links"], "link")
    if _is_complete(overlay):
        return f"{overlay['label']}: every topic is connected with {links}"
    apart = []
    if shown["topics_cut_off"]:
        apart.append(f"{number(shown['topics_cut_off'])} cut off")
    if shown["topics_relayed"]:
        apart.append(f"{number(shown['topics_relayed'])} relayed")
    joined, shared = number(shown["topics_connected"]), counted(shown["topics_shared"], "topic")
    return f"{overlay['label']}: {joined} of {shared} connected with {links}, {', '.join(apart)}"


def _why(best: Facts, order: Sequence[Facts]) -> str:
    """Return the first measure of the rule in which the best differs from the next."""
    following = order[1]
    one, other = best["headline"], following["headline"]
    if _is_complete(best) and not _is_complete(following):
        return "the only one here that is complete"
    among = "of the complete ones" if _is_complete(best) else "of those that connect as many"
    reasons = (
        ("topics_cut_off", "the fewest cut off"),
        ("topics_relayed", "the fewest relayed"),
        ("links", f"the fewest {among}"),
        ("maximum_fan_out", f"no more than the others, and at most {one['maximum_fan_out']} at a "
         "node, the fewest"),
    )  # fmt: skip
    for measure, reason in reasons:
        if one[measure] < other[measure]:
            return reason
    if _key(best) < _key(following):
        return "the same as others, and less depends on one node"
    return f"the same in everything as {following['label']!r}, which was named later"
