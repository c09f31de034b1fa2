"""What a plan must obey besides its method: limits of nodes, and pairs that may be linked.

Both are frozen values over the ids of an instance. They are made from rows of text, as files have
them; everything that is wrong with the rows is said at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.runtime.arrays import Bools, Floats, Ints
from meshwright.storage.csv_files import raise_problems
from meshwright.storage.digest import pack

NO_LIMIT = 2**31 - 1  # links that no node reaches
ROLES = ("hub", "relay", "leaf")
ALLOWED = ("no", "yes")
DIALS = ("none", "u", "v", "both")  # who can open the connection of a pair u < v

LIMIT_COLUMNS = ("node", "max_degree", "role")
LINK_COLUMNS = ("a", "b", "allowed", "dial", "cost")
MOST_COST = 1e12  # beyond that, something is wrong

Rows = Iterable[Mapping[str, Any]]
Lines = Sequence[int] | None


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The most links of each node, and its role. A leaf carries no topic for others."""

    max_degree: Ints  # int32[n_nodes], NO_LIMIT for none
    role: Ints  # int32[n_nodes], an index of ROLES, or -1 for none

    def __post_init__(self) -> None:
        for name in ("max_degree", "role"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    @property
    def has_caps(self) -> bool:
        """Whether a node has a most number of links."""
        return bool((self.max_degree < NO_LIMIT).any())

    @property
    def is_leaf(self) -> Bools:
        """Whether each node is a leaf."""
        return self.role == ROLES.index("leaf")

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, whatever the order of the rows was."""
        return _digest(self.max_degree, self.role)

    @classmethod
    def from_rows(
        cls, rows: Rows, names: Sequence[str], source: str = "limits", lines: Lines = None
    ) -> Limits:
        """Return the limits of rows with the columns node, max_degree and role.

        `lines` are the numbers of the rows in their file.

        Examples
        --------
        >>> limits = Limits.from_rows([{"node": "b", "role": "leaf"}], ["a", "b"])
        >>> limits.is_leaf.tolist(), limits.has_caps
        ([False, True], False)
        """
        ids = {name: i for i, name in enumerate(names)}
        most, role = np.full((2, len(names)), -1, dtype=np.int64)
        seen: dict[int, int] = {}
        wrong: list[str] = []
        for line, row in _texts(rows, LIMIT_COLUMNS, source, lines):
            node = _node(row, "node", ids, line, wrong)
            if node is None:
                continue
            if node in seen:
                wrong.append(f"line {line}: {row['node']!r} is on line {seen[node]} too")
                continue
            seen[node] = line
            degree = row.get("max_degree", "")
            if degree and not (degree.isdecimal() and int(degree) < NO_LIMIT):
                wrong.append(f"line {line}: max_degree is {degree!r}; give a whole number or none")
            elif degree:
                most[node] = int(degree)
            role[node] = _choice(row, "role", ROLES, line, wrong)
        raise_problems(f"{source} cannot be used", wrong)
        return cls(_frozen(np.where(most < 0, NO_LIMIT, most)), _frozen(role))


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs of nodes that may or may not be linked, who can open a connection, and the cost."""

    pairs: Ints  # int32[n, 2], u < v, rising
    allowed: Ints  # int32[n], an index of ALLOWED, or -1 if it is not said
    dial: Ints  # int32[n], an index of DIALS, or -1 if it is not said: then both can
    cost: Floats | None = None  # float64[n], NaN if it is not said; None if no cost is said

    def __post_init__(self) -> None:
        for name in ("pairs", "allowed", "dial"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        if self.cost is not None:
            cost = np.array(self.cost, dtype=np.float64)
            cost.flags.writeable = False
            object.__setattr__(self, "cost", cost if not np.isnan(cost).all() else None)

    @property
    def only_listed(self) -> bool:
        """Whether all pairs are forbidden but those that are listed as allowed."""
        return bool((self.allowed == ALLOWED.index("yes")).any())

    @property
    def forbidden(self) -> Ints:
        """The pairs that are listed and must not be linked."""
        refused = (self.allowed == ALLOWED.index("no")) | (self.dial == DIALS.index("none"))
        return self.pairs[refused]

    @property
    def restricting(self) -> Ints:
        """The pairs that decide: the only ones allowed if `only_listed`, or the forbidden ones."""
        if self.only_listed:
            return self.pairs[self.allowed == ALLOWED.index("yes")]
        return self.forbidden

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, whatever the order of the rows was."""
        return _digest(self.pairs, self.allowed, self.dial, cost=self.cost)

    def costs_of(self, edges: Ints) -> Floats:
        """Return what each of some pairs u < v costs, NaN where it is not said.

        Examples
        --------
        >>> links = Links.from_rows([{"a": "y", "b": "x", "cost": "2.5"}], ["x", "y", "z"])
        >>> links.costs_of(np.array([[0, 1], [0, 2]])).tolist()
        [2.5, nan]
        """
        found = np.full(len(edges), np.nan)
        if self.cost is not None and len(edges):
            known = pack(self.pairs[:, 0], self.pairs[:, 1])
            wanted = pack(edges[:, 0], edges[:, 1])
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            listed = known[at] == wanted
            found[listed] = self.cost[at[listed]]
        return found

    def diallers(self, u: int, v: int) -> tuple[int, ...]:
        """Return which of the two nodes can open a connection to the other.

        Examples
        --------
        >>> links = Links.from_rows([{"a": "y", "b": "x", "dial": "a"}], ["x", "y", "z"])
        >>> links.diallers(0, 1), links.diallers(1, 2)
        ((1,), (1, 2))
        """
        low, high = min(u, v), max(u, v)
        found = np.flatnonzero((self.pairs == (low, high)).all(axis=1))
        dial = DIALS[self.dial[found[0]]] if len(found) and self.dial[found[0]] >= 0 else "both"
        can = {"none": (), "u": (low,), "v": (high,), "both": (low, high)}[dial]
        return tuple(node for node in (u, v) if node in can)

    @classmethod
    def from_rows(
        cls, rows: Rows, names: Sequence[str], source: str = "links", lines: Lines = None
    ) -> Links:
        """Return the links of rows with the columns a, b, and some of allowed, dial and cost."""
        ids = {name: i for i, name in enumerate(names)}
        found: dict[tuple[int, int], tuple[int, int, int]] = {}  # pair -> (line, allowed, dial)
        costs: dict[tuple[int, int], float] = {}
        wrong: list[str] = []
        for line, row in _texts(rows, LINK_COLUMNS, source, lines):
            ends = [_node(row, end, ids, line, wrong) for end in ("a", "b")]
            allowed = _choice(row, "allowed", ALLOWED, line, wrong)
            dial = _choice(row, "dial", ("none", "a", "b", "both"), line, wrong)
            a, b = ends
            if a is None or b is None:
                continue
            if a == b:
                wrong.append(f"line {line}: a and b are both {row['a']!r}")
                continue
            if a > b and dial in (1, 2):
                dial = 3 - dial
            if (allowed == 1 and dial == 0) or (allowed == 0 and dial > 0):
                wrong.append(
                    f"line {line}: allowed {row['allowed']} and dial {row['dial']} contradict "
                    "each other"
                )
            if (pair := (min(a, b), max(a, b))) in found:
                wrong.append(
                    f"line {line}: {row['a']!r} - {row['b']!r} is on line {found[pair][0]} too"
                )
                continue
            found[pair] = (line, allowed, dial)
            costs[pair] = _cost(row, line, wrong)
        if any(allowed == 1 for _, allowed, _ in found.values()):
            wrong += [
                f"line {line}: allowed is empty; where a row says yes, only such rows are "
                "allowed: say yes or no"
                for line, allowed, dial in found.values()
                if allowed < 0 and dial != 0
            ]
        raise_problems(f"{source} cannot be used", wrong)
        rows_by_pair = sorted((*pair, *found[pair][1:]) for pair in found)
        columns = np.array(rows_by_pair, dtype=np.int64).reshape(-1, 4)
        cost = np.array([costs[pair] for pair in sorted(found)], dtype=np.float64)
        return cls(_frozen(columns[:, :2]), _frozen(columns[:, 2]), _frozen(columns[:, 3]), cost)


def _texts(
    rows: Rows, columns: Sequence[str], source: str, lines: Lines
) -> Iterable[tuple[int, dict[str, str]]]:
    """Yield the rows as text with their line numbers; raise InputError for an unknown column."""
    for number, row in zip(count(1) if lines is None else lines, rows, strict=False):
        unknown = [str(name) for name in row if name not in columns]
        if unknown:
            raise InputError(
                f"{source} has the column {', '.join(map(repr, unknown))}; "
                f"the columns are {', '.join(columns)}."
            )
        yield (
            number,
            {name: "" if row.get(name) is None else str(row[name]).strip() for name in columns},
        )


def _node(
    row: Mapping[str, str], column: str, ids: Mapping[str, int], line: int, wrong: list[str]
) -> int | None:
    name = row.get(column, "")
    if not name:
        wrong.append(f"line {line}: {column} is empty")
    elif name not in ids:
        wrong.append(f"line {line}: {name!r} is not a node of the workload")
    return ids.get(name)


def _choice(
    row: Mapping[str, str], column: str, choices: Sequence[str], line: int, wrong: list[str]
) -> int:
    """Return the index of a choice, or -1 if the cell is empty."""
    value = row.get(column, "").lower()
    if not value:
        return -1
    if value not in choices:
        wrong.append(f"line {line}: {column} is {value!r}; choose from {', '.join(choices)}")
        return -1
    return choices.index(value)


def _cost(row: Mapping[str, str], line: int, wrong: list[str]) -> float:
    """Return the cost of a row, NaN if the cell is empty."""
    text = row.get("cost", "")
    try:
        value = float(text) if text else nan
    except ValueError:
        value = -1.0
    if text and not 0 <= value <= MOST_COST:
        wrong.append(f"line {line}: cost is {text!r}; give a number from 0 to {MOST_COST:g}")
    return value


def _frozen(array: npt.NDArray[Any]) -> Ints:
    copy = np.array(array, dtype=np.int32)
    copy.flags.writeable = False
    return copy


def _digest(*arrays: Ints, cost: Floats | None = None) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(json.dumps(array.shape).encode())
        whole.update(np.asarray(array, "<i4").tobytes())
    if cost is not None:  # without costs the digest is what it was before there were any
        whole.update(np.where(np.isnan(cost), -1.0, cost).astype("<f8").tobytes())
    return whole.hexdigest()
