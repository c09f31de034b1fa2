"""`mesh status --watch`: rates between two looks, and what fits on a terminal."""

from pathlib import Path

import pytest
from rich.console import Console

from meshwright.cli.mesh_watch import Look, View, broker_rows, plain_lines, total_rates
from meshwright.mesh.status import MeshStatus

HOSTILE = "\x1b[31mred\x1b[0m\u202e" + "x" * 300


def look(at: float, rows, **facts) -> Look:
    n = len(rows)
    known = {"planner_up": True, "n_agents_up": n, "n_brokers_up": n, "version": "3.120", **facts}
    return Look(at, 1_700_000_000.0 + at, MeshStatus(n, rows=list(rows), **known))


def row(name="edge-1", taken=0, delivered=0, journal=0, mailbox=0):
    return (name, 2, 5, taken, delivered, journal, mailbox)


def drawn(*looks: Look, width: int = 80, height: int = 24) -> list[str]:
    view = View(Path("MESH"))
    for each in looks:
        view.take(each)
    console = Console(width=width, height=height, color_system=None, record=True, file=None)
    with console.capture() as shown:
        console.print(view, height=height)
    return shown.get().splitlines()


def test_rates_are_counted_between_two_looks():
    first = look(10.0, [row(taken=100, delivered=10)], counters={"relayed": 4})
    then = look(14.0, [row(taken=120, delivered=50)], counters={"relayed": 10})
    (found,) = broker_rows(first, then)
    assert (found.taken, found.delivered) == (5.0, 10.0)
    assert total_rates(first, then) == {"taken": 5.0, "delivered": 10.0, "relayed": 1.5}
    assert total_rates(None, first) == {"taken": None, "delivered": None, "relayed": None}


def test_an_agent_that_was_started_again_has_no_rate_for_a_moment():
    first = look(10.0, [row(taken=100), row("b", taken=5)])
    then = look(12.0, [row(taken=3), row("b", taken=9)])
    assert {found.name: found.taken for found in broker_rows(first, then)} == {
        "edge-1": None,
        "b": 2.0,
    }
    assert total_rates(first, then)["taken"] == 2.0


def test_what_waits_comes_first_then_the_busiest():
    rows = [row("calm"), row("busy", taken=90), row("waits", mailbox=3)]
    first = look(10.0, [row("calm"), row("busy"), row("waits")])
    order = [found.name for found in broker_rows(first, look(12.0, rows))]
    assert order == ["waits", "busy", "calm"]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 14), (40, 8), (200, 50)])
@pytest.mark.parametrize("n", [1, 12, 500])
def test_everything_fits_the_terminal(width, height, n):
    findings = [f"the agent of {'b' * 100!r} does not answer"] * 9
    rows = [row(f"edge-{i}", taken=i) for i in range(n - 1)] + [row(HOSTILE)]
    now = look(12.0, rows, findings=findings)
    lines = drawn(look(10.0, rows), now, width=width, height=height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert "q ends" in text
    assert "and" in text
    assert "more" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_first_look_says_that_it_asks():
    view = View(Path("MESH"))
    console = Console(width=80, color_system=None)
    with console.capture() as shown:
        console.print(view)
    assert "asking its processes" in shown.get()


def test_without_a_terminal_a_look_is_a_line_and_each_finding_another():
    first = look(10.0, [row(taken=100, delivered=10)])
    wrong = ["the broker 'a' is out of its agent's reach", HOSTILE]
    then = look(12.0, [row(taken=140, delivered=11)], findings=wrong, n_links_planned=3)
    head, *rest = plain_lines(first, then)
    assert head[10:] == "brokers 1/1  links 0/3  in 20/s  out 0.5/s  waiting 0  version 3.120"
    assert len(head) <= 80
    assert rest[0].strip() == wrong[0]
    assert "\x1b" not in rest[1]
