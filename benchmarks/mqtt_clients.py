"""MQTT clients as a relay between two brokers: which one the agents of the mesh should use.

Each client takes messages of QoS 1 from one Mosquitto broker, publishes them at another and
acknowledges a message when the other broker has it, as an agent does. gmqtt 0.8 and aiomqtt 2.5
cannot do that: they acknowledge by themselves as messages arrive, and gmqtt refuses to publish
while the broker's window is full. The codec on uvloop 0.23 took the same processor time as on
asyncio (25 us), so that agents do without. Printed: messages a second, and processor microseconds
of the relay for each message.
"""

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from meshwright.deploy.lab.processes import (
    LOOPBACK,
    accepts,
    find_mosquitto,
    free_ports,
    start_broker,
    stop,
    wait_until,
)

N_MESSAGES = 30_000
PAYLOAD = bytes(100)
CONF = """listener {port} 127.0.0.1
allow_anonymous true
max_queued_messages 0
{user}
"""


def relay_paho(source: int, target: int, n: int) -> None:
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    def client(name: str, port: int, **options: Any) -> mqtt.Client:
        made = mqtt.Client(
            CallbackAPIVersion.VERSION2, name, protocol=MQTTProtocolVersion.MQTTv5, **options
        )
        made.max_inflight_messages_set(1000)
        wide = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        wide.ReceiveMaximum = 65_535
        wide.SessionExpiryInterval = 600
        made.connect(LOOPBACK, port, clean_start=False, properties=wide)
        return made

    taken: dict[int, int] = {}
    left = [n]
    one, other = client("relay", source, manual_ack=True), client("relay", target)

    def message(_client: Any, _data: Any, got: Any) -> None:
        taken[other.publish(got.topic, got.payload, 1).mid] = got.mid

    def published(_client: Any, _data: Any, mid: int, *_: Any) -> None:
        one.ack(taken.pop(mid), 1)
        left[0] -= 1

    one.on_message, other.on_publish = message, published
    one.loop_start()
    other.loop_start()
    while left[0] > 0:
        time.sleep(0.001)


def relay_codec(source: int, target: int, n: int) -> None:
    import mqtt5

    from meshwright.mesh.shell.mqtt import Connection, Login, connect

    async def run() -> None:
        done = asyncio.get_running_loop().create_future()
        taken: dict[int, int] = {}
        ends: dict[str, Connection] = {}

        class From:
            def broker_message(self, packet: Any) -> None:
                packet_id = ends["to"].take_id()
                assert packet_id is not None
                taken[packet_id] = packet.packet_id
                sent = mqtt5.PublishPacket(
                    packet.topic, packet.payload, qos=packet.qos, packet_id=packet_id
                )
                ends["to"].publish(packet_id, sent.write())

            def broker_lost(self, reason: str) -> None:
                raise SystemExit(reason)

        class To(From):
            left = n

            def broker_acknowledged(self, packet_id: int, _reason: int) -> None:
                ends["from"].acknowledge(taken.pop(packet_id), 1)
                self.left -= 1
                if self.left == 0:
                    done.set_result(None)

        to, source_end = To(), From()
        ends["to"], _ = await connect(Login(LOOPBACK, target, "relay"), to)  # type: ignore[arg-type]
        login = Login(LOOPBACK, source, "relay", clean=False, expiry=600)
        ends["from"], _ = await connect(login, source_end)  # type: ignore[arg-type]
        await done

    asyncio.run(run())


RELAYS: dict[str, Callable[[int, int, int], None]] = {
    "paho-mqtt": relay_paho,
    "mqtt5 codec": relay_codec,
}


def _timed(name: str, source: int, target: int, n: int, answer: Any) -> None:
    cpu, start = time.process_time(), time.perf_counter()
    RELAYS[name](source, target, n)
    answer.send((time.perf_counter() - start, time.process_time() - cpu))
    answer.close()
    os._exit(0)


def fill(port: int, n: int) -> None:
    """Let a session wait at a broker with so many messages."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    stay = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    stay.SessionExpiryInterval = 600
    for subscribes in (True, False):
        name = "relay" if subscribes else "source"
        client = mqtt.Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTProtocolVersion.MQTTv5)
        client.max_inflight_messages_set(1000)
        client.connect(LOOPBACK, port, clean_start=True, properties=stay if subscribes else None)
        client.loop_start()
        if subscribes:
            granted = threading.Event()
            client.on_subscribe = lambda *_, done=granted: done.set()
            client.subscribe("in/#", 1)
            granted.wait(60)
        else:
            sent = [client.publish(f"in/{i % 50}", PAYLOAD, 1) for i in range(n)]
            sent[-1].wait_for_publish(120)
        client.disconnect()
        client.loop_stop()


def measure(n: int) -> None:
    """Print a line for each client that is installed."""
    program = find_mosquitto()
    context = multiprocessing.get_context("spawn")
    print(f"{n:,} messages of {len(PAYLOAD)} bytes, QoS 1, from one broker to another")
    print(f"{'client':<22}{'messages/s':>12}{'cpu us each':>14}")
    for name in RELAYS:
        with tempfile.TemporaryDirectory(prefix="meshwright-mqtt-") as scratch, ExitStack() as ends:
            ports = free_ports(2)
            for port in ports:
                place = Path(scratch) / str(port)
                place.mkdir()
                user = "user root" if os.geteuid() == 0 else ""
                (place / "mosquitto.conf").write_text(CONF.format(port=port, user=user))
                broker = start_broker(program, place)
                ends.callback(stop, [broker])
                wait_until(partial(accepts, port))
            fill(ports[0], n)
            ours, theirs = context.Pipe()
            child = context.Process(target=_timed, args=(name, *ports, n, theirs))
            child.start()
            if not ours.poll(300):
                child.kill()
                print(f"{name:<22}  did not end in 300 s")
                continue
            seconds, cpu = ours.recv()
            child.join()
            print(f"{name:<22}{n / seconds:>12,.0f}{1e6 * cpu / n:>14,.1f}", flush=True)


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench mqtt_clients")
    parser.add_argument("--messages", type=int, default=N_MESSAGES)
    measure(parser.parse_args(arguments).messages)


def smoke() -> None:
    measure(500)
