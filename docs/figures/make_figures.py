"""Draw the figures of the method pages as SVG: ``python docs/figures/make_figures.py``.

Every method designs the same small example, 14 brokers of ``examples/company.csv``, so the
figures can be compared. One more shows how support grows with the links. Methods of assignment
share a small problem in the same way. Only the standard library and meshwright are needed, and the
same input gives the same bytes.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from meshwright import (
    Assignment,
    BrokerTree,
    Instance,
    Leave,
    Overlay,
    Problem,
    SmallWorld,
    Subscribe,
    assign,
    design,
    replan,
    trace,
)
from meshwright.model.small_world import small_world
from meshwright.smallworld.methods import chord_fingers

HERE = Path(__file__).parent
COMPANY = HERE.parents[1] / "examples" / "company.csv"

# Okabe and Ito's palette, which colour-blind readers can tell apart too.
BLUE, ORANGE, VERMILLION = "#0072b2", "#e69f00", "#d55e00"
LIGHT_SKY, LIGHT_GREEN, LIGHT_ORANGE = "#9ad3f2", "#7fcfb8", "#f5cf80"  # dark numbers stand on them
INK, GREY, PALE, PAPER = "#222222", "#8a8a8a", "#e4e4e4", "#ffffff"

GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "production lines": (LIGHT_SKY, tuple(f"plant1-line{i}" for i in range(1, 7))),
    "plant services": (
        LIGHT_GREEN,
        ("plant1-scada", "plant1-historian", "plant1-service", "plant1-gateway"),
    ),
    "cloud": (LIGHT_ORANGE, ("cloud-archive", "cloud-analytics", "cloud-alarms", "cloud-energy")),
}
BROKERS = tuple(name for _, names in GROUPS.values() for name in names)

# Budgets that leave something to see: fewer links than a complete overlay needs.
PLANS: dict[str, dict[str, Any]] = {
    "gm": {},
    "minmax": {},
    "low": {"k": 2},
    "refined": {"max_degree": 5},
    "exact": {"max_degree": 5},
    "gpa": {"max_edges": 8},
    "gpm": {"max_degree": 3},
    "cd": {},
    "cd1": {},
    "cd2": {},
    "spidercast": {"max_degree": 3, "seed": 1},
    "random-average": {"max_edges": 13, "seed": 1},
    "random-max": {"max_degree": 3, "seed": 1},
    "ring-per-topic": {},
    "star": {},
    "full-mesh": {},
    "sl": {},
    "s": {},
    "l": {},
    "none": {},
}
SUPPORT = "support-against-links"
SURVIVE = "survive"
COST = "engine-cost"
LABELS = {
    "cornell5": (-8, 2),
    "fb10k": (-8, -6),
    "tw20k": (-8, -4),
    "tw80k": (10, 12),
    "zipf10k": (4, 18),
}
DISSEMINATION = "dissemination"
REPLANNING = "replanning"
LEAVING = "plant2-line3"
SCALE = "scale"
SOCIAL = "social"
SOCIAL_CURVES = {
    ("cornell5", "followers"): "Cornell5: share with x friends or more",
    ("cornell5", "clustering"): "Cornell5: clustering at x friends",
    ("ego-twitter", "followers"): "ego-Twitter: with x followers or more",
    ("ego-twitter", "followees"): "ego-Twitter: with x followees or more",
    ("ego-twitter", "clustering"): "ego-Twitter: clustering at x relations",
}
ASSIGNMENTS = ("gr", "gr-star", "closest", "balance", "slp")
LIMITS = ("β", "β max")
LEAF_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#8f6300")

WIDTH, HEIGHT = 680, 576
CENTRE_X, CENTRE_Y, RADIUS, NODE = 340, 280, 190, 12


def company(brokers: tuple[str, ...] | None = None) -> Instance:
    """Return the bundled example, or the part of it that some brokers make up."""
    with COMPANY.open(newline="", encoding="utf-8") as file:
        pairs = [(row["broker"], row["topic"]) for row in csv.DictReader(file)]
    return Instance.from_pairs(p for p in pairs if brokers is None or p[0] in brokers)


def figures() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each figure."""
    instance = company(BROKERS)
    for method, parameters in PLANS.items():
        overlay = design(instance, method, certify=False, **parameters)
        yield method, draw_overlay(overlay, parameters)
    survive = {"survive": 1}
    yield SURVIVE, draw_overlay(design(instance, "gm", certify=False, **survive), survive)
    yield SUPPORT, draw_support(company())
    yield DISSEMINATION, draw_dissemination()
    yield REPLANNING, draw_replanning()
    yield COST, draw_cost()
    yield SCALE, draw_scale()
    yield SOCIAL, draw_social()
    for method in ASSIGNMENTS:
        yield method, draw_assignment(assign(assignment_problem(), method))


