"""The method pages keep up with the code: every method, figure, example and number in them."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from meshwright.overlay.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "methods").glob("*.md"))
RUNNABLE = [
    *PAGES,
    *(
        DOCS / f"{name}.md"
        for name in (
            "certificates",
            "engine",
            "check-and-export",
            "routing",
            "limits",
            "survive",
            "replanning",
            "frontier",
            "publishers",
        )
    ),
]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{i}")
    for page in RUNNABLE
    for i, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    )
]


def script(path: str):
    """Load a script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def title(page: Path) -> str:
    return page.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_page_and_a_row_to_choose_it_by(method):
    headed = [page for page in PAGES if f"`{method}`" in title(page)]
    assert len(headed) == 1
    index = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    assert f"({headed[0].name})" in index
    assert re.search(rf"^\|.*`{re.escape(method)}`", index, re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_figures_that_exist(page):
    figures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert figures
    assert all((page.parent / figure).is_file() for figure in figures)


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+\.md)\)", page.read_text(encoding="utf-8"))
    assert [t for t in targets if not (page.parent / t).is_file()] == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != "index"], ids=lambda p: p.stem)
def test_every_method_page_has_its_parts(page):
    content = page.read_text(encoding="utf-8")
    for part in (
        "**Idea.**",
        "## Rule",
        "**Ties.**",
        "## Guarantee",
        "## Where ours departs",
        "## Cost",
        "## When to use it, when not",
        "## Example",
        "```python",
    ):
        assert part in content, part
    assert re.search(r"^```sh\nmeshwright (design|assign) ", content, re.M)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_prints_what_it_says(block):
    test = doctest.DocTestParser().get_doctest(block, {}, "example", None, 0)
    assert test.examples, "an example is written with >>>"
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert said == []


def test_the_comparison_is_what_its_script_writes():
    page = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    assert script("methods/make_comparison.py").updated(page) == page


def test_the_figures_are_what_their_script_draws():
    figures = dict(script("figures/make_figures.py").figures())
    assert set(METHODS) <= set(figures)
    assert {path.stem for path in (DOCS / "figures").glob("*.svg")} == set(figures)
    stale = [
        name
        for name, content in figures.items()
        if (DOCS / "figures" / f"{name}.svg").read_text(encoding="utf-8") != content
    ]
    assert stale == [], "run python docs/figures/make_figures.py"
