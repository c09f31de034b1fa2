"""What the adapter of RabbitMQ declares and does, at a real one."""

import asyncio
import time
from contextlib import suppress

import mqtt5
import pytest

from meshwright.deploy.lab.processes import free_ports, stop
from meshwright.mesh.adapters.adapter import Endpoint, Surroundings, client_id
from meshwright.mesh.adapters.copies import n_copies
from meshwright.mesh.adapters.fetching import fetch
from meshwright.mesh.adapters.rabbitmq import BindingFollower, capabilities
from meshwright.mesh.adapters.session import DataSession
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.core.events import (
    Accept,
    BrokerUp,
    Publish,
    Published,
    SetSubscriptions,
    Subscribed,
    Taken,
    Wanted,
)
from meshwright.mesh.core.values import Message
from meshwright.mesh.lab.rabbitmq import MORE_PORTS, LocalRabbit, find_rabbitmq
from meshwright.mesh.shell.mqtt import Login, connect
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(find_rabbitmq() is None, reason="rabbitmq-server is not installed")

CAN = capabilities({})


@pytest.fixture(scope="module")
def rabbit(tmp_path_factory):
    made = LocalRabbit(tmp_path_factory.mktemp("rabbit"), free_ports(1 + MORE_PORTS))
    try:
        made.start()
        made.wait()
        yield made
    finally:
        stop(made.processes)


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 180))


def login_of(rabbit, name, **options):
    return Login("127.0.0.1", rabbit.port, name, protocol=CAN.protocol, **options)


async def client(rabbit, name, **options):
    return await MeshClient.open(login_of(rabbit, name, **options))


class Packets(MeshClient):
    """A client that keeps packets, and acknowledges them when it is told to."""

    @classmethod
    async def at(cls, rabbit, name, **options):
        made = cls()
        made.packets = []
        made.connection, made.resumed = await connect(login_of(rabbit, name, **options), made)
        return made

    def broker_message(self, packet):
        self.packets.append(packet)


def test_it_sends_one_copy_however_many_filters_match(rabbit):
    assert asyncio.run(n_copies(login_of(rabbit, "copies"))) == 1


def test_it_has_a_small_window_and_new_packet_ids_for_what_comes_again(rabbit):
    async def scene():
        assert not CAN.same_packet_ids
        sender = await client(rabbit, "sender")
        slow = await Packets.at(rabbit, "slow", clean=False)
        await slow.subscribe("window/#")
        for i in range(2 * CAN.window):
            await sender.publish("window/x", b"%d" % i)
        await until(lambda: len(slow.packets) == CAN.window, SECONDS)
        await asyncio.sleep(0.3)
        assert len(slow.packets) == CAN.window
        for packet in slow.packets[2:5]:
            slow.connection.acknowledge(packet.packet_id, 1)
        await until(lambda: len(slow.packets) == CAN.window + 3, SECONDS)
        before = slow.packets
        slow.connection.abort("cut by the test")
        again = await Packets.at(rabbit, "slow", clean=False)
        assert again.resumed
        await until(lambda: len(again.packets) == CAN.window, SECONDS)
        left = [packet for packet in before if packet not in before[2:5]]
        assert [p.payload for p in again.packets] == [p.payload for p in left]  # in order
        assert all(p.duplicate for p in again.packets)
        assert [p.packet_id for p in again.packets] != [p.packet_id for p in left]
        await again.subscribe("window/#")  # without it the next line would have no effect
        await again.unsubscribe("window/#")
        for each in (sender, again):
            each.close()

    run(scene())


def test_it_changes_names_as_declared_and_no_others(rabbit):
    async def scene():
        sender, reader = await client(rabbit, "s"), await client(rabbit, "r")
        await reader.subscribe("#")
        names = ["a b/c d", "o//y", "/o/x", "ö/ü", "$x/y", "n/" + 3_000 * "x", "v1.0/x"]
        for name in names:
            await sender.publish(name)
        await until(lambda: len(reader.got) == len(names), SECONDS)
        for name, got in zip(names, reader.got, strict=True):
            assert (got.topic == name) == CAN.carries(name)
        for each in (sender, reader):
            each.close()

    run(scene())


