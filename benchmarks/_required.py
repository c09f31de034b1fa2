"""What the rows of a benchmark have to reach, and how many do not."""

from dataclasses import dataclass


@dataclass
class Required:
    """What rows had to reach, and how many did not."""

    missed: int = 0
    asked: int = 0

    def at_most(self, what: str, most: float, reached: float, form: str = ".2f") -> str:
        """Return what was required and what was reached; count it."""
        self.asked += 1
        is_met = reached <= most
        self.missed += not is_met
        return f"{what} <= {most:{form}}: {reached:{form}}{'' if is_met else ' MISSED'}"

    def summary(self) -> str:
        """Return how many requirements were reached, of all that were asked."""
        return f"{self.asked - self.missed} of {self.asked} requirements reached"
