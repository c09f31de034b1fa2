"""How long answers take, so that nothing is sent again while its answer is on the way."""

LONGEST = 3.0  # seconds: an agent that was away says nothing about the others


class Patience:
    """When to expect an answer: smoothed mean and deviation of the time they take, as in TCP.

    Agents that are short of processor time answer late. If messages were sent again all the same,
    the copies would be more work, and answers would come later still.
    """

    def __init__(self) -> None:
        self._mean = 0.0
        self._deviation = 0.0

    def heard(self, seconds: float) -> None:
        """Note how long an answer took."""
        error = min(seconds, LONGEST) - self._mean
        self._mean += error / 8
        self._deviation += (abs(error) - self._deviation) / 4

    @property
    def seconds(self) -> float:
        """How long to wait for an answer.

        Examples
        --------
        >>> patience = Patience()
        >>> for _ in range(100):
        ...     patience.heard(0.5)
        >>> round(patience.seconds, 2)
        0.5
        """
        return min(self._mean + 4 * self._deviation, 2 * LONGEST)
