"""A deployment compared with what clients want now, as the brokers' logs tell it.

Bridges are written for a workload. This says where clients have moved on, so that people who keep
bridges know when to plan again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.deploy.plan import Plan, read_plan
from meshwright.patterns.filters import PatternIndex
from meshwright.runtime.progress import Progress, no_progress
from meshwright.workload.files import MAX_LINE, find_sources, refuse_long_lines
from meshwright.workload.log_files import LogInterests, follow_logs

WANTED, ENDED, UNKNOWN = "wanted", "ended", "unknown"


class Difference(NamedTuple):
    """One thing in which clients and plan differ."""

    broker: str
    kind: str
    topic: str  # or filter; empty for an unknown broker


@dataclass(frozen=True, slots=True)
class Watched:
    """What clients want now, compared with a plan."""

    differences: tuple[Difference, ...]
    n_brokers: int  # that were compared
    n_interests: int  # of them, that the plan brings
    without_log: tuple[str, ...]  # brokers of the plan that no log is from
    begins_late: tuple[str, ...]  # logs that do not go back to a start of their broker
    in_doubt: Mapping[str, int]  # interests that may have ended, by what the logs leave open
    n_unreadable: int  # lines that are not valid UTF-8

    def of(self, kind: str) -> list[Difference]:
        """Return the differences of a kind."""
        return [one for one in self.differences if one.kind == kind]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **{kind: [_fields(one) for one in self.of(kind)] for kind in (WANTED, ENDED)},
            "unknown_brokers": [one.broker for one in self.of(UNKNOWN)],
            "brokers_compared": self.n_brokers,
            "interests_brought": self.n_interests,
            "brokers_without_log": list(self.without_log),
            "logs_that_begin_late": list(self.begins_late),
            "in_doubt": dict(self.in_doubt),
            "unreadable_lines": self.n_unreadable,
        }


def watch(
    conf: str | Path, logs: Sequence[str | Path], *, progress: Progress | None = None
) -> Watched:
    """Compare the plan of a deployment with what clients want at the end of the brokers' logs.

    A log is named after its broker, as for `ingest`, or after the broker's directory in `conf`.
    """
    progress = progress or no_progress()
    plan = read_plan(Path(conf))
    sources, _ = find_sources([str(log) for log in logs], "mosquitto-log")
    with progress.step("looking at the logs"):
        refuse_long_lines(sources, "mosquitto-log", MAX_LINE, progress)
    with progress.step("reading the logs"):
        found = follow_logs(sources, progress)
    return compare(plan, found)


def compare(plan: Plan, found: Mapping[str, LogInterests]) -> Watched:
    """Compare a plan with what the log of each broker says."""
    node_of = {directory: node for node, directory in plan.directories.items()}
    node_of |= {node: node for node in plan.nodes}
    logs: dict[str, LogInterests] = {}
    for name, facts in found.items():
        node = node_of.get(name, name)
        logs[node] = logs[node].joined(facts) if node in logs else facts
    planned: dict[str, set[str]] = {node: set() for node in plan.nodes}
    for route in plan.routes:
        for node in route.subscribers:
            planned[node].add(route.name)
    differences = []
    n_interests = 0
    for name, facts in sorted(logs.items()):
        if name not in planned:
            differences.append(Difference(name, UNKNOWN, ""))
            continue
        brought, wanted = PatternIndex(planned[name]), PatternIndex(facts.wanted)
        for topic in sorted(facts.wanted):
            if brought.covering(topic):
                n_interests += 1
            else:
                differences.append(Difference(name, WANTED, topic))
        ended = {topic for topic in planned[name] if not wanted.covering(topic)}
        # A plan lists a topic also for those who want it by a wider filter: one line is enough.
        differences += [
            Difference(name, ENDED, topic)
            for topic in sorted(ended)
            if ended.isdisjoint(set(brought.covering(topic)) - {topic})
        ]
    known = {name: facts for name, facts in logs.items() if name in planned}
    return Watched(
        tuple(differences),
        len(known),
        n_interests,
        tuple(node for node in plan.nodes if node not in known),
        tuple(sorted(name for name, facts in known.items() if not facts.from_start)),
        dict(sum((facts.in_doubt for facts in known.values()), Counter[str]())),
        sum(facts.n_unreadable for facts in logs.values()),
    )


def _fields(difference: Difference) -> dict[str, str]:
    return {"broker": difference.broker, "topic": difference.topic}
