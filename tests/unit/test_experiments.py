"""Experiments: the rule of the verdicts, the grids, the store of cells, ledger and figures."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from papers.chart import BOLD, Panel, Series, beside_paper, distribution, draw, quartiles
from papers.findings import at_least, at_most, mean, number, ordered, ratio_mean
from papers.ledger import CLOSE, DIFFERS, HOLDS, NOT_RUN, Entry, judge, merge, read_ledger, verdict
from papers.ledger_page import ledger_page
from papers.model import FULL_SEEDS, Cell, Claim, Experiment, Finding, Sample
from papers.registry import EXPERIMENTS, choose
from papers.samples import GRAPHS, missing_files
from papers.store import finished, flat, read_cells, write_cell, write_rows

from meshwright.errors import InputError

# Every table and figure of the papers' evaluations.
EVALUATIONS = {
    "icdcs16": "fig3 fig4 fig5 table1 fig6 fig7 fig8 fig9",
    "ton11": "fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig17 fig18 fig19",
    "disc12": "fig2a fig2b fig2c fig3a fig3b fig3c",
    "debs18": "fig3 table3 table4 table5 fig4 fig5 fig6 fig7 fig8",
    "icde11": "fig6 fig7a fig7b fig7c fig7d table1 table2 fig8a fig8b fig9a fig9b fig10 fig11 "
    "sample super threshold",
}


@pytest.mark.parametrize(
    ("ours", "expected"),
    [(1.0, HOLDS), (1.05, HOLDS), (0.95, HOLDS), (1.06, CLOSE), (0.8, CLOSE), (1.21, DIFFERS)],
)
def test_a_number_holds_within_5_percent_and_is_close_within_20(ours, expected):
    assert verdict(number(ours, 1.0), at_paper_size=True) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(2.0, 1.0), (1.0, 1.0)], HOLDS),
        ([(2.0, 1.0), (0.9, 1.0)], CLOSE),
        ([(2.0, 1.0), (0.7, 1.0)], DIFFERS),
        ([(-1.0, 0.0)], DIFFERS),
    ],
)
def test_an_ordering_holds_only_at_every_point(pairs, expected):
    assert verdict(ordered(pairs), at_paper_size=True) == expected


def test_one_number_out_of_several_decides():
    finding = Finding("", numbers=((1.0, 1.0), (1.5, 1.0)))
    assert verdict(finding, at_paper_size=True) == DIFFERS


def test_below_the_papers_size_nothing_holds():
    assert verdict(number(1.0, 1.0), at_paper_size=False) == CLOSE
    assert verdict(number(1.5, 1.0), at_paper_size=False) == DIFFERS


def test_on_few_seeds_nothing_holds():
    assert verdict(number(1.0, 1.0), at_paper_size=True, enough_seeds=False) == CLOSE
    assert verdict(number(1.5, 1.0), at_paper_size=True, enough_seeds=False) == DIFFERS


def test_what_was_not_measured_is_not_run():
    assert number(math.nan, 1.0) is None
    assert at_most(math.nan, 1.0) is None
    assert ordered([(math.nan, 1.0)]) is None
    assert verdict(None, at_paper_size=True) == NOT_RUN


def test_limits_are_orderings_against_a_constant():
    assert verdict(at_most(0.9, 1.0), at_paper_size=True) == HOLDS
    assert verdict(at_most(1.1, 1.0), at_paper_size=True) == CLOSE
    assert verdict(at_least(0.5, 1.0), at_paper_size=True) == DIFFERS


def test_an_ordering_says_where_it_breaks():
    found = ordered([(2.0, 1.0), (0.9, 1.0)])
    assert found is not None
    assert found.ours == "at 1 of 2 points, short by up to 10.0%"


def test_means_are_over_the_rows_wanted():
    rows = [
        {"method": "a", "n": 1, "x": 2.0},
        {"method": "a", "n": 1, "x": 4.0},
        {"method": "b", "n": 1, "x": 1.0},
        {"method": "a", "n": 2, "x": 8.0},
        {"method": "b", "n": 2, "x": 2.0},
    ]
    assert mean(rows, "x", method="a", n=1) == 3.0
    assert math.isnan(mean(rows, "x", method="c"))
    assert ratio_mean(rows, "x", "n", "a", "b") == pytest.approx((3 + 4) / 2)


def test_every_table_and_figure_is_an_experiment():
    wanted = {f"{key}-{part}" for key, parts in EVALUATIONS.items() for part in parts.split()}
    beside = {f"ton11-fig{n}-each" for n in (2, 3, 7, 17, 18, 19)}
    assert set(EXPERIMENTS) == wanted | beside | {"icdcs16-fig4-ego"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_grid_has_cells_of_its_own_and_full_ones_are_larger(name):
    experiment = EXPERIMENTS[name]
    few, many = experiment.cells(False), experiment.cells(True)
    assert few
    for cells in (few, many):
        keys = [cell.key("graph") for cell in cells]
        assert len(set(keys)) == len(keys)
        assert all("seed" in cell.given and "method" in cell.given for cell in cells)
    assert len(many) >= len(few)
    assert len({cell.given["seed"] for cell in many}) >= FULL_SEEDS
    assert experiment.graphs(False) <= set(GRAPHS)
    for claim in experiment.claims:
        assert claim.text
        assert claim.paper


def test_figures_of_one_setting_share_their_cells():
    keys = [{cell.key() for cell in EXPERIMENTS[f"ton11-fig{n}"].cells(False)} for n in (2, 4, 6)]
    assert keys[0] == keys[1] == keys[2]


def test_a_key_depends_on_the_parameters_and_the_graph_and_nothing_else():
    one = Cell("m:f", {"a": 1, "b": 2}, group="x", cost=1.0)
    assert one.key() == Cell("m:f", {"b": 2, "a": 1}, group="y", cost=9.0).key()
    assert one.key() != Cell("m:f", {"a": 1, "b": 3}).key()
    assert one.key() != one.key("digest")


def test_experiments_are_chosen_by_id_or_paper():
    assert [one.id for one in choose(["ton11-fig2"])] == ["ton11-fig2"]
    assert {one.paper.key for one in choose(["disc12"])} == {"disc12"}
    assert len(choose([])) == len(EXPERIMENTS)
    with pytest.raises(InputError, match="unknown experiment 'ton11-fig99'; did you mean"):
        choose(["ton11-fig99"])


def test_missing_graphs_are_named(tmp_path):
    assert missing_files(["fb", "ego"], None) == [GRAPHS["ego"].file, GRAPHS["fb"].file]
    there = tmp_path / GRAPHS["ego"].file
    there.parent.mkdir()
    there.write_bytes(b"x")
    assert missing_files(["ego"], tmp_path) == []


def test_cells_are_kept_whole_and_found_again(tmp_path):
    write_cell(tmp_path, "one", {"x": 1.5, "loads": [1, 2], "name": None})
    (tmp_path / ".two.parquet.77").write_bytes(b"half")
    (tmp_path / "three.parquet").write_bytes(b"")
    assert finished(tmp_path, ["one", "two", "three"]) == {"one"}
    assert read_cells(tmp_path, ["one"]) == [{"x": 1.5, "loads": [1, 2], "name": None}]


def test_rows_with_different_columns_make_one_table(tmp_path):
    import pyarrow.parquet as pq

    write_rows(tmp_path / "cells.parquet", [{"a": 1}, {"a": None, "b": 2.5}])
    table = pq.read_table(tmp_path / "cells.parquet")
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": 2.5}]


def test_parameters_become_columns():
    given = {"workload": {"nodes": 3}, "method": "gm"}
    assert flat(given) == {"workload_nodes": 3, "method": "gm"}


def experiment(seeds: int = FULL_SEEDS, **claim) -> Experiment:
    told = {"text": "a | b", "paper": "1", "find": lambda rows: number(mean(rows, "x"), 1.0)}
    cells = [Cell("m:f", {"method": "gm", "seed": seed}) for seed in range(seeds)]
    return Experiment(
        "ton11-fig2", "a figure", lambda full: cells, draw_nothing, "small", "large",
        [Claim(**{**told, **claim})],
    )  # fmt: skip


def draw_nothing(rows, title):
    return draw(title, f"{len(rows)} rows", [])


def test_a_row_below_the_papers_size_says_so_and_does_not_hold():
    rows = [{"x": 1.0}]
    (entry,) = judge(experiment(), rows, full=False)
    assert (entry.verdict, entry.below, entry.size, entry.seeds) == (CLOSE, True, "small", 5)
    assert "(below the paper's size)" in ledger_page([entry], "{id}.svg")
    (entry,) = judge(experiment(), rows, full=True)
    assert (entry.verdict, entry.below, entry.size) == (HOLDS, False, "large")
    (entry,) = judge(experiment(at_default=True), rows, full=False)
    assert (entry.verdict, entry.below) == (HOLDS, False)


def test_a_row_on_few_seeds_says_so_and_does_not_hold():
    (entry,) = judge(experiment(seeds=4), [{"x": 1.0}], full=True)
    assert (entry.verdict, entry.below, entry.seeds) == (CLOSE, False, 4)
    assert "| **close** (4 seeds) |" in ledger_page([entry], "{id}.svg")
    (entry,) = judge(experiment(seeds=1), [{"x": 1.0}], full=False)
    assert "| **close** (below the paper's size, one seed) |" in ledger_page([entry], "{id}.svg")


def test_seeds_are_counted_at_the_point_that_has_the_fewest():
    def cells(*seeds: int, nodes: int, sample: int | None = None) -> list[Cell]:
        graph = Sample("fb", sample) if sample != 0 else Sample("fb", None)
        return [
            Cell("m:f", {"workload": {"nodes": nodes, "seed": s, "sample": f"{s}"}, "seed": s},
                 graph=None if sample is None else graph)
            for s in seeds
        ]  # fmt: skip

    def seeds(*found: Cell) -> int:
        return replace(experiment(), cells=lambda full: found).seeds(True)

    assert seeds(*cells(1, 2, 3, nodes=10)) == 3
    assert seeds(*cells(1, 2, 3, nodes=10), *cells(1, nodes=20)) == 1
    whole = cells(1, nodes=0, sample=0)
    assert seeds(*cells(1, 2, nodes=10, sample=10), *whole) == 2  # no chance in a whole graph


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_point_of_a_full_grid_rests_on_five_seeds(name):
    assert EXPERIMENTS[name].seeds(True) == FULL_SEEDS


def test_the_default_of_a_sweep_is_that_of_slp_and_shares_its_cells():
    from papers.assignment_grids import SWEEPS, by_value

    from meshwright.content.slp.one_level import Settings

    for name, choices, default in SWEEPS.values():
        assert getattr(Settings(), name) == default
        assert default in choices
    table, sweep = ({cell.key() for cell in EXPERIMENTS[f"icde11-{name}"].cells(False)}
                    for name in ("table1", "sample"))  # fmt: skip
    assert len(table & sweep) == 1
    rows = [{"bandwidth": 2.0}, {"bandwidth": 3.0, "settings_load_sample": 20}]
    assert by_value(rows, "sample")[2:] == [(10.0, 2.0), (20.0, 3.0)]


def test_what_differs_says_why():
    rows = [{"x": 9.0, "seed": 1}]
    (entry,) = judge(experiment(why="Another graph."), rows, full=True)
    assert (entry.verdict, entry.why) == (DIFFERS, "Another graph.")
    page = ledger_page([entry], "{id}.svg")
    assert "| **differs**, [2.1](#why-2-1) |" in page
    assert '- <a id="why-2-1"></a>**2.1** (1 row) Another graph.' in page


def test_a_reason_that_serves_many_rows_stands_once():
    def entry(name: str, why: str) -> Entry:
        return Entry(name, "w", "c", "p", "o", "s", 5, False, DIFFERS, why)

    many = [entry("ton11-fig2", "Ties."), entry("ton11-fig3", "Sizes."), entry("disc12-fig2a", "?")]
    page = ledger_page([*many[:1], *many], "{id}.svg")
    assert page.count("Ties.") == page.count("Sizes.") == 1
    assert page.count("**differs**, [2.1](#why-2-1)") == 2
    assert "**2.1** (2 rows) Ties." in page
    assert "**2.2** (1 row) Sizes." in page
    assert "**3.1** (1 row) ?" in page
    assert "| [Paper 2: Minimum maximum degree](#paper-2-minimum-maximum-degree) | 3 |" in page
    assert "| all | 4 | 0 | 0 | 4 | 0 |" in page


def test_the_page_escapes_columns_and_links_the_figure():
    (entry,) = judge(experiment(), [{"x": 1.0, "seed": 1}], full=True)
    page = ledger_page([entry], "figures/{id}.svg")
    assert "a \\| b" in page
    assert "![ton11-fig2](figures/ton11-fig2.svg)" in page
    assert "1 claim that" in page
    assert "| all | 1 | 1 | 0 | 0 | 0 |" in page


def test_a_later_run_replaces_the_entries_of_its_experiment_only(tmp_path):
    place = tmp_path / "ledger.json"

    def entry(name: str, ours: str) -> Entry:
        return Entry(name, "w", "c", "p", ours, "s", 1, False, HOLDS, "")

    merge(place, [entry("ton11-fig3", "old")])
    merge(place, [entry("ton11-fig2", "first")])
    merge(place, [entry("ton11-fig3", "new")])
    found = [(one.experiment, one.ours) for one in read_ledger(place)]
    assert found == [("ton11-fig2", "first"), ("ton11-fig3", "new")]


def test_a_row_on_firmer_ground_stays_where_that_is_asked_for(tmp_path):
    place = tmp_path / "ledger.json"

    def entry(claim: str, ours: str, seeds: int, below: bool) -> Entry:
        return Entry("ton11-fig2", "w", claim, "p", ours, "s", seeds, below, CLOSE, "")

    full = [entry("a", "full", 5, False), entry("b", "full", 5, False), entry("old", "x", 5, False)]
    quick = [entry("a", "quick", 1, True), entry("new", "quick", 1, True)]
    merge(place, full)
    found = merge(place, quick, keep_firmer=True)
    assert [(one.claim, one.ours) for one in found] == [("a", "full"), ("new", "quick")]
    found = merge(place, [entry("a", "again", 5, False), entry("new", "full", 5, False)],
                  keep_firmer=True)  # fmt: skip
    assert [one.ours for one in found] == ["again", "full"]
    assert [one.ours for one in merge(place, quick)] == ["quick", "quick"]


def test_the_page_tells_every_size_that_rows_rest_on():
    rows = [Entry("ton11-fig2", "what", c, "p", "o", s, n, n < 5, CLOSE, "")
            for c, s, n in (("a", "large", 5), ("b", "large", 5), ("c", "small", 1))]  # fmt: skip
    page = ledger_page(rows, "{id}.svg")
    assert "- ton11-fig2: what; large, 5 seeds; some rows: small, one seed." in page


@pytest.mark.parametrize("text", ["[{", '[{"experiment": "ton11-fig2"}]', "7"])
def test_a_ledger_that_cannot_be_read_is_named_and_kept(tmp_path, text):
    place = tmp_path / "ledger.json"
    place.write_text(text)
    with pytest.raises(InputError, match=r"ledger\.json.*is not a ledger.*Move it away"):
        merge(place, [])
    assert place.read_text() == text


def test_a_triangle_reaches_its_outline_where_a_method_has_the_most():
    corners = [(8.0, 8.0), (2.0, 1.0), (0.0, 0.0)]  # the largest, its own
    panel = Panel("SLP", "", "", [Series("SLP", corners)], kind="triangle", groups=list("abc"))
    root = ElementTree.fromstring(draw("title", "", [panel]))
    half, outline, own = (
        [tuple(map(float, at.split(","))) for at in shape.attrib["points"].split()]
        for shape in root.iter("{http://www.w3.org/2000/svg}polygon")
    )
    assert own[0] == outline[0]
    assert own[1] == half[1]
    assert own[2] == pytest.approx(np.mean(outline, axis=0), abs=0.1)  # the middle
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words == ["title", None, "SLP", "a", "8", "b", "1", "c", "0"]


def test_a_table_is_drawn_beside_the_papers():
    panel = beside_paper("FB1K", "support", {"GPA": 0.7, "GPM": 0.9}, {"GPM": 0.8, "GPA": 1.0})
    assert panel.groups == ["GPM", "GPA"]
    assert [(s.name, list(s.points)) for s in panel.series] == [
        ("ours", [(0, 0.9), (1, 0.7)]),
        ("the paper", [(0, 0.8), (1, 1.0)]),
    ]


@pytest.mark.parametrize("length", [20, 60, 90, 140])
def test_a_long_title_is_set_smaller_so_that_it_fits(length):
    panel = Panel("", "x", "y", [Series("s", [(0.0, 1.0)])])
    root = ElementTree.fromstring(draw("m" * length, "", [panel]))
    title = next(root.iter("{http://www.w3.org/2000/svg}text"))
    room = float(root.attrib["width"]) - 2 * float(title.attrib["x"])
    assert BOLD * int(title.attrib["font-size"]) * length <= room + 20


@pytest.mark.parametrize("kind", ["line", "points", "bar", "box"])
def test_figures_are_whole_svg_whatever_the_points(kind):
    series = [
        Series("<script>", [(float(i), float(i * i)) for i in range(5)]),
        Series("flat", [(float(i), 2.0) for i in range(5)]),
    ]
    panel = Panel("a & b", "x", "y", series, kind=kind, groups=["one", "two"])
    text = draw("title <1>", "facts", [panel, Panel("empty", "x", "y", [])])
    assert text == draw("title <1>", "facts", [panel, Panel("empty", "x", "y", [])])
    root = ElementTree.fromstring(text)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>" in words
    assert "no cells were run" in words


def test_points_that_a_log_scale_cannot_show_are_left_out():
    series = [Series("s", [(0.0, 1.0), (1.0, 0.0), (10.0, 1.0), (100.0, math.nan), (50.0, 0.1)])]
    text = draw("t", "f", [Panel("", "x", "y", series, log_x=True, log_y=True)])
    joined = ElementTree.fromstring(text).find("{http://www.w3.org/2000/svg}polyline")
    assert joined is not None
    assert len(joined.get("points", "").split()) == 2


def test_boxes_and_distributions_are_those_of_numpy():
    drawn = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]
    assert [y for _, y in quartiles(drawn)] == np.quantile(drawn, [0, 0.25, 0.5, 0.75, 1]).tolist()
    assert distribution([1, 1, 2]) == [(1, 2 / 3), (2, 1.0)]
    assert distribution([1, 1, 2], above=True) == [(1, 1.0), (2, pytest.approx(1 / 3))]


def test_the_distance_of_spreads_is_the_largest_between_their_shares():
    from papers.partial_claims import spread_distance

    def row(method: str, counts: list[int], shares: list[float]) -> dict:
        told = {"followers": counts, "followers_share": shares, "seed": 1}
        return {"workload_graph": "fb", "method": method, **told}

    whole = row("whole", [1, 5, 9], [1.0, 0.5, 0.1])
    sample = row("10K", [1, 4, 20], [1.0, 0.8, 0.3])
    # At least 5: 0.5 against 0.3; at least 4: 0.5 against 0.8; at least 20: 0 against 0.3.
    assert spread_distance([whole, sample], "fb", "followers") == pytest.approx(0.3)


def test_the_share_of_the_overlay_is_that_of_the_papers_arithmetic():
    claim = next(
        one for one in EXPERIMENTS["debs18-table3"].claims if "comes from the overlay" in one.text
    )
    overheads = {("SL", "pie"): 26.6, ("-", "scribe"): 100.0, ("SL", "iscribe"): 42.7}
    rows = [
        {
            "overlay": overlay,
            "method": routing,
            "fingers": "chord" if overlay in ("S", "-") else None,
            "workload_nodes": 1000,
            "overhead": overheads.get((overlay, routing), 99.0),
        }
        for overlay in ("SL", "S", "L", "-")
        for routing in ("pie", "scribe", "iscribe")
    ]
    found = claim.find(rows)
    assert found is not None
    assert found.numbers[0][0] == pytest.approx(100 * 0.573 / 0.734)
    assert verdict(found, at_paper_size=True) == HOLDS


def test_a_share_that_should_rise_is_held_against_its_ends():
    claim = next(one for one in EXPERIMENTS["disc12-fig2b"].claims if "rises" in one.text)

    def rows(last: float) -> list[dict]:
        return [
            {"workload_family": name, "workload_topics": topics, "naive": True, "share": share}
            for name in ("expo", "zipf", "unif")
            for topics, share in ((100, 0.01), (1000, last))
        ]

    assert verdict(claim.find(rows(0.02)), at_paper_size=True) == HOLDS
    assert verdict(claim.find(rows(0.005)), at_paper_size=True) == DIFFERS