def draw_overlay(overlay: Overlay, parameters: dict[str, Any]) -> str:
    """Return an overlay on a circle: wide links join many topics, numbers are degrees."""
    names = overlay.instance.node_names
    on_ring = tuple(names[v] for v in overlay.ring) if isinstance(overlay, SmallWorld) else BROKERS
    place = {name: _on_circle(i) for i, name in enumerate(on_ring)}
    given = ", ".join(f"{name} {value}" for name, value in parameters.items() if name != "seed")
    facts = (
        f"{overlay.n_edges} links, maximum degree {overlay.max_degree}, "
        f"support {overlay.support:.1%}"
    )
    heading = overlay.method + (f" ({given.replace('_', ' ')})" if given else "")
    parts = [
        text(24, 32, heading, size=18, weight="bold"),
        text(24, 54, facts, size=14),
    ]
    # Narrow links last, so that wide ones do not hide them.
    for gain, (u, v) in sorted(
        zip(overlay.gains.tolist(), overlay.edge_list(), strict=True), reverse=True
    ):
        parts.append(_link(place[names[u]], place[names[v]], gain))
    busiest = overlay.max_degree
    degrees = dict(zip(names, overlay.degrees.tolist(), strict=True))
    for colour, members in GROUPS.values():
        for name in members:
            parts += _node(place[name], name, degrees[name], colour, degrees[name] == busiest)
    parts += _legend()
    return document(WIDTH, HEIGHT, f"{heading}: {facts}", parts)


def draw_replanning() -> str:
    """Return what moves after three changes: with a mended overlay, and with one from scratch."""
    before = design(company(), certify=False)
    changes = [
        Subscribe("plant1-line1", "plant3/line1/robot/alarm"),
        Subscribe("plant1-line5", "plant2/line5/oven/energy"),
        Leave(LEAVING),
    ]
    mended = replan(before, changes).overlay
    fresh = design(mended.instance, certify=False)
    heading = f"Two subscriptions more, and {LEAVING} leaves"
    parts = [text(24, 32, heading, size=18, weight="bold")]
    old = {frozenset(link) for link in before.edge_list(names=True)}
    for panel, (heading, overlay) in enumerate((("mended", mended), ("from scratch", fresh))):
        new = {frozenset(link) for link in overlay.edge_list(names=True)}
        place = {
            name: (190 + 350 * panel + 130 * math.cos(angle), 205 + 130 * math.sin(angle))
            for name, angle in _angles(before.instance.node_names)
        }
        for links, style in (
            (old & new, f'stroke="{GREY}" stroke-width="2"'),
            (old - new, f'stroke="{VERMILLION}" stroke-width="2" stroke-dasharray="5 4"'),
            (new - old, f'stroke="{BLUE}" stroke-width="4"'),
        ):
            for one, other in sorted(tuple(sorted(link)) for link in links):
                (x1, y1), (x2, y2) = place[one], place[other]
                ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
                parts.append(f"<line {ends} {style}/>")
        for name, (x, y) in place.items():
            fill = PAPER if name == LEAVING else GREY
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{INK}"/>')
        facts = f"{len(new)} links: {len(old & new)} kept, {len(new - old)} added"
        at = 60 + panel * 350
        parts.append(text(at, 380, heading, size=16, weight="bold"))
        parts.append(text(at, 402, f"{facts}, {len(old - new)} removed", size=14))
    legend = "grey: kept; blue: added; dashed: removed; white: the broker that leaves"
    parts.append(text(60, 434, legend, size=13))
    return document(720, 452, "What moves after three changes", parts)


