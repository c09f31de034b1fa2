"""The page of the ledger: counts by kind of claim, and a chapter per paper.

A chapter has a table of claims, the reasons for differences, the claims on the time of the paper's
hardware, and our improvements. Many rows share a reason, so it is given once, under a number that
the rows link to.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.ledger import Entry, count
from papers.model import FULL_SEEDS, JUDGED, PAPERS, Kind, Paper
from papers.store import write_text
from papers.verdict import CLOSE, DIFFERS, HOLDS, NOT_RUN, VERDICTS, verdict

BELOW = "below the paper's size"
EARLIER = "from the words of an earlier run"
FAILURE = {
    Kind.ORDERING: "The method, or our reading of it, is not the paper's: these must hold on any "
    "workload.",
    Kind.SYNTHETIC: "We draw the workload, or read a constant, in another way than the paper did.",
    Kind.PRIVATE: "Our graph or generator is another than the paper's; nobody can run theirs.",
}
SHORT = {
    Kind.ORDERING: "orderings and trends",
    Kind.SYNTHETIC: "numbers on synthetic workloads",
    Kind.PRIVATE: "numbers on graphs or generators that are not public",
}
KINDS = {Kind.ORDERING: "ordering", Kind.SYNTHETIC: "synthetic", Kind.PRIVATE: "not public"}
IMPROVED = {HOLDS: "better", CLOSE: "mostly better", DIFFERS: "not better", NOT_RUN: NOT_RUN}
DOCS_FIGURE = "figures/reproduce/{id}.svg"  # from the directory of the documentation
README = Path("..") / "README.md"  # likewise
BEGIN, END = "<!-- ledger: written by reproduce --docs -->", "<!-- end of ledger -->"


def write_ledger(path: Path, entries: Sequence[Entry], figure: str) -> None:
    """Write the page; `figure` is the link to an experiment's figure, with its id as {id}."""
    write_text(path, ledger_page(entries, figure))


def headline(entries: Sequence[Entry]) -> str:
    """Return the counts by kind and verdict in a sentence."""
    parts = []
    for kind in JUDGED:
        mine = count([entry for entry in _counted(entries) if entry.kind == kind])
        verdicts = ", ".join(f"{n} {_plural(name, n)}" for name, n in mine.items() if n)
        parts.append(f"of {sum(mine.values())} {SHORT[kind]}, {verdicts}")
    return f"Claims of the five papers, decided by runs: {'; '.join(parts)}."


def _counted(entries: Sequence[Entry], *, other: bool = False) -> list[Entry]:
    """Return the rows of the totals, or with `other` those of other readings of their claims."""
    return [entry for entry in entries if entry.kind in JUDGED and entry.other == other]


def _plural(verdict: str, n: int) -> str:
    """Return a verdict as a verb for `n` claims."""
    one = {HOLDS: "holds", CLOSE: "is close", DIFFERS: "differs", NOT_RUN: "was not run"}
    many = {HOLDS: "hold", CLOSE: "are close", DIFFERS: "differ", NOT_RUN: "were not run"}
    return one[verdict] if n == 1 else many[verdict]


