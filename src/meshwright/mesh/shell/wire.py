"""Versions of the protocol: which ones a side speaks, and on which one two sides agree.

The side that dials offers its newest version in its preface; the other answers with the newest that
both speak. Version 2 knew no such answer: it closes the connection at once. Whoever dials then
offers version 2 with a nonce that says so, and a newer peer refuses that offer: nobody who cuts
connections can hold two new agents at the old version.
"""

import os
from typing import NamedTuple

from meshwright.errors import InputError
from meshwright.mesh.shell.codec import OLDEST_WIRE, WIRE_VERSION, FrameError

VARIABLE = "MESHWRIGHT_WIRE"  # the newest version to speak, for a while during an upgrade
WITHOUT_ANSWER = 2  # the last version that closes the connection instead of answering
NONCE_BYTES = 16


class VersionError(FrameError):
    """The peer is too old or too new."""


class Spoken(NamedTuple):
    """The versions of the protocol that a side speaks."""

    newest: int = WIRE_VERSION
    oldest: int = OLDEST_WIRE

    def answer(self, offered: int) -> int:
        """Return the version to speak with a peer that dialled, or raise VersionError."""
        if offered < self.oldest:
            raise VersionError(
                f"the peer speaks version {offered} of the protocol at most, this side needs "
                f"{self.oldest} or later; install a newer Meshwright on the peer's host"
            )
        return min(offered, self.newest)

    def take(self, answered: int, offered: int) -> int:
        """Return the version that a dialled peer chose; raise VersionError if it cannot be."""
        if answered > offered:
            raise VersionError(
                f"the peer needs version {answered} of the protocol or later, this side speaks "
                f"{self.newest} at most; install a newer Meshwright on this host"
            )
        if answered < self.oldest:
            raise VersionError(
                f"the peer speaks version {answered} of the protocol at most, this side needs "
                f"{self.oldest} or later; install a newer Meshwright on the peer's host"
            )
        return answered

    def nonce(self, offered: int) -> bytes:
        """Return a nonce for an offer; one below our newest version says what we could speak."""
        fresh = os.urandom(NONCE_BYTES)
        return fresh if offered == self.newest else fresh + bytes([self.newest])

    def refuse_fallback(self, offered: int, nonce: bytes) -> None:
        """Raise FrameError if the peer offered less than both sides speak."""
        if len(nonce) > NONCE_BYTES and min(nonce[NONCE_BYTES], self.newest) > offered:
            raise FrameError(
                f"the peer offered version {offered} of the protocol though both sides speak a "
                "newer one; it dials again"
            )

    def after_silence(self, offered: int) -> int:
        """Return what to offer next to a peer that closed the connection without an answer."""
        falls_back = offered > WITHOUT_ANSWER >= self.oldest
        return WITHOUT_ANSWER if falls_back else self.newest

    def gone(self, offered: int) -> str:
        """Return why a peer of a newer version has left after our answer."""
        return (
            f"the peer speaks version {offered} of the protocol and did not go on with this "
            f"side's {self.newest}; install a newer Meshwright on this host"
        )


def spoken_here() -> Spoken:
    """Return the versions that this process speaks; the environment can hold it at an older one."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return Spoken()
    if not text.isdigit() or not OLDEST_WIRE <= int(text) <= WIRE_VERSION:
        raise InputError(
            f"{VARIABLE} is {text!r}; give a version of the protocol from {OLDEST_WIRE} to "
            f"{WIRE_VERSION}, or unset it."
        )
    return Spoken(int(text))
