"""Processes of the mesh: one planner, or one or more agents, until a signal ends them."""

import asyncio
import errno
import logging
import os
import signal
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError
from meshwright.mesh.adapters.adapter import Adapter, Capabilities, Endpoint, client_id
from meshwright.mesh.adapters.known import find_adapter
from meshwright.mesh.config import (
    ADAPTER_KEYS,
    AGENT_FILE,
    MESH_FILE,
    PLANNER_PLACE,
    STATE,
    TOKEN_FILE,
    AgentConfig,
    BrokerAddress,
    is_loopback,
    read_agent,
    read_mesh,
    split_endpoint,
)
from meshwright.mesh.core.settings import AgentSettings, Limits
from meshwright.mesh.shell.agent import AgentOptions, AgentRunner
from meshwright.mesh.shell.codec import ROOM
from meshwright.mesh.shell.link import Identity
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.runner import Runner
from meshwright.mesh.shell.tls import tls_contexts
from meshwright.mesh.shell.web import Site, read_token, serve
from meshwright.mesh.shell.wire import spoken_here
from meshwright.mesh.units import unit_name, write_unit

if TYPE_CHECKING:
    from meshwright.mesh.shell.planner import PlannerRunner

log = logging.getLogger(__name__)


def agent_options(config: AgentConfig) -> AgentOptions:
    """Return what an agent is started with."""
    options = config.options
    adapter, can = agent_adapter(config)
    if options["delivery"] == "exactly-once" and can.qos < 2:
        raise InputError(
            f"{config.name!r}: exactly-once delivery needs QoS 2, but agents publish there with "
            f'QoS {can.qos} at most. Set delivery = "at-least-once" in '
            f"'{config.place / AGENT_FILE}'."
        )
    settings = AgentSettings(
        config.mesh,
        config.node,
        journal=_limits(config, "journal"),
        mailbox=_limits(config, "mailbox"),
        exactly_once=options["delivery"] == "exactly-once",
        max_message=options["max_message"],
        packets=max(1, can.window // 2),
        same_packet_ids=can.same_packet_ids,
        count_for=options["count_seconds"],
    )
    server, client = _tls(config.broker)
    most = options["max_message"] + ROOM
    who = (config.mesh, config.node, config.secret)
    identity = Identity(*who, most, server, client, spoken_here())
    return AgentOptions(
        config.name,
        settings,
        identity,
        config.listen,
        config.planner,
        Endpoint(agent_login(config, client), options["max_message"]),
        config.place,
        config.place / STATE,
        adapter,
        can,
        {**options, **config.broker._asdict(), "password": _password(config.broker)},
        options["fsync"],
    )


def agent_adapter(config: AgentConfig) -> tuple[Adapter, Capabilities]:
    """Return how an agent talks to its broker, and what the broker can do."""
    try:
        adapter = find_adapter(config.broker.adapter)
        return adapter, adapter.capabilities(config.broker._asdict())
    except InputError as error:
        raise InputError(f"'{config.place / AGENT_FILE}': {error}") from error


def agent_login(config: AgentConfig, tls: ssl.SSLContext | None = None) -> Login:
    """Return how an agent logs in at its broker."""
    return Login(
        config.broker.host,
        config.broker.port,
        client_id(config.mesh, config.place.resolve().name),
        config.broker.username,
        _password(config.broker),
        tls or _tls(config.broker)[1],
        protocol=agent_adapter(config)[1].protocol,
    )


def run_agents(places: Sequence[Path]) -> None:
    """Run the agents of some brokers' directories in this process, until a signal."""
    configs = [read_agent(place) for place in places]
    for place, n in Counter(place.resolve() for place in places).items():
        if n > 1:
            raise InputError(f"'{place}' is given {n} times; give each directory once.")
    chosen = [agent_options(config) for config in configs]

    async def main() -> None:
        runners: list[Runner] = [AgentRunner(options) for options in chosen]
        await _run(
            runners,
            [config.metrics for config in configs],
            f"listen or metrics in its {AGENT_FILE}",
        )

    asyncio.run(main())


def run_planner(
    place: Path,
    make_site: Callable[["PlannerRunner", Path], Site] | None = None,
    *,
    restores: bool = False,
) -> None:
    """Run the planner of a mesh in this process, until a signal; `make_site` makes its page.

    With `restores` it first collects the log from the agents: its own files were lost.
    """
    from meshwright.mesh.shell.planner import PlannerRunner, planner_options

    config = read_mesh(place)
    options = planner_options(config, restores=restores)
    metrics = split_endpoint(config.metrics)
    own = place / PLANNER_PLACE
    if restores and not (own / unit_name("planner")).exists():
        own.mkdir(exist_ok=True)
        write_unit(own, "planner", config.mesh, place)
    token = "" if is_loopback(metrics[0]) else read_token(own)

    async def main() -> None:
        runner = PlannerRunner(options)
        site, page = None, ""
        if make_site is not None:
            site = make_site(runner, place)
            asks = f"; its password is in {place / PLANNER_PLACE / TOKEN_FILE}" if token else ""
            page = f"the page of the mesh is at http://{config.watched_at}/{asks}"
        await _run([runner], [metrics], f"planner or metrics in its {MESH_FILE}", site, token, page)

    asyncio.run(main())


async def _run(
    runners: Sequence[Runner],
    ends: Sequence[tuple[str, int]],
    settings: str,
    site: Site | None = None,
    token: str = "",
    page: str = "",
) -> None:
    """Open all, wait for a signal or a failure, close all."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    left = list(runners)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        for runner, (host, port) in zip(runners, ends, strict=True):
            await _open(runner, (host, port), settings, site, token)
        print(f"running, process {os.getpid()}", flush=True)
        if page:
            log.info(page)
        while left and not ended.done():
            await asyncio.wait(
                [ended, *(runner.failed for runner in left)], return_when=asyncio.FIRST_COMPLETED
            )
            for runner in [runner for runner in left if runner.failed.done()]:
                runner.failed.result()
                left.remove(runner)  # its broker has left the mesh; the others go on
                await runner.close()
    finally:
        for runner in left:
            await runner.close()


async def _open(
    runner: Runner, end: tuple[str, int], settings: str, site: Site | None, token: str
) -> None:
    try:
        await serve(runner, *end, site, token)
        await runner.open()
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
            raise InputError(
                f"{runner.name}: it would listen at an address that is not one of this host: "
                f"{why}. Run it on the host that this address belongs to, or change {settings}."
            ) from error
        raise InputError(
            f"{runner.name}: a port cannot be listened at: {why}. Does it run already? Otherwise "
            f"another program has the port: choose another one as {settings}."
        ) from error


def _tls(broker: BrokerAddress) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    return tls_contexts(f"the agent of {broker.node!r}", broker.ca, broker.cert, broker.key)


def _password(broker: BrokerAddress) -> str:
    """Return the password of the broker's account; raise InputError if it cannot be read."""
    if not broker.username:
        return ""
    from meshwright.deploy.inventory import read_passwords
    from meshwright.deploy.plan import Broker

    fields = {key: value for key, value in broker._asdict().items() if key not in ADAPTER_KEYS}
    found: str = read_passwords([Broker(**fields)])[broker.node]
    return found


def _limits(config: AgentConfig, what: str) -> Limits:
    own = config.options
    sizes = own[f"{what}_messages"], own[f"{what}_bytes"]
    return Limits(*sizes, float(own[f"{what}_seconds"]))
