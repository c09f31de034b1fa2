"""Experiments: the grids, the store of cells, ledger and figures."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from papers.chart import BOLD, Panel, Series, beside_paper, distribution, draw, quartiles
from papers.findings import mean, number, ordered, ratio_mean
from papers.ledger import Entry, judge, merge, read_ledger, refresh
from papers.ledger_page import BEGIN, END, headline, ledger_page, write_headline
from papers.model import (
    FULL_SEEDS,
    Cell,
    Claim,
    Experiment,
    Finding,
    Kind,
    Limit,
    Number,
    Sample,
)
from papers.registry import EXPERIMENTS, choose
from papers.samples import GRAPHS, missing_files
from papers.store import finished, flat, read_cells, write_cell, write_rows
from papers.verdict import CLOSE, DIFFERS, HOLDS, NOT_RUN, Evidence, Point, verdict

from meshwright.errors import InputError

# Every table and figure of the papers' evaluations.
EVALUATIONS = {
    "icdcs16": "fig3 fig4 fig5 table1 fig6 fig7 fig8 fig9",
    "ton11": "fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig17 fig18 fig19",
    "disc12": "fig2a fig2b fig2c fig3a fig3b fig3c",
    "debs18": "fig3 table3 table4 table5 fig4 fig5 fig6 fig7 fig8",
    "icde11": "fig6 fig7a fig7b fig7c fig7d table1 table2 fig8a fig8b fig9a fig9b fig10 fig11 "
    "sample super threshold printed",
}


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
    beside = {"icdcs16-fig4-ego", "debs18-fill"}  # another graph, an improvement of ours
    beside |= {f"icdcs16-fig{n}-steep" for n in (6, 7, 8, 9)}
    beside |= {f"ton11-fig{n}-each" for n in (2, 3, 7, 17, 18, 19)}
    beside |= {f"disc12-{what}" for what in ("growth", "degrees")}
    beside |= {f"disc12-fig{part}-literal" for part in ("2b", "2c", "3a", "3b", "3c")}
    beside |= {f"debs18-fig{n}-{way}" for n in (4, 5, 6, 7, 8) for way in ("both", "near")}
    beside |= {"debs18-table5-both"}
    beside |= {"icde11-printed-loose", "icdcs16-refined", "ton11-refined"}
    assert set(EXPERIMENTS) == wanted | beside


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
    reported = {
        "text": "a | b",
        "paper": "1",
        "find": lambda rows: number(mean(rows, "x"), 1.0),
        "kind": Kind.SYNTHETIC,
    }
    cells = [Cell("m:f", {"method": "gm", "seed": seed}) for seed in range(seeds)]
    return Experiment(
        "ton11-fig2", "a figure", lambda full: cells, draw_nothing, "small", "large",
        [Claim(**{**reported, **claim})],
    )  # fmt: skip


def five(*x: float) -> list[dict]:
    """Return the rows of five seeds, with the values given or five times the one."""
    return [{"x": one, "seed": seed} for seed, one in enumerate(x * 5 if len(x) == 1 else x)]


def row(name: str = "ton11-fig2", **more) -> Entry:
    """Return a row of a ledger."""
    reported = {
        "experiment": name, "what": "w", "claim": "c", "kind": Kind.ORDERING, "paper": "p",
        "ours": "o", "evidence": Evidence(points=(Point(2.0, 1.0),)), "size": "s", "seeds": 5,
        "below": False, "verdict": HOLDS, "why": "",
    }  # fmt: skip
    return Entry(**{**reported, **more})


def draw_nothing(rows, title):
    return draw(title, f"{len(rows)} rows", [])


def test_a_row_below_the_papers_size_says_so_and_does_not_hold():
    rows = five(1.0)
    (entry,) = judge(experiment(), rows, full=False)
    assert (entry.verdict, entry.below, entry.size, entry.seeds) == (CLOSE, True, "small", 5)
    assert "(below the paper's size)" in ledger_page([entry], "{id}.svg")
    (entry,) = judge(experiment(), rows, full=True)
    assert (entry.verdict, entry.below, entry.size) == (HOLDS, False, "large")
    (entry,) = judge(experiment(at_default=True), rows, full=False)
    assert (entry.verdict, entry.below) == (HOLDS, False)


def test_an_experiment_or_a_claim_that_is_always_small_is_never_at_the_papers_size():
    for small in (replace(experiment(at_default=True), below=True), experiment(below=True)):
        (entry,) = judge(small, five(1.0), full=True)
        assert (entry.verdict, entry.below) == (CLOSE, True)


def test_a_row_on_few_seeds_says_so_and_does_not_hold():
    (entry,) = judge(experiment(seeds=4), five(1.0)[:4], full=True)
    assert (entry.verdict, entry.below, entry.seeds) == (CLOSE, False, 4)
    assert "| **close** (4 seeds) |" in ledger_page([entry], "{id}.svg")
    (entry,) = judge(experiment(seeds=1), five(1.0)[:1], full=False)
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
    rows = five(9.0)
    (entry,) = judge(experiment(why="Another graph."), rows, full=True)
    assert (entry.verdict, entry.why) == (DIFFERS, "Another graph.")
    page = ledger_page([entry], "{id}.svg")
    assert "| **differs**, [2.1](#why-2-1) |" in page
    assert '- <a id="why-2-1"></a>**2.1** (1 row) Another graph.' in page


def test_a_reason_that_serves_many_rows_stands_once():
    reported = [("ton11-fig2", "Ties."), ("ton11-fig3", "Sizes."), ("disc12-fig2a", "?")]
    many = [row(name, why=why, verdict=DIFFERS) for name, why in reported]
    page = ledger_page([*many[:1], *many], "{id}.svg")
    assert page.count("Ties.") == page.count("Sizes.") == 1
    assert page.count("**differs**, [2.1](#why-2-1)") == 2
    assert "**2.1** (2 rows) Ties." in page
    assert "**2.2** (1 row) Sizes." in page
    assert "**3.1** (1 row) ?" in page
    assert "| [Paper 2: Minimum maximum degree](#paper-2-minimum-maximum-degree) | 3 |" in page
    assert "| all | 4 | 0 | 0 | 4 | 0 |" in page


def test_the_page_escapes_columns_and_links_the_figure():
    (entry,) = judge(experiment(), five(1.0), full=True)
    page = ledger_page([entry], "figures/{id}.svg")
    assert "a \\| b" in page
    assert "![ton11-fig2](figures/ton11-fig2.svg)" in page
    assert "1 row, each" in page
    assert "| all | 1 | 1 | 0 | 0 | 0 |" in page


def test_a_later_run_replaces_the_entries_of_its_experiment_only(tmp_path):
    place = tmp_path / "ledger.json"
    merge(place, [row("ton11-fig3", ours="old")])
    merge(place, [row("ton11-fig2", ours="first")])
    merge(place, [row("ton11-fig3", ours="new")])
    found = [(one.experiment, one.ours) for one in read_ledger(place)]
    assert found == [("ton11-fig2", "first"), ("ton11-fig3", "new")]


def test_a_row_on_firmer_ground_stays_where_that_is_asked_for(tmp_path):
    place = tmp_path / "ledger.json"

    def entry(claim: str, ours: str, seeds: int, below: bool) -> Entry:
        return row(claim=claim, ours=ours, seeds=seeds, below=below, verdict=CLOSE)

    full = [entry("a", "full", 5, False), entry("b", "full", 5, False), entry("old", "x", 5, False)]
    quick = [entry("a", "quick", 1, True), entry("new", "quick", 1, True)]
    merge(place, full)
    found = merge(place, quick, keep_firmer=True)
    assert [(one.claim, one.ours) for one in found] == [("a", "full"), ("new", "quick")]
    found = merge(place, [entry("a", "again", 5, False), entry("new", "full", 5, False)],
                  keep_firmer=True)  # fmt: skip
    assert [one.ours for one in found] == ["again", "full"]
    assert [one.ours for one in merge(place, quick)] == ["quick", "quick"]


def test_a_row_that_was_not_run_gives_way_to_any_that_was(tmp_path):
    path = tmp_path / "ledger.json"
    merge(path, [row(verdict=NOT_RUN, evidence=None, ours="")])
    small = row(verdict=CLOSE, below=True, seeds=1)
    assert merge(path, [small], keep_firmer=True) == [small]
    unrun = row(verdict=NOT_RUN, evidence=None, ours="")
    assert merge(path, [unrun], keep_firmer=True) == [small]


def test_the_page_tells_every_size_that_rows_rest_on():
    rows = [
        row(what="what", claim=claim, size=size, seeds=seeds, below=seeds < 5, verdict=CLOSE)
        for claim, size, seeds in (("a", "large", 5), ("b", "large", 5), ("c", "small", 1))
    ]
    page = ledger_page(rows, "{id}.svg")
    assert "- ton11-fig2: what; large, 5 seeds; some rows: small, one seed." in page


def test_the_evidence_of_a_row_is_kept_and_read_again(tmp_path):
    place = tmp_path / "ledger.json"
    rows = [
        row(claim="a", evidence=Evidence(Number(1.25, 1.0, 0.1))),
        row(claim="b", evidence=Evidence(limit=Limit(2.0, 1.5))),
        row(claim="c", evidence=Evidence(points=(Point(2.0, 1.0), Point(0.9, 1.0, 0.3)))),
        row(claim="d", evidence=None, verdict=NOT_RUN, kind=Kind.HARDWARE),
    ]
    merge(place, rows)
    assert read_ledger(place) == rows
    assert len(place.read_text().splitlines()) == len(rows) + 2


def test_a_firmer_row_takes_the_kind_that_the_claim_has_now(tmp_path):
    place = tmp_path / "ledger.json"
    merge(place, [row(kind=Kind.SYNTHETIC, ours="full")])
    (found,) = merge(place, [row(kind=Kind.PRIVATE, seeds=1, ours="quick")], keep_firmer=True)
    assert (found.kind, found.ours) == (Kind.PRIVATE, "full")


def test_rows_are_brought_up_to_date_with_the_claims_without_a_run():
    name = "ton11-fig9"
    claim = EXPERIMENTS[name].claims[0]
    old = row(
        name, claim=claim.text, paper=claim.paper, kind=Kind.PRIVATE, why="Once.", what="before",
        evidence=Evidence(limit=Limit(1 / 7, 0.5)), verdict=HOLDS,
    )  # fmt: skip
    gone = row(name, claim="no longer a claim")
    found = refresh([old, gone])
    assert len(found) == sum(len(one.claims) for one in EXPERIMENTS.values())
    mine, *others = (entry for entry in found if entry.experiment == name)
    assert (mine.claim, mine.ours, mine.what) == (claim.text, "o", EXPERIMENTS[name].what)
    assert (mine.kind, mine.verdict, mine.why) == (claim.kind, DIFFERS, claim.why)
    assert {entry.verdict for entry in others} == {NOT_RUN}
    assert refresh(found) == found


def test_the_head_of_the_page_counts_kinds_and_verdicts_and_leaves_two_kinds_apart():
    rows = [
        row(claim="a"),
        row(claim="b", verdict=DIFFERS, why="?"),
        row(claim="c", verdict=DIFFERS, why="?"),
        row(claim="d", kind=Kind.SYNTHETIC, verdict=CLOSE),
        row(claim="e", kind=Kind.PRIVATE, verdict=NOT_RUN),
        row(claim="f", kind=Kind.HARDWARE),
        row(claim="g", kind=Kind.IMPROVEMENT, verdict=DIFFERS, why="The price."),
    ]
    line = headline(rows)
    assert "of 3 orderings and trends, 1 holds, 2 differ;" in line
    assert "of 1 numbers on synthetic workloads, 1 is close;" in line
    page = ledger_page(rows, "{id}.svg")
    assert line in page
    assert "| ordering or trend | 3 | 1 | 0 | 2 | 0 |" in page
    assert "Counted apart: 1 on times of the papers' hardware" in page
    assert "1 on improvements of ours, and 0 in other readings" in page
    assert "| all | 5 | 1 | 1 | 2 | 1 |" in page
    assert "(2 rows) ?" in page
    assert "| ton11-fig2 | g | p | o | **not better** | The price. |" in page


def test_other_readings_of_a_claim_are_counted_apart_whether_they_hold_or_not():
    rows = [
        row(claim="a"),
        row("ton11-fig2-each", claim="a", other=True),
        row("ton11-fig3-each", claim="b", other=True, verdict=DIFFERS, why="?"),
    ]
    assert "of 1 orderings and trends, 1 holds;" in headline(rows)
    page = ledger_page(rows, "{id}.svg")
    assert "| all | 1 | 1 | 0 | 0 | 0 |" in page
    assert "and 2 in other readings of the same claims:" in page
    assert "| ordering or trend | 2 | 1 | 0 | 1 | 0 |" in page
    counted, _, apart = page.partition("Other readings of the same claims, counted apart:")
    assert "| ton11-fig2 | a |" in counted
    assert "-each | " not in counted
    assert "| ton11-fig2-each | a |" in apart


def test_a_row_says_whether_its_experiment_or_its_claim_repeats_another():
    plain = experiment()
    for one, other in (
        (plain, False),
        (replace(plain, other="another graph"), True),
        (experiment(repeated=True), True),
    ):
        (entry,) = judge(one, five(1.0), full=True)
        assert entry.other is other


def test_the_head_tells_how_many_orderings_lack_only_size_or_seeds():
    short = Evidence(points=(*[Point(2.0, 1.0)] * 4, Point(0.9, 1.0)))
    rows = [
        row(claim="a"),
        row(claim="b", verdict=CLOSE, seeds=1),
        row(claim="c", verdict=CLOSE, evidence=short, why="Hubs."),
        row(claim="d", verdict=DIFFERS, why="?"),
    ]
    page = ledger_page(rows, "{id}.svg")
    assert "that are close, 1 would hold on the same points" in page
    assert "it would be 2 of 4 (50%), without them 25% hold." in page


def test_an_ordering_that_is_close_at_the_papers_size_says_why():
    points = tuple((2.0, 1.0) for _ in range(4))
    short = {"find": lambda rows: Finding("", pairs=(*points, (0.9, 1.0))), "why": "Hubs."}
    (entry,) = judge(experiment(kind=Kind.ORDERING, **short), five(1.0), full=True)
    assert (entry.verdict, entry.why) == (CLOSE, "Hubs.")
    assert "**close**, [2.1](#why-2-1)" in ledger_page([entry], "{id}.svg")
    (entry,) = judge(experiment(**short), five(1.0), full=True)  # of numbers only what differs
    assert (entry.verdict, entry.why) == (CLOSE, "")
    kept = {**short, "find": lambda rows: Finding("", pairs=points)}
    (entry,) = judge(experiment(kind=Kind.ORDERING, **kept), five(1.0), full=False)
    assert (entry.verdict, entry.why) == (CLOSE, "")  # its size is the reason


def test_a_row_of_an_earlier_run_is_marked():
    marked = "(from the words of an earlier run)"
    assert marked in ledger_page([row(evidence=None)], "{id}.svg")
    assert marked not in ledger_page([row()], "{id}.svg")


def test_a_row_names_its_ties():
    tied = Evidence(points=(Point(2.0, 1.0), Point(0.9, 1.0, 0.2)))
    assert "**holds** (1 tie within the noise)" in ledger_page([row(evidence=tied)], "{id}.svg")


def test_the_line_is_written_between_its_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "README.md"
    write_headline(page, [row()])
    assert not page.exists()
    page.write_text("nothing\n")
    write_headline(page, [row()])
    assert page.read_text() == "nothing\n"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    for _ in range(2):
        write_headline(page, [row()])
        assert page.read_text() == f"before\n{BEGIN}\n{headline([row()])}\n{END}\nafter\n"


def test_the_noise_of_a_point_is_the_standard_error_over_the_seeds():
    def find(rows):
        return ordered([(mean(rows, "x"), 1.0)])

    x = (0.8, 1.0, 0.9, 1.1, 0.9)
    trial = experiment(find=find, kind=Kind.ORDERING)
    (entry,) = judge(trial, five(*x), full=True)
    assert entry.evidence is not None
    (point,) = entry.evidence.points
    assert point.noise == pytest.approx(np.std(x, ddof=1) / 5**0.5, rel=1e-5)
    assert point.tied
    (entry,) = judge(replace(trial, cells=lambda full: trial.cells(full)[:4]), five(*x)[:4],
                     full=True)  # fmt: skip
    assert entry.evidence.points[0].noise == 0.0


def test_a_row_without_random_draws_counts_for_every_seed():
    whole = Cell("m:f", {"method": "whole", "seed": 0})
    drawn = [Cell("m:f", {"method": "sample", "seed": seed}) for seed in range(1, 6)]
    rows = [{"method": "whole", "x": 1.0}]
    rows += [{"method": "sample", "x": float(seed)} for seed in range(1, 6)]

    def find(rows):
        return ordered([(mean(rows, "x", method="sample"), mean(rows, "x", method="whole"))])

    trial = replace(experiment(find=find), cells=lambda full: [whole, *drawn])
    (entry,) = judge(trial, rows, full=True)
    assert entry.evidence.points[0].noise == pytest.approx(np.std(range(5), ddof=1) / 5**0.5, 1e-5)


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
        reported = {"followers": counts, "followers_share": shares, "seed": 1}
        return {"workload_graph": "fb", "method": method, **reported}

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
    assert found.number is not None
    assert found.number.ours == pytest.approx(100 * 0.573 / 0.734)
    assert verdict(Evidence(found.number), at_paper_size=True) == HOLDS


def test_a_share_that_should_rise_is_held_against_its_ends():
    claim = next(one for one in EXPERIMENTS["disc12-fig2b"].claims if "rises" in one.text)

    def rows(last: float) -> list[dict]:
        return [
            {"workload_family": name, "workload_topics": topics, "naive": True, "share": share}
            for name in ("expo", "zipf", "unif")
            for topics, share in ((100, 0.01), (1000, last))
        ]

    for last, expected in ((0.02, HOLDS), (0.005, DIFFERS)):
        points = tuple(Point(*pair) for pair in claim.find(rows(last)).pairs)
        assert verdict(Evidence(points=points), at_paper_size=True) == expected