def write_headline(path: Path, entries: Sequence[Entry]) -> None:
    """Write the sentence into a page, between its two marks; a page without marks stays."""
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if mark and end:
        write_text(path, f"{before}{BEGIN}\n{headline(entries)}\n{END}{after}")


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
    """Return the introduction of the page, and the number of verdicts by kind and by paper."""
    number = "1 row" if n_claims == 1 else f"{n_claims} rows"
    everything = [entry for mine in papers.values() for entry in mine]
    judged, others = _counted(everything), _counted(everything, other=True)
    kinds = [(kind, [entry for entry in judged if entry.kind == kind]) for kind in JUDGED]
    apart = Counter(entry.kind for entry in everything if entry.kind not in JUDGED)
    counted = [(_link(paper), _counted(mine)) for paper, mine in papers.items()]
    verdicts = " | ".join(VERDICTS)
    lines = [
        "# The ledger of the papers' claims",
        "",
        f"{number}, each decided by runs. Written by `meshwright reproduce`; [Reproducing the "
        "papers](reproduce.md) explains how to run it, lists the experiments and states the rule "
        "of the verdicts.",
        "",
        headline(everything),
        "",
        f"| kind of claim | claims | {verdicts} | what a failure would mean |",
        f"|---|{'---:|' * (1 + len(VERDICTS))}---|",
        *[f"{_tally(kind, mine)} {FAILURE[kind]} |" for kind, mine in kinds],
        "",
        f"Counted apart: {apart[Kind.HARDWARE]} on times of the papers' hardware, which say little "
        f"about the methods, {apart[Kind.IMPROVEMENT]} on improvements of ours, and {len(others)} "
        "in other readings of the same claims:",
        "",
        f"| other readings | rows | {verdicts} |",
        f"|---|{'---:|' * (1 + len(VERDICTS))}",
        *[_tally(kind, [entry for entry in others if entry.kind == kind]) for kind in JUDGED],
        "",
        *_firmness(judged),
        f"| paper | claims | {verdicts} |",
        f"|---|{'---:|' * (1 + len(VERDICTS))}",
        *[_tally(name, mine) for name, mine in [*counted, ("all", judged)]],
        "",
        f"- **{HOLDS}**: a number within 5%, a limit that is kept, an ordering at every point "
        "(ties within the noise of the seeds are allowed).",
        f"- **{CLOSE}**: within 20%; an ordering on average and at four points in five, nowhere "
        f"short by more than 20%. A row run {BELOW}, or on fewer than {FULL_SEEDS} seeds, is "
        "*close* at best, and says so.",
        f"- **{DIFFERS}**: neither; the number leads to the reason below the table: found by "
        'separate runs that changed one thing, or marked "we think" where no run was made.',
        "",
    ]
    if any(entry.words_only for entry in everything):
        lines += [
            f'Rows marked "{EARLIER}" were measured by a run that kept only the words shown here, '
            "so the noise of its seeds is not known and counts as none.",
            "",
        ]
    return [
        *lines,
        "FB and TW are samples of Cornell5 (Facebook100) and of ego-Twitter, not of the papers' "
        "own graphs, which are not public; ego is ego-Facebook. The content-based workloads of "
        "paper 5 follow its description, because its generator is not public. So shapes and "
        "orderings are compared there, not digits. No workload was tuned to make a claim hold.",
        "",
        "Where a paper can be read in two ways, both are run, and the one that follows its words "
        "is counted. The other readings have a table of their own in each chapter: -ego runs on "
        "ego-Facebook; -steep draws the sizes of paper 1 as 1/size^2; -each draws each topic of "
        "paper 2 with a probability; -both routes paper 4 over links in both directions, and -near "
        "also divides ranges among all neighbours; trends of paper 3's times with our programs "
        "instead of its own, which growth and -literal run. So have rows on what no paper states: "
        "degrees of paper 3, and of paper 5 settings that matter little and a time that rises.",
        "",
    ]


def _firmness(judged: Sequence[Entry]) -> list[str]:
    """Return what keeps orderings that no point contradicts from holding."""
    orderings = [entry for entry in judged if entry.kind == Kind.ORDERING]
    limited = [entry for entry in orderings if entry.verdict == CLOSE and _is_limited(entry)]
    if not limited:
        return []
    holding = count(orderings)[HOLDS]
    return [
        f"Of the orderings and trends that are close, {len(limited)} would hold on the same points "
        f"at the paper's size and on {FULL_SEEDS} seeds: with them it would be "
        f"{holding + len(limited)} of {len(orderings)} "
        f"({(holding + len(limited)) / len(orderings):.0%}), without them "
        f"{holding / len(orderings):.0%} hold.",
        "",
    ]


