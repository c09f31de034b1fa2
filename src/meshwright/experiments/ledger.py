"""The ledger: one row per claim of a paper, with the paper's value, ours, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from meshwright.errors import InputError
from meshwright.experiments.model import FULL_SEEDS, Experiment, Rows
from meshwright.experiments.store import write_text
from meshwright.experiments.verdict import DIFFERS, NOT_RUN, VERDICTS, verdict

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
    """Put the entries of an experiment in the place of its older ones; return all, in order.

    With `keep_firmer` an older entry of the same claim stays where it stands on firmer ground: at
    the paper's size where the new one is below it, or on more seeds.
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
    """Return the entries of a ledger.json; none if it is not there."""
    if not path.is_file():
        return []
    try:
        return [Entry(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise InputError(
            f"'{path}' is no ledger ({error}). Move it away and run again: finished cells are kept."
        ) from None


def _in_order(entries: list[Entry]) -> list[Entry]:
    from meshwright.experiments.registry import EXPERIMENTS

    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    known = [entry for entry in entries if entry.experiment in order]
    return sorted(known, key=lambda entry: order[entry.experiment])


def count(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many entries have each verdict."""
    return {name: sum(entry.verdict == name for entry in entries) for name in VERDICTS}
