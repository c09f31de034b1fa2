"""The page of the ledger: a table of claims per paper, and below it the reasons for differences.

Many rows share a reason, so it is given once, under a number that the rows link to.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.ledger import CLOSE, DIFFERS, HOLDS, NOT_RUN, VERDICTS, Entry, count
from papers.model import FULL_SEEDS, PAPERS, Paper
from papers.store import write_text

BELOW = "below the paper's size"


def write_ledger(path: Path, entries: Sequence[Entry], figure: str) -> None:
    """Write the page; `figure` is the link to an experiment's figure, with its id as {id}."""
    write_text(path, ledger_page(entries, figure))


def ledger_page(entries: Sequence[Entry], figure: str) -> str:
    """Return the ledger as Markdown."""
    papers = {
        paper: [entry for entry in entries if entry.experiment.startswith(f"{paper.key}-")]
        for paper in PAPERS
    }
    papers = {paper: mine for paper, mine in papers.items() if mine}
    lines = _heading(papers, len(entries))
    for paper, mine in papers.items():
        lines += _chapter(paper, mine, figure)
    return "\n".join(lines).rstrip() + "\n"


def _heading(papers: dict[Paper, list[Entry]], n_claims: int) -> list[str]:
    """Return the introduction of the page and the number of verdicts by paper."""
    number = "1 claim" if n_claims == 1 else f"{n_claims} claims"
    everything = [entry for mine in papers.values() for entry in mine]
    counted = [(_link(paper), mine) for paper, mine in papers.items()]
    return [
        "# The ledger of the papers' claims",
        "",
        f"{number} that the papers make in numbers or orderings, each decided by runs. Written by "
        "`meshwright reproduce`; [Reproducing the papers]"
        "(reproduce.md) explains how to run it and lists the experiments.",
        "",
        f"| paper | claims | {' | '.join(VERDICTS)} |",
        f"|---|{'---:|' * (1 + len(VERDICTS))}",
        *[_tally(name, mine) for name, mine in [*counted, ("all", everything)]],
        "",
        f"- **{HOLDS}**: the ordering at every point, or a number within 5%.",
        f"- **{CLOSE}**: within 20%. A row run {BELOW}, or on fewer than {FULL_SEEDS} seeds, is "
        "*close* at best, and says so.",
        f"- **{DIFFERS}**: neither; the number leads to the reason below the table: found by "
        'separate runs that changed one thing, or marked "we think" where no run was made.',
        "",
        "FB and TW are samples of Cornell5 (Facebook100) and of ego-Twitter, not of the papers' "
        "own graphs, which are not public; ego is ego-Facebook. The content-based workloads of "
        "paper 5 follow its description, because its generator is not public. So shapes and "
        "orderings are compared there, not digits. No workload was tuned to make a claim hold.",
        "",
        "Experiments named -ego and -each are additions to the papers' own: another graph, and "
        "another reading of how paper 2 draws its workloads.",
        "",
    ]


def _tally(name: str, entries: Sequence[Entry]) -> str:
    counts = " | ".join(f"{n}" for n in count(entries).values())
    return f"| {name} | {len(entries)} | {counts} |"


def _title(paper: Paper) -> str:
    return f"Paper {paper.number}: {paper.title}"


def _link(paper: Paper) -> str:
    """Return a link to the chapter of a paper, by the anchor of its Markdown heading."""
    anchor = re.sub(r"[^a-z0-9 -]", "", _title(paper).lower()).replace(" ", "-")
    return f"[{_title(paper)}](#{anchor})"


def _chapter(paper: Paper, entries: Sequence[Entry], figure: str) -> list[str]:
    """Return the claims of a paper, the reasons, the sizes of the runs, and the figures."""
    rows = Counter(entry.why for entry in entries if entry.verdict == DIFFERS)
    numbers = {why: f"{paper.number}.{i}" for i, why in enumerate(rows, start=1)}
    lines = [f"## {_title(paper)}", "", paper.cite + ".", ""]
    lines += ["| experiment | claim | the paper | ours | verdict |", "|---|---|---|---|---|"]
    lines += [_line(entry, numbers) for entry in entries]
    lines.append("")
    if rows:
        lines += ["Why ours differs:", ""]
        for why, number in numbers.items():
            n_rows = "1 row" if rows[why] == 1 else f"{rows[why]} rows"
            lines.append(f'- <a id="{_anchor(number)}"></a>**{number}** ({n_rows}) {_cell(why)}')
        lines.append("")
    lines += ["What was run:", ""]
    lines += [f"- {name}: {size}." for name, size in _sizes(entries)]
    lines.append("")
    names = dict.fromkeys(entry.experiment for entry in entries)
    lines += [f"![{name}]({figure.format(id=name)})" for name in names]
    lines.append("")
    return lines


def _line(entry: Entry, numbers: dict[str, str]) -> str:
    cells = (entry.experiment, entry.claim, entry.paper, entry.ours or "-")
    line = " | ".join(_cell(text) for text in cells)
    why = f". {_cell(entry.why)}" if entry.why else ""
    if entry.verdict == DIFFERS:
        number = numbers[entry.why]
        why = f", [{number}](#{_anchor(number)})"
    return f"| {line} | **{entry.verdict}**{_limits(entry)}{why} |"


def _anchor(number: str) -> str:
    return f"why-{number.replace('.', '-')}"


def _limits(entry: Entry) -> str:
    """Return in brackets why a row cannot hold."""
    if entry.verdict == NOT_RUN:
        return ""
    few = _count_seeds(entry) if entry.seeds < FULL_SEEDS else ""
    limits = [words for words in (BELOW if entry.below else "", few) if words]
    return f" ({', '.join(limits)})" if limits else ""


def _count_seeds(entry: Entry) -> str:
    return "one seed" if entry.seeds == 1 else f"{entry.seeds} seeds"


def _sizes(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the sizes of the runs of each experiment, the most frequent first."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for entry in entries:
        runs = found.setdefault((entry.experiment, entry.what), Counter())
        runs[f"{entry.size}, {_count_seeds(entry)}"] += 1
    return [
        (name, f"{what}; {'; some rows: '.join(run for run, _ in runs.most_common())}".rstrip("."))
        for (name, what), runs in found.items()
    ]


def _cell(text: Any) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
