"""The planner's page: the mesh as it is now, drawn as in a report.

The page itself is still; it asks for two documents: what changes all the time (`/live`), and the
picture with what one failure would cost (`/picture`), which is made in a thread when the log has
changed and somebody looks. How far the overlay has drifted from a fresh design is computed rarely.
"""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meshwright import __version__
from meshwright.mesh.core.log import Shape
from meshwright.mesh.core.values import (
    Change,
    Health,
    Interests,
    Joined,
    Leaving,
    Left,
    Linked,
    Snapshot,
)
from meshwright.mesh.design import wanting_pairs
from meshwright.mesh.shell.planner import PlannerRunner
from meshwright.mesh.shell.summaries import Happened
from meshwright.mesh.shell.web import Answer
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import small_world
from meshwright.overlay.topics import topic_rows
from meshwright.report.overlay_facts import degree_facts, dependence, loss_facts, workload_facts
from meshwright.report.page import BUDGETS, live_page, packed, trimmed
from meshwright.report.picture import picture

SHARE = 10  # the picture, and the drift, take at most 1/SHARE of a processor each
PICTURE_SECONDS, DRIFT_SECONDS = 2.0, 60.0  # at most so often
MOST_EVENTS = 25
MOST_LINKS = 2_000  # with rates
MOST_BROKERS = 2_000
DIGITS = 2


class Kept(NamedTuple):
    """Something computed in the background."""

    value: Any
    version: tuple[int, int]  # of the log that it was computed for
    at: float
    seconds: float  # that it took

    def is_due(self, version: tuple[int, int], now: float, pause: float) -> bool:
        """Return whether it is to be computed again."""
        return self.version != version and now - self.at >= max(pause, SHARE * self.seconds)

    def after(self, value: Any, version: tuple[int, int], started: float) -> "Kept":
        """Return what was computed since `started`; the first time it also loads the code."""
        now = time.monotonic()
        return Kept(value, version, now, now - started if self.value is not None else 0.0)


NOTHING = Kept(None, (0, 0), float("-inf"), 0.0)


class LiveSite:
    """The page of a running planner."""

    def __init__(self, runner: PlannerRunner, place: Path) -> None:
        self._runner, self._place = runner, place
        self._picture = self._drift = NOTHING
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def get(self, path: str) -> Answer | None:
        """Return what is at a path; None if nothing is."""
        if path == "/":
            text, policy = live_page()
            headers = {"Content-Security-Policy": policy}
            return Answer("text/html; charset=utf-8", text.encode(), headers=headers)
        if path == "/live":
            self._keep_up()
            return _json(self.live())
        if path == "/picture":
            return _json(self._picture.value)
        return None

    # What changes all the time

    def live(self) -> dict[str, Any]:
        """Return the figures of this moment."""
        runner, now = self._runner, time.monotonic()
        log = runner.planner.log
        degrees = Counter(node for edge in log.shape.topology.edges for node in edge)
        listed = sorted(log.joined)[:MOST_BROKERS]
        brokers = [self._broker(node, degrees[node], now) for node in listed]
        return {
            "mesh": runner.mesh,
            "now": time.time(),
            "started": runner.started,
            "software": __version__,
            "version": list(log.newest),
            "retired": runner.planner.is_retired,
            "n_brokers": len(log.joined),
            "n_links": len(log.shape.topology.edges),
            "n_interests": sum(map(len, log.filters_of.values())),
            "designs": runner.n_designs,
            "design_seconds": round(runner.design_seconds, DIGITS),
            "brokers": brokers,
            "links": self._links(now),
            "picture": list(self._picture.version),
            "picture_is_old": self._picture.version[1] < log.shape.number,
            "drift": self._drift.value,
            "command": f"mesh replan {self._place}",
            "events": self._events(),
        }

    def _broker(self, node: int, degree: int, now: float) -> dict[str, Any]:
        runner, log = self._runner, self._runner.planner.log
        seen = runner.sightings.last.get(node)
        rates = runner.sightings.rates(node, now)
        found: dict[str, Any] = {
            "node": node,
            "name": log.joined[node].name,
            "connected": node in runner.links.up,
            "away": node in log.shape.health.away,
            "leaving": node in log.leaving,
            "links": degree,
            "wants": len(log.filters_of.get(node, ())),
            "seen": None,
            "rates": None,
        }
        if seen is not None:
            own = seen.summary
            found["seen"] = {
                "seconds": round(now - seen.at, 1),
                "broker_up": own.broker_up,
                "follows": own.follows,
                "software": own.software,
                "version": own.version[1],
                "journal": own.journal,
                "mailbox": own.mailbox,
                "totals": [own.taken, own.delivered],
            }
        if rates is not None:
            found["rates"] = [
                round(rate, DIGITS) for rate in (rates.taken, rates.delivered, rates.relayed)
            ]
        return found

    def _links(self, now: float) -> list[list[Any]]:
        """Return the links with their rates each way, and whether they are up; None: unknown."""
        runner = self._runner
        shape = runner.planner.log.shape
        away, down = set(shape.health.away), set(shape.health.down)
        rates = {}
        for u, v in shape.topology.edges[:MOST_LINKS]:
            for node in (u, v):
                if node not in rates:
                    rates[node] = runner.sightings.rates(node, now)

        def rate(sender: int, receiver: int) -> float | None:
            own = rates[receiver]
            return None if own is None else round(own.received.get(sender, 0.0), DIGITS)

        return [
            [u, v, rate(u, v), rate(v, u), (u, v) not in down and not away & {u, v}]
            for u, v in shape.topology.edges[:MOST_LINKS]
        ]

    def _events(self) -> list[list[Any]]:
        """Return the last events of all, the newest first: time, whose, words."""
        runner = self._runner
        names = {node: joined.name for node, joined in runner.planner.log.joined.items()}
        found = [
            (at, "plan", words)
            for at, entry in runner.entries
            for words in _in_words(entry.changes, names)
        ]
        found += [(e.at, "planner", _said(e, names)) for e in runner.events]
        found += [
            (e.at, names.get(node, str(node)), _said(e, names))
            for node, e in runner.sightings.events
        ]
        return [[round(at, 1), *rest] for at, *rest in sorted(found, reverse=True)[:MOST_EVENTS]]

    # What takes longer

    def _keep_up(self) -> None:
        """Begin to compute what is due; somebody looks."""
        log, now = self._runner.planner.log, time.monotonic()
        version = (log.newest.term, log.newest.number)
        if self._picture.is_due(version, now, PICTURE_SECONDS):
            self._begin("picture", self._draw(version))
        if self._drift.is_due(version, now, DRIFT_SECONDS):
            self._begin("drift", self._compare(version))

    def _begin(self, what: str, work: Any) -> None:
        if what in self._tasks and not self._tasks[what].done():
            work.close()
            return
        self._tasks[what] = asyncio.get_running_loop().create_task(work)

    async def _draw(self, version: tuple[int, int]) -> None:
        log, started = self._runner.planner.log, time.monotonic()
        names = {node: joined.name for node, joined in log.joined.items()}
        wanted = {names[node]: sorted(log.filters_of.get(node, ())) for node in names}
        shape = log.shape
        try:
            found = await self._runner.in_thread(lambda: picture_document(names, wanted, shape))
        except Exception as error:  # the page does without; the planner goes on
            self._runner.note("page_failures", f"the picture: {error}")
            found = self._picture.value
        self._picture = self._picture.after(found, version, started)

    async def _compare(self, version: tuple[int, int]) -> None:
        started = time.monotonic()
        try:
            found = dict(await self._runner.posts()["/replan/dry-run"]())
            found["at"] = time.time()
        except Exception as error:
            self._runner.note("page_failures", f"the drift: {error}")
            found = self._drift.value
        self._drift = self._drift.after(found, version, started)


