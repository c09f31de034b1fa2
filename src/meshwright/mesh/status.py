"""The state of a mesh, asked of each of its processes over HTTP.

An agent on another host answers on its own loopback only, unless told otherwise. What such an agent
last said to the planner stands for its answer.
"""

import http.client
import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from meshwright.errors import DeployError
from meshwright.mesh.config import (
    PLANNER_PLACE,
    TOKEN_FILE,
    Member,
    MeshConfig,
    is_loopback,
    join_endpoint,
    read_mesh,
    split_endpoint,
)

SECONDS = 2.0  # to wait for an answer
DESIGN_SECONDS = 600.0  # for a design
PARALLEL = 64
COLUMNS = ("broker", "links", "wants", "taken", "delivered", "journal", "mailbox")


@dataclass(slots=True)
class MeshStatus:
    """What the processes of a mesh say."""

    n_brokers: int
    planner_up: bool = False
    n_agents_up: int = 0
    n_told: int = 0  # of them, agents that could not be asked: the planner says what it last heard
    n_unknown: int = 0  # agents that answer on other hosts only, while the planner is not heard
    n_brokers_up: int = 0
    links: list[tuple[int, int]] = field(default_factory=list)  # up, as both ends say
    n_links_planned: int = 0  # others are up for some seconds after a plan that had them
    version: str = "-"
    is_level: bool = True  # all agents hold the newest version
    n_wanted: int = 0
    n_taken: int = 0
    n_delivered: int = 0
    n_received: int = 0  # over links
    n_waiting: int = 0
    rows: list[tuple[Any, ...]] = field(default_factory=list)  # of `COLUMNS`
    leaving: list[str] = field(default_factory=list)  # brokers that are being removed
    in_doubt: dict[str, int] = field(default_factory=dict)  # interests that may have ended
    unknown: dict[str, int] = field(default_factory=dict)  # subscriptions missed, by broker
    counters: dict[str, int] = field(default_factory=dict)
    declared: dict[str, list[str]] = field(default_factory=dict)  # files of interests, by broker
    findings: list[str] = field(default_factory=list)  # what is wrong

    @property
    def n_links_up(self) -> int:
        """Links that are up."""
        return len(self.links)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in self.rows]
        return {**asdict(self), "rows": rows, "n_links_up": self.n_links_up}


def mesh_status(place: Path) -> MeshStatus:
    """Ask all processes of a mesh; one that does not answer is a finding."""
    config = read_mesh(place)
    with ThreadPoolExecutor(PARALLEL) as pool:
        asked = pool.submit(ask_planner, config)
        agents = list(pool.map(_ask_member, config.brokers))
        planner = asked.result()
    found = MeshStatus(len(config.brokers), planner_up=planner is not None)
    if planner is not None:
        found.n_links_planned = planner["planned_links"]
        found.leaving = planner.get("leaving", [])
        found.findings += planner.get("twins", [])
    else:
        found.findings.append(_planner_missing(config))
    # Only of those who answer: what was said two seconds ago has an older version in a busy mesh.
    versions = [tuple(said["version"]) for said in (planner, *agents) if said]
    if planner is not None and None in agents:
        found.n_told = agents.count(None)
        try:
            heard = _heard(config)
        except DeployError as error:
            heard = {}
            found.findings.append(str(error))
        agents = [
            said or heard.get(str(member.node))
            for said, member in zip(agents, config.brokers, strict=True)
        ]
        found.n_told -= agents.count(None)
    newest = max(versions, default=(0, 0))
    found.version = f"{newest[0]}.{newest[1]}"
    found.is_level = all(version == newest for version in versions)
    if not found.is_level:
        behind = sum(version != newest for version in versions)
        found.findings.append(f"{behind} processes do not hold version {found.version} yet")
    counters = Counter[str](planner["counters"] if planner else ())
    doubts = Counter[str]()
    unknown = []
    for member, said in zip(config.brokers, agents, strict=True):
        if said is None and planner is None and not _could_answer(config, member):
            unknown.append(repr(member.name))
            continue
        if said is None:
            found.findings.append(f"the agent of {member.name!r} does not answer")
            continue
        counters.update(said["counters"])
        doubts.update(said["in_doubt"])
        _add_agent(found, member.name, said, planner is not None)
    found.n_unknown = len(unknown)
    if unknown:
        more = ", ..." if unknown[3:] else ""
        found.findings.append(
            f"of {', '.join(unknown[:3])}{more} nothing is known here: their agents answer on "
            "their own hosts, and tell the planner"
        )
    linked = {said["node"]: said["links"] for said in agents if said}
    found.links = sorted(
        {
            (min(node, peer), max(node, peer))
            for node, peers in linked.items()
            for peer in peers
            if node in linked.get(peer, ())
        }
    )
    found.counters = dict(sorted(counters.items()))
    found.in_doubt = dict(doubts)
    return found


