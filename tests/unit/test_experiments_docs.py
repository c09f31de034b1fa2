"""The page on reproducing the papers, and the ledger in the documentation."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from meshwright.experiments.ledger import UNEXPLAINED
from meshwright.experiments.model import PAPERS
from meshwright.experiments.registry import EXPERIMENTS
from meshwright.experiments.samples import GRAPHS
from meshwright.experiments.verdict import VERDICTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE, LEDGER = DOCS / "reproduce.md", DOCS / "ledger.md"


def test_the_example_of_the_page_runs():
    ran = doctest.testfile(str(PAGE), module_relative=False)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_the_page_names_papers_graphs_and_verdicts():
    text = PAGE.read_text()
    for word in (*[paper.key for paper in PAPERS], *[g.file for g in GRAPHS.values()], *VERDICTS):
        assert word in text


def test_the_ledger_has_a_row_for_every_claim():
    rows = [line for line in LEDGER.read_text().splitlines() if line.startswith("| ")]
    found = [line.split(" | ")[0].removeprefix("| ") for line in rows]
    for name, experiment in EXPERIMENTS.items():
        assert found.count(name) == len(experiment.claims), name


def test_no_row_below_the_papers_size_or_on_few_seeds_holds_and_what_differs_says_why():
    rows = [line for line in LEDGER.read_text().splitlines() if line.startswith("| ")]
    assert [line for line in rows if "**holds** (" in line] == []
    for line in rows:
        if "**differs**" in line:
            assert re.search(r"\*\*differs\*\*( \([^)]*\))?\. [A-Z]", line), line
            assert UNEXPLAINED not in line


def test_the_figures_of_the_ledger_are_there():
    links = re.findall(r"!\[[^]]*\]\(([^)]*)\)", LEDGER.read_text())
    assert len(links) == len([one for one in EXPERIMENTS.values() if one.claims])
    assert [link for link in links if not (DOCS / link).is_file()] == []
