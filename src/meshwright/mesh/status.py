"""The state of a mesh, asked of each of its processes over HTTP."""

import http.client
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from meshwright.errors import DeployError
from meshwright.mesh.config import read_mesh, split_endpoint

SECONDS = 2.0  # to wait for an answer
PARALLEL = 16


@dataclass(slots=True)
class MeshStatus:
    """What the processes of a mesh say."""

    n_brokers: int
    planner_up: bool = False
    n_agents_up: int = 0
    n_brokers_up: int = 0
    n_links_up: int = 0  # both ends say so
    version: str = "-"
    is_level: bool = True  # all agents hold the newest version
    n_wanted: int = 0
    n_taken: int = 0
    n_delivered: int = 0
    n_received: int = 0  # over links
    n_waiting: int = 0
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)  # what is wrong

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def mesh_status(place: Path) -> MeshStatus:
    """Ask all processes of a mesh; one that does not answer is a finding."""
    config = read_mesh(place)
    ends = [config.metrics, *(member.metrics for member in config.brokers)]
    with ThreadPoolExecutor(PARALLEL) as pool:
        planner, *agents = pool.map(_ask, ends)
    found = MeshStatus(len(config.brokers), planner_up=planner is not None)
    if planner is None:
        found.findings.append(f"the planner at {config.planner} does not answer")
    versions = [tuple(said["version"]) for said in (planner, *agents) if said]
    newest = max(versions, default=(0, 0))
    found.version = f"{newest[0]}.{newest[1]}"
    found.is_level = all(version == newest for version in versions)
    if not found.is_level:
        behind = sum(version != newest for version in versions)
        found.findings.append(f"{behind} processes do not hold version {found.version} yet")
    counters = Counter[str](planner["counters"] if planner else ())
    for member, said in zip(config.brokers, agents, strict=True):
        if said is None:
            found.findings.append(f"the agent of {member.name!r} does not answer")
            continue
        counters.update(said["counters"])
        _add_agent(found, member.name, said, planner is not None)
    ups = {
        (min(i, peer), max(i, peer))
        for i, said in enumerate(agents)
        if said
        for peer in said["links"]
        if peer >= 0 and agents[peer] and i in agents[peer]["links"]
    }
    found.n_links_up = len(ups)
    found.counters = dict(sorted(counters.items()))
    return found


def _add_agent(found: MeshStatus, name: str, said: dict[str, Any], planner_up: bool) -> None:
    found.n_agents_up += 1
    found.n_brokers_up += said["broker_up"]
    found.n_wanted += said["wanted"]
    found.n_taken += said["taken"]
    found.n_delivered += said["delivered"]
    found.n_received += said["received"]
    journal, mailbox = (said["stores"][store]["records"] for store in ("journal", "mailbox"))
    found.n_waiting += journal + mailbox
    links = sum(peer >= 0 for peer in said["links"])
    moved = said["taken"], said["delivered"]
    found.rows.append((name, links, said["wanted"], *moved, journal, mailbox))
    if not said["broker_up"]:
        found.findings.append(f"the broker {name!r} is out of its agent's reach")
    elif not said["log_lines"]:
        found.findings.append(
            f"the broker {name!r} does not publish its log; add the lines of its mosquitto.conf "
            "and send it SIGHUP"
        )
    if planner_up and -1 not in said["links"]:
        found.findings.append(f"the agent of {name!r} is not connected to the planner")


def ask_replan(place: Path) -> None:
    """Ask the planner for a new design."""
    config = read_mesh(place)
    if _ask(config.metrics, "POST", "/replan") is None:
        raise DeployError(f"the planner at {config.planner} does not answer.", config.planner)


def _ask(endpoint: str, method: str = "GET", path: str = "/status") -> Any:
    """Return the answer of a process, or None."""
    host, port = split_endpoint(endpoint)
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == http.HTTPStatus.OK else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
