"""The MQTT connection of an agent, against a server that the test drives byte by byte."""

import asyncio
import gc

import mqtt5

from meshwright.mesh.clients import MeshClient
from meshwright.mesh.shell.mqtt import PROTOCOLS, Connection, Login

CONNACK_SESSION_PRESENT = b"\x20\x03\x01\x00\x00"


def test_messages_that_come_with_connack_wait_until_the_owner_has_the_connection():
    waiting = mqtt5.PublishPacket("a", b"waited", qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=7)
    answers: list[bytes] = []
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000)  # CONNECT
        writer.write(CONNACK_SESSION_PRESENT + waiting.write())
        while data := await reader.read(1_000):
            answers.append(data)
        writer.close()

    async def scene() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = await MeshClient.open(
            Login("127.0.0.1", port, "late"), lambda message: got.append(message.payload)
        )
        async with asyncio.timeout(20):
            while b"\x40\x02\x00\x07" not in b"".join(answers):  # PUBACK of packet 7
                await asyncio.sleep(0.01)
        client.close()
        server.close()

    asyncio.run(scene())
    assert got == [b"waited"]


def test_a_connection_is_lost_in_silence_when_nobody_waits_for_it():
    said: list[dict[str, object]] = []

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        Connection(MeshClient(), PROTOCOLS["5"]).connection_lost(None)
        gc.collect()

    asyncio.run(scene())
    assert said == []
