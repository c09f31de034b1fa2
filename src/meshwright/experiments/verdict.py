"""The rule of the ledger: holds, close, or differs.

A number holds within 5% of the paper's and is close within 20%. An ordering holds when the larger
side is at least the smaller at every point, and is close when it is never short by more than 20%;
a limit is an ordering against a constant. Below the paper's size, or on fewer than five seeds,
nothing holds: it is close at best.
"""

from __future__ import annotations

from meshwright.experiments.model import Finding

HOLDS, CLOSE, DIFFERS, NOT_RUN = "holds", "close", "differs", "not run"
VERDICTS = (HOLDS, CLOSE, DIFFERS, NOT_RUN)
WITHIN_HOLDS, WITHIN_CLOSE = 0.05, 0.20
ROUNDING = 1e-9  # means of equal numbers may differ in the last digit


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
    """Return how far ours is from the paper's, as a share of it."""
    return abs(ours - paper) / abs(paper)


def _lack(large: float, small: float) -> float:
    if large >= small:
        return 0.0
    return (small - large) / abs(small) if small else 1.0