def test_it_keeps_retained_messages_for_names_only(rabbit):
    async def scene():
        sender, reader = await client(rabbit, "s"), await client(rabbit, "r")
        await reader.subscribe("kept/#")
        for i in range(30):
            await sender.publish(f"kept/{i}", b"%d" % i, retain=True)
        await until(lambda: len(reader.got) == 30, SECONDS)
        assert not any(got.retain for got in reader.got)  # so an agent cannot see it
        login = login_of(rabbit, "fetch")
        assert [m.payload for m in await fetch(login, ("kept/3", "kept/none"))] == [b"3"]
        assert len(await fetch(login, [f"kept/{i}" for i in range(40)])) == 30
        assert await fetch(login, ("kept/#",)) == ()
        await sender.publish("kept/3", b"", retain=True)
        assert await fetch(login, ("kept/3",)) == ()
        for each in (sender, reader):
            each.close()

    run(scene())


def test_a_publish_of_qos_2_counts_as_one_of_qos_1(rabbit):
    async def scene():
        assert CAN.qos == 1
        reader = await Packets.at(rabbit, "r")
        await reader.subscribe("two")
        await reader.publish("two", b"x", qos=2)  # it answers with PUBACK
        await until(lambda: bool(reader.packets), SECONDS)
        assert reader.packets[0].qos == mqtt5.QoS.AT_LEAST_ONCE
        reader.close()

    run(scene())


class Follows:
    """A follower with what it told."""

    def __init__(self, rabbit, left_out="meshwright-agent."):
        self.events, self.notes, self._left_out = [], [], left_out
        around = Surroundings(
            Endpoint(login_of(rabbit, client_id("m", "edge")), 2**24),
            self.events.append,
            lambda what, why: self.notes.append((what, why)),
            (),
            lambda *_: None,
            options={"management": f"http://127.0.0.1:{rabbit.management}"},
        )
        self.follower = BindingFollower(around)

    async def __aenter__(self):
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr("meshwright.mesh.adapters.bindings.AGENT", self._left_out)
        self.task = asyncio.create_task(self.follower.run())
        await until(lambda: self.follower.is_following, SECONDS)
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        self.follower.close()
        self._patch.undo()

    async def sees(self, *names):
        await until(lambda: self.follower.wanted() == set(names), SECONDS)
        assert self.follower.wanted() == set(names)


def test_subscriptions_are_followed_also_of_sessions_that_are_offline(rabbit):
    async def scene():
        async with Follows(rabbit) as follows:
            await follows.sees()
            durable = await client(rabbit, "offline session 1", clean=False)
            begin = time.monotonic()
            await durable.subscribe("a/+/b c", "#")
            await follows.sees("a/+/b c", "#")
            assert time.monotonic() - begin < SECONDS
            await durable.unsubscribe("#")
            durable.close()
            brief = await client(rabbit, "brief")
            await brief.subscribe("brief/#")
            agent = await client(rabbit, client_id("m", "edge") + ".data", clean=False)
            await agent.subscribe("of/an/agent")
            await follows.sees("a/+/b c", "brief/#")
            brief.close()
            await follows.sees("a/+/b c")
            again = await client(rabbit, "offline session 1", clean=True)  # it ends here
            await follows.sees()
            for each in (again, agent):
                each.close()
            assert follows.notes == []
            assert type(follows.events[0]) is Wanted
            assert [event.whole for event in follows.events[:2]] == [True, False]

    run(scene())


def test_without_an_answer_what_was_wanted_is_kept(rabbit):
    async def scene():
        async with Follows(rabbit) as follows:
            reader = await client(rabbit, "reader")
            await reader.subscribe("kept/interest")
            await follows.sees("kept/interest")
            follows.follower._management._headers["Authorization"] = "Basic bm9ib2R5Og=="
            await until(lambda: bool(follows.notes), SECONDS)
            assert follows.notes[0][0] == "management_failures"
            assert "answers 401 Unauthorized" in follows.notes[0][1]
            assert not follows.follower.is_following
            assert follows.follower.wanted() == {"kept/interest"}
            reader.close()

    run(scene())