def _angles(names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield names with their angles on a circle."""
    for i, name in enumerate(names):
        yield name, 2 * math.pi * i / len(names)


def _on_circle(i: int) -> tuple[float, float]:
    angle = 2 * math.pi * (i + 0.5) / len(BROKERS) - math.pi / 2
    return CENTRE_X + RADIUS * math.cos(angle), CENTRE_Y + RADIUS * math.sin(angle)


def _width(gain: int) -> float:
    """Return a width that grows with the square root: 1 topic stays visible, 120 fit."""
    return 0.8 + 0.6 * math.sqrt(gain)


def _link(one: tuple[float, float], other: tuple[float, float], gain: int) -> str:
    ends = f'x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
    if gain == 0:
        return f'<line {ends} stroke="{GREY}" stroke-width="1" stroke-dasharray="4 4"/>'
    style = f'stroke="{BLUE}" stroke-width="{_width(gain):.1f}" stroke-opacity="0.65"'
    return f'<line {ends} {style} stroke-linecap="round"/>'


def _node(
    at: tuple[float, float], name: str, degree: int, colour: str, busiest: bool
) -> Iterator[str]:
    x, y = at
    stroke = f'stroke="{VERMILLION}" stroke-width="4"' if busiest else f'stroke="{INK}"'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE}" fill="{colour}" {stroke}/>'
    yield text(x, y + 4.5, str(degree), size=13, anchor="middle", weight="bold")
    across, down = (x - CENTRE_X) / RADIUS, (y - CENTRE_Y) / RADIUS
    anchor = "start" if across > 0 else "end"
    yield text(x + 23 * across, y + 23 * down + 5, name, size=14, anchor=anchor)


def _legend() -> Iterator[str]:
    y = HEIGHT - 52
    x = 24.0
    for label, (colour, _) in GROUPS.items():
        yield f'<circle cx="{x + 7:.1f}" cy="{y - 5}" r="7" fill="{colour}" stroke="{INK}"/>'
        yield text(x + 20, y, label, size=13)
        x += 36 + 7.2 * len(label)
    yield (
        f'<circle cx="{x + 7:.1f}" cy="{y - 5}" r="6" fill="{PAPER}" '
        f'stroke="{VERMILLION}" stroke-width="4"/>'
    )
    yield text(x + 20, y, "most links (number: degree)", size=13)
    y, x = HEIGHT - 22, 24.0
    yield text(x, y, "link joins", size=13)
    x += 72
    for gain, label in ((1, "1 topic"), (25, "25 topics"), (120, "120 topics"), (0, "nothing new")):
        yield _link((x, y - 5), (x + 34, y - 5), gain)
        yield text(x + 44, y, label, size=13)
        x += 66 + 7.2 * len(label)


def draw_support(instance: Instance) -> str:
    """Return support against links for the whole example, greedy methods and random links."""
    full = design(instance, "gm", certify=False)
    minmax = design(instance, "minmax", certify=False)
    chance = design(instance, "random-average", max_edges=140, seed=1, certify=False)
    total = int(full.gains.sum())
    left, top, right, bottom = 76, 96, 652, 418
    most = 140

    def at(links: float, support: float) -> tuple[float, float]:
        return left + (right - left) * links / most, bottom - (bottom - top) * support

    parts = [
        text(24, 32, "Support against links, company example", size=18, weight="bold"),
        text(
            24,
            54,
            f"{instance.n_nodes} brokers, {instance.n_topics} topics, {total:,} joins to make",
        ),
    ]
    for percent in range(0, 101, 20):
        x, y = at(0, percent / 100)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(text(x - 10, y + 5, f"{percent}%", anchor="end"))
    for links in range(0, most + 1, 20):
        x, y = at(links, 0)
        parts.append(
            f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="{INK}"/>'
        )
        parts.append(text(x, y + 22, str(links), anchor="middle"))
    parts.append(f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="{INK}"/>')
    parts.append(text((left + right) / 2, bottom + 44, "links", anchor="middle"))
    parts.append(text(24, top - 18, "support"))
    for overlay, colour, dash in (
        (chance, GREY, "2 5"),
        (minmax, ORANGE, "9 4"),
        (full, BLUE, ""),
    ):
        joined = [0, *accumulate(overlay.gains.tolist())]
        points = " ".join(
            "{:.1f},{:.1f}".format(*at(i, mu / total)) for i, mu in enumerate(joined[: most + 1])
        )
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3"{dashed}/>'
        )
    joined = list(accumulate(full.gains.tolist()))
    for share in (0.8, 1.0):
        links = next(i for i, mu in enumerate(joined, 1) if mu >= share * total)
        x, y = at(links, joined[links - 1] / total)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{VERMILLION}"/>')
        below = 22 if share < 1 else -10
        parts.append(text(x + 8, y + below, f"{joined[links - 1] / total:.0%} with {links} links"))
    x, y = at(52, 0.875)
    parts.append(text(x, y, "gm", colour=BLUE, weight="bold"))
    x, y = at(70, 0.735)
    parts.append(text(x, y, "minmax (lower maximum degree)", colour="#8f6300", weight="bold"))
    x, y = at(98, 0.18)
    parts.append(text(x, y, "random links (one draw)", colour="#5c5c5c", weight="bold"))
    return document(680, 480, "Support against links for gm, minmax and random links", parts)


def draw_dissemination() -> str:
    """Return how `pie` brings one publication round a ring of 16 nodes, the example of the page."""
    n, readers, publisher = 16, (1, 4, 7, 10, 12, 14), 1
    names = [f"n{v:02}" for v in range(n)]
    instance = Instance.from_pairs([(names[v], "plant/temp") for v in readers], nodes=names)
    world = small_world(instance, range(n), chord_fingers(n), method="none")
    messages = trace(world, 0, publisher, routing="pie")
    overhead = sum(m.receiver not in readers for m in messages)
    heading = "One publication by pie, on 16 nodes with Chord fingers"
    facts = (
        f"{len(messages)} messages: {len(messages) - overhead} deliveries and {overhead} to nodes "
        f"that do not want the topic; longest path {max(m.hops for m in messages)} hops"
    )
    parts = [text(24, 32, heading, size=18, weight="bold"), text(24, 54, facts, size=14)]
    ring = f'cx="{CENTRE_X}" cy="{CENTRE_Y}" r="{RADIUS}"'
    parts.append(f'<circle {ring} fill="none" stroke="{PALE}" stroke-width="2"/>')
    for message in messages:
        if message.sender == publisher:
            low, high = message.low, message.high + n * (message.high <= message.low)
            parts += _range(low, high, n, f"[{message.low}, {message.high})")
    for message in messages:
        colour = BLUE if message.receiver in readers else VERMILLION
        parts += _arrow(message.sender, message.receiver, n, colour, str(message.hops))
    for v in range(n):
        x, y = _on_ring(v, n)
        stroke = f'stroke="{VERMILLION}" stroke-width="4"' if v == publisher else f'stroke="{INK}"'
        fill = LIGHT_SKY if v in readers else PAPER
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE + 2}" fill="{fill}" {stroke}/>')
        parts.append(text(x, y + 4.5, str(v), size=13, anchor="middle", weight="bold"))
    parts += _dissemination_legend()
    return document(WIDTH, HEIGHT, f"{heading}: {facts}", parts)


def _on_ring(position: float, n: int, radius: float = RADIUS) -> tuple[float, float]:
    """Return where a position is, clockwise from the top."""
    angle = 2 * math.pi * position / n - math.pi / 2
    return CENTRE_X + radius * math.cos(angle), CENTRE_Y + radius * math.sin(angle)


def _range(low: int, high: int, n: int, label: str) -> Iterator[str]:
    """Return an arc outside the ring over the positions low..high-1."""
    radius = RADIUS + 26
    (x1, y1), (x2, y2) = _on_ring(low - 0.3, n, radius), _on_ring(high - 0.7, n, radius)
    large = int(high - low - 0.4 > n / 2)
    path = f"M {x1:.1f} {y1:.1f} A {radius} {radius} 0 {large} 1 {x2:.1f} {y2:.1f}"
    yield f'<path d="{path}" fill="none" stroke="{ORANGE}" stroke-width="5"/>'
    x, y = _on_ring((low + high - 1) / 2, n, radius + 14)
    anchor = "start" if x > CENTRE_X else "end"
    yield text(x, y + 5, label, size=14, anchor=anchor, weight="bold")


def _arrow(one: int, other: int, n: int, colour: str, label: str) -> Iterator[str]:
    """Return a link from one position to another, bent towards the middle, with a number on it."""
    (x1, y1), (x2, y2) = _on_ring(one, n), _on_ring(other, n)
    # Of the way from the middle of the ring to that of the chord: short links keep to the ring.
    bend = {1: 0.93, 2: 0.8}.get((other - one) % n, 0.7)
    x = CENTRE_X + bend * ((x1 + x2) / 2 - CENTRE_X)
    y = CENTRE_Y + bend * ((y1 + y2) / 2 - CENTRE_Y)
    length = math.hypot(x2 - x, y2 - y)
    along, across = (x2 - x) / length, (y2 - y) / length
    tip_x, tip_y = x2 - (NODE + 4) * along, y2 - (NODE + 4) * across
    end_x, end_y = tip_x - 8 * along, tip_y - 8 * across
    path = f"M {x1:.1f} {y1:.1f} Q {x:.1f} {y:.1f} {end_x:.1f} {end_y:.1f}"
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    sides = [(end_x - 4.5 * s * across, end_y + 4.5 * s * along) for s in (1, -1)]
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in ((tip_x, tip_y), *sides))
    yield f'<polygon points="{corners}" fill="{colour}"/>'
    # At two thirds of the way: there, links that leave one node have parted.
    middle_x, middle_y = (x1 + 4 * x + 4 * end_x) / 9, (y1 + 4 * y + 4 * end_y) / 9
    yield f'<circle cx="{middle_x:.1f}" cy="{middle_y:.1f}" r="9" fill="{PAPER}"/>'
    yield text(middle_x, middle_y + 4.5, label, size=13, anchor="middle", colour=colour)


def _dissemination_legend() -> Iterator[str]:
    y, x = HEIGHT - 52, 24.0
    for label, fill, stroke, width in (
        ("wants the topic", LIGHT_SKY, INK, 1),
        ("does not", PAPER, INK, 1),
        ("publishes", LIGHT_SKY, VERMILLION, 4),
    ):
        yield (
            f'<circle cx="{x + 7:.1f}" cy="{y - 5}" r="7" fill="{fill}" stroke="{stroke}" '
            f'stroke-width="{width}"/>'
        )
        yield text(x + 22, y, label, size=13)
        x += 40 + 7.2 * len(label)
    yield (
        f'<line x1="{x}" y1="{y - 5}" x2="{x + 30}" y2="{y - 5}" stroke="{ORANGE}" '
        'stroke-width="5"/>'
    )
    yield text(x + 40, y, "ranges that node 1 hands on", size=13)
    y, x = HEIGHT - 22, 24.0
    for label, colour in (
        ("message to a node that wants the topic (number: hops)", BLUE),
        ("to one that does not", VERMILLION),
    ):
        yield (
            f'<line x1="{x}" y1="{y - 5}" x2="{x + 30}" y2="{y - 5}" stroke="{colour}" '
            'stroke-width="2.5"/>'
        )
        yield text(x + 40, y, label, size=13)
        x += 64 + 6.4 * len(label)


def draw_cost() -> str:
    """Return the seconds of `gm` and of one matrix product against the incidences, as measured."""
    with (HERE / "engine-cost.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    left, top, right, bottom = 76, 96, 652, 418
    widest, tallest = (5, 11), (-3, 3)

    def at(incidences: float, seconds: float) -> tuple[float, float]:
        across = (math.log10(incidences) - widest[0]) / (widest[1] - widest[0])
        up = (math.log10(seconds) - tallest[0]) / (tallest[1] - tallest[0])
        return left + (right - left) * across, bottom - (bottom - top) * up

    parts = [text(24, 32, "Seconds against incidences", size=18, weight="bold")]
    parts.append(text(24, 54, "gm, complete, and one sparse product A @ A.T in the same process"))
    for power in range(tallest[0], tallest[1] + 1):
        x, y = at(10 ** widest[0], 10.0**power)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(text(x - 10, y + 5, f"{10.0**power:g} s", anchor="end"))
    for power in range(widest[0], widest[1] + 1):
        x, y = at(10.0**power, 10.0 ** tallest[0])
        parts.append(text(x, y + 22, f"1e{power}", anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 44, "incidences", anchor="middle"))
    for row in rows:
        x, y = at(int(row["incidences"]), float(row["gm"]))
        if row["product"]:
            other = at(int(row["incidences"]), float(row["product"]))
            parts.append(
                f'<circle cx="{x:.1f}" cy="{other[1]:.1f}" r="5" fill="none" stroke="{ORANGE}" '
                'stroke-width="2.5"/>'
            )
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{BLUE}"/>')
        place = LABELS.get(row["instance"], (8, -8))
        anchor = "start" if place[0] > 0 else "end"
        parts.append(text(x + place[0], y + place[1], row["instance"], size=11, anchor=anchor))
    parts.append(f'<circle cx="{left + 12}" cy="{top + 6}" r="5" fill="{BLUE}"/>')
    parts.append(text(left + 24, top + 11, "gm", colour=BLUE, weight="bold"))
    parts.append(
        f'<circle cx="{left + 12}" cy="{top + 28}" r="5" fill="none" stroke="{ORANGE}" '
        'stroke-width="2.5"/>'
    )
    parts.append(text(left + 24, top + 33, "matrix product", colour="#8f6300", weight="bold"))
    return document(680, 480, "Seconds of gm and of a matrix product against incidences", parts)


def draw_scale() -> str:
    """Return the seconds of a design on Spark against the users, as measured."""
    with (HERE / "scale.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    left, top, right, bottom = 96, 96, 640, 398
    most = max(float(row["design"]) for row in rows)
    step = 10 ** math.floor(math.log10(most)) / 2
    tallest = step * math.ceil(most / step)
    widest = max(int(row["users"]) for row in rows)

    def at(users: float, seconds: float) -> tuple[float, float]:
        up = seconds / tallest
        return left + (right - left) * users / widest, bottom - (bottom - top) * up

    parts = [text(24, 32, "Seconds against users", size=18, weight="bold")]
    parts.append(text(24, 54, "gm on Spark, two cores, 18.87 friends each"))
    for k in range(round(tallest / step) + 1):
        x, y = at(0, k * step)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(text(x - 10, y + 5, f"{k * step:g} s", anchor="end"))
    for row in rows:
        x, y = at(int(row["users"]), 0)
        parts.append(text(x, y + 22, f"{int(row['users']) / 1e6:g} M", anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 44, "users", anchor="middle"))
    for column, label, colour in (("design", "the whole design", BLUE), ("check", "check", ORANGE)):
        points = [at(int(row["users"]), float(row[column])) for row in rows]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        line = f'fill="none" stroke="{colour}" stroke-width="2.5"'
        parts.append(f'<polyline points="{path}" {line}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(text(x - 10, y - 12, label, colour=colour, weight="bold", anchor="end"))
    return document(680, 460, "Seconds of a design on Spark, and of check, against users", parts)


def draw_social() -> str:
    """Return degrees and clustering of real users beside generated ones, as measured."""
    with (HERE / "social.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    heading = "Real users and generated ones"
    parts = [text(24, 32, heading, size=18, weight="bold")]
    for x, label, style in (
        (24.0, "real", f'stroke="{ORANGE}" stroke-width="5" stroke-opacity="0.7"'),
        (104.0, "generated", f'stroke="{BLUE}" stroke-width="2"'),
    ):
        parts.append(f'<line x1="{x}" y1="49" x2="{x + 30}" y2="49" {style}/>')
        parts.append(text(x + 38, 54, label))
    places = (0, 0), (1, 0), (0, 1), (1, 1), (0, 2)
    for (column, line), ((graph, curve), label) in zip(places, SOCIAL_CURVES.items(), strict=True):
        left, top = 64.0 + 330 * column, 104.0 + 262 * line
        parts += _social_panel(rows, graph, curve, label, left, top)
    return document(680, 880, f"{heading}: degrees and clustering", parts)


def _social_panel(
    rows: list[dict[str, str]], graph: str, curve: str, label: str, left: float, top: float
) -> Iterator[str]:
    width, height, decades = 256.0, 184.0, 4
    lowest = -2 if curve == "clustering" else -5

    def at(x: float, y: float) -> tuple[float, float]:
        up = 1 - math.log10(max(y, 10.0**lowest)) / lowest
        return left + width * math.log10(x) / decades, top + height * (1 - up)

    yield text(left, top - 12, label, size=13, weight="bold")
    for power in range(lowest, 1):
        x, y = at(1, 10.0**power)
        yield f'<line x1="{x}" y1="{y:.1f}" x2="{x + width}" y2="{y:.1f}" stroke="{PALE}"/>'
        yield text(x - 8, y + 4, f"{10.0**power:g}", size=12, anchor="end")
    for power in range(decades + 1):
        x, y = at(10.0**power, 1)[0], top + height + 18
        yield text(x, y, f"{10**power:,}", size=12, anchor="middle")
    for source, style in (
        ("real", f'stroke="{ORANGE}" stroke-width="5" stroke-opacity="0.7"'),
        ("generated", f'stroke="{BLUE}" stroke-width="2"'),
    ):
        points = [
            at(float(row["x"]), float(row["y"]))
            for row in rows
            if (row["graph"], row["source"], row["curve"]) == (graph, source, curve)
        ]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{joined}" fill="none" {style}/>'


def assignment_problem() -> Problem:
    """Return 40 subscribers around four leaves; what they want has nothing to do with where."""
    draw = random.Random(5)
    places = [(draw.uniform(0, 100), draw.uniform(0, 100)) for _ in range(40)]
    topics = [(20, 25), (75, 20), (30, 75), (80, 75)]
    low, high = [], []
    for _ in places:
        x, y = topics[min(int(draw.random() * 6), 3)]  # the last is wanted most
        x, y = x + draw.uniform(-14, 14), y + draw.uniform(-14, 14)
        width, height = draw.uniform(4, 12), draw.uniform(4, 12)
        low.append((x - width / 2, y - height / 2))
        high.append((x + width / 2, y + height / 2))
    leaves = [(30.0, 30.0), (70.0, 30.0), (30.0, 70.0), (70.0, 70.0)]
    tree = BrokerTree([-1, 0, 0, 0, 0], [(50.0, 50.0), *leaves])
    limits = {"alpha": 2, "beta": 1.2, "beta_max": 1.4}
    return Problem(tree, places, low, high, max_delay=0.8, **limits)


def draw_assignment(assignment: Assignment) -> str:
    """Return an assignment drawn twice: in the network space and in the event space."""
    problem, side, top = assignment.problem, 300.0, 104.0
    lefts = (24.0, 356.0)
    heading = assignment.method
    facts = (
        f"bandwidth {assignment.bandwidth:,.0f}, load balance factor {assignment.lbf:.2f}, "
        f"largest delay {assignment.measures.delay_max:.2f}"
    )
    parts = [text(24, 32, heading, size=18, weight="bold"), text(24, 54, facts, size=14)]
    labels = ("network space: who is served by which leaf", "event space: boxes and filters")
    for left, label in zip(lefts, labels, strict=True):
        parts.append(text(left, top - 14, label))
        parts.append(
            f'<rect x="{left}" y="{top}" width="{side:.0f}" height="{side:.0f}" '
            f'fill="none" stroke="{PALE}"/>'
        )

    def at(panel: int, point: Any) -> tuple[float, float]:
        return lefts[panel] + side * point[0] / 100, top + side * (1 - point[1] / 100)

    def box(low: Any, high: Any, style: str) -> str:
        (x1, y1), (x2, y2) = at(1, low), at(1, high)
        return (
            f'<rect x="{x1:.1f}" y="{y2:.1f}" width="{x2 - x1:.1f}" height="{y1 - y2:.1f}" '
            f"{style}/>"
        )

    for broker, place, low, high in zip(
        assignment.broker.tolist(),
        problem.location.tolist(),
        problem.low.tolist(),
        problem.high.tolist(),
        strict=True,
    ):
        colour = LEAF_COLOURS[broker - 1]
        (x1, y1), (x2, y2) = at(0, place), at(0, problem.tree.location[broker].tolist())
        ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-opacity="0.5"/>')
        parts.append(f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="4" fill="{colour}"/>')
        parts.append(box(low, high, f'fill="{colour}" fill-opacity="0.35"'))
    for leaf in problem.tree.leaves.tolist():
        colour = LEAF_COLOURS[leaf - 1]
        x, y = at(0, problem.tree.location[leaf].tolist())
        parts.append(
            f'<rect x="{x - 9:.1f}" y="{y - 9:.1f}" width="18" height="18" fill="{colour}" '
            f'stroke="{INK}"/>'
        )
        count = int(assignment.loads[leaf])
        parts.append(text(x, y + 4.5, str(count), size=12, anchor="middle", colour=PAPER))
        for low, high in zip(
            *(corner.tolist() for corner in assignment.filters.of(leaf)), strict=True
        ):
            parts.append(box(low, high, f'fill="none" stroke="{colour}" stroke-width="2.5"'))
    x, y = at(0, problem.tree.location[problem.tree.publisher].tolist())
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{PAPER}" stroke="{INK}"/>')
    caption = "squares: leaves and how many they serve; circle: the publisher; frames: filters"
    parts.append(text(24, top + side + 26, caption, size=13))
    return document(680, 452, f"{heading}: {facts}", parts)


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: int = 14,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = INK,
) -> str:
    """Return a text element."""
    bold = ' font-weight="bold"' if weight == "bold" else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{colour}"{bold}>{escape(content)}</text>'
    )


def document(width: int, height: int, title: str, parts: list[str]) -> str:
    """Return a whole SVG file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        'font-family="Helvetica, Arial, DejaVu Sans, sans-serif">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>")) + "\n"


def main() -> None:
    """Write every figure beside this file."""
    for name, content in figures():
        (HERE / f"{name}.svg").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
