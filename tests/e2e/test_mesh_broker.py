"""An agent's connections to a real Mosquitto broker."""

import asyncio
import signal
from contextlib import suppress

import pytest

from meshwright.deploy.lab.processes import LOG, free_ports
from meshwright.mesh.adapters.adapter import Endpoint, client_id
from meshwright.mesh.adapters.fetching import end_session, fetch
from meshwright.mesh.adapters.log_connection import LINES, Known, LogConnection
from meshwright.mesh.adapters.session import DataSession
from meshwright.mesh.core.events import (
    Accept,
    BrokerLost,
    BrokerUp,
    Fetch,
    Fetched,
    Publish,
    Published,
    SetSubscriptions,
    Subscribed,
    Taken,
    Wanted,
)
from meshwright.mesh.core.values import Message
from meshwright.mesh.lab.brokers import LocalBroker
from meshwright.mesh.shell.mqtt import Login, connect


@pytest.fixture
def broker(tmp_path):
    made = LocalBroker(tmp_path / "broker", free_ports(1)[0])
    made.start()
    made.wait()
    yield made
    made.kill()


class Client:
    """A plain client, with what it got."""

    def __init__(self):
        self.got, self.granted, self.acks = [], [], []

    @classmethod
    async def at(cls, broker, name, **options):
        made = cls()
        login = Login("127.0.0.1", broker.port, name, **options)
        made.connection, _ = await connect(login, made)
        return made

    def broker_message(self, packet):
        self.got.append(packet)
        if int(packet.qos):
            self.connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_granted(self, packet_id, reasons):
        self.granted.append(packet_id)

    def broker_acknowledged(self, packet_id, reason):
        self.acks.append(packet_id)

    def broker_received(self, packet_id, reason):
        self.connection.release(packet_id)

    def broker_release(self, packet_id):
        self.connection.complete(packet_id)

    def broker_lost(self, reason):
        self.lost = reason

    async def subscribe(self, *names):
        import mqtt5

        asked = self.connection.subscribe([mqtt5.TopicFilter(name) for name in names])
        await until(lambda: asked in self.granted)

    async def publish(self, topic, payload=b"", qos=1, retain=False, **options):
        from meshwright.mesh.adapters.messages import packet_of

        packet = self.connection.take_id() if qos else 0
        message = Message(topic, payload, qos, retain, **options)
        self.connection.publish(packet, packet_of(message, qos, packet, False))
        if qos:
            await until(lambda: packet in self.acks)


def seen(events, event):
    """Return how often an event came; named tuples of different classes may be equal."""
    return sum(type(e) is type(event) and e == event for e in events)


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


class Session(DataSession):
    """The data session, with the events it told."""

    def __init__(self, broker, known=()):
        self.events, self.notes = [], []
        login = Login("127.0.0.1", broker.port, client_id("m", "edge-1"))
        super().__init__(
            Endpoint(login, 2**24),
            self.events.append,
            lambda what, why: self.notes.append((what, why)),
            known,
            lambda *_: None,
        )

    async def opened(self, *filters):
        self.task = asyncio.create_task(self.run())
        await until(lambda: any(isinstance(e, BrokerUp) for e in self.events))
        if filters:
            self.set_subscriptions(SetSubscriptions(1, filters, ()))
            await until(lambda: seen(self.events, Subscribed(1)))
        return self

    async def closed(self):
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        await self.close()

    def published(self):
        return [e for e in self.events if isinstance(e, Published)]


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 120))


def test_messages_come_once_with_their_properties_and_own_ones_do_not_come_back(broker):
    async def scene():
        session = await Session(broker).opened("a/#", "a/+", "+/b")
        client = await Client.at(broker, "someone")
        await client.publish("a/b", b"1", expiry=60)
        await client.publish("a/c", b"2", qos=2)
        await client.publish("a/d", b"3", qos=0)
        session.publish(Publish(7, Message("a/b", b"own")))
        await until(lambda: seen(session.events, Taken(7)) and len(session.published()) == 3)
        await asyncio.sleep(0.2)
        found = [(p.message.topic, p.message.payload, p.message.qos) for p in session.published()]
        assert found == [("a/b", b"1", 1), ("a/c", b"2", 2), ("a/d", b"3", 0)]
        assert session.published()[0].message.expiry == 60
        client.connection.close()
        await session.closed()

    run(scene())


