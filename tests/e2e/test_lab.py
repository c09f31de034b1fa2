"""The lab on real brokers: up, verify, down, and what they say when something is wrong."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from meshwright.cli.demo import find_example
from meshwright.deploy.lab import processes, running
from meshwright.deploy.lab.configurations import write_demo
from meshwright.deploy.lab.processes import (
    LOG,
    LOOPBACK,
    Process,
    brokers_in,
    free_ports,
    port_is_free,
    wait_until,
)
from meshwright.deploy.lab.running import down, find_lab, lab_place
from meshwright.deploy.lab.verify import verify
from meshwright.errors import DeployError, InputError
from meshwright.runtime.machine import start_time
from tests.e2e.in_process import run_in_process
from tests.e2e.lab_confs import needs_mosquitto, random_trees, write_conf
from tests.e2e.lab_deployed import deploy

pytestmark = needs_mosquitto
LINE = [("b", "a"), ("c", "b")]
TOPICS = {"all/three": LINE, "two": [("b", "a")], "größe/数": [("c", "b")]}


@pytest.fixture
def conf(tmp_path):
    path = write_conf(tmp_path / "conf", TOPICS)
    yield path
    if (lab_place(path) / "lab.json").exists():
        down(path)


def test_the_command_line_starts_verifies_and_stops_a_plan(monkeypatch, capsys, conf):
    code, out, err = run_in_process(monkeypatch, capsys, "lab", "up", str(conf))
    assert (code, err) == (0, "")
    assert "brokers up  3 of 3" in out
    assert "links open  2 of 2" in out
    pids = [process.pid for process in find_lab(conf).processes.values()]
    code, out, _ = run_in_process(monkeypatch, capsys, "lab", "verify", str(conf))
    assert code == 0
    # 3 + 2 + 2 publishers of 3 messages; 2 or 1 others each
    assert "published     21 messages by every publisher" in out
    assert "delivered     30" in out
    assert "over links    30 on 2 links" in out
    assert "every message reached each broker that wants it once" in out
    code, out, _ = run_in_process(monkeypatch, capsys, "lab", "down", str(conf))
    assert (code, out) == (0, "stopped 3 brokers\n")
    assert [start_time(pid) for pid in pids] == [None, None, None]
    assert not lab_place(conf).exists()


def test_links_are_counted_each_way(conf, start_lab):
    lab = start_lab(conf)
    found = verify(lab, n_messages=2)
    assert found.findings == ()
    # 'all/three' crosses b-a from b and c; 'two' once each way; 'größe/数' on c-b alone.
    assert {(u, v): n for u, v, n in found.crossings} == {
        ("b", "a"): 6,
        ("a", "b"): 4,
        ("c", "b"): 4,
        ("b", "c"): 6,
    }


def test_a_sample_of_publishers_is_stated(monkeypatch, capsys, conf, start_lab):
    start_lab(conf)
    words = ("lab", "verify", str(conf), "--publishers", "1", "--messages", "1")
    code, out, _ = run_in_process(monkeypatch, capsys, *words)
    assert code == 0
    assert "3 messages by 3 of 7 (topic, publisher) pairs" in out


def test_a_publisher_that_does_not_subscribe_sends_and_gets_nothing(tmp_path, start_lab):
    topics = {"t": [("b", "a"), ("p", "a")], "u": [("b", "a"), ("p", "b")]}
    conf = write_conf(tmp_path / "conf", topics, publishers={"t": ["p"]})
    lab = start_lab(conf)
    found = verify(lab)
    assert found.findings == ()
    # t: p to both, a and b to each other; u: three to two others.
    assert found.n_deliveries == 3 * (2 + 1 + 1 + 6)


def test_a_topic_on_a_wrong_link_is_found(conf, start_lab):
    path = conf / "c" / "mosquitto.conf"
    path.write_text(path.read_text() + "topic two both 1\n")
    lab = start_lab(conf)
    found = verify(lab, n_messages=1)
    assert found.n_unwanted == 2
    assert found.findings[0].startswith(
        "2 messages reached brokers that do not want them: 'two' number 0"
    )


def test_a_topic_missing_on_a_link_is_found(conf, start_lab):
    path = conf / "c" / "mosquitto.conf"
    lines = path.read_text().splitlines()
    # 'größe/数' is the last topic of the link and 'all/three' the first; probes need both.
    path.write_text("\n".join([*lines, "topic between both 1", ""]))
    plan = json.loads((conf / "plan.json").read_text())
    between = {"name": "between", "subscribers": ["a", "b", "c"], "publishers": ["a"]}
    plan["topics"].insert(1, between | {"edges": [["b", "a"], ["c", "b"]]})
    (conf / "plan.json").write_text(json.dumps(plan))
    lab = start_lab(conf)
    found = verify(lab, n_messages=1, patience=5)
    assert found.n_missing == 2
    assert "2 messages did not arrive: 'between' number 0 of a at b" in found.findings[0]


def test_a_bridge_that_cannot_connect_is_named(monkeypatch, capsys, conf):
    path = conf / "c" / "mosquitto.conf"
    path.write_text(path.read_text().replace("local_clientid local-c-b", "remote_username x"))
    other = conf / "b" / "mosquitto.conf"
    (conf / "b" / "passwd").write_text("")
    other.write_text(
        other.read_text().replace("allow_anonymous true", "allow_anonymous false")
        + "password_file passwd\n"
    )
    monkeypatch.setattr("meshwright.deploy.lab.verify.await_links.__defaults__", (3.0,))
    code, out, err = run_in_process(monkeypatch, capsys, "lab", "up", str(conf))
    assert (code, out) == (3, "")
    assert "did not open" in err
    assert "b to c; c to b" in err
    # The message leads to the logs; the next command clears them away.
    assert "CONF.lab/*/broker.log" in err
    assert "not authorised" in (lab_place(conf) / "c" / "broker.log").read_text()
    assert run_in_process(monkeypatch, capsys, "lab", "down", str(conf))[:2] == (
        0,
        "stopped 0 brokers; 3 had ended before\n",
    )
    assert not lab_place(conf).exists()


def test_a_lab_whose_brokers_have_all_ended_says_so(monkeypatch, capsys, conf, start_lab):
    lab = start_lab(conf)
    for node in lab.plan.nodes:
        lab.kill(node)
    code, out, err = run_in_process(monkeypatch, capsys, "lab", "verify", str(conf))
    assert (code, out) == (3, "")
    assert "none of the 3 brokers is running; their logs are in" in err
    code, out, _ = run_in_process(monkeypatch, capsys, "lab", "down", str(conf), "--json")
    assert (code, json.loads(out)) == (0, {"stopped": 0, "ended_before": 3})


def test_a_broker_that_has_ended_fails_verify_and_is_named(monkeypatch, capsys, conf, start_lab):
    lab = start_lab(conf)
    lab.kill("a")
    code, out, err = run_in_process(monkeypatch, capsys, "lab", "verify", str(conf))
    assert code == 1
    assert "brokers       2, 1 down" in out
    assert "1 broker is not up, which 9 deliveries need: a" in err


def test_a_broker_that_ends_during_verify_is_named_at_once(conf, start_lab):
    lab = start_lab(conf)

    def kill(_share: float) -> None:
        if "a" in lab.up:
            lab.kill("a")

    with pytest.raises(DeployError, match=r"the broker 'a' has ended; the last lines of '.*log"):
        verify(lab, n_messages=100, on_progress=kill)


def test_names_of_brokers_are_no_matter(tmp_path, start_lab):
    conf = deploy(
        tmp_path / "conf",
        {"t": ["plant 7/größe", "..", "数"]},
        [("plant 7/größe", ".."), ("..", "数")],
    )
    lab = start_lab(conf)
    assert verify(lab, n_messages=1).findings == ()


def test_down_leaves_a_process_alone_that_got_the_number_of_a_broker(conf, start_lab):
    lab = start_lab(conf)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        os.kill(lab.processes["c"].pid, signal.SIGKILL)
        lab.processes["c"] = Process(stranger.pid, lab.processes["c"].started)
        lab.save()
        assert down(conf) == (2, 1)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where processes run")
def test_a_broker_that_was_not_written_down_any_more_is_stopped_too(conf, tmp_path, start_lab):
    other = start_lab(conf, place=tmp_path / "other")
    lab = start_lab(conf)
    del lab.processes["c"]  # as if `up` had been killed between starting it and saving
    lab.save()
    with pytest.raises(InputError, match="is up already with 3 brokers"):
        start_lab(conf)
    assert down(conf) == (3, 0)
    assert brokers_in(lab_place(conf)) == []
    assert len(other.up) == 3


def test_a_second_up_is_refused_and_a_dead_lab_is_replaced(conf, start_lab):
    lab = start_lab(conf)
    with pytest.raises(InputError, match="is up already with 3 brokers; stop it first"):
        start_lab(conf)
    for node in lab.plan.nodes:
        lab.kill(node)
    start_lab(conf)


def test_a_broker_that_does_not_start_is_named_with_its_log(conf, start_lab):
    path = conf / "b" / "mosquitto.conf"
    path.write_text(path.read_text() + "no_such_option 1\n")
    with pytest.raises(DeployError, match=r"broker 'b' did not start: .*no_such_option"):
        start_lab(conf)
    assert not lab_place(conf).exists()


def test_without_mosquitto_the_message_says_what_to_install(monkeypatch, capsys, conf):
    monkeypatch.setattr("meshwright.deploy.lab.processes.shutil.which", lambda *_, **__: None)
    code, _, err = run_in_process(monkeypatch, capsys, "lab", "up", str(conf))
    assert code == 3
    assert "mosquitto is not installed" in err
    assert "apt-get install mosquitto" in err


def test_the_users_configuration_is_not_touched(conf, start_lab):
    before = {p: p.read_bytes() for p in conf.rglob("*") if p.is_file()}
    lab = start_lab(conf)
    verify(lab, n_messages=1)
    assert lab.place.stat().st_mode & 0o777 == 0o700
    assert (lab.directory("a") / LOG).is_file()
    lab.stop()
    assert before == {p: p.read_bytes() for p in conf.rglob("*") if p.is_file()}


def test_a_plan_on_loopback_keeps_its_ports(tmp_path, start_lab):

    conf = write_conf(tmp_path / "conf", {"t": [("b", "a")]})
    one, two = free_ports(2)
    for path in [conf / "plan.json", *conf.glob("*/mosquitto.conf")]:
        text = path.read_text()
        for node, port in (("a", one), ("b", two)):
            text = text.replace(f'"{node}.example", "port": 1883', f'"127.0.0.1", "port": {port}')
            text = text.replace(f"{node}.example:1883", f"127.0.0.1:{port}")
            text = text.replace(f"listener 1883 {node}.example", f"listener {port} 127.0.0.1")
        path.write_text(text)
    lab = start_lab(conf)
    assert lab.access.ports == {"a": one, "b": two}
    with pytest.raises(DeployError, match="2 ports of the plan are in use here: a "):
        start_lab(conf, place=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    start_lab(conf, place=tmp_path / "other", any_ports=True)
    lab.stop()
    assert wait_until(lambda: port_is_free(one) and port_is_free(two))


def test_a_port_that_another_program_takes_meanwhile_is_replaced(conf, start_lab, monkeypatch):
    with socket.create_server((LOOPBACK, 0)) as server:
        taken = server.getsockname()[1]
        offered = [[taken, *free_ports(2)]]
        monkeypatch.setattr(
            processes, "free_ports", lambda n: offered.pop() if offered else free_ports(n)
        )
        lab = start_lab(conf)
        assert not offered
        assert taken not in lab.access.ports.values()
        assert set(lab.up) == set(lab.plan.nodes)


def test_a_port_of_the_callers_choice_is_not_replaced(conf, start_lab):
    refused = pytest.raises(DeployError, match="'a' cannot start: another program listens")
    with socket.create_server((LOOPBACK, 0)) as server, refused:
        start_lab(conf, ports={"a": server.getsockname()[1]})
    assert not running.lab_place(conf).exists()


@pytest.mark.parametrize("layout", ["include", "whole"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_a_secured_plan_runs_with_its_users_rights_and_encryption(tmp_path, tls, layout, start_lab):
    (tmp_path / "secrets").mkdir()
    conf = deploy(
        tmp_path / "conf",
        {"t": "abkc", "q/line 4": "kc", "w/+": "bk", "w/3": "bkc", "größe/数": "ab"},
        ("ab", "bk", "kc"),
        publishers=[("a", "q/line 4")],
        secrets=tmp_path / "secrets",
        tls=tls,
        complete="relay",
        layout=layout,
        lock_down=tls,
    )
    lab = start_lab(conf)
    text = (lab.directory("b") / "mosquitto.conf").read_text()
    assert ("cafile" in text, "allow_anonymous false" in text) == (tls, True)
    found = verify(lab, n_messages=2)
    assert found.findings == ()
    # t: 4 to 3; q/line 4: k and c to each other, a to both, over b; w/+: 2; w/3: 3 to 2; größe: 2
    assert found.n_deliveries == 2 * (12 + 2 + 2 + 2 + 6 + 2)


def test_bridges_show_their_certificates_to_brokers_that_want_them(tmp_path, start_lab):
    conf = deploy(tmp_path / "conf", {"t": "abc"}, ("ab", "bc"), tls=True, layout="whole")
    for node in "abc":
        path = conf / node / "mosquitto.conf"
        text = path.read_text()
        path.write_text(text.replace("\nkeyfile", "\nrequire_certificate true\nkeyfile", 1))
    lab = start_lab(conf)
    found = verify(lab, n_messages=1)
    assert found.findings == ()
    assert found.n_deliveries == 6


def test_topics_that_begin_with_a_dollar_are_seen_too(tmp_path, start_lab):
    (tmp_path / "secrets").mkdir()
    conf = deploy(
        tmp_path / "conf", {"$own/x": "ab", "$": "ab"}, ("ab",), secrets=tmp_path / "secrets"
    )
    lab = start_lab(conf)
    found = verify(lab, n_messages=1)
    assert found.findings == ()
    assert found.n_deliveries == 4


def test_relays_of_a_plan_are_counted_apart(tmp_path, start_lab):
    conf = deploy(tmp_path / "conf", {"t": "ac"}, ("ab", "bc"), complete="relay")
    lab = start_lab(conf)
    found = verify(lab, n_messages=1)
    assert found.findings == ()
    assert (found.n_deliveries, found.n_crossings, found.n_relayed) == (2, 4, 2)


def test_the_bundled_example_runs_as_planned(tmp_path, start_lab):
    write_demo(find_example(), tmp_path / "brokers.csv", tmp_path / "conf")
    assert (tmp_path / "brokers.csv").read_text().splitlines()[0] == "node,host,port"
    lab = start_lab(tmp_path / "conf")
    found = verify(lab, n_messages=1, publishers=1)
    assert found.findings == ()
    assert (found.n_brokers, found.n_topics, found.n_messages) == (60, 386, 386)
    assert found.n_crossings == found.n_deliveries


def test_fifty_brokers_and_three_hundred_topics(tmp_path, start_lab):
    conf = write_conf(tmp_path / "conf", random_trees(50, 300, 7))
    lab = start_lab(conf)
    found = verify(lab, n_messages=2)
    assert found.findings == ()
    assert found.n_deliveries == 300 * 7 * 6 * 2
    assert found.seconds < 120
