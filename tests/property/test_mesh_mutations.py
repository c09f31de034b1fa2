"""The simulation notices a broken core: each test breaks one rule and looks for violations."""

import pytest

from meshwright.mesh.core import intake
from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.farewell import Farewell
from meshwright.mesh.core.frames import Drained
from meshwright.mesh.core.origin import Origin
from meshwright.mesh.core.planner import Planner
from meshwright.mesh.core.receipts import Receipts
from meshwright.mesh.core.receiver import Receiver
from meshwright.mesh.core.relay import Relay
from meshwright.mesh.core.retained import Retained
from meshwright.mesh.core.values import Message
from meshwright.mesh.core.writes import Writes
from meshwright.mesh.simulator.design import draw_design
from meshwright.mesh.simulator.mesh import Mesh, Options
from meshwright.mesh.simulator.scenario import ANY, Plan, run_scenario

# Agents that crash again and again while their brokers send.
CRASHES = Plan(n_nodes=(2, 3), kinds=("agent",), faults=(4, 8), routings=("tree",))
# Brokers that leave while their clients publish.
REMOVALS = Plan(
    n_nodes=(3, 5),
    kinds=("agent", "partition"),
    added=(0, 1),
    removed=(1, 2),
    loses_planner=(False,),
)
# Messages that expire while they wait for those before them.
EXPIRIES = Plan(
    kinds=("slow broker", "kept", "link", "slow link", "partition", "agent"),
    faults=(2, 5),
    expiries=(None, None, 0.5, 3.0),
    added=(0,),
    removed=(0,),
    loses_planner=(False,),
    full_disks=(0,),
)
# Many messages while links and brokers are slow.
LOADED = Plan(
    n_nodes=(4, 7),
    kinds=("slow link", "slow broker"),
    faults=(3, 5),
    posts=(150, 200),
    rooms=(100_000,),
    changes=(0, 2),
    added=(0,),
    removed=(0,),
    loses_planner=(False,),
    full_disks=(0,),
)
# Retained messages of several writers.
RETAINING = Plan(
    kinds=("agent", "partition", "link"),
    faults=(0, 2),
    retained=(6, 14),
    changes=(2, 8),
    added=(0,),
    removed=(0,),
    loses_planner=(False,),
)
MOST_SEEDS = 60


def first_violation(plan, seeds=range(MOST_SEEDS)):
    """Return what the oracle says of the first life that goes wrong, or None."""
    for seed in seeds:
        for violation in run_scenario(seed, plan).violations:
            return violation.text
    return None


def test_without_deduplication_messages_are_doubled(monkeypatch):
    monkeypatch.setattr(Receipts, "has", lambda self, id_: False)
    assert first_violation(ANY).startswith("doubled")


def test_acknowledging_before_the_journal_loses_messages(monkeypatch):
    start = Origin._start

    def accept_first(self, pending):
        self._accept(pending.packet)
        start(self, pending)

    monkeypatch.setattr(Origin, "_start", accept_first)
    assert first_violation(CRASHES).startswith("lost")


def test_routing_by_the_newest_version_sends_messages_astray(monkeypatch):
    take = Agent._take
    newest = lambda self, peer, frame: take(  # noqa: E731
        self, peer, frame._replace(version=self.log.newest)
    )
    monkeypatch.setattr(Agent, "_take", newest)
    assert first_violation(ANY).startswith("route")


def test_packet_ids_without_a_digest_swallow_messages(monkeypatch):
    monkeypatch.setattr(intake, "digest", lambda message: b"")
    assert first_violation(CRASHES).startswith("lost")


def test_forgetting_packet_ids_doubles_messages(monkeypatch):
    monkeypatch.setattr(intake.Intake, "identify", lambda *_, **__: None)
    assert first_violation(CRASHES).startswith("doubled")


def test_not_waiting_for_the_message_before_breaks_the_order(monkeypatch):
    monkeypatch.setattr(Receiver, "_must_wait", lambda *_: False)
    assert first_violation(ANY).startswith("out of order")


def test_a_floor_that_is_too_high_loses_messages(monkeypatch):
    monkeypatch.setattr(Origin, "floor", lambda self: ((self.incarnation, self._counter + 1), ()))
    assert first_violation(ANY).startswith("lost")


def test_forgetting_the_message_before_an_expired_one_breaks_the_order(monkeypatch):
    """Seeds like this one broke the order until "never" named the message to wait for instead."""
    monkeypatch.setattr(Origin, "_owed_before", lambda self, frame: None)
    assert first_violation(EXPIRIES, [83]).startswith("out of order")