def test_what_was_not_accepted_comes_again_with_the_same_packet_id(broker):
    async def scene():
        session = await Session(broker).opened("a/#")
        client = await Client.at(broker, "someone")
        for i, qos in enumerate((1, 2, 1, 2)):
            await client.publish(f"a/{i}", b"x", qos=qos)
        await until(lambda: len(session.published()) == 4)
        before = session.published()
        session.accept(Accept(before[0].packet))
        session.accept(Accept(before[1].packet))
        await asyncio.sleep(0.1)
        session._connection.abort("cut by the test")
        await until(lambda: len(session.published()) == 6)
        again = session.published()[4:]
        assert seen(session.events, BrokerLost())
        assert [p.packet for p in again] == [p.packet for p in before[2:]]
        assert all(p.duplicate for p in again)
        assert [e for e in session.events if type(e) is BrokerUp] == [
            BrokerUp(False),
            BrokerUp(True),
        ]
        client.connection.close()
        await session.closed()

    run(scene())


def test_a_copy_counts_only_once_while_filters_come_and_go(broker):
    async def scene():
        session = await Session(broker).opened("a/+")
        client = await Client.at(broker, "someone")
        session.set_subscriptions(SetSubscriptions(2, ("#",), ()))
        await until(lambda: seen(session.events, Subscribed(2)))
        await client.publish("a/1")
        session.set_subscriptions(SetSubscriptions(3, (), ("a/+",)))
        await until(lambda: seen(session.events, Subscribed(3)))
        await client.publish("a/2")
        await client.publish("b")
        await until(lambda: len(session.published()) == 3)
        await asyncio.sleep(0.2)
        assert [p.message.topic for p in session.published()] == ["a/1", "a/2", "b"]
        client.connection.close()
        await session.closed()

    run(scene())


def test_a_thousand_messages_that_are_not_accepted_do_not_stop_the_next(broker):
    async def scene():
        session = await Session(broker).opened("#")
        client = await Client.at(broker, "someone")
        for i in range(1000):
            await client.publish(f"a/{i}", b"x")
        await until(lambda: len(session.published()) == 1000)
        client.connection.close()
        await session.closed()

    run(scene())


def test_retained_messages_are_fetched_all_of_them(broker):
    async def scene():
        client = await Client.at(broker, "someone")
        for i in range(300):
            await client.publish(f"r/{i}", b"kept %d" % i, qos=1 + i % 2, retain=True)
        await client.publish("r/live", b"not kept")
        session = await Session(broker).opened("r/#")
        session.fetch(Fetch(5, ("r/#", "s/#")))
        await until(lambda: any(isinstance(e, Fetched) for e in session.events))
        found = next(e for e in session.events if isinstance(e, Fetched))
        assert {m.topic: m.payload for m in found.messages} == {
            f"r/{i}": b"kept %d" % i for i in range(300)
        }
        assert all(m.retain for m in found.messages)
        assert session.published() == []  # retained ones never come over the data session
        assert await fetch(Login("127.0.0.1", broker.port, "x"), ("none",)) == ()
        client.connection.close()
        await session.closed()

    run(scene())


def test_what_a_broker_cannot_keep_is_nothing_the_codec_stumbles_over(broker):
    """A payload that claims to be text and is none must not end the session."""

    async def scene():
        import mqtt5

        session = await Session(broker).opened("#")
        client = await Client.at(broker, "someone")
        odd = mqtt5.PublishPacket(
            "a", b"\xff\xfe", payload_format_indicator=1, user_properties=[("k", "v"), ("k", "w")]
        )
        client.connection.publish(0, odd.write())
        await client.publish("b")
        await until(lambda: len(session.published()) == 2)
        first, second = session.published()
        assert (first.message.payload, second.message.topic) == (b"\xff\xfe", "b")
        client.connection.close()
        await session.closed()

    run(scene())


class Followed(LogConnection):
    def __init__(self, broker, known=Known(), **options):  # noqa: B008
        self.events, self.notes, self.kept = [], [], {}
        login = Login("127.0.0.1", broker.port, client_id("m", "edge-1"))
        super().__init__(
            Endpoint(login, 2**24),
            self.events.append,
            lambda what, why: self.notes.append((what, why)),
            known,
            self.kept.__setitem__,
            **options,
        )

    def wanted(self):
        found = set()
        for event in self.events:
            assert isinstance(event, Wanted)
            found = (set() if event.whole else found - set(event.removed)) | set(event.added)
        return found

    def known(self):
        """Return what a process that follows would know."""
        return Known([s for client, s in self.kept.items() if client and s], self.kept.get(""))

    def gaps(self):
        return [why for what, why in self.notes if what == "log_gaps"]


