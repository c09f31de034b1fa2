"""Figures as SVG text: panels of lines, points, bars, boxes or triangles, without a library.

The same rows give the same bytes. Colours are Okabe and Ito's, which colour-blind readers can tell
apart; lines differ in dashes and marks too, so that print without colour does.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

INK, PALE, PAPER, GREY = "#222222", "#e4e4e4", "#ffffff", "#8a8a8a"
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#5c5c5c",
    "#000000",
    "#f0e442",
)
DASHES = ("", "8 4", "3 4", "10 3 2 3", "", "8 4", "3 4", "10 3 2 3")
WIDTH, HEIGHT, GAP = 1020, 310, 15
LEFT, TOP, BOTTOM = 58, 46, 46  # of a panel: room for its labels
LEGEND_ROW, HEAD = 20, 62
# Of a character, per unit of its size: as wide as the widest of the fonts asked for makes them.
CHARACTER, BOLD = 0.62, 0.68
LEGEND_SIZE = 12
RADIUS = 125  # of a triangle, from its middle to a corner

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points with a name. For bars x numbers the groups from 0; for boxes y lists the values."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    kind
        ``line``, ``points``, ``bar``, ``box`` (least, quarter, half, three quarters and most of
        a series of five points) or ``triangle`` (a series of three points: the corner's largest
        value in the figure, and the series' own).
    groups
        Names under the groups of bars, under the boxes, or at the corners.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: str = "line"
    groups: Sequence[str] = ()
    log_x: bool = False
    log_y: bool = False
    y_from_zero: bool = True


def draw(title: str, facts: str, panels: Sequence[Panel]) -> str:
    """Return the SVG of a figure: a heading, a legend, and panels, three in a row at most."""
    names = list(dict.fromkeys(s.name for panel in panels for s in panel.series))
    across = 2 if len(panels) == 4 else min(3, max(1, len(panels)))
    width = WIDTH if across == 3 else (680 if across == 2 else 640)
    panel_width = (width - GAP * (across + 1)) / across
    kinds = {panel.kind for panel in panels}
    # Boxes carry their names below them, and a triangle is the title of its panel.
    unnamed = kinds <= {"box", "triangle"}
    legend, legend_rows = _legend([] if unnamed else names, width, bars=kinds == {"bar"})
    top = HEAD + LEGEND_ROW * legend_rows
    rows = -(-len(panels) // across)
    height = top + rows * (HEIGHT + GAP)
    fitting = min(17, int((width - 2 * GAP) / (BOLD * max(1, len(title)))))
    parts = [_text(GAP + 5, 28, title, size=fitting, bold=True), _text(GAP + 5, 48, facts, size=13)]
    parts += legend
    for i, panel in enumerate(panels):
        x = GAP + (i % across) * (panel_width + GAP)
        y = top + (i // across) * (HEIGHT + GAP)
        parts += _panel(panel, names, x, y, panel_width)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        'font-family="Helvetica, Arial, DejaVu Sans, sans-serif">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>")) + "\n"


def beside_paper(
    heading: str, y: str, ours: Mapping[str, float], paper: Mapping[str, float]
) -> Panel:
    """Return a panel of a table: ours and the paper's, a pair of bars per name."""
    series = [
        Series(label, [(i, heights[name]) for i, name in enumerate(paper)])
        for label, heights in (("ours", ours), ("the paper", paper))
    ]
    return Panel(heading, "", y, series, kind="bar", groups=list(paper))