def test_a_message_whose_expiry_is_forgotten_comes_late(monkeypatch):
    publish = Receiver._publish

    def publish_whatever_its_age(self, item):
        item.deadline = None
        publish(self, item)

    monkeypatch.setattr(Origin, "_is_expired", lambda self, pending: False)
    monkeypatch.setattr(Receiver, "_publish", publish_whatever_its_age)
    found = [v.text for seed in range(MOST_SEEDS) for v in run_scenario(seed).violations]
    assert any(text.startswith("late") for text in found)


def test_a_broker_that_leaves_before_all_is_sent_loses_messages(monkeypatch):
    def tell_at_once(self):
        if self.is_leaving:
            self._out.to_planner(Drained(self._node))

    monkeypatch.setattr(Farewell, "_begin", tell_at_once)
    found = [v.text for seed in range(MOST_SEEDS) for v in run_scenario(seed, REMOVALS).violations]
    assert any(text.startswith("lost") for text in found)


def test_a_broker_that_nobody_takes_out_is_noticed(monkeypatch):
    monkeypatch.setattr(Farewell, "tell", lambda self: None)
    assert "still counts" in first_violation(REMOVALS)


def test_forgetting_what_changed_during_a_slow_design_leaves_relays(monkeypatch):
    forgetful = property(lambda self: False, lambda self, waits: None)
    monkeypatch.setattr(Planner, "_design_waits", forgetful, raising=False)
    found = [v.text for seed in (42, 111) for v in run_scenario(seed).violations]
    assert [text.partition(":")[0] for text in found] == ["unplanned", "unplanned"]


def test_taking_what_a_full_disk_refused_for_stored_breaks_the_promises(monkeypatch):
    """As it was with the identities of messages, before a full disk was drawn."""
    plan = CRASHES._replace(full_disks=(3, 4))
    answered = Writes._answered

    def careless(self, write, failure, is_retry):
        answered(
            self, write, None if write.key[0] in ("packet", "delivered") else failure, is_retry
        )

    monkeypatch.setattr(Writes, "_answered", careless)
    assert first_violation(plan).startswith("doubled")


def test_a_full_link_that_holds_up_the_others_slows_them_and_nothing_else(monkeypatch):
    pass_on = Relay.pass_on

    def pass_on_unless_full(self, frame, route, hop):
        if self._out.full:
            return set().union(*(route.serves[child] for child in route.children.get(hop, ())))
        return pass_on(self, frame, route, hop)

    assert run_scenario(9, LOADED).violations == []
    monkeypatch.setattr(Relay, "pass_on", pass_on_unless_full)
    found = [violation.text for violation in run_scenario(9, LOADED).violations]
    assert {text.partition(":")[0] for text in found} == {"slowed"}


def test_retained_messages_that_ignore_their_stamps_differ_at_the_end(monkeypatch):
    def always_retain(self, item):
        return item.message if item.stamp is None else item.message._replace(retain=True)

    assert run_scenario(20, RETAINING).violations == []
    monkeypatch.setattr(Retained, "before_publish", always_retain)
    assert first_violation(RETAINING, [20]).startswith("retained")


class Blocking(Agent):
    """An agent that stops reading while one of its links is full."""

    @property
    def reads(self):
        return not self.out.full


def crossing_bursts(agent_class):
    """Return how many of the messages arrive that two brokers publish at the same time."""
    mesh = Mesh(1, Options(2, room=5), draw_design(1, "tree"), agent_class)
    mesh.network.reads = lambda node: getattr(mesh.parts.get(node), "reads", True)
    for broker in mesh.brokers:
        broker.subscribe("a")
    for part in (PLANNER, 0, 1):
        mesh.start(part)
    for number in range(40):
        for broker in mesh.brokers:
            message = Message("a", f"{number}".encode())
            mesh.clock.at(4.0, lambda broker=broker, message=message: broker.publish(message))
    mesh.clock.run(60.0)
    return sum(len(broker.arrivals) for broker in mesh.brokers)


@pytest.mark.parametrize(("agent_class", "arrive"), [(Agent, True), (Blocking, False)])
def test_full_links_that_wait_for_each_other_stand_still(agent_class, arrive):
    assert (crossing_bursts(agent_class) == 80) == arrive


def test_new_packet_ids_that_are_taken_for_the_old_ones_break_the_promises(monkeypatch):
    """Brokers that give new packet ids to what comes again need `_renumber`."""
    plan = CRASHES._replace(same_packet_ids=False)
    assert first_violation(plan) is None
    monkeypatch.setattr(intake.Intake, "_renumber", lambda self, _, packet: self.table.get(packet))
    assert first_violation(plan).startswith("doubled")
