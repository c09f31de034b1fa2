"""The living mesh on this machine: throughput and latency of a link, and 60 brokers under load.

The link of two agents is measured beside a relay with paho-mqtt in one process and a Mosquitto
bridge, in the same run: QoS 1, 100 bytes, from a client of one broker to a client of the other.
``--link`` leaves out the 60 brokers; ``--faults`` runs 12 brokers with every fault of `lab mesh`.
``--size`` measures the memory of an agent's process with the log of a large mesh, ``--idle`` the
processor time of an agent while nothing happens; both say whether that is little enough.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._mesh_needs import idle, size
from benchmarks.mqtt_clients import relay_paho
from meshwright.cli.demo import example_interests
from meshwright.deploy.lab.processes import free_ports
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.core.values import Message
from meshwright.mesh.lab.brokers import LocalBroker, start_all, stop_all
from meshwright.mesh.lab.faults import FAULTS
from meshwright.mesh.lab.load import LoadRequest, LoadResult, run_load
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login

PAYLOAD = bytes(100)
N_MESSAGES = 20_000
N_PACED = 300
PAUSE = 0.01  # seconds between paced messages
AHEAD = 2_000  # messages that may be on their way
WAIT = 300.0
FAULT_RUNS: dict[str, dict[str, Any]] = {
    "a plan of gm": {},
    "a plan that survives one loss": {"survive": 1},
    "exactly-once delivery": {"options": {"delivery": "exactly-once"}},
}
BRIDGE = "connection mesh\naddress 127.0.0.1:{port}\ntopic in/# out 1\n"

Ends = tuple[int, int]


async def measure(ends: Ends, n: int) -> tuple[float, float]:
    """Return messages a second from one broker to the other, and the median milliseconds."""
    sender = await MeshClient.open(Login("127.0.0.1", ends[0], "sender"))
    arrived: list[float] = []
    receiver = await MeshClient.open(
        Login("127.0.0.1", ends[1], "receiver"), lambda got: arrived.append(got.at)
    )
    await receiver.subscribe("in/#")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + WAIT
    while not arrived and loop.time() < deadline:
        await sender.publish("in/probe")
        await until(lambda: bool(arrived), 0.1)
    await asyncio.sleep(1.0)
    arrived.clear()
    start = loop.time()
    for i in range(n):
        sender.send(Message(f"in/{i % 50}", PAYLOAD))
        if i % 50 == 49:
            await asyncio.sleep(0)
            while i - len(arrived) > AHEAD and loop.time() < start + WAIT:
                await asyncio.sleep(0.001)
    complete = await until(lambda: len(arrived) >= n, WAIT)
    rate = n / (arrived[-1] - start) if complete else 0.0
    paced = []
    for _ in range(N_PACED if n > N_PACED else n):
        arrived.clear()
        sent = loop.time()
        sender.send(Message("in/paced", PAYLOAD))
        while not arrived:
            await asyncio.sleep(0)
        paced.append(1000 * (arrived[0] - sent))
        await asyncio.sleep(PAUSE)
    sender.close()
    receiver.close()
    return rate, statistics.median(paced)


async def _leave_session(port: int) -> None:
    relay = await MeshClient.open(Login("127.0.0.1", port, "relay", clean=True, expiry=600))
    await relay.subscribe("in/#")
    relay.close()
    await asyncio.sleep(0.2)


@contextmanager
def two_brokers(place: Path, *, bridged: bool = False) -> Iterator[Ends]:
    ports = free_ports(2)
    brokers = {str(port): LocalBroker(place / str(port), port) for port in ports}
    if bridged:
        conf = place / str(ports[0]) / "mosquitto.conf"
        conf.write_text(conf.read_text() + BRIDGE.format(port=ports[1]))
    start_all(brokers)
    try:
        yield ports[0], ports[1]
    finally:
        stop_all(brokers.values())


@contextmanager
def one_broker(place: Path) -> Iterator[Ends]:
    with two_brokers(place) as (port, _):
        yield port, port


@contextmanager
def bridge(place: Path) -> Iterator[Ends]:
    with two_brokers(place, bridged=True) as ends:
        yield ends


@contextmanager
def paho_relay(place: Path) -> Iterator[Ends]:
    with two_brokers(place) as ends:
        asyncio.run(_leave_session(ends[0]))
        context = multiprocessing.get_context("spawn")
        child = context.Process(target=relay_paho, args=(*ends, 10**9), daemon=True)
        child.start()
        try:
            yield ends
        finally:
            child.kill()
            child.join()


@contextmanager
def mesh(place: Path) -> Iterator[Ends]:
    with LocalMesh(place / "lab", ["one", "two"]) as made:
        made.wait_until_linked()
        yield made.brokers["one"].port, made.brokers["two"].port


WAYS: dict[str, Callable[[Path], Any]] = {
    "one broker": one_broker,
    "Mosquitto bridge": bridge,
    "paho relay": paho_relay,
    "mesh, two agents": mesh,
}


def link(n: int) -> None:
    """Print a line for each way from one broker to another."""
    found = {}
    print(f"two brokers, QoS 1, {len(PAYLOAD)} bytes, {n:,} messages")
    print(f"{'way':<20}{'messages/s':>12}{'median ms':>12}", flush=True)
    for name, way in WAYS.items():
        place = tempfile.TemporaryDirectory(prefix="meshwright-bench-")
        with place as scratch, way(Path(scratch)) as ends:
            found[name] = asyncio.run(measure(ends, n))
        rate, median = found[name]
        print(f"{name:<20}{rate:>12,.0f}{median:>12.2f}", flush=True)
    ours = found["mesh, two agents"]
    for name in ("paho relay", "Mosquitto bridge"):
        print(f"mesh / {name}: {ours[0] / max(found[name][0], 1e-9):.2f}")
    print(f"added latency of the hop: {ours[1] - found['one broker'][1]:.2f} ms")


def sixty(seconds: float) -> None:
    """Print what clients of the example's 60 brokers saw."""
    found = load(60, LoadRequest(seconds=seconds), per_process=15)
    copies, relays = found.copies_per_delivery or 0, found.relays_per_delivery or 0
    print(f"copies over links per delivery: {copies:.2f}, and {relays:.2f} by relays")


