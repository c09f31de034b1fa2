"""What the lab reads, rewrites and refuses, without a broker."""

import json
import os
import subprocess

import pytest

from meshwright.deploy import Broker, Plan, Route, plan, read_plan
from meshwright.deploy.lab import processes
from meshwright.deploy.lab.compare import LAYOUTS, write_layout
from meshwright.deploy.lab.configurations import write_local_copy
from meshwright.deploy.lab.processes import Process, find_mosquitto, free_ports, stop
from meshwright.deploy.lab.running import down, find_lab, lab_place, start_order
from meshwright.deploy.lab.traffic import draw_publishers
from meshwright.errors import DeployError, InputError
from meshwright.runtime.machine import start_time
from tests.deploying import brokers_of, deployed, overlay_of
from tests.e2e.lab_confs import write_conf

LINE = [("b", "a"), ("c", "b")]


@pytest.fixture
def conf(tmp_path):
    return write_conf(tmp_path / "conf", {"t": LINE})


def test_a_directory_without_a_plan_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no plan\.json\. Give the directory that"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "overlay"}, "is of kind 'overlay', version 1; needed is 'mosquitto'"),
        ({"format_version": 2}, "is of kind 'mosquitto', version 2"),
        ({"brokers": None}, "is damaged: 'brokers' of the plan is 'None', which is not valid"),
        ({"brokers": []}, "is damaged: brokers are named but not listed"),
        ({"links": [{"from": "a", "to": "x"}]}, r"brokers are named but not listed: \['x'\]"),
        ({"links": [{"from": "a", "to": "b"}]}, r"use links that are not listed: \[\('b', 'a'\)"),
        ({"links": [{"from": "a"}]}, "is damaged: 'to' is missing"),
    ],
)
def test_a_plan_that_is_none_is_refused(conf, change, reason):
    path = conf / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=reason):
        read_plan(conf)


def test_a_broker_without_its_configuration_is_named(conf):
    (conf / "b" / "mosquitto.conf").unlink()
    with pytest.raises(InputError, match=r"no mosquitto\.conf for 1 of its brokers \(b\)"):
        read_plan(conf)


def test_a_plan_read_back_is_the_plan_that_was_written(tmp_path):
    pairs = [("a", "x/+"), ("b", "x/+"), ("c", "h 1/t/u"), ("b", "h 1/t/u")]
    overlay = overlay_of(pairs)
    made = plan(overlay, brokers_of(overlay.instance.node_names), publishers=[("c", "x/9")])
    read = read_plan(deployed(overlay, tmp_path / "conf", publishers=[("c", "x/9")]))
    assert read == made
    assert read.lines == made.lines


def test_a_plan_without_patterns_and_examples_is_read_too(conf):
    data = json.loads((conf / "plan.json").read_text())
    for topic in data["topics"]:
        del topic["example"], topic["relays"]
    route = Plan.from_json(data).routes[0]
    assert (route.pattern, route.example, route.relays) == ("t", "t", ())


def test_arrivals_follow_the_tree_and_stop_at_brokers_that_are_down():
    topic = Route("t", "t", "t", tuple("abc"), tuple("abcp"), (), (*LINE, ("p", "a")))
    assert topic.directions["p", "a"] == {"out"}
    assert topic.arrivals("a") == {"b": "a", "c": "b"}
    assert topic.arrivals("p") == {"a": "p", "b": "a", "c": "b"}
    assert topic.arrivals("a", up=["a", "c"]) == {}


def test_a_broker_is_started_after_those_it_dials(conf):
    assert start_order(read_plan(conf)) == [["a"], ["b"], ["c"]]


def test_bridges_that_dial_in_a_circle_start_somewhere(tmp_path):
    conf = write_conf(tmp_path / "conf", {"t": [("a", "b"), ("b", "c"), ("c", "a")]})
    assert start_order(read_plan(conf)) == [["a"], ["c"], ["b"]]


