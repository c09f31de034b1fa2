"""``meshwright mesh status --watch``: the state of a mesh on the whole terminal, until q."""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from meshwright.cli.show import number, printable

if TYPE_CHECKING:
    from meshwright.mesh.status import MeshStatus

PAUSE = 2.0  # seconds between two looks
KEY_SECONDS = 0.25  # within which a key or another size of the terminal is noticed
FRAMES = 4  # a second
NARROW, NARROWEST = 72, 52  # columns; below each some figures are left out
MOST_FINDINGS = 5
HEAD_LINES = 5  # above the table, with its own head


class Look(NamedTuple):
    """What the processes of a mesh said, and when."""

    at: float  # seconds of a clock that never goes back
    wall: float
    found: MeshStatus


class BrokerRow(NamedTuple):
    """One broker: figures of the last look, and rates since the one before."""

    name: str
    links: int
    wants: int
    taken: float | None  # messages a second; None: not known
    delivered: float | None
    journal: int
    mailbox: int

    @property
    def traffic(self) -> float:
        """What it takes and gets."""
        return (self.taken or 0.0) + (self.delivered or 0.0)


def broker_rows(before: Look | None, now: Look) -> list[BrokerRow]:
    """Return the brokers, those with most that waits first, then the busiest."""
    old = {row[0]: row for row in before.found.rows} if before else {}
    seconds = max(now.at - before.at, 1e-3) if before else 1.0

    def rate(name: str, place: int, value: int) -> float | None:
        if name not in old or value < old[name][place]:  # it was started again
            return None
        return float((value - old[name][place]) / seconds)

    rows = [
        BrokerRow(
            name, links, wants, rate(name, 3, taken), rate(name, 4, delivered), journal, mailbox
        )
        for name, links, wants, taken, delivered, journal, mailbox in now.found.rows
    ]
    return sorted(rows, key=lambda row: (-row.journal - row.mailbox, -row.traffic, row.name))


def total_rates(before: Look | None, now: Look) -> dict[str, float | None]:
    """Return the messages a second in all, between two looks."""
    rows = broker_rows(before, now)
    known = [row for row in rows if row.taken is not None and row.delivered is not None]
    relayed = None
    if before:
        counted = [look.found.counters.get("relayed", 0) for look in (before, now)]
        if counted[1] >= counted[0]:
            relayed = (counted[1] - counted[0]) / max(now.at - before.at, 1e-3)
    return {
        "taken": sum(row.taken or 0.0 for row in known) if known else None,
        "delivered": sum(row.delivered or 0.0 for row in known) if known else None,
        "relayed": relayed,
    }


def shown_rate(value: float | None) -> str:
    """Return a rate as people read it.

    Examples
    --------
    >>> [shown_rate(value) for value in (None, 0.0, 3.456, 1234.5)]
    ['-', '0', '3.5', '1,234']
    """
    if value is None:
        return "-"
    return f"{value:.1f}" if 0 < value < 10 else f"{value:,.0f}"


