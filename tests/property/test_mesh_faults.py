"""The promises of the living mesh over drawn networks, clients and faults (docs/mesh.md)."""

import pytest

from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.simulator.design import draw_design
from meshwright.mesh.simulator.mesh import Mesh, Options
from meshwright.mesh.simulator.scenario import Plan, run_scenario

BLOCK = 20  # seeds of one test


@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_the_promises_hold_whatever_fails(first):
    broken = {
        seed: found
        for seed in range(first, first + BLOCK)
        if (found := run_scenario(seed).violations)
    }
    assert broken == {}


@pytest.mark.parametrize("first", range(0, 100, BLOCK))
def test_the_promises_hold_at_brokers_that_give_new_packet_ids_to_what_comes_again(first):
    plan = Plan(same_packet_ids=False)
    broken = {
        seed: found
        for seed in range(first, first + BLOCK)
        if (found := run_scenario(seed, plan).violations)
    }
    assert broken == {}


@pytest.mark.parametrize("first", range(0, 40, BLOCK))
def test_without_faults_nothing_is_lost_doubled_or_out_of_order(first):
    same = {"added": (0,), "removed": (0,), "loses_planner": (False,)}
    plan = Plan(faults=(0, 0), posts=(30, 60), **same)
    n_refused = 0
    for seed in range(first, first + BLOCK):
        result = run_scenario(seed, plan)
        assert result.violations == []
        n_refused += result.mesh.notes["refused"]
    # Now and then one meets a link of a new overlay that is not up yet, and is sent again.
    assert n_refused <= BLOCK // 10


def test_larger_meshes_keep_the_promises_too():
    plan = Plan(n_nodes=(15, 30), posts=(20, 40))
    assert [run_scenario(seed, plan).violations for seed in range(4)] == [[]] * 4


def test_brokers_come_and_go_whatever_fails_and_the_planner_loses_its_files():
    """Seed 7: a broker was added and removed again while the planner was away."""
    plan = Plan(added=(2, 3), removed=(2, 3), loses_planner=(True,))
    broken = {
        seed: found for seed in range(BLOCK) if (found := run_scenario(seed, plan).violations)
    }
    assert broken == {}


def test_retained_messages_agree_in_the_end_whatever_fails():
    """Seed 20: a full disk held a client's message up, and its broker took an older one then."""
    plan = Plan(
        kinds=("agent", "partition", "link"), faults=(0, 2), retained=(6, 14), changes=(2, 8)
    )
    broken = {
        seed: found for seed in range(2 * BLOCK) if (found := run_scenario(seed, plan).violations)
    }
    assert broken == {}


def test_two_subscriptions_close_together_both_count():
    """Seed 542 once lost messages: the simulated adapter's two reports changed places."""
    for seed in range(20):
        mesh = Mesh(seed, Options(2), draw_design(seed, "tree"))
        for part in (PLANNER, 0, 1):
            mesh.start(part)
        mesh.clock.run(4.0)
        for pattern in ("a", "b"):
            mesh.brokers[1].subscribe(pattern)
            mesh.report_wants(1)
            mesh.clock.run(mesh.clock.now + 0.005)
        mesh.clock.run(6.0)
        assert mesh.parts[0].log.filters_of[1] == {"a", "b"}


def test_a_seed_gives_the_same_life_again():
    one, other = run_scenario(11), run_scenario(11)
    assert one.history == other.history
    assert one.mesh.notes == other.mesh.notes
