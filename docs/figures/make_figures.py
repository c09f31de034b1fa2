"""Draw the figures of the method pages as SVG: ``python docs/figures/make_figures.py``.

Every method designs the same small example, 14 brokers of ``examples/company.csv``, so the
figures can be compared. One more shows how support grows with the links. Only the standard
library and meshwright are needed, and the same input gives the same bytes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from meshwright import Instance, Overlay, SmallWorld, design

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
    yield SUPPORT, draw_support(company())


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
