"""The ledger: one row per claim of a paper, with the paper's value, ours, and the verdict."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from meshwright.errors import InputError
from papers.model import FULL_SEEDS, Claim, Experiment, Kind, Limit, Number, Rows
from papers.store import write_text
from papers.verdict import CLOSE, DIFFERS, NOT_RUN, VERDICTS, Evidence, Point, verdict, weigh

UNEXPLAINED = "No reason was found yet."


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger.

    `evidence` decides the verdict. It is None for a claim that was not run, and for one measured by
    a run that kept only the words of its result; the page marks these.
    """

    experiment: str
    what: str
    claim: str
    kind: Kind
    paper: str
    ours: str
    evidence: Evidence | None
    size: str
    seeds: int
    below: bool
    verdict: str
    why: str
    other: bool = False  # another reading of a claim that is counted elsewhere

    @property
    def words_only(self) -> bool:
        """Whether the run that measured it kept only the words of its result."""
        return self.evidence is None and self.verdict != NOT_RUN


def judge(experiment: Experiment, rows: Rows, *, full: bool) -> tuple[Entry, ...]:
    """Return the entries of an experiment's claims; `rows` are those of its cells, in order."""
    entries = []
    seeds = experiment.seeds(full)
    by_seed = _by_seed(experiment, rows, full=full)
    for claim in experiment.claims:
        at_paper_size = (full or claim.at_default) and not (experiment.below or claim.below)
        weighed = weigh(claim, rows, by_seed)
        ours, evidence = ("", None) if weighed is None else (weighed[0].ours, weighed[1])
        enough = seeds >= FULL_SEEDS
        found = verdict(evidence, at_paper_size=at_paper_size, enough_seeds=enough)
        entries.append(
            Entry(
                experiment=experiment.id,
                what=experiment.what,
                claim=claim.text,
                kind=claim.kind,
                paper=claim.paper,
                ours=ours,
                evidence=evidence,
                size=experiment.full_size if full else experiment.size,
                seeds=seeds,
                below=not at_paper_size,
                verdict=found,
                why=_reason(
                    claim, found, _short(found, evidence), "its cells are part of --full only."
                ),
                other=_other(experiment, claim),
            )
        )
    return tuple(entries)


def _short(found: str, evidence: Evidence | None) -> bool:
    """Return whether a row would be close at the paper's size and on enough seeds, too."""
    return found == CLOSE and verdict(evidence, at_paper_size=True) == CLOSE


def _reason(claim: Claim, found: str, short: bool, not_run: str) -> str:
    """Return the reason that a row gives; `not_run` is that of a row without a result.

    An ordering that is close, and not for its size or seeds (`short`), needs one as one that
    differs does.
    """
    if found == NOT_RUN:
        return not_run
    if claim.kind == Kind.IMPROVEMENT:
        return claim.why
    if found == DIFFERS:
        return claim.why or UNEXPLAINED
    return claim.why if short and claim.kind == Kind.ORDERING else ""


def _other(experiment: Experiment, claim: Claim) -> bool:
    return bool(experiment.other) or claim.repeated


def _by_seed(experiment: Experiment, rows: Rows, *, full: bool) -> list[Rows]:
    """Return the rows of each seed; those of a point without random draws belong to all."""
    cells = experiment.cells(full)
    seeds: dict[str, set[Any]] = {}
    for cell in cells:
        seeds.setdefault(cell.point, set()).add(cell.given["seed"])
    drawn = sorted(set().union(*(found for found in seeds.values() if len(found) > 1)))
    return [
        [
            row
            for cell, row in zip(cells, rows, strict=True)
            if cell.given["seed"] == seed or len(seeds[cell.point]) == 1
        ]
        for seed in drawn
    ]


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
        entries = [
            replace(old, kind=new.kind, what=new.what, other=new.other)
            if _firmness(old) > _firmness(new)
            else new
            for old, new in pairs
        ]
    everything = _in_order([*kept, *entries])
    write_entries(path, everything)
    return everything


def refresh(entries: Sequence[Entry]) -> list[Entry]:
    """Return a row for every claim of the experiments, as they word, sort and explain it now.

    Verdicts follow from the evidence that is kept. A claim without a row gets one that was not run.
    """
    from papers.registry import EXPERIMENTS

    before = {_claim(entry): entry for entry in entries}
    found = []
    for experiment in EXPERIMENTS.values():
        for claim in experiment.claims:
            old = before.get((experiment.id, claim.text, claim.paper))
            if old is None:
                size, seeds = experiment.full_size, experiment.seeds(True)
                old = Entry(experiment.id, experiment.what, claim.text, claim.kind, claim.paper,
                            "", None, size, seeds, False, NOT_RUN, "")  # fmt: skip
            old = replace(old, below=old.below or experiment.below or claim.below)
            now = old.verdict
            if old.evidence is not None:
                enough = old.seeds >= FULL_SEEDS
                now = verdict(old.evidence, at_paper_size=not old.below, enough_seeds=enough)
            untold = old.why or "its row is newer than the last run."
            firm = not old.below and old.seeds >= FULL_SEEDS
            short = now == CLOSE and firm if old.words_only else _short(now, old.evidence)
            why = _reason(claim, now, short, untold)
            what = experiment.what
            other = _other(experiment, claim)
            found.append(
                replace(old, kind=claim.kind, what=what, verdict=now, why=why, other=other)
            )
    return found


def write_entries(path: Path, entries: Sequence[Entry]) -> None:
    """Write a ledger.json, a line per row."""
    lines = (json.dumps(asdict(entry), ensure_ascii=False) for entry in entries)
    write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def _claim(entry: Entry) -> tuple[str, str, str]:
    return entry.experiment, entry.claim, entry.paper


def _firmness(entry: Entry) -> tuple[bool, bool, int]:
    return entry.verdict != NOT_RUN, not entry.below, min(entry.seeds, FULL_SEEDS)


def read_ledger(path: Path) -> list[Entry]:
    """Return the entries of a ledger.json, or none if the file does not exist."""
    if not path.is_file():
        return []
    try:
        return [_entry(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"'{path}' is not a ledger ({error}). Move it away and run again; "
            "finished cells are kept."
        ) from None


def _entry(row: dict[str, Any]) -> Entry:
    known = row["evidence"]
    evidence = None
    if known is not None:
        number, limit = known["number"], known["limit"]
        evidence = Evidence(
            None if number is None else Number(**number),
            None if limit is None else Limit(**limit),
            tuple(Point(*point) for point in known["points"]),
        )
    return Entry(**{**row, "kind": Kind(row["kind"]), "evidence": evidence})


def _in_order(entries: list[Entry]) -> list[Entry]:
    from papers.registry import EXPERIMENTS

    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    known = [entry for entry in entries if entry.experiment in order]
    return sorted(known, key=lambda entry: order[entry.experiment])


def count(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many entries have each verdict."""
    return {name: sum(entry.verdict == name for entry in entries) for name in VERDICTS}