class Session(DataSession):
    """The data session, with the events it told, and what it keeps on disk."""

    def __init__(self, rabbit, disk):
        self.events = []
        endpoint = Endpoint(login_of(rabbit, client_id("m", "session")), 2**24)

        def remember(key, value):
            disk[key] = value
            if value is None:
                del disk[key]

        super().__init__(
            endpoint, self.events.append, lambda *_: None, list(disk.items()), remember, CAN
        )

    async def opened(self, *filters):
        self.task = asyncio.create_task(self.run())
        await until(lambda: any(isinstance(e, BrokerUp) for e in self.events), SECONDS)
        self.set_subscriptions(SetSubscriptions(1, filters, ()))
        await until(lambda: any(type(e) is Subscribed for e in self.events), SECONDS)
        return self

    async def killed(self):
        """End as kill -9 does."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        self._connection.abort("killed")
        await asyncio.sleep(0)

    def published(self):
        return [e for e in self.events if isinstance(e, Published)]

    def accepted(self):
        """Accept all that came, and return how many."""
        for each in self.published():
            self.accept(Accept(each.packet))
        return len(self.published())

    def taken(self):
        return {e.token for e in self.events if type(e) is Taken}


def test_own_messages_do_not_come_back_and_equal_ones_of_clients_do(rabbit):
    async def scene():
        disk = {}
        session = await Session(rabbit, disk).opened("echo/#", "echo/+", "other.unfit/#")
        someone = await client(rabbit, "someone")
        for i in range(50):
            session.publish(Publish(i, Message("echo/x", b"equal")))
            if i % 2:
                await someone.publish("echo/x", b"equal")
            session.publish(Publish(100 + i, Message("elsewhere", b"no subscription of ours")))
        await until(lambda: len(session.taken()) == 100, SECONDS)
        await until(lambda: session.accepted() >= 25 and not session._echoes.n_due, SECONDS)
        await asyncio.sleep(0.3)
        assert [p.message.payload for p in session.published()] == 25 * [b"equal"]
        await asyncio.sleep(0.3)
        await session.killed()
        again = await Session(rabbit, disk).opened()
        await asyncio.sleep(0.3)
        assert again.published() == []  # all were acknowledged
        again.set_subscriptions(SetSubscriptions(2, (), ("echo/#", "echo/+")))
        await until(lambda: Subscribed(2) in again.events, SECONDS)
        await someone.publish("echo/x", b"to nobody")
        async with Follows(rabbit, left_out="nobody") as follows:
            bound = follows.follower.wanted()  # agents included
            assert again._fence in bound
            assert not [name for name in bound if name.startswith("echo/")]
        assert again.published() == []
        await again.killed()
        someone.close()

    run(scene())


def test_echoes_that_waited_while_the_agent_was_killed_are_left_out(rabbit):
    async def scene():
        disk = {}
        session = await Session(rabbit, disk).opened("late/#")
        someone = await client(rabbit, "someone")
        for i in range(CAN.window):  # not accepted: they fill the window
            await someone.publish("late/held", b"%d" % i)
        await until(lambda: len(session.published()) == CAN.window, SECONDS)
        for i in range(20):
            session.publish(Publish(i, Message("late/own", b"%d" % i)))
        await until(lambda: len(session.taken()) == 20, SECONDS)
        await someone.publish("late/own", b"7")  # equal to one of ours
        await session.killed()
        again = await Session(rabbit, disk).opened("late/#")
        await until(lambda: again.accepted() > CAN.window and not again._echoes.n_due, SECONDS)
        await asyncio.sleep(0.3)
        found = [p.message.payload for p in again.published()]
        assert found == [*(b"%d" % i for i in range(CAN.window)), b"7"]
        assert not again._echoes._fences  # it is back
        assert len({p.packet for p in (*session.published(), *again.published())}) == 21
        again.set_subscriptions(SetSubscriptions(2, (), ("late/#",)))
        await until(lambda: Subscribed(2) in again.events, SECONDS)
        await again.killed()
        someone.close()

    run(scene())
