"""The ledger: one row per claim of a paper, with the paper's value, ours, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from meshwright.experiments.model import FULL_SEEDS, PAPERS, Experiment, Rows
from meshwright.experiments.store import write_text
from meshwright.experiments.verdict import CLOSE, DIFFERS, HOLDS, NOT_RUN, VERDICTS, verdict

BELOW = "below the paper's size"
UNEXPLAINED = "No reason was found yet."


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger."""

    experiment: str
    what: str
    claim: str
    paper: str
    ours: str
    size: str
    seeds: int
    below: bool
    verdict: str
    why: str


def judge(experiment: Experiment, rows: Rows, *, full: bool) -> tuple[Entry, ...]:
    """Return the entries of an experiment's claims."""
    entries = []
    seeds = experiment.seeds(full)
    for claim in experiment.claims:
        at_paper_size = full or claim.at_default
        finding = claim.find(rows)
        enough = seeds >= FULL_SEEDS
        found = verdict(finding, at_paper_size=at_paper_size, enough_seeds=enough)
        why = ""
        if found == DIFFERS:
            why = claim.why or UNEXPLAINED
        elif found == NOT_RUN:
            why = "its cells are part of --full only."
        entries.append(
            Entry(
                experiment=experiment.id,
                what=experiment.what,
                claim=claim.text,
                paper=claim.paper,
                ours="" if finding is None else finding.ours,
                size=experiment.full_size if full else experiment.size,
                seeds=seeds,
                below=not at_paper_size,
                verdict=found,
                why=why,
            )
        )
    return tuple(entries)


def merge(path: Path, entries: Sequence[Entry]) -> list[Entry]:
    """Put the entries of an experiment in the place of its older ones; return all, in order."""
    older = read_ledger(path)
    fresh = {entry.experiment for entry in entries}
    kept = [entry for entry in older if entry.experiment not in fresh]
    everything = _in_order([*kept, *entries])
    text = json.dumps([asdict(entry) for entry in everything], indent=1, ensure_ascii=False)
    write_text(path, text + "\n")
    return everything


def read_ledger(path: Path) -> list[Entry]:
    """Return the entries of a ledger.json; none if it is not there."""
    if not path.is_file():
        return []
    return [Entry(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def _in_order(entries: list[Entry]) -> list[Entry]:
    from meshwright.experiments.registry import EXPERIMENTS

    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    known = [entry for entry in entries if entry.experiment in order]
    return sorted(known, key=lambda entry: order[entry.experiment])


def count(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many entries have each verdict."""
    return {name: sum(entry.verdict == name for entry in entries) for name in VERDICTS}


def write_ledger(path: Path, entries: Sequence[Entry], figure: str) -> None:
    """Write the page; `figure` is the link to an experiment's figure, with its id as {id}."""
    write_text(path, ledger_page(entries, figure))


def ledger_page(entries: Sequence[Entry], figure: str) -> str:
    """Return the ledger as Markdown."""
    lines = [*_heading(entries)]
    for paper in PAPERS:
        mine = [entry for entry in entries if entry.experiment.startswith(f"{paper.key}-")]
        if not mine:
            continue
        lines += [f"## Paper {paper.number}: {paper.title}", "", paper.cite + ".", ""]
        lines += ["| experiment | claim | the paper | ours | verdict |", "|---|---|---|---|---|"]
        lines += [_line(entry) for entry in mine]
        lines.append("")
        lines += [f"- {key}: {size}." for key, size in _sizes(mine)]
        lines.append("")
        names = dict.fromkeys(entry.experiment for entry in mine)
        lines += [f"![{name}]({figure.format(id=name)})" for name in names]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _heading(entries: Sequence[Entry]) -> list[str]:
    counted = count(entries)
    told = ", ".join(f"{counted[name]} {name}" for name in VERDICTS if counted[name])
    number = "1 claim" if len(entries) == 1 else f"{len(entries)} claims"
    return [
        "# The ledger of the papers' claims",
        "",
        f"{number}: {told}. Written by `meshwright reproduce`; how to run it and what the "
        "experiments are is in [Reproducing the papers](reproduce.md).",
        "",
        f"- **{HOLDS}**: the ordering at every point, or a number within 5%.",
        f"- **{CLOSE}**: within 20%. A row run {BELOW}, or on fewer than {FULL_SEEDS} seeds, is "
        "*close* at best, and says so.",
        f"- **{DIFFERS}**: neither; the sentence says why: by runs of their own that changed one "
        'thing, and where none was made it says "we think".',
        "",
        "FB and TW are samples of Cornell5 (Facebook100) and of ego-Twitter, not of the papers' "
        "own graphs, which are not public; ego is ego-Facebook. The content-based workloads of "
        "paper 5 follow its description, since its generator is not public. So shapes and "
        "orderings are compared there, not digits. No workload was tuned to make a claim hold.",
        "",
        "Experiments named -ego and -each stand beside the papers' own: another graph, and another "
        "reading of how paper 2 draws its workloads.",
        "",
    ]


def _line(entry: Entry) -> str:
    why = f". {entry.why}" if entry.why else ""
    cells = (entry.experiment, entry.claim, entry.paper, entry.ours or "-")
    told = " | ".join(_cell(text) for text in cells)
    return f"| {told} | **{entry.verdict}**{_limits(entry)}{_cell(why)} |"


def _limits(entry: Entry) -> str:
    """Return what keeps a row from *holds*, in brackets."""
    if entry.verdict == NOT_RUN:
        return ""
    few = _count_seeds(entry) if entry.seeds < FULL_SEEDS else ""
    told = [words for words in (BELOW if entry.below else "", few) if words]
    return f" ({', '.join(told)})" if told else ""


def _count_seeds(entry: Entry) -> str:
    return "one seed" if entry.seeds == 1 else f"{entry.seeds} seeds"


def _sizes(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return what was run for each experiment, in words; lines of Markdown end with a break."""
    found: dict[str, str] = {}
    for entry in entries:
        found[entry.experiment] = f"{entry.what}; {entry.size}, {_count_seeds(entry)}"
    return [(key, f"{size.rstrip('.')}") for key, size in found.items()]


def _cell(text: Any) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
