"""The page on reproducing the papers, and the ledger in the documentation."""

import doctest
import re
import tomllib
from pathlib import Path

from papers.__main__ import main
from papers.ledger import UNEXPLAINED, read_ledger
from papers.ledger_page import BEGIN, DOCS_FIGURE, END, headline, ledger_page
from papers.model import FULL_SEEDS, PAPERS, Kind
from papers.registry import EXPERIMENTS
from papers.samples import GRAPHS
from papers.verdict import CLOSE, DIFFERS, HOLDS, NOT_RUN, VERDICTS, verdict

DOCS = Path(__file__).parents[2] / "docs"
PAGE, LEDGER = DOCS / "reproduce.md", DOCS / "ledger.md"
ENTRIES = read_ledger(DOCS / "ledger.json")


def test_the_example_of_the_page_runs():
    ran = doctest.testfile(str(PAGE), module_relative=False)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_the_page_names_papers_graphs_and_verdicts():
    text = PAGE.read_text()
    for word in (*[paper.key for paper in PAPERS], *[g.file for g in GRAPHS.values()], *VERDICTS):
        assert word in text


def test_the_page_is_that_of_the_ledger():
    assert LEDGER.read_text() == ledger_page(ENTRIES, DOCS_FIGURE)


def test_the_readme_quotes_the_counts_of_the_ledger():
    text = (DOCS.parent / "README.md").read_text()
    assert f"{BEGIN}\n{headline(ENTRIES)}\n{END}\n" in text


def test_page_and_readme_are_written_again_from_the_rows(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ledger.json").write_bytes((DOCS / "ledger.json").read_bytes())
    (tmp_path / "README.md").write_text(f"{BEGIN}\nstale\n{END}\n")
    main(docs)
    assert (docs / "ledger.md").read_text() == LEDGER.read_text()
    assert (docs / "ledger.json").read_bytes() == (DOCS / "ledger.json").read_bytes()
    assert headline(ENTRIES) in (tmp_path / "README.md").read_text()


def test_the_verdicts_are_those_of_the_rule_on_the_evidence_that_is_kept():
    for entry in ENTRIES:
        if entry.evidence is not None:
            enough = entry.seeds >= FULL_SEEDS
            found = verdict(entry.evidence, at_paper_size=not entry.below, enough_seeds=enough)
            assert entry.verdict == found, entry


def test_the_reasons_are_those_of_the_claims():
    reasons = {(one.id, c.text): c.why for one in EXPERIMENTS.values() for c in one.claims}
    for entry in ENTRIES:
        improved = entry.kind == Kind.IMPROVEMENT and entry.verdict != NOT_RUN
        if entry.verdict == DIFFERS or improved or (entry.verdict == CLOSE and entry.why):
            assert entry.why == reasons[entry.experiment, entry.claim], entry


def test_the_ledger_has_a_row_for_every_claim_as_the_experiments_word_it():
    rows = [(entry.experiment, entry.claim, entry.paper, entry.kind) for entry in ENTRIES]
    claims = [(one.id, c.text, c.paper, c.kind) for one in EXPERIMENTS.values() for c in one.claims]
    assert rows == claims


def test_no_row_below_the_papers_size_or_on_few_seeds_holds_and_what_differs_says_why():
    for entry in ENTRIES:
        if entry.verdict == HOLDS:
            assert (entry.below, entry.seeds >= FULL_SEEDS) == (False, True), entry
        if entry.verdict == DIFFERS:
            assert entry.why not in ("", UNEXPLAINED), entry


def test_the_figures_of_the_ledger_are_there():
    links = re.findall(r"!\[[^]]*\]\(([^)]*)\)", LEDGER.read_text())
    assert len(links) == len({entry.experiment for entry in ENTRIES if entry.verdict != NOT_RUN})
    assert [link for link in links if not (DOCS / link).is_file()] == []


def test_the_wheel_holds_the_package_without_the_papers():
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert list(settings) == ["targets"]
    wheel = settings["targets"]["wheel"]
    assert wheel.pop("packages") == ["src/meshwright"]
    assert wheel.pop("force-include") == {"examples/company.csv": "meshwright/examples/company.csv"}
    assert wheel == {}
    assert not (DOCS.parent / "src" / "meshwright" / "papers").exists()
