"""What is known of a problem without its subscribers: the brokers, the limits and some counts."""

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.density import Density, DensityTable, no_density


class ProblemSummary:
    """The part that `Problem` and a problem whose subscribers stay on disk have in common."""

    __slots__ = ()

    tree: BrokerTree
    n_subscribers: int
    n_dimensions: int  # of the event space
    delay_range: tuple[float, float]  # the smallest and the largest `max_delay` of a subscriber
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool
    density: Density | None

    def check_limits(self) -> None:
        """Raise InputError if a limit is out of range or the density has other dimensions."""
        if self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}; a filter needs at least one box.")
        if not 1.0 <= self.beta <= self.beta_max:
            raise InputError(
                f"beta is {self.beta} and beta_max {self.beta_max}; give 1 <= beta <= beta_max."
            )
        if self.density is not None and len(self.density.edges) != self.n_dimensions:
            raise InputError(
                f"the density has {len(self.density.edges)} dimensions, "
                f"the boxes {self.n_dimensions}."
            )

    @property
    def density_table(self) -> DensityTable:
        """The density in the form that kernels read."""
        return self.density.table if self.density else no_density(self.n_dimensions)

    @property
    def leaf_location(self) -> npt.NDArray[np.float64]:
        """The locations of the leaves, in the order of `tree.leaves`."""
        return self.tree.location[self.tree.leaves]

    @property
    def leaf_down(self) -> npt.NDArray[np.float64]:
        """The latency from the publisher to each leaf; 0 when only the last hop is bounded."""
        down = self.tree.down[self.tree.leaves]
        return np.zeros_like(down) if self.last_hop else down

    @property
    def leaf_capacity(self) -> npt.NDArray[np.float64]:
        """The capacity fractions of the leaves, in the order of `tree.leaves`."""
        return self.tree.capacity[self.tree.leaves]

    def load_limits(self, factor: float) -> npt.NDArray[np.int64]:
        """Return how many subscribers each leaf may take at a load balance factor."""
        exact = factor * self.leaf_capacity * self.n_subscribers
        return np.floor(exact * (1 + 1e-12)).astype(np.int64)
