"""Compares how many subscriptions a Mosquitto broker has with how many are known.

The broker publishes its count with its uptime, every `sys_interval` seconds and only if it
changed, in order with the lines of its log. So when a figure arrives, the lines of all that it
counts have arrived before. If the broker counts more, interests were missed: made before its log
was read, or in a gap. If it counts fewer, interests are kept in doubt. Those can hide others that
were missed, so `n_unknown` is a lower bound.

Tried with Mosquitto 2.0.11: sessions of clients that are away count until they expire, the same
filter of a client counts once, shared subscriptions do not count, and those of bridges that the
broker opens itself count but are not logged, so with such bridges nothing can be compared.
"""

from collections.abc import Callable


class Comparison:
    """The broker's count beside our own, figure by figure.

    Parameters
    ----------
    n_known
        Returns how many subscriptions are known now, the agent's own included.
    note
        Counts and logs what went wrong.
    """

    def __init__(self, n_known: Callable[[], int], note: Callable[[str, str], None]) -> None:
        self._n_known, self._note = n_known, note
        self.n_unknown = 0  # subscriptions that the broker has and nobody told
        self.has_bridges = False
        self._count: int | None = None
        self._then: int | None = None  # known at the last uptime; its count comes right after
        self._before = 0  # how many more the broker had, at the figure before

    def begin(self) -> None:
        """Forget the figures of an earlier connection: lines may be missing between."""
        self._count = self._then = None
        self._before = 0

    def count(self, n: int) -> None:
        """Take the broker's count."""
        self._count = n

    def uptime(self) -> None:
        """Take note that new figures begin, and compare those before."""
        if self._then is not None and self._count is not None and not self.has_bridges:
            more = max(0, self._count - self._then)
            # One figure may fall between the subscription of a session of our own and its answer.
            n_unknown = min(more, self._before)
            if n_unknown and not self.n_unknown:
                self._note(
                    "subscriptions_unknown",
                    f"the broker has {self._count:,} subscriptions, {self._then:,} are known: "
                    f"{n_unknown:,} were made while its log was not read, and get nothing from "
                    "other brokers. Let these clients connect again, or set log_file in agent.toml",
                )
            self._before, self.n_unknown = more, n_unknown
        self._then = self._n_known()
