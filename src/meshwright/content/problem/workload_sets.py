"""The workload sets of paper 5, section VI: Google Groups, news feeds, hot spots on a grid.

The constants are those of docs/content.md, which says where each comes from; they must not be tuned
to a method's results. Random numbers pass through sums, products and square roots only,
so a seed gives the same problem on every machine. A subscriber depends on the seed, the number of
brokers (sets 2 and 3) and its own id alone.
"""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Floats, Longs

# First random stream of each kind. Subscribers use the streams numbered by their ids.
BROKER_STREAMS = 1 << 32
TABLE_STREAMS = 1 << 33
BELL = 4  # uniform numbers summed to one bell-shaped number


class Drawn(NamedTuple):
    """Some subscribers, one per row: their locations and the corners of their boxes."""

    location: Floats  # float64[n, network dimensions]
    low: Floats  # float64[n, 2]
    high: Floats  # float64[n, 2]


# Set 1: regions, and a hierarchy of categories, subcategories and groups.
REGIONS = ("Asia", "North America", "Europe")
SHARES = (4, 1, 4)  # of brokers and subscribers, by region
CENTRES = np.array([(-50, 140, 0, 0, 0), (0, 0, 0, 0, 0), (90, 0, 0, 0, 0)], np.float64)
PUBLISHER_REGION = REGIONS.index("North America")
SPREAD = 5.0  # milliseconds per dimension, around a region's centre
N_PLACE = BELL * CENTRES.shape[1]  # uniform numbers for one location
GROUPS_SIDE = 30_000.0  # of the event space
GROUPS_CELLS = (4, 12, 36)  # per side: categories, subcategories, groups
N_GROUPS = GROUPS_CELLS[-1] ** 2
SKEW = {"low": 0.5, "high": 1.0}  # Zipf exponent of the groups
# Shares of boxes within a group, a subcategory and a category.
BREADTH = {"low": (0.95, 0.04, 0.01), "high": (0.75, 0.20, 0.05)}
SHARED = 0.5  # share of subscribers that use the ranking common to all regions
NARROWEST = 0.4  # shortest side of a box, relative to its cell


class GoogleGroups:
    """Workload set 1: subscribers in three regions, interested in groups of a hierarchy."""

    def __init__(self, seed: int, *, skew: str, broad: str) -> None:
        self.seed = seed
        self.groups = zipf(N_GROUPS, SKEW[skew])  # cumulative shares of the ranks
        self.breadth = np.cumsum(BREADTH[broad])  # cumulative shares of the levels, groups first
        self.breadth[-1] = 1.0
        # int64[1 + regions, groups], the group of each rank: row 0 is common to all regions.
        self.rankings = np.stack(
            [random_order(seed, table, N_GROUPS) for table in range(1 + len(REGIONS))]
        )

    @property
    def publisher(self) -> Floats:
        """The publisher's location: the centre of its region."""
        return np.asarray(CENTRES[PUBLISHER_REGION])

    def brokers(self, n: int) -> Floats:
        """Return the locations of n brokers, distributed over the regions by quota."""
        region = np.repeat(np.arange(len(REGIONS)), quotas(n))
        u = uniforms(self.seed, BROKER_STREAMS, n, N_PLACE)
        return np.asarray(CENTRES[region] + bells(u, SPREAD))

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return the subscribers with ids first..first+count-1."""
        u = uniforms(self.seed, first, count, N_PLACE + 8)
        place, u = u[:, :N_PLACE], u[:, N_PLACE:]
        region = pick(np.cumsum(SHARES) / sum(SHARES), u[:, 0])
        location = CENTRES[region] + bells(place, SPREAD)
        ranking = np.where(u[:, 1] < SHARED, 0, 1 + region)
        group = self.rankings[ranking, pick(self.groups, u[:, 2])]
        level = len(GROUPS_CELLS) - 1 - pick(self.breadth, u[:, 3])
        cells = np.array(GROUPS_CELLS)[level]
        cell_side = (GROUPS_SIDE / cells)[:, None]
        # The group's own cell, or the larger cell around it at the level drawn.
        at = np.stack((group // GROUPS_CELLS[-1], group % GROUPS_CELLS[-1]), axis=1)
        at = at * cells[:, None] // GROUPS_CELLS[-1]
        side = cell_side * (NARROWEST + (1.0 - NARROWEST) * u[:, 4:6])
        low = at * cell_side + (cell_side - side) * u[:, 6:8]
        return Drawn(location, low, low + side)


def quotas(n: int) -> list[int]:
    """Return the number of brokers of each region; the largest remainders are rounded up.

    Examples
    --------
    >>> quotas(100), quotas(200), quotas(1)
    ([45, 11, 44], [89, 22, 89], [1, 0, 0])
    """
    total = sum(SHARES)
    whole = [n * share // total for share in SHARES]
    by_rest = sorted(range(len(SHARES)), key=lambda i: (-(n * SHARES[i] % total), i))
    for i in by_rest[: n - sum(whole)]:
        whole[i] += 1
    return whole


# Sets 2 and 3: network locations, uniform in a cube, with a broker at each.
CUBE_DIMENSIONS = 5
CUBE_SIDE = 100.0  # milliseconds
PUBLISHER_DISTANCE = 100.0  # from the cube's centre, along the first dimension
LOCATION_TABLE = 0  # number of the random table; the sets number their own from 1


class _CubeNetwork:
    """The network of sets 2 and 3."""

    def __init__(self, seed: int, n_brokers: int) -> None:
        self.seed = seed
        u = table_uniforms(seed, LOCATION_TABLE, n_brokers * CUBE_DIMENSIONS)
        # float64[locations, dimensions]: brokers are there, and subscribers are nowhere else.
        self.location = u.reshape(n_brokers, CUBE_DIMENSIONS) * CUBE_SIDE

    @property
    def publisher(self) -> Floats:
        """The publisher's location."""
        place = np.full(CUBE_DIMENSIONS, CUBE_SIDE / 2)
        place[0] -= PUBLISHER_DISTANCE
        return place

    def brokers(self, n: int) -> Floats:
        """Return the locations of the first n brokers."""
        return self.location[:n]


