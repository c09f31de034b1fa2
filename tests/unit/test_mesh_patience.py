"""Agents that answer late, because their machines are busy, do not get everything several times."""

from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.values import Message
from meshwright.mesh.simulator.design import draw_design
from meshwright.mesh.simulator.mesh import Mesh, Options

N_NODES, N_MESSAGES = 4, 100


def test_late_answers_do_not_multiply_the_copies_of_messages():
    mesh = Mesh(5, Options(N_NODES, room=10_000), draw_design(5, "tree"))
    for broker in mesh.brokers:
        broker.subscribe("a")
    for part in (PLANNER, *range(N_NODES)):
        mesh.start(part)
    mesh.clock.run(5.0)
    for connection in mesh.network._open.values():
        for pipe in connection.pipes.values():
            pipe.low, pipe.high = 0.8, 1.0  # a hop and its answer take longer than `retry_after`
    for number in range(2 * N_MESSAGES):
        mesh.keeps_sent = number >= N_MESSAGES  # by then the origin knows how long answers take
        mesh.brokers[0].publish(Message("a", b"%d" % number, 1))
        mesh.clock.run(mesh.clock.now + 0.1)
    mesh.clock.run(mesh.clock.now + 30.0)
    for broker in mesh.brokers[1:]:
        assert [int(a.message.payload) for a in broker.arrivals] == list(range(2 * N_MESSAGES))
    assert len(mesh.sent) <= 1.5 * (N_NODES - 1) * N_MESSAGES