def picture_document(
    names: Mapping[int, str], wanted: Mapping[str, list[str]], shape: Shape
) -> dict[str, Any]:
    """Return the picture of a mesh, with what one failure would cost, as a report would."""
    instance = Instance.from_pairs(sorted(wanting_pairs(wanted)), nodes=sorted(names.values()))
    place = {name: i for i, name in enumerate(instance.node_names)}
    at = {node: place[name] for node, name in names.items()}
    topology = shape.topology
    if topology.ring and set(topology.ring) == set(names):
        ring = [at[node] for node in topology.ring]
        overlay: Overlay = small_world(instance, ring, topology.fingers, method="mesh")
    else:
        edges = sorted(
            (min(at[u], at[v]), max(at[u], at[v])) for u, v in topology.edges if {u, v} <= at.keys()
        )
        none = np.zeros(len(edges), np.int32)
        overlay = Overlay(instance, np.array(edges, np.int32), none, "mesh")
    topics = topic_rows(overlay)
    listed = ("links", "components", "largest", "diameter_low", "diameter_high")
    facts = {
        "label": "mesh",
        "edges": overlay.edges,
        "headline": {"links": overlay.n_edges},
        "degree": degree_facts(overlay),
        "topics": {name: getattr(topics, name).tolist() for name in listed},
        "picture": picture(overlay),
        "losses": loss_facts(overlay),
        "dependence": dependence(overlay),
        "cost": None,
    }
    section = {"kind": "overlays", "workload": workload_facts("", instance), "overlays": [facts]}
    whole = trimmed({"sections": [section]}, BUDGETS[1])["sections"][0]
    numbers = {name: node for node, name in names.items()}
    whole["numbers"] = [numbers[name] for name in instance.node_names]
    return dict(packed(whole))


def _in_words(changes: tuple[Change, ...], names: Mapping[int, str]) -> Iterator[str]:
    """Yield what an entry of the log says."""
    for change in changes:
        match change:
            case Snapshot():
                yield "the log was written anew"
            case Joined(_, name, endpoint):
                yield f"{_apart(name)} takes part, its agent at {endpoint}"
            case Interests(node, added, removed):
                parts = [f"wants {len(added):,} more filters"] if added else []
                parts += [f"no longer wants {len(removed):,}"] if removed else []
                who, example = _apart(names.get(node, str(node))), _apart((added or removed)[0])
                yield f"{who} {' and '.join(parts)}, {example}"
            case Leaving(node):
                yield f"{_apart(names.get(node, str(node)))} leaves the mesh"
            case Left(node):
                yield f"{_apart(names.get(node, f'broker {node}'))} has left the mesh"
            case Linked(topology):
                yield f"the plan has {len(topology.edges):,} links"
            case Health(away, down):
                gone = ", ".join(_apart(names.get(node, str(node))) for node in away[:5])
                yield (f"out of reach: {gone}" if away else "all agents are reached") + (
                    f"; {len(down):,} links are down" if down else ""
                )


def _said(event: Happened, names: Mapping[int, str]) -> str:
    """Return an event in words, with the names of agents instead of their numbers."""

    def named(match: re.Match[str]) -> str:
        name = names.get(int(match[1]))
        return f"the agent of {_apart(name)}" if name is not None else match[0]

    detail = re.sub(r"\bagent ([0-9]{1,6})\b", named, event.detail)
    return f"{event.what.replace('_', ' ')}: {detail}"


def _apart(name: str) -> str:
    """Return a name among other words: one from right to left must not turn what follows."""
    return f"\u2068{name}\u2069"


def _json(value: Any) -> Answer:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Answer("application/json", text.encode())