def test_a_copy_dials_and_listens_on_loopback_and_keeps_the_rest(conf, tmp_path):
    source = conf / "c" / "mosquitto.conf"
    source.write_text(
        "log_dest file /var/log/x\npersistence_location /var/lib\n" + source.read_text()
    )
    ports = {"a": 1, "b": 2, "c": 3}
    write_local_copy(
        conf, read_plan(conf), tmp_path / "lab", ports, via={("c", "b"): 9}, extra={"c": ("x",)}
    )
    lines = (tmp_path / "lab" / "c" / "mosquitto.conf").read_text().splitlines()
    assert "listener 3 127.0.0.1" in lines
    assert "address 127.0.0.1:9" in lines
    assert "x" in lines
    assert "topic t both 1" in lines
    assert not any(line.startswith(("log_dest file", "persistence_location")) for line in lines)
    assert "address 127.0.0.1:1" in (tmp_path / "lab/b/mosquitto.conf").read_text().splitlines()
    assert (tmp_path / "lab/b/mosquitto.conf").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("plugin /usr/lib/x.so", "uses plugin, which the lab cannot move"),
        ("listener 9001", "has several listeners"),
        ("connection z\naddress z.example:1883", "dials 'z.example:1883', which is not a broker"),
        ("password_file /nowhere/passwd", "names '/nowhere/passwd', which cannot be read here"),
    ],
)
def test_what_cannot_be_moved_here_is_refused(conf, tmp_path, line, reason):
    path = conf / "c" / "mosquitto.conf"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=reason):
        write_local_copy(conf, read_plan(conf), tmp_path / "lab", {"a": 1, "b": 2, "c": 3})


def test_the_account_of_the_lab_is_added_to_the_copy_alone(conf, tmp_path):
    path = conf / "c" / "mosquitto.conf"
    path.write_text(path.read_text() + "password_file passwd\nacl_file acl\n")
    (conf / "c" / "passwd").write_text("one:$7$101$AA==$AA==")
    (conf / "c" / "acl").write_text("user one\ntopic read t\n")
    write_local_copy(conf, read_plan(conf), tmp_path / "lab", {"a": 1, "b": 2, "c": 3})
    users = (tmp_path / "lab" / "c" / "passwd").read_text().splitlines()
    assert [user.split(":")[0] for user in users] == ["one", "meshwright-lab"]
    rights = (tmp_path / "lab" / "c" / "acl").read_text()
    assert rights.startswith("user one\ntopic read t\n")
    assert rights.endswith("user meshwright-lab\ntopic readwrite #\ntopic read $SYS/#\n")
    assert (conf / "c" / "passwd").read_text() == "one:$7$101$AA==$AA=="


def test_a_process_is_known_by_its_start_and_not_by_its_number_alone():
    child = subprocess.Popen(["sleep", "60"])
    try:
        started = start_time(child.pid)
        assert started is not None
        assert Process(child.pid, started).runs()
        assert not Process(child.pid, "another time").runs()
        assert stop([Process(child.pid, "another time")]) == 0
        assert child.poll() is None
        assert stop([Process(child.pid, started)]) == 1
    finally:
        child.kill()
        child.wait()
    assert start_time(os.getpid()) is not None


def test_free_ports_are_different_and_below_those_of_outgoing_connections():
    ports = free_ports(100)
    assert len(set(ports)) == 100
    assert max(ports) < processes.LAST_PORT


def test_no_mosquitto_and_no_lab_say_what_to_do(monkeypatch, conf):
    monkeypatch.setattr(processes.shutil, "which", lambda *_, **__: None)
    with pytest.raises(DeployError, match=r"mosquitto is not installed.*apt-get install mosquitto"):
        find_mosquitto()
    with pytest.raises(InputError, match="is up; start it with `meshwright lab up"):
        find_lab(conf)
    with pytest.raises(InputError, match=r"no lab of .* is up"):
        down(conf)


def test_a_state_that_is_none_is_never_removed(conf):
    place = lab_place(conf)
    place.mkdir()
    (place / "lab.json").write_text('{"kind": "other"}')
    with pytest.raises(InputError, match="is not the state of a lab"):
        down(conf)
    (place / "lab.json").write_text("{")
    with pytest.raises(InputError, match=r"cannot be read .*look for mosquitto processes"):
        down(conf)
    assert place.is_dir()


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("a.b", False)],
)
def test_loopback_is_this_machine(host, here):
    assert Broker("a", host, 1883).on_loopback is here


def test_publishers_are_drawn_alike_for_a_seed_and_only_where_brokers_are_up():
    topics = [Route(f"t{i}", "", "", tuple("abcdef"), tuple("abcdef"), (), ()) for i in range(20)]
    one = draw_publishers(topics, "abcde", 2, seed=1)
    assert one == draw_publishers(topics, "abcde", 2, seed=1)
    assert one != draw_publishers(topics, "abcde", 2, seed=2)
    assert {node for _, node in one} <= set("abcde")
    assert len(one) == 40
    assert len(draw_publishers(topics, "abcde", None, seed=1)) == 100


def test_a_full_mesh_forwards_only_what_is_published_below_its_prefix(conf, tmp_path):
    linked = write_layout(LAYOUTS[0], read_plan(conf), tmp_path / "mesh")
    assert linked.links == (("b", "a"), ("c", "a"), ("c", "b"))
    text = (tmp_path / "mesh" / "c" / "mosquitto.conf").read_text()
    assert text.count('topic # out 1 pub/ ""\ntopic # in 1 "" pub/\n') == 2