def _panel(panel: Panel, names: list[str], x0: float, y0: float, width: float) -> Iterator[str]:
    left, right = x0 + LEFT, x0 + width - 8
    top, bottom = y0 + TOP, y0 + HEIGHT - BOTTOM
    yield _text(left, y0 + 16, panel.title, size=14, bold=True)
    if panel.kind == "triangle":
        yield from _triangle(panel, names, (x0 + x0 + width) / 2, y0 + 0.62 * HEIGHT)
        return
    ys = [y for s in panel.series for _, y in s.points if _usable(y, panel.log_y)]
    xs = [x for s in panel.series for x, _ in s.points if _usable(x, panel.log_x)]
    if not ys or not xs:
        yield _text(left, (top + bottom) / 2, "no cells were run", colour=GREY)
        return
    low, high = _range(ys, panel)
    y_at = _scale(low, high, bottom, top, log=panel.log_y)
    for value in _ticks(low, high, log=panel.log_y):
        y = y_at(value)
        yield _line(left, y, right, y, PALE)
        yield _text(left - 6, y + 4, f"{value:g}", size=11, anchor="end")
    yield _line(left, bottom, right, bottom, INK)
    yield _text(x0 + 4, y0 + 33, panel.y, size=11, colour=GREY)
    yield _text((left + right) / 2, bottom + 38, panel.x, size=12, anchor="middle")
    if panel.kind in ("bar", "box"):
        yield from _bars(panel, names, y_at, left, right, bottom)
        return
    x_at = _scale(min(xs), max(xs), left + 8, right - 8, log=panel.log_x)
    for value in _ticks(min(xs), max(xs), log=panel.log_x):
        yield _line(x_at(value), bottom, x_at(value), bottom + 4, INK)
        yield _text(x_at(value), bottom + 18, f"{value:g}", size=11, anchor="middle")
    for series in panel.series:
        style = names.index(series.name)
        points = [
            (x_at(x), y_at(y))
            for x, y in series.points
            if _usable(x, panel.log_x) and _usable(y, panel.log_y)
        ]
        if panel.kind == "line":
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline points="{joined}" fill="none" {_stroke(style)}/>'
        if panel.kind == "points" or len(points) <= 24:
            yield from (_mark(x, y, style, small=panel.kind == "points") for x, y in points)


def _bars(
    panel: Panel, names: list[str], y_at: Scale, left: float, right: float, bottom: float
) -> Iterator[str]:
    room = (right - left) / max(1, len(panel.groups))
    for i, name in enumerate(panel.groups):
        at = left + room * (i + 0.5)
        turned = len(name) * 6 > room
        yield _text(at, bottom + (14 if i % 2 or not turned else 26), name, 10, anchor="middle")
    thick = room * 0.8 / max(1, len(panel.series)) if panel.kind == "bar" else room * 0.5
    for i, series in enumerate(panel.series):
        colour = _colour(names.index(series.name))
        if panel.kind == "box":
            yield from _box([y for _, y in series.points], left + room * (i + 0.5), thick, y_at)
            continue
        for group, y in series.points:
            if not _usable(y, panel.log_y):
                continue
            x = left + room * (group + 0.1) + thick * i
            yield (
                f'<rect x="{x:.1f}" y="{y_at(y):.1f}" width="{thick * 0.92:.1f}" '
                f'height="{max(0.5, bottom - y_at(y)):.1f}" fill="{colour}"/>'
            )


def _box(five: list[float], x: float, thick: float, y_at: Scale) -> Iterator[str]:
    least, quarter, half, three, most = (y_at(value) for value in five)
    yield _line(x, least, x, most, INK)
    yield (
        f'<rect x="{x - thick / 2:.1f}" y="{three:.1f}" width="{thick:.1f}" '
        f'height="{max(0.5, quarter - three):.1f}" fill="{COLOURS[5]}" stroke="{INK}"/>'
    )
    yield _line(x - thick / 2, half, x + thick / 2, half, INK, 2.5)


def _triangle(panel: Panel, names: list[str], x0: float, y0: float) -> Iterator[str]:
    """Draw each series as a triangle around the middle; the largest value reaches the outline."""
    corners = [(math.sin(turn), -math.cos(turn)) for turn in (0, math.tau / 3, 2 * math.tau / 3)]

    def around(shares: Sequence[float]) -> list[tuple[float, float]]:
        return [
            (x0 + RADIUS * share * x, y0 + RADIUS * share * y)
            for share, (x, y) in zip(shares, corners, strict=True)
        ]

    def outline(points: Sequence[tuple[float, float]], style: str) -> str:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polygon points="{joined}" {style}/>'

    for share in (0.5, 1.0):
        yield outline(around([share] * 3), f'fill="none" stroke="{PALE}"')
    for x, y in around([1.0] * 3):
        yield _line(x0, y0, x, y, PALE)
    for series in panel.series:
        style = names.index(series.name)
        shares = [value / most if most else 0.0 for most, value in series.points]
        yield outline(around(shares), f'{_stroke(style)} fill="{_colour(style)}" fill-opacity=".3"')
        for i, (name, (_, value)) in enumerate(zip(panel.groups, series.points, strict=True)):
            x, y = around([1.0] * 3)[i]
            lines = (y - 20, y - 7) if i == 0 else (y + 16, y + 29)
            yield _text(x, lines[0], name, 11, anchor="middle", colour=GREY)
            yield _text(x, lines[1], f"{value:.3g}", 11, anchor="middle")


