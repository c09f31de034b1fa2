"""The ledger: one row per claim of a paper, with the paper's value, ours, and the verdict.

A number holds within 5% of the paper's and is close within 20%. An ordering holds if the larger
side is at least the smaller at every point, and is close if it is never short by more than 20%; a
limit is an ordering against a constant. Below the paper's size, or on fewer than five seeds,
nothing holds: it is close at best.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from meshwright.errors import InputError
from papers.model import FULL_SEEDS, Experiment, Finding, Rows
from papers.store import write_text

HOLDS, CLOSE, DIFFERS, NOT_RUN = "holds", "close", "differs", "not run"
VERDICTS = (HOLDS, CLOSE, DIFFERS, NOT_RUN)
WITHIN_HOLDS, WITHIN_CLOSE = 0.05, 0.20
ROUNDING = 1e-9  # means of equal numbers may differ in the last digit
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


def merge(path: Path, entries: Sequence[Entry], *, keep_firmer: bool = False) -> list[Entry]:
    """Replace the older entries of an experiment in a file; return all entries, in order.

    With `keep_firmer` an older entry of the same claim stays if its evidence is stronger: the
    paper's size and not a smaller one, or more seeds.
    """
    older = read_ledger(path)
    fresh = {entry.experiment for entry in entries}
    kept = [entry for entry in older if entry.experiment not in fresh]
    if keep_firmer:
        before = {_claim(entry): entry for entry in older}
        pairs = [(before.get(_claim(entry), entry), entry) for entry in entries]
        entries = [old if _firmness(old) > _firmness(new) else new for old, new in pairs]
    everything = _in_order([*kept, *entries])
    text = json.dumps([asdict(entry) for entry in everything], indent=1, ensure_ascii=False)
    write_text(path, text + "\n")
    return everything


def _claim(entry: Entry) -> tuple[str, str, str]:
    return entry.experiment, entry.claim, entry.paper


def _firmness(entry: Entry) -> tuple[bool, int]:
    return not entry.below, min(entry.seeds, FULL_SEEDS)


def read_ledger(path: Path) -> list[Entry]:
    """Return the entries of a ledger.json, or none if the file does not exist."""
    if not path.is_file():
        return []
    try:
        return [Entry(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise InputError(
            f"'{path}' is not a ledger ({error}). Move it away and run again; "
            "finished cells are kept."
        ) from None


def _in_order(entries: list[Entry]) -> list[Entry]:
    from papers.registry import EXPERIMENTS

    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    known = [entry for entry in entries if entry.experiment in order]
    return sorted(known, key=lambda entry: order[entry.experiment])


def count(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many entries have each verdict."""
    return {name: sum(entry.verdict == name for entry in entries) for name in VERDICTS}


def verdict(finding: Finding | None, *, at_paper_size: bool, enough_seeds: bool = True) -> str:
    """Return the verdict on a claim.

    Examples
    --------
    >>> verdict(Finding("0.97", ((0.97, 1.0),)), at_paper_size=True)
    'holds'
    >>> verdict(Finding("0.97", ((0.97, 1.0),)), at_paper_size=False)
    'close'
    >>> verdict(Finding("a below b", pairs=((1.0, 0.9), (0.7, 1.0))), at_paper_size=True)
    'differs'
    """
    if finding is None:
        return NOT_RUN
    off = max((_off(ours, paper) for ours, paper in finding.numbers), default=0.0)
    short = max((_lack(large, small) for large, small in finding.pairs), default=0.0)
    if off <= WITHIN_HOLDS + ROUNDING and short <= ROUNDING:
        return HOLDS if at_paper_size and enough_seeds else CLOSE
    return CLOSE if max(off, short) <= WITHIN_CLOSE + ROUNDING else DIFFERS


def _off(ours: float, paper: float) -> float:
    """Return the distance from the paper's number, as a share of it."""
    return abs(ours - paper) / abs(paper)


def _lack(large: float, small: float) -> float:
    """Return by how much the larger side falls short of the smaller, as a share of it."""
    if large >= small:
        return 0.0
    return (small - large) / abs(small) if small else 1.0