class View:
    """What is on the terminal: drawn again for each look and each size."""

    def __init__(self, mesh: Path) -> None:
        self._mesh = mesh
        self._before: Look | None = None
        self._now: Look | None = None

    def take(self, look: Look) -> None:
        """Show another look."""
        self._before, self._now = self._now, look

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, options.height or console.height
        title = Text(f"mesh {printable(str(self._mesh))}", style="bold")
        title.truncate(max(20, width - 28), overflow="ellipsis")
        hint = "q ends"
        if self._now is None:
            yield title
            yield Text(f"asking its processes ...   {hint}", style="dim")
            return
        now, found = self._now, self._now.found
        clock = time.strftime("%H:%M:%S", time.localtime(now.wall))
        title.append(f"   {clock}   ", style="not bold")
        title.append(hint, style="dim not bold")
        yield _line(title)
        yield _line(_health(found))
        yield _line(_traffic(self._before, now))
        yield Text("")
        findings = _findings(found, width, max(1, min(MOST_FINDINGS, (height - 6) // 3)))
        room = max(1, height - HEAD_LINES - len(findings) - 1)
        yield from _table(broker_rows(self._before, now), width, room)
        if findings:
            yield Text("")
        yield from findings


def _line(text: Text) -> Text:
    """Return a text that keeps to its line."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _health(found: MeshStatus) -> Text:
    """Return what is up: bad parts in red."""
    parts = [
        ("planner up" if found.planner_up else "planner away", found.planner_up),
        (_of("agents", found.n_agents_up, found.n_brokers)),
        (_of("brokers", found.n_brokers_up, found.n_brokers)),
        (_of("links", min(found.n_links_up, found.n_links_planned), found.n_links_planned)),
        (f"version {found.version}", found.is_level),
    ]
    text = Text()
    for words, is_well in parts:
        text.append(words, style="green" if is_well else "bold red")
        text.append("   ")
    text.rstrip()
    return text


def _of(what: str, n: int, whole: int) -> tuple[str, bool]:
    return f"{what} {n:,}/{whole:,}", n == whole


def _traffic(before: Look | None, now: Look) -> Text:
    rates = total_rates(before, now)
    shown = [f"{what} {shown_rate(rate)}/s" for what, rate in rates.items()]
    waiting = now.found.n_waiting
    text = Text("   ".join(shown) + "   ")
    text.append(f"waiting {waiting:,}", style="yellow" if waiting else "")
    return text


def _table(rows: list[BrokerRow], width: int, room: int) -> Iterator[Table | Text]:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, expand=False)
    figures: dict[str, Callable[[BrokerRow], str]] = {
        "links": lambda row: number(row.links),
        "wants": lambda row: number(row.wants),
        "taken/s": lambda row: shown_rate(row.taken),
        "delivered/s": lambda row: shown_rate(row.delivered),
        "journal": lambda row: number(row.journal),
        "mailbox": lambda row: number(row.mailbox),
    }
    if width < NARROW:
        del figures["links"], figures["wants"]
    if width < NARROWEST:
        del figures["journal"], figures["mailbox"]
    most = max(8, width - sum(len(name) + 2 for name in figures) - 2)
    table.add_column("broker", no_wrap=True, overflow="ellipsis", max_width=most, style="bold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    fits = len(rows) <= room
    for row in rows if fits else rows[: room - 1]:
        waits = "yellow" if row.journal or row.mailbox else ""
        table.add_row(
            Text(printable(row.name)), *(figure(row) for figure in figures.values()), style=waits
        )
    yield table
    if not fits:
        yield Text(f"... and {len(rows) - room + 1:,} more", style="dim")


def _findings(found: MeshStatus, width: int, most: int) -> list[Text]:
    lines = [_line(Text(f"! {printable(text)}", style="red")) for text in found.findings]
    if len(lines) > most:
        more = f"! and {len(lines) - most + 1:,} more: mesh status without --watch lists them"
        lines = [*lines[: most - 1], _line(Text(more[:width], style="red"))]
    return lines


def watch_status(mesh: Path) -> None:
    """Show the state of a mesh until q or Ctrl-C; line by line where there is no terminal."""
    from meshwright.mesh.config import read_mesh

    read_mesh(mesh)  # complain before the screen changes
    console = Console(highlight=False)
    try:
        if console.is_terminal and not console.is_dumb_terminal:
            _watch_screen(mesh, console)
        else:
            _watch_lines(mesh)
    except KeyboardInterrupt:
        pass  # that is how to end it


def watch_json(mesh: Path) -> None:
    """Print each look as one line of JSON, until Ctrl-C."""
    try:
        while True:
            print(json.dumps(_look(mesh).found.as_dict(), ensure_ascii=False), flush=True)
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        pass


def _watch_screen(mesh: Path, console: Console) -> None:
    view, ended = View(mesh), threading.Event()
    failures: list[BaseException] = []

    def keep_looking() -> None:
        try:
            while not ended.is_set():
                view.take(_look(mesh))
                ended.wait(PAUSE)
        except Exception as error:
            failures.append(error)
            ended.set()

    threading.Thread(target=keep_looking, daemon=True).start()
    try:
        with (
            _single_keys() as keys,
            Live(view, console=console, screen=True, refresh_per_second=FRAMES),
        ):
            while not ended.is_set() and keys(KEY_SECONDS) not in ("q", "Q"):
                pass
    finally:
        ended.set()
    if failures:
        raise failures[0]


def _watch_lines(mesh: Path) -> None:
    before = None
    while True:
        now = _look(mesh)
        for line in plain_lines(before, now):
            print(line, flush=True)
        before = now
        time.sleep(PAUSE)


def plain_lines(before: Look | None, now: Look) -> Iterator[str]:
    """Yield a look as lines of text."""
    found, rates = now.found, total_rates(before, now)
    clock = time.strftime("%H:%M:%S", time.localtime(now.wall))
    n_links = min(found.n_links_up, found.n_links_planned)  # others are up for some seconds
    parts = [
        f"brokers {found.n_brokers_up:,}/{found.n_brokers:,}",
        f"links {n_links:,}/{found.n_links_planned:,}",
        f"in {shown_rate(rates['taken'])}/s",
        f"out {shown_rate(rates['delivered'])}/s",
        f"waiting {found.n_waiting:,}",
        f"version {found.version}",
    ]
    yield f"{clock}  {'  '.join(parts)}"
    for text in found.findings:
        yield f"          {printable(text)}"


def _look(mesh: Path) -> Look:
    from meshwright.mesh.status import mesh_status

    found = mesh_status(mesh)
    return Look(time.monotonic(), time.time(), found)


@contextmanager
def _single_keys() -> Iterator[Callable[[float], str]]:
    """Read keys as they are pressed; the terminal is as before when the block ends."""
    if not sys.stdin.isatty():
        yield _no_keys
        return
    import termios
    import tty

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)  # Ctrl-C still interrupts
        yield lambda seconds: _key(handle, seconds)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _key(handle: int, seconds: float) -> str:
    """Return the key that was pressed within some time; empty if none was."""
    if not select.select([handle], [], [], seconds)[0]:
        return ""
    pressed = os.read(handle, 64)
    if not pressed:  # the terminal is gone
        raise KeyboardInterrupt
    return pressed[:1].decode("ascii", "replace")


def _no_keys(seconds: float) -> str:
    time.sleep(seconds)
    return ""
