"""Processes of the mesh: one planner, or one or more agents, until a signal ends them."""

import asyncio
import os
import signal
import ssl
from collections.abc import Sequence
from pathlib import Path

from meshwright.errors import DeployError, InputError
from meshwright.mesh.adapters.mosquitto import Endpoint, client_id
from meshwright.mesh.config import (
    STATE,
    AgentConfig,
    BrokerAddress,
    read_agent,
    read_mesh,
    split_endpoint,
)
from meshwright.mesh.core.settings import AgentSettings, Limits
from meshwright.mesh.shell.agent import AgentOptions, AgentRunner
from meshwright.mesh.shell.codec import ROOM
from meshwright.mesh.shell.links import Identity, tls_contexts
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.runner import Runner
from meshwright.mesh.shell.web import serve


def agent_options(config: AgentConfig) -> AgentOptions:
    """Return what an agent is started with."""
    options = config.options
    settings = AgentSettings(
        config.mesh,
        config.node,
        journal=_limits(config, "journal"),
        mailbox=_limits(config, "mailbox"),
        exactly_once=options["delivery"] == "exactly-once",
        max_message=options["max_message"],
    )
    server, client = _tls(config.broker)
    most = options["max_message"] + ROOM
    identity = Identity(config.mesh, config.node, config.secret, most, server, client)
    return AgentOptions(
        config.name,
        settings,
        identity,
        config.listen,
        config.planner,
        Endpoint(agent_login(config, client), options["max_message"]),
        config.place / STATE,
        Path(options["log_file"]) if options["log_file"] else None,
        options["fsync"],
    )


def agent_login(config: AgentConfig, tls: ssl.SSLContext | None = None) -> Login:
    """Return how an agent logs in at its broker."""
    return Login(
        config.broker.host,
        config.broker.port,
        client_id(config.mesh, config.place.resolve().name),
        config.broker.username,
        _password(config.broker),
        tls or _tls(config.broker)[1],
    )


def run_agents(places: Sequence[Path]) -> None:
    """Run the agents of some brokers' directories in this process, until a signal."""
    configs = [read_agent(place) for place in places]
    chosen = [agent_options(config) for config in configs]

    async def main() -> None:
        runners: list[Runner] = [AgentRunner(options) for options in chosen]
        await _run(runners, [config.metrics for config in configs])

    asyncio.run(main())


def run_planner(place: Path) -> None:
    """Run the planner of a mesh in this process, until a signal."""
    from meshwright.mesh.shell.planner import PlannerRunner, planner_options

    config = read_mesh(place)
    options, metrics = planner_options(config), split_endpoint(config.metrics)

    async def main() -> None:
        await _run([PlannerRunner(options)], [metrics])

    asyncio.run(main())


async def _run(runners: Sequence[Runner], ends: Sequence[tuple[str, int]]) -> None:
    """Open all, wait for a signal or a failure, close all."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        for runner, (host, port) in zip(runners, ends, strict=True):
            await _open(runner, host, port)
        print(f"running, process {os.getpid()}", flush=True)
        await asyncio.wait(
            [ended, *(runner.failed for runner in runners)], return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for runner in runners:
            await runner.close()
    for runner in runners:
        if runner.failed.done():
            raise runner.failed.exception() or DeployError(f"{runner.name} stopped.")


async def _open(runner: Runner, host: str, port: int) -> None:
    try:
        await serve(runner, host, port)
        await runner.open()
    except OSError as error:
        raise InputError(
            f"{runner.name}: a port cannot be listened at: {error.strerror or error}. Is another "
            "agent of this broker running? Otherwise choose another port in its .toml file."
        ) from error


def _tls(broker: BrokerAddress) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    return tls_contexts(f"the agent of {broker.node!r}", broker.ca, broker.cert, broker.key)


def _password(broker: BrokerAddress) -> str:
    """Return the password of the broker's account; raise InputError if it cannot be read."""
    if not broker.username:
        return ""
    from meshwright.deploy.inventory import read_passwords
    from meshwright.deploy.plan import Broker

    found: str = read_passwords([Broker(**broker._asdict())])[broker.node]
    return found


def _limits(config: AgentConfig, what: str) -> Limits:
    own = config.options
    sizes = own[f"{what}_messages"], own[f"{what}_bytes"]
    return Limits(*sizes, float(own[f"{what}_seconds"]))