def _legend(names: list[str], width: float, *, bars: bool) -> tuple[list[str], int]:
    parts: list[str] = []
    x, row = GAP + 5.0, 0
    for i, name in enumerate(names):
        needs = 44 + CHARACTER * LEGEND_SIZE * len(name)
        if x + needs > width and x > GAP + 5:
            x, row = GAP + 5.0, row + 1
        y = HEAD + 4 + LEGEND_ROW * row
        if bars:
            at = f'x="{x + 10:.1f}" y="{y - 7}" width="14" height="14"'
            parts.append(f'<rect {at} fill="{_colour(i)}"/>')
        else:
            parts.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x + 26:.1f}" y2="{y}" {_stroke(i)}/>')
            parts.append(_mark(x + 13, y, i))
        parts.append(_text(x + 32, y + 4, name, size=LEGEND_SIZE))
        x += needs
    return parts, row + 1 if names else 0


def _range(ys: list[float], panel: Panel) -> tuple[float, float]:
    low, high = min(ys), max(ys)
    if panel.log_y:
        first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        return 10.0**first, 10.0 ** max(last, first + 1)
    if panel.y_from_zero:
        low = min(0.0, low)
    if high == low:
        high = low + 1
    return low, high


def _scale(low: float, high: float, first: float, last: float, *, log: bool) -> Scale:
    if high == low:
        return lambda _: (first + last) / 2
    if log:
        a, b = math.log10(low), math.log10(high)
        return lambda value: first + (last - first) * (math.log10(value) - a) / (b - a)
    return lambda value: first + (last - first) * (value - low) / (high - low)


def _ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Return round numbers from low to high, about five; powers of ten on a log scale."""
    if log and high / low >= 10:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        every = max(1, len(powers) // 6)
        return [10.0**power for power in powers[::every]]
    if high == low:
        return [low]
    raw = (high - low) / 5
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw - 1e-12)
    first = math.ceil(low / step - 1e-9)
    found = [round(step * (first + i), 10) for i in range(12)]
    return [value for value in found if value <= high + 1e-9 * abs(high)]


def quartiles(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the five points of a box: least, quarter, half, three quarters, most."""
    if not values:
        return []
    ranked = sorted(values)
    last = len(ranked) - 1
    found = []
    for i in range(5):
        place = last * i / 4
        below = int(place)
        above = min(last, below + 1)
        found.append(ranked[below] + (place - below) * (ranked[above] - ranked[below]))
    return [(float(i), float(value)) for i, value in enumerate(found)]


def distribution(values: Sequence[float], *, above: bool = False) -> list[tuple[float, float]]:
    """Return the share of values at most (or at least) each value, as points of steps."""
    ranked = sorted(values)
    n = len(ranked)
    points = [(ranked[0], 1.0 if above else 1 / n)] if n else []
    for i, (one, other) in enumerate(pairwise(ranked), 1):
        if other != one:
            points.append((other, 1 - i / n if above else (i + 1) / n))
        elif not above:
            points[-1] = (other, (i + 1) / n)
    return points


def _usable(value: float, log: bool) -> bool:
    return math.isfinite(value) and (not log or value > 0)


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _stroke(i: int) -> str:
    dash = DASHES[i % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{_colour(i)}" stroke-width="2"{dashed}'


def _mark(x: float, y: float, i: int, *, small: bool = False) -> str:
    colour, r = _colour(i), 1.6 if small else 3.6
    if i % 3 == 1:
        return (
            f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}" '
            f'fill="{colour}"/>'
        )
    fill = colour if i % 3 == 0 else PAPER
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{fill}" stroke="{colour}" '
        'stroke-width="1.5"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(
    x: float,
    y: float,
    content: str,
    size: int = 13,
    *,
    anchor: str = "start",
    bold: bool = False,
    colour: str = INK,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{colour}"{weight}>{escape(content)}</text>'
    )