def _is_limited(entry: Entry) -> bool:
    """Return whether only the size or the seeds of a row keep it from holding."""
    return verdict(entry.evidence, at_paper_size=True) == HOLDS


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
    """Return the claims of a paper, the reasons, what is counted apart, the sizes, the figures."""
    scored = [entry for entry in entries if entry.kind != Kind.IMPROVEMENT]
    rows = Counter(entry.why for entry in scored if _explained(entry))
    numbers = {why: f"{paper.number}.{i}" for i, why in enumerate(rows, start=1)}
    lines = [f"## {_title(paper)}", "", paper.cite + ".", ""]
    if paper.notes:
        lines += [*[f"- {_cell(note)}" for note in paper.notes], ""]
    for heading, judged in (
        ([], _counted(scored)),
        (["Other readings of the same claims, counted apart:", ""], _counted(scored, other=True)),
    ):
        if judged:
            lines += [*heading, "| experiment | claim | kind | the paper | ours | verdict |",
                      "|---|---|---|---|---|---|",
                      *[_line(entry, numbers, KINDS[entry.kind]) for entry in judged],
                      ""]  # fmt: skip
    timed = [entry for entry in scored if entry.kind == Kind.HARDWARE]
    if timed:
        lines += ["Times of the paper's hardware, counted apart:", "",
                  "| experiment | claim | the paper | ours | verdict |", "|---|---|---|---|---|",
                  *[_line(entry, numbers) for entry in timed], ""]  # fmt: skip
    if rows:
        lines += ["Why ours differs, or is only close:", ""]
        for why, number in numbers.items():
            n_rows = "1 row" if rows[why] == 1 else f"{rows[why]} rows"
            lines.append(f'- <a id="{_anchor(number)}"></a>**{number}** ({n_rows}) {_cell(why)}')
        lines.append("")
    lines += _improvements([entry for entry in entries if entry.kind == Kind.IMPROVEMENT])
    lines += ["What was run:", ""]
    lines += [f"- {name}: {size}." for name, size in _sizes(entries)]
    lines.append("")
    names = dict.fromkeys(entry.experiment for entry in entries if entry.verdict != NOT_RUN)
    lines += [f"![{name}]({figure.format(id=name)})" for name in names]
    lines.append("")
    return lines


def _improvements(entries: Sequence[Entry]) -> list[str]:
    """Return the table of our improvements, which are no claims of the paper."""
    if not entries:
        return []
    lines = ["Where we are better, and why:", ""]
    lines += [
        "| experiment | ours | the paper | result | verdict | why |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries:
        cells = (entry.experiment, entry.claim, entry.paper, entry.ours or "-")
        line = " | ".join(_cell(text) for text in cells)
        word = f"**{IMPROVED[entry.verdict]}**{_limits(entry)}"
        lines.append(f"| {line} | {word} | {_cell(entry.why)} |")
    return [*lines, ""]


def _line(entry: Entry, numbers: dict[str, str], *more: str) -> str:
    cells = (entry.experiment, entry.claim, *more, entry.paper, entry.ours or "-")
    line = " | ".join(_cell(text) for text in cells)
    why = f". {_cell(entry.why)}" if entry.why else ""
    if _explained(entry):
        number = numbers[entry.why]
        why = f", [{number}](#{_anchor(number)})"
    return f"| {line} | **{entry.verdict}**{_limits(entry)}{why} |"


def _explained(entry: Entry) -> bool:
    """Return whether a row links to its reason."""
    return bool(entry.why) and entry.verdict in (CLOSE, DIFFERS)


def _anchor(number: str) -> str:
    return f"why-{number.replace('.', '-')}"


def _limits(entry: Entry) -> str:
    """Return in brackets what limits the weight of a row."""
    if entry.verdict == NOT_RUN:
        return ""
    few = _count_seeds(entry) if entry.seeds < FULL_SEEDS else ""
    earlier = EARLIER if entry.words_only else ""
    limits = [
        words for words in (BELOW if entry.below else "", few, earlier, _ties(entry)) if words
    ]
    return f" ({', '.join(limits)})" if limits else ""


def _ties(entry: Entry) -> str:
    tied = 0 if entry.evidence is None else sum(point.tied for point in entry.evidence.points)
    return f"{tied} {'tie' if tied == 1 else 'ties'} within the noise" if tied else ""


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