def faults(n_brokers: int, rate: float, **options: Any) -> None:
    """Print what clients saw while one fault after the other struck."""
    request = LoadRequest(rate=rate, faults=tuple(FAULTS))
    found = load(n_brokers, request, proxied=True, **options)
    for wait in found.verdict.waits:
        others, held = (f"{x:.2f} s" if x is not None else "-" for x in wait[2:])
        print(f"{wait.what:<34} others {others:>8}, after healing {held:>8}")


def load(n_brokers: int, request: LoadRequest, **options: Any) -> LoadResult:
    """Put brokers of the example under load, and print what every such run has."""
    interests = example_interests(n_brokers)
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        local = LocalMesh(Path(scratch) / "lab", list(interests), **options)
        found = run_load(local, interests, lambda words: print(f"  {words}", flush=True), request)
    seen = found.verdict
    print(f"{n_brokers} brokers: {seen.n_delivered:,} of {seen.n_expected:,} deliveries, lost")
    print(f"{seen.n_lost}, doubled {seen.n_doubled}, out of order {seen.n_out_of_order}, not")
    print(f"wanted {seen.n_unwanted}, repeated at failed brokers {seen.n_possibly_doubled}")
    print(
        f"subscribe to first message: median {found.median() or 0:.0f} ms, 99% "
        f"{found.first_of(0.99) or 0:.0f} ms, {found.n_subscriptions} subscriptions"
    )
    return found


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench mesh")
    parser.add_argument("--messages", type=int, default=N_MESSAGES)
    parser.add_argument("--seconds", type=float, default=20.0, help="of load on 60 brokers")
    parser.add_argument("--link", action="store_true", help="only two brokers")
    parser.add_argument("--faults", action="store_true", help="only 12 brokers and every fault")
    parser.add_argument("--size", action="store_true", help="only the memory of a large log")
    parser.add_argument("--idle", action="store_true", help="only processor time without messages")
    parser.add_argument("--rate", type=float, default=500.0, help="messages a second with faults")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    if given.size or given.idle:
        if given.size:
            size()
        if given.idle:
            idle()
    elif given.faults:
        for words, options in FAULT_RUNS.items():
            print(f"every fault, {words}")
            faults(12, given.rate, **options)
    else:
        link(given.messages)
        if not given.link:
            sixty(given.seconds)
    print(f"{time.monotonic() - start:.0f} s in all")


def smoke() -> None:
    link(50)
    size(20, 50, 200)
    idle(0.2, 0.0)
