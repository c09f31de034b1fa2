"""A proxy in front of each agent of the lab, so that links can be cut, loudly or silently.

An agent dials others at their proxy. The proxy reads from the first frame who dials, passes all
bytes on, and closes or ignores the connections of links that are cut.
"""

import asyncio
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial

from meshwright.deploy.lab.processes import LOOPBACK
from meshwright.mesh.shell.codec import LENGTH, Preface, decode

CHUNK = 2**16
Pair = tuple[int, int]


def pair(u: int, v: int) -> Pair:
    """Return a link by its two agents, the smaller one first."""
    return (min(u, v), max(u, v))


class Proxies:
    """The proxies of a mesh, in a thread of their own.

    Parameters
    ----------
    ports
        By agent: the port that others dial, and the one at which it listens.
    """

    def __init__(self, ports: Mapping[int, tuple[int, int]]) -> None:
        self._ports = ports
        self._cut: set[Pair] = set()
        self._silent: set[Pair] = set()
        self._open: dict[Pair, set[asyncio.StreamWriter]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Listen at all ports."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def stop(self) -> None:
        """Stop listening, and close what is open."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def cut(self, links: Iterable[Pair], *, silently: bool = False) -> None:
        """Cut links: close their connections, or pass on no byte of them any more."""
        self._loop.call_soon_threadsafe(self._cut_now, set(links), silently)

    def heal(self) -> None:
        """Restore all links. Connections that lost bytes are closed: a network does so, too."""
        self._loop.call_soon_threadsafe(self._heal_now)

    async def _listen(self) -> None:
        for node, (port, _) in self._ports.items():
            await asyncio.start_server(partial(self._connected, node), LOOPBACK, port)

    async def _end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _cut_now(self, links: set[Pair], silently: bool) -> None:
        if silently:
            self._silent |= links
        else:
            self._cut |= links
            self._close(links)

    def _heal_now(self) -> None:
        self._close(self._silent)
        self._cut.clear()
        self._silent.clear()

    def _close(self, links: Iterable[Pair]) -> None:
        for link in links:
            for writer in self._open.get(link, ()):
                writer.close()

    async def _connected(
        self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(OSError, asyncio.IncompleteReadError):
            await self._pass(node, reader, writer)
        writer.close()

    async def _pass(
        self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = await reader.readexactly(LENGTH.size)
        size, kind = LENGTH.unpack(head)
        body = await reader.readexactly(size)
        preface = decode(kind, body)
        assert isinstance(preface, Preface)
        link = pair(node, preface.node)
        if link in self._cut:
            return
        inner, outer = await asyncio.open_connection(LOOPBACK, self._ports[node][1])
        both = {writer, outer}
        self._open.setdefault(link, set()).update(both)
        try:
            outer.write(head + body)
            ways = [(reader, outer), (inner, writer)]
            tasks = [asyncio.create_task(self._pump(link, *way)) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        finally:
            self._open[link] -= both
            outer.close()

    async def _pump(
        self, link: Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if link not in self._silent:
                    writer.write(data)
                    await writer.drain()