FEEDS = 50  # interests, each a square of side 1
FEEDS_EXPONENT = 0.5
FEEDS_PLACES = 10  # locations per interest, or all if there are fewer
FEEDS_SIDE = 2000.0  # of the event space
FEEDS_CORNER_TABLE, FEEDS_ORDER_TABLES = 1, 2


class NewsFeeds(_CubeNetwork):
    """Workload set 2: a few interests, each at ten locations, like the readers of news feeds."""

    def __init__(self, seed: int, n_brokers: int) -> None:
        super().__init__(seed, n_brokers)
        self.interests = zipf(FEEDS, FEEDS_EXPONENT)  # cumulative shares
        corner = table_uniforms(seed, FEEDS_CORNER_TABLE, 2 * FEEDS).reshape(FEEDS, 2)
        self.corner = corner * (FEEDS_SIDE - 1.0)  # float64[interests, 2], low corners
        orders = [random_order(seed, FEEDS_ORDER_TABLES + i, n_brokers) for i in range(FEEDS)]
        # int64[interests, places], which locations have each interest.
        self.places = np.stack([order[:FEEDS_PLACES] for order in orders])

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return the subscribers with ids first..first+count-1."""
        u = uniforms(self.seed, first, count, 2)
        interest = pick(self.interests, u[:, 0])
        place = (u[:, 1] * self.places.shape[1]).astype(np.int64)
        low = self.corner[interest]
        return Drawn(self.location[self.places[interest, place]], low, low + 1.0)


GRID_CELLS = 10  # per side
GRID_CELL = 2400.0  # side of a cell
GRID_WIDTHS = np.array([1200.0, 2400.0, 4800.0, 9600.0])  # of boxes, the first drawn most often
GRID_EXPONENT = 0.5  # of cells and of widths
GRID_RANKING_TABLE = 1


class GridHotSpots(_CubeNetwork):
    """Workload set 3: boxes around the cells of a grid with hot spots, at any location."""

    def __init__(self, seed: int, n_brokers: int) -> None:
        super().__init__(seed, n_brokers)
        n_cells = GRID_CELLS * GRID_CELLS
        self.cells = zipf(n_cells, GRID_EXPONENT)  # cumulative shares of the ranks
        self.widths = zipf(len(GRID_WIDTHS), GRID_EXPONENT)  # cumulative shares
        self.ranking = random_order(seed, GRID_RANKING_TABLE, n_cells)  # the cell of each rank

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return the subscribers with ids first..first+count-1."""
        u = uniforms(self.seed, first, count, 4)
        cell = self.ranking[pick(self.cells, u[:, 0])]
        centre = (np.stack((cell // GRID_CELLS, cell % GRID_CELLS), axis=1) + 0.5) * GRID_CELL
        half = GRID_WIDTHS[pick(self.widths, u[:, 1:3])] / 2
        place = (u[:, 3] * len(self.location)).astype(np.int64)
        return Drawn(self.location[place], centre - half, centre + half)


WorkloadSet = GoogleGroups | NewsFeeds | GridHotSpots


def uniforms(seed: int, first: int, count: int, n: int) -> Floats:
    """Return the first n numbers in [0, 1) of each of the streams first..first+count-1."""
    from meshwright.runtime.kernels.random import uniforms as kernel

    return kernel(seed, first, count, n)


def table_uniforms(seed: int, table: int, n: int) -> Floats:
    """Return n numbers in [0, 1) for the table with a number."""
    return uniforms(seed, TABLE_STREAMS + table, 1, n).reshape(n)


def bells(u: Floats, spread: float) -> Floats:
    """Return one bell-shaped number of mean 0 for every four columns of uniform numbers."""
    total = u[:, 0::BELL] + u[:, 1::BELL] + u[:, 2::BELL] + u[:, 3::BELL]
    return np.asarray((total - 2.0) * (np.sqrt(3.0) * spread))


def zipf(n: int, exponent: float) -> Floats:
    """Return the cumulative shares of the ranks 1..n, the last exactly 1.

    Examples
    --------
    >>> zipf(2, 1.0).round(3).tolist()
    [0.667, 1.0]
    """
    shares = np.cumsum(np.arange(1, n + 1, dtype=np.float64) ** -exponent)
    return np.asarray(shares / shares[-1])


def pick(cumulative: Floats, u: Floats) -> Longs:
    """Return the index of the share that each uniform number falls into."""
    return np.searchsorted(cumulative, u, side="right").astype(np.int64)


def random_order(seed: int, table: int, n: int) -> Longs:
    """Return 0..n-1 in a random order."""
    return np.argsort(table_uniforms(seed, table, n), kind="stable")
