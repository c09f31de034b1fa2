"""The grids and figures of paper 4: systems on small worlds, all against Scribe(-)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from papers.chart import Panel, Series, draw
from papers.findings import mean, values, where
from papers.model import Cell, Rows, Sample
from papers.partial_grids import ALPHA, cell, sampled, seeds
from papers.workloads import family

MEASURE = "measure_routing:publish"
PUBLICATIONS = 10_000
OVERLAYS = ("SL", "S", "L", "-")
FINGERS = ("chord", "random")
FAMILY = {"pie": "BeaConvey", "scribe": "Scribe", "iscribe": "iScribe"}
BASE = ("-", "scribe")
TWENTY = (20, 20)
RING = 1023
TOPICS = tuple(range(1000, 10_001, 1000))
NODES = tuple(range(1000, 10_001, 1000))
SYSTEMS = tuple((overlay, routing) for routing in FAMILY for overlay in OVERLAYS)
ROUTINGS = (("SL", "pie"), ("SL", "po"), ("SL", "pal"), BASE)
ALL_SYSTEMS = (*SYSTEMS, ("SL", "po"), ("SL", "pal"))
BY_GAIN = ("SL", "L")  # the overlays whose long fingers are chosen by gain


class Reading(NamedTuple):
    """How the paper is read where it leaves a choice, as options of `design` and `simulate`."""

    suffix: str = ""  # of the experiments' ids
    words: str = ""
    fill: str = "random"
    direction: str = "one"
    match: str = "fingers"

    @property
    def other(self) -> str:
        """What it changes against the reading that is counted."""
        return self.words.removeprefix(", ")


AS_DEFINED = Reading()  # distance is clockwise, and messages go over fingers
BOTH = Reading("-both", ", links in both directions", direction="both")
NEIGHBOURS = Reading(
    "-near",
    ", links in both directions, ranges divided among all neighbours",
    direction="both",
    match="neighbours",
)
BY_INTEREST = Reading(fill="interest")  # our improvement: fingers without gain by common interest


def name_of(overlay: str, routing: str) -> str:
    """Return a system as the paper writes it."""
    if routing in ("scribe", "iscribe"):
        return f"{FAMILY[routing]}({overlay})"
    return f"BeaConvey({overlay}, {routing.title()})"


def systems(
    workload: dict[str, Any],
    seed: int,
    which: Sequence[tuple[str, str]],
    *,
    reading: Reading,
    graph: Sample | None = None,
    kinds: Sequence[str] = ("chord",),
    cost: float = 1.0,
) -> list[Cell]:
    """Return the cells of systems on one workload, by overlay, so that each is made once."""
    found = []
    for overlay in OVERLAYS:
        fill = reading.fill if overlay in BY_GAIN else None
        for fingers in (None,) if overlay in BY_GAIN else kinds:
            found += [
                cell(workload, routing, seed, graph=graph, cost=cost, measure=MEASURE,
                     overlay=overlay, fingers=fingers, fill=fill, direction=reading.direction,
                     match=reading.match, publications=PUBLICATIONS)
                for mine, routing in which
                if mine == overlay
            ]  # fmt: skip
    return found


def on_graph(
    graph: str, which: Sequence[tuple[str, str]], reading: Reading
) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Tables 3 to 5 for a graph, in both sizes and with both fingers."""

    def cells(full: bool) -> list[Cell]:
        found = []
        for seed in seeds(full):
            for nodes in (1000, 10_000):
                workload, sample = sampled(graph, nodes, seed)
                cost = 6.0 if nodes > 1000 else 0.6
                found += systems(
                    workload, seed, which, reading=reading, graph=sample, kinds=FINGERS, cost=cost
                )
        return found

    return cells


def on_both(reading: Reading) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Tables 3 to 5 on both graphs, which are judged together."""
    return lambda full: [
        one for graph in ("fb", "tw") for one in on_graph(graph, ALL_SYSTEMS, reading)(full)
    ]


def by_fill(full: bool) -> list[Cell]:
    """Return the grid of the two ways to fill slots without gain: Pie on (SL), all workloads."""
    readings, sl = (AS_DEFINED, BY_INTEREST), (("SL", "pie"),)
    found = [
        one
        for reading in readings
        for graph in ("fb", "tw")
        for one in on_graph(graph, sl, reading)(full)
    ]
    for reading in readings:
        for seed in seeds(full):
            for name, alpha in (("zipf", ALPHA), ("unif", None)):
                workload = family(name, RING, TOPICS[0], TWENTY, seed, alpha=alpha)
                found += systems(workload, seed, sl, reading=reading)
    return found


def by_topics(name: str, reading: Reading) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 4 to 7: 1,023 nodes, topics vary."""
    alpha = ALPHA if name == "zipf" else None

    def cells(full: bool) -> list[Cell]:
        return [
            one
            for seed in seeds(full)
            for topics in TOPICS
            for one in systems(
                family(name, RING, topics, TWENTY, seed, alpha=alpha),
                seed,
                SYSTEMS,
                reading=reading,
            )
        ]

    return cells