def _add_agent(found: MeshStatus, name: str, said: dict[str, Any], planner_up: bool) -> None:
    found.n_agents_up += 1
    found.n_brokers_up += said["broker_up"]
    found.n_wanted += said["wanted"]
    if said.get("unknown"):  # agents of an earlier version do not count them
        found.unknown[name] = said["unknown"]
    if said["declared"] is not None:
        found.declared[name] = said["declared"]
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
    elif not said["follows"]:
        found.findings.append(
            f"the agent of {name!r} does not know what clients want; {said['remedy']}"
        )
    if said["counters"].get("static_bridges"):
        found.findings.append(
            f"the broker {name!r} has bridges of a static deployment, so messages arrive twice; "
            "take them out with `deploy merge --remove` and restart it and its agent"
        )
    if planner_up and -1 not in said["links"]:
        found.findings.append(f"the agent of {name!r} is not connected to the planner")


def ask_replan(place: Path, *, dry_run: bool = False) -> dict[str, int]:
    """Ask the planner for a design from scratch, or (`dry_run`) for what it would change."""
    config = read_mesh(place)
    path = "/replan/dry-run" if dry_run else "/replan"
    found = post(config, path, DESIGN_SECONDS if dry_run else SECONDS)
    if found is None:
        why = _out_of_sight(config) or (
            f"the planner at {config.planner} does not answer. Is it running? Otherwise start it: "
            f"meshwright mesh planner {place}"
        )
        raise DeployError(why, config.planner)
    return dict(found)


def ask_planner(config: MeshConfig) -> dict[str, Any] | None:
    """Return the status of the planner; None if it does not answer."""
    found: dict[str, Any] | None = _ask(config.watched_at)
    return found


def ask_agent(config: MeshConfig, member: Member) -> dict[str, Any] | None:
    """Return the status of an agent, or what the planner heard of it; None without both."""
    found: dict[str, Any] | None = _ask_member(member)
    return found or _heard(config).get(str(member.node))


def post(config: MeshConfig, path: str, seconds: float = SECONDS) -> dict[str, Any] | None:
    """Ask the planner to do something; None if it does not answer."""
    found: dict[str, Any] | None = _ask(config.watched_at, "POST", path, seconds, config.token)
    return found


def _heard(config: MeshConfig) -> dict[str, Any]:
    """Return what agents told the planner in the last seconds, by their number."""
    return _ask(config.watched_at, path="/agents", token=config.token) or {}


def _ask_member(member: Member) -> dict[str, Any] | None:
    """Return what an agent says; one of this host answers on loopback, too."""
    found: dict[str, Any] | None = _ask(member.metrics)
    host, port = split_endpoint(member.metrics)
    own = join_endpoint("127.0.0.1", port)
    if found is None and member.metrics != own and _is_here(host):
        found = _ask(own)
        if found is not None and found.get("name") != member.name:
            return None  # of another mesh, or the planner of one
    return found


def _could_answer(config: MeshConfig, member: Member) -> bool:
    """Return whether an agent that runs would answer here; `mesh init` has all serve alike."""
    return not is_loopback(split_endpoint(config.metrics)[0]) or _is_here(
        split_endpoint(member.metrics)[0]
    )


def _planner_missing(config: MeshConfig) -> str:
    return _out_of_sight(config) or (
        f"the planner at {config.planner} does not answer; new subscriptions do not work until "
        "it does"
    )


def _out_of_sight(config: MeshConfig) -> str | None:
    """Return why the planner cannot be asked here though it may run, or None."""
    host = split_endpoint(config.planner)[0]
    if not is_loopback(split_endpoint(config.metrics)[0]) or _is_here(host):
        return None
    return (
        f"the planner's host {host} is another one, where it answers on loopback only: run this "
        f"there, or set metrics in its mesh.toml to 0.0.0.0:{split_endpoint(config.metrics)[1]}"
    )


def _is_here(host: str) -> bool:
    """Return whether an address is one of this host."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as own:
                own.bind(address)
                return True
        except OSError:
            continue
    return False


def _ask(
    endpoint: str,
    method: str = "GET",
    path: str = "/status",
    seconds: float = SECONDS,
    token: str = "",
) -> Any:
    """Return the answer of a process, or None; a DeployError if it asks for another token."""
    host, port = split_endpoint(endpoint)
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        if answer.status == http.HTTPStatus.UNAUTHORIZED:
            raise DeployError(
                f"the planner at {endpoint} asks for its token. Run this where it runs, or copy "
                f"MESH/{PLANNER_PLACE}/{TOKEN_FILE} from there.",
                endpoint,
            )
        return json.loads(answer.read()) if answer.status == http.HTTPStatus.OK else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