async def stopped(followed, task):
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    followed.close()


def test_subscriptions_of_real_clients_are_followed(broker):
    async def scene():
        followed = Followed(broker)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.has_lines)
        odd = await Client.at(broker, "a b 1 c")
        await odd.subscribe("x/#", "y 2 z", "$share/g/jobs/+", "$SYS/#")
        await until(lambda: followed.wanted() == {"x/#", "y 2 z", "jobs/+"})
        odd.connection.unsubscribe(["x/#"])
        await until(lambda: followed.wanted() == {"y 2 z", "jobs/+"})
        many = await Client.at(broker, "many")
        names = [f"n/{i}/#" for i in range(3000)]
        for i in range(0, 3000, 100):
            await many.subscribe(*names[i : i + 100])
        await until(lambda: len(followed.wanted()) == 3002)
        odd.connection.close()
        many.connection.close()
        await stopped(followed, task)

    run(scene())


def test_a_clean_session_ends_also_for_an_agent_that_was_started_again(broker):
    async def scene():
        followed = Followed(broker)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.has_lines)
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        old = mqtt.Client(CallbackAPIVersion.VERSION2, "old")
        old.connect("127.0.0.1", broker.port)
        old.loop_start()
        old.subscribe("x/#", 1)
        await until(lambda: followed.wanted() == {"x/#"})
        await stopped(followed, task)
        old.disconnect()  # while no agent is there
        old.loop_stop()
        again = Followed(broker, followed.known())
        task = asyncio.create_task(again.run())
        await until(lambda: again.events and again.wanted() == set())
        await stopped(again, task)

    run(scene())


async def gap_in(broker, scene):
    """Follow clients, miss some lines, and follow again; return the notes of both."""
    followed = Followed(broker, **scene)
    task = asyncio.create_task(followed.run())
    await until(lambda: followed.has_lines)
    stays = await Client.at(broker, "stays")
    await stays.subscribe("early", "ended")
    await until(lambda: followed.wanted() == {"early", "ended"})
    await stopped(followed, task)
    # As if the agent had been away for longer than the broker keeps its session.
    await end_session(followed._endpoint.of("log"))
    late = await Client.at(broker, "late")
    await late.subscribe("missed")
    stays.connection.unsubscribe(["ended"])
    again = Followed(broker, followed.known(), **scene)
    task = asyncio.create_task(again.run())
    await until(lambda: again.gaps() or "missed" in again.wanted())
    await late.subscribe("later")
    await until(lambda: "later" in again.wanted())
    assert again.kept[""].is_settled
    for each in (stays, late):
        each.connection.close()
    await stopped(again, task)
    assert followed.gaps() == []
    return again


def test_lines_that_the_broker_did_not_keep_for_a_new_process_are_reported(broker):
    async def scene():
        again = await gap_in(broker, {})
        assert len(again.gaps()) == 1
        assert "until they subscribe again" in again.gaps()[0]
        assert again.wanted() >= {"early", "ended"}  # in doubt they are kept

    run(scene())


def test_lines_that_the_broker_did_not_keep_are_read_from_its_log_file(broker):
    async def scene():
        again = await gap_in(broker, {"log_file": broker.place / LOG})
        assert again.gaps() == []
        assert again.wanted() == {"early", "missed", "later"}

    run(scene())


def test_subscriptions_from_before_the_first_start_are_learnt_from_a_log_file_set_later(broker):
    async def scene():
        before = await Client.at(broker, "before")
        await before.subscribe("early")
        followed = Followed(broker)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.has_lines)
        await before.subscribe("seen")
        await until(lambda: followed.wanted() == {"seen"})
        await stopped(followed, task)
        again = Followed(broker, followed.known(), log_file=broker.place / LOG)
        task = asyncio.create_task(again.run())
        await until(lambda: again.events and again.wanted() == {"early", "seen"})
        assert again.gaps() == []
        before.connection.close()
        await stopped(again, task)

    run(scene())


