"""What adapters declare, and files of interests."""

import asyncio
import os
import re
from pathlib import Path

import pytest

from meshwright.errors import InputError
from meshwright.mesh.adapters.adapter import ALL, Capabilities, Endpoint, Surroundings
from meshwright.mesh.adapters.declared import FILE, TEXT, Declared, read_interests
from meshwright.mesh.config import read_agent, read_mesh
from meshwright.mesh.core.events import Wanted
from meshwright.mesh.init import InitRequest, init, next_steps
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.process import agent_adapter, agent_login, agent_options


def test_a_broker_carries_names_that_it_does_not_change():
    assert ALL.carries("a.b/c d*")
    assert not Capabilities(unfit=".*").carries("a.b")
    assert Capabilities(unfit=".*").carries("a b/c")
    assert not Capabilities(longest_name=255).carries("ä" * 128)
    assert Capabilities(longest_name=255).carries("ä" * 127)
    assert Capabilities(retained_by_wildcard=False).retains("a/b")
    assert not Capabilities(retained_by_wildcard=False).retains("a/#")


def followed(place: Path):
    events, notes = [], []
    around = Surroundings(
        Endpoint(Login("127.0.0.1", 1, "x"), 1),
        events.append,
        lambda what, why: notes.append((what, why)),
        (),
        lambda *_: None,
        place,
    )
    return Declared(around), events, notes


def write(place: Path, text: str, at: int) -> None:
    """Write as an editor does, with a time that differs from the last."""
    (place / "new").write_text(text, encoding="utf-8")
    os.utime(place / "new", ns=(at, at))
    (place / "new").replace(place / FILE)


def test_a_file_of_interests_is_followed(tmp_path):
    declared, events, notes = followed(tmp_path)
    declared.look()
    assert not declared.is_following
    assert notes[0][0] == "interests_unreadable"
    declared.look()
    assert len(notes) == 1  # once is enough
    write(tmp_path, "# a comment\n\na/#\nb c\r\n", 1)
    declared.look()
    assert events == [Wanted(True, ("a/#", "b c"))]
    assert declared.is_following
    declared.look()
    write(tmp_path, "#\nb c\n", 2)
    declared.look()
    assert events[1:] == [Wanted(False, ("#",), ("a/#",))]
    write(tmp_path, "b/#/c\n", 3)
    declared.look()
    assert "line 1: 'b/#/c' has a '#' that is not its whole last level" in notes[-1][1]
    assert declared.wanted() == {"#", "b c"}  # kept
    write(tmp_path, "", 4)
    declared.look()
    assert events[2:] == [Wanted(False, (), ("#", "b c"))]


def test_the_file_that_init_writes_is_one_that_can_be_read(tmp_path):
    (tmp_path / FILE).write_text(TEXT)
    assert read_interests(tmp_path / FILE) == {"meshwright-verify/#"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"$SYS/#\n", "belongs to each broker itself"),
        (b"$share/g/a\n", "is a shared subscription"),
        (b"$other\n", "begins with '$'"),
        (b"a\n\xff\n", "is not UTF-8 text"),
        (b"+a\n#/b\n", "line 1: '+a' has a '+' that is not a whole level and 1 more"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, text, why):
    (tmp_path / FILE).write_bytes(text)
    with pytest.raises(InputError, match=re.escape(why)):
        read_interests(tmp_path / FILE)


def test_a_loop_reads_the_file_again(tmp_path, monkeypatch):
    monkeypatch.setattr("meshwright.mesh.adapters.declared.EVERY", 0.01)
    declared, events, _ = followed(tmp_path)
    write(tmp_path, "a\n", 1)

    async def scene():
        task = asyncio.create_task(declared.run())
        async with asyncio.timeout(30):
            while len(events) < 2:
                await asyncio.sleep(0.01)
                write(tmp_path, "a\nb\n", 2)
        task.cancel()

    asyncio.run(scene())
    assert events == [Wanted(True, ("a",)), Wanted(False, ("b",))]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("b,10.0.0.2,1883,mosquito,", "line 3: unknown adapter 'mosquito'; did you mean"),
        ("b,10.0.0.2,1883,declared,4", "line 3: unknown protocol '4'"),
        ("b,10.0.0.2,1883,,3.1.1", "line 3: protocol does not fit Mosquitto"),
    ],
)
def test_init_says_what_does_not_fit_a_kind_of_broker(tmp_path, row, why):
    path = tmp_path / "brokers.csv"
    path.write_text(f"node,host,port,adapter,protocol\na,10.0.0.1,1883,declared,5\n{row}\n")
    with pytest.raises(InputError, match=re.escape(why)):
        init(InitRequest(path, tmp_path / "mesh"))
    assert not (tmp_path / "mesh").exists()


def test_init_writes_what_each_kind_of_broker_needs(tmp_path):
    path = tmp_path / "brokers.csv"
    path.write_text("node,host,port,adapter,protocol\na,h1,1883,declared,3.1.1\nb,h2,1883,,\n")
    made = init(InitRequest(path, tmp_path / "mesh"))
    assert [member.adapter for member in made.brokers] == ["declared", "mosquitto"]
    assert read_mesh(tmp_path / "mesh") == made
    agent = read_agent(tmp_path / "mesh" / "a")
    assert agent_adapter(agent)[1].protocol == agent_login(agent).protocol == "3.1.1"
    assert (tmp_path / "mesh" / "a" / FILE).exists()
    assert not (tmp_path / "mesh" / "a" / "mosquitto.conf").exists()
    assert [place for place, _ in next_steps(made.brokers)] == ["a", "b"]
    text = (tmp_path / "mesh" / "a" / "agent.toml").read_text()
    (tmp_path / "mesh" / "a" / "agent.toml").write_text(f'{text}delivery = "exactly-once"\n')
    with pytest.raises(InputError, match="but agents publish there with QoS 1 at most"):
        agent_options(read_agent(tmp_path / "mesh" / "a"))