def by_nodes(reading: Reading) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Fig. 8: uniform interests, 2,000 topics, nodes vary."""
    return lambda full: [
        one
        for seed in seeds(full)
        for nodes in NODES
        for one in systems(
            family("unif", nodes, 2000, TWENTY, seed),
            seed,
            ROUTINGS,
            reading=reading,
            cost=(nodes / 2000) ** 1.5,
        )
    ]


def against_base(
    rows: Rows, column: str, overlay: str, routing: str, *, fingers: str = "chord", **kind: Any
) -> float:
    """Return a column of a system as a ratio to that of Scribe(-), means over seeds."""
    kept = where(rows, **kind)
    mine = None if overlay in BY_GAIN else fingers
    ours = mean(kept, column, overlay=overlay, method=routing, fingers=mine)
    base = mean(kept, column, overlay=BASE[0], method=BASE[1], fingers=fingers)
    return ours / base


def draw_families(column: str, y: str) -> Callable[[Rows, str], str]:
    """Return Figs. 4 to 7: a panel per family of systems, a line per overlay."""

    def figure(rows: Rows, title: str) -> str:
        panels = []
        for routing, heading in FAMILY.items():
            series = [
                Series(
                    f"({overlay})",
                    [
                        (float(t), against_base(rows, column, overlay, routing, workload_topics=t))
                        for t in values(rows, "workload_topics")
                    ],
                )
                for overlay in OVERLAYS
            ]
            panels.append(Panel(heading, "|T|", y, series))
        return draw(title, "against Scribe(-), Chord fingers, means over the seeds", panels)

    return figure


def draw_nodes(rows: Rows, title: str) -> str:
    """Return Fig. 8: overhead, mean path and longest path of the three protocols."""
    panels = []
    for column, heading in (
        ("overhead", "routing overhead"),
        ("hops_mean", "average path"),
        ("hops_max", "longest path"),
    ):
        series = [
            Series(
                routing.title(),
                [
                    (float(n), against_base(rows, column, "SL", routing, workload_nodes=n))
                    for n in values(rows, "workload_nodes")
                ],
            )
            for routing in ("po", "pal", "pie")
        ]
        panels.append(Panel(heading, "|V|", "against Scribe(-)", series))
    return draw(title, "means over the seeds", panels)


def draw_bars(
    paper: Mapping[tuple[str, str], Mapping[str, Sequence[float]]],
) -> Callable[[Rows, str], str]:
    """Return a table as bars: ours with both fingers, and the paper's; overhead and paths."""

    def figure(rows: Rows, title: str) -> str:
        panels = []
        for i, (measure, column) in enumerate((("overhead", "overhead"), ("path", "hops_mean"))):
            for graph in sorted({graph for ratios in paper.values() for graph in ratios}):
                for j, nodes in enumerate((1000, 10_000)):
                    at: dict[str, Any] = {"workload_graph": graph, "workload_nodes": nodes}
                    kept = {system: ratios for system, ratios in paper.items() if graph in ratios}
                    series = [
                        Series(
                            f"ours, {fingers} fingers",
                            [
                                (k, against_base(rows, column, *system, fingers=fingers, **at))
                                for k, system in enumerate(kept)
                            ],
                        )
                        for fingers in FINGERS
                    ]
                    theirs = [
                        (k, ratios[graph][2 * i + j]) for k, ratios in enumerate(kept.values())
                    ]
                    series.append(Series("the paper", theirs))
                    groups = [_short(*system) for system in kept]
                    heading = f"{graph.upper()}{nodes // 1000}K {measure}"
                    panels.append(
                        Panel(heading, "", "against Scribe(-)", series, kind="bar", groups=groups)
                    )
        return draw(title, "B BeaConvey, iS iScribe, S Scribe", panels)

    return figure


def draw_fills(rows: Rows, title: str) -> str:
    """Return overhead, paths and support by interest, of those at random, for each workload."""
    places: dict[str, dict[str, Any]] = {
        f"{graph.upper()}{nodes // 1000}K": {"workload_graph": graph, "workload_nodes": nodes}
        for graph in ("fb", "tw")
        for nodes in (1000, 10_000)
    }
    places |= {name.title(): {"workload_family": name} for name in ("zipf", "unif")}
    panels = []
    for column, heading in (
        ("overhead", "routing overhead"),
        ("hops_mean", "average path"),
        ("support", "support"),
    ):
        bars = [
            (k, mean(rows, column, fill="interest", **at) / mean(rows, column, fill="random", **at))
            for k, at in enumerate(places.values())
        ]
        series = [Series("by interest", bars)]
        panels.append(
            Panel(heading, "", "of that at random", series, kind="bar", groups=list(places))
        )
    return draw(title, "BeaConvey(SL, Pie), means over the seeds", panels)


def _short(overlay: str, routing: str) -> str:
    head = {"pie": "B", "po": "Po", "pal": "Pal", "scribe": "S", "iscribe": "iS"}[routing]
    return f"{head} {overlay}"