def test_the_broker_counts_what_is_known_and_what_was_missed(tmp_path):
    """Every two seconds, with sessions of all kinds."""
    made = LocalBroker(tmp_path / "broker", free_ports(1)[0], log=LINES + "sys_interval 1\n")
    made.start()
    made.wait()

    async def scene():
        early = await Client.at(made, "early")
        await early.subscribe("a", "b/+", "$SYS/broker/load/#", "$share/g/x")
        session = await Session(made).opened("x/#", "y", "#")
        followed = Followed(made, n_own=lambda: session.n_filters)
        task = asyncio.create_task(followed.run())
        compared = followed.comparison
        await until(lambda: followed.n_unknown == 3)  # shared ones are not counted
        assert "the broker has 12 subscriptions, 9 are known" in dict(followed.notes).popitem()[1]
        early.connection.close()
        early = await Client.at(made, "early")
        await early.subscribe("a", "b/+", "b/+", "$SYS/broker/load/#", "$share/g/x")
        stays = await Client.at(made, "stays", clean=False, expiry=600)
        await stays.subscribe("kept", "$SYS/broker/uptime", "#")
        stays.connection.unsubscribe(["$SYS/broker/uptime", "nothing"])
        stays.connection.close()
        await until(lambda: compared._count == compared._then == 9 + 3 + 2)
        await until(lambda: followed.n_unknown == 0)
        early.connection.close()
        await session.closed()
        await stopped(followed, task)

    try:
        run(scene())
    finally:
        made.kill()


def test_a_restarted_broker_is_noticed_by_an_agent_that_was_there_and_by_a_new_one(broker):
    async def scene():
        followed = Followed(broker)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.has_lines)
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        old = mqtt.Client(CallbackAPIVersion.VERSION2, "old")
        old.connect("127.0.0.1", broker.port)
        old.loop_start()
        old.subscribe("x/#", 1)
        await until(lambda: followed.wanted() == {"x/#"})
        await until(lambda: followed.kept[""].uptime)  # its second figure
        before = followed.known()
        old.loop_stop()  # it does not connect again
        await asyncio.to_thread(broker.kill)
        broker.start()
        await asyncio.to_thread(broker.wait)
        await until(lambda: followed.wanted() == set())
        assert "broker_restarts" in dict(followed.notes)
        await stopped(followed, task)
        again = Followed(broker, before)
        task = asyncio.create_task(again.run())
        await until(lambda: again.events and again.wanted() == set())
        await stopped(again, task)

    run(scene())


def test_a_broker_without_the_log_lines_is_named_with_what_to_add(tmp_path, monkeypatch):
    monkeypatch.setattr("meshwright.mesh.adapters.log_connection.PROOF_SECONDS", 0.5)
    made = LocalBroker(tmp_path / "broker", free_ports(1)[0], log="")
    made.start()
    made.wait()

    async def scene():
        followed = Followed(made)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.notes)
        assert followed.notes[0][0] == "brokers_without_log"
        assert "Add the lines of the agent's mosquitto.conf" in followed.notes[0][1]
        await stopped(followed, task)

    try:
        run(scene())
    finally:
        made.kill()


def test_lines_that_come_by_a_sighup_are_found_though_no_client_subscribes(tmp_path, monkeypatch):
    monkeypatch.setattr("meshwright.mesh.adapters.log_connection.PROOF_SECONDS", 0.5)
    made = LocalBroker(tmp_path / "broker", free_ports(1)[0], log="")
    made.start()
    made.wait()

    async def scene():
        followed = Followed(made)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.notes)
        with (made.place / "mosquitto.conf").open("a") as file:
            file.write(LINES)
        made.signal(signal.SIGHUP)
        await until(lambda: followed.has_lines)
        assert [what for what, _ in followed.notes] == ["brokers_without_log"]
        await stopped(followed, task)

    try:
        run(scene())
    finally:
        made.kill()


def test_a_broker_that_comes_back_without_the_lines_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("meshwright.mesh.adapters.log_connection.PROOF_SECONDS", 0.5)
    made = LocalBroker(tmp_path / "broker", free_ports(1)[0])
    made.start()
    made.wait()

    async def scene():
        followed = Followed(made)
        task = asyncio.create_task(followed.run())
        await until(lambda: followed.has_lines)
        made.kill()
        conf = made.place / "mosquitto.conf"
        conf.write_text(conf.read_text().replace(LINES, ""))
        made.start()
        made.wait()
        await until(lambda: not followed.has_lines)
        assert "brokers_without_log" in [what for what, _ in followed.notes]
        await stopped(followed, task)

    try:
        run(scene())
    finally:
        made.kill()
