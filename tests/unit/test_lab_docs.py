"""The commands of the lab's pages are commands that exist, with options that exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("lab.md", "guide-logs-to-mesh.md")
LINE = re.compile(r"^(?:\./)?meshwright (.+)$")


def commands(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [m[1] for block in blocks for line in block.splitlines() if (m := LINE.match(line))]


@pytest.mark.parametrize("line", [line for page in PAGES for line in commands(page)])
def test_a_documented_command_parses(line):
    from meshwright import cli

    cli.load_verbs()
    command, words = typer.main.get_command(cli.app), shlex.split(line, comments=True)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    with command.make_context("meshwright", words) as context:
        assert context.params


def test_every_step_of_the_guide_is_there():
    verbs = " | ".join(line.split(" ")[0] for line in commands("guide-logs-to-mesh.md"))
    assert verbs == (
        "ingest | design | check | deploy | report | lab | lab | lab | lab "
        "| deploy | watch | deploy"
    )


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (DOCS / target).is_file(), target
