"""The rule of the ledger: holds, close, or differs.

A number holds within 5% of the paper's and is close within 20%. An ordering holds when the larger
side is at least the smaller at every point, and is close when it is never short by more than 20%;
a limit is an ordering against a constant. Below the paper's size nothing holds: it is close at
best.
"""

from __future__ import annotations

from meshwright.experiments.model import Finding

HOLDS, CLOSE, DIFFERS, NOT_RUN = "holds", "close", "differs", "not run"
VERDICTS = (HOLDS, CLOSE, DIFFERS, NOT_RUN)
WITHIN_HOLDS, WITHIN_CLOSE = 0.05, 0.20
ROUNDING = 1e-9  # means of equal numbers may differ in the last digit


def verdict(finding: Finding | None, *, at_paper_size: bool) -> str:
    """Return the verdict on a claim.

    Examples
    --------
    >>> verdict(Finding("0.97", 0.97, 1.0), at_paper_size=True)
    'holds'
    >>> verdict(Finding("0.97", 0.97, 1.0), at_paper_size=False)
    'close'
    >>> verdict(Finding("a below b", pairs=((1.0, 0.9), (0.7, 1.0))), at_paper_size=True)
    'differs'

    """
    if finding is None:
        return NOT_RUN
    short = _short(finding)
    if short <= (WITHIN_HOLDS if finding.ours_value is not None else 0.0) + ROUNDING:
        return HOLDS if at_paper_size else CLOSE
    return CLOSE if short <= WITHIN_CLOSE + ROUNDING else DIFFERS


def _short(finding: Finding) -> float:
    """Return how far ours is from the paper's, as a share of it."""
    if finding.ours_value is not None and finding.paper_value is not None:
        return abs(finding.ours_value - finding.paper_value) / abs(finding.paper_value)
    return max((_lack(large, small) for large, small in finding.pairs), default=0.0)


def _lack(large: float, small: float) -> float:
    if large >= small:
        return 0.0
    return (small - large) / abs(small) if small else 1.0
