"""A plan merged into brokers that have an operator: listeners, users and rights of their own."""

import os
import re
import subprocess
import threading

import pytest
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from meshwright.deploy import Broker, check_installed, merge, plan, read_plan, write_conf
from meshwright.deploy.installed import Files, read_installed
from meshwright.deploy.inventory import hash_password
from meshwright.deploy.lab.processes import (
    LOG,
    LOOPBACK,
    accepts,
    find_mosquitto,
    free_ports,
    last_lines,
    start_broker,
    stop,
    wait_until,
)
from tests.deploying import overlay_of
from tests.e2e.in_process import run_in_process
from tests.e2e.lab_confs import needs_mosquitto
from tests.patience import SECONDS

pytestmark = needs_mosquitto
NODES = "abc"
MAIN = """\
# The operator's own file.
{user}listener {port} 127.0.0.1
listener {web} 127.0.0.1
protocol websockets
listener {local} 127.0.0.1
allow_anonymous false
password_file {place}/users
acl_file {place}/rights
include_dir {place}/conf.d
log_dest stderr
log_type error
"""
RIGHTS = "user alice\ntopic readwrite alice/#\ntopic readwrite x\ntopic readwrite y\n"


class Client:
    """A client of the operator, which records what it hears."""

    def __init__(self, port, user="alice", *, websockets=False):
        self.got: list[str] = []
        subscribed = threading.Event()
        transport = "websockets" if websockets else "tcp"
        self.connection = mqtt.Client(CallbackAPIVersion.VERSION2, transport=transport)
        self.connection.username_pw_set(user, f"of {user}")
        self.connection.on_subscribe = lambda *_: subscribed.set()
        self.connection.on_message = lambda _client, _data, message: self.got.append(
            f"{message.topic} {message.payload.decode()}"
        )
        self.connection.connect(LOOPBACK, port)
        self.connection.loop_start()
        self.connection.subscribe([("#", 1)])
        assert subscribed.wait(SECONDS)

    def publish(self, topic, text):
        self.connection.publish(topic, text, 1).wait_for_publish(SECONDS)


class Hosts:
    """Three brokers as an operator has them."""

    def __init__(self, place):
        ports = iter(free_ports(3 * len(NODES)))
        self.ports = {node: [next(ports) for _ in range(3)] for node in NODES}
        self.place = place
        self.processes = {}
        self.clients = []
        for node, (port, web, local) in self.ports.items():
            directory = place / node
            (directory / "conf.d").mkdir(parents=True)
            user = "user root\n" if os.geteuid() == 0 else ""
            text = MAIN.format(user=user, port=port, web=web, local=local, place=directory)
            (directory / "mosquitto.conf").write_text(text)
            (directory / "users").write_text(f"alice:{hash_password('of alice')}\n")
            (directory / "rights").write_text(RIGHTS)

    def start(self):
        """Start what does not run, those that are dialled first."""
        program = find_mosquitto()
        for node in "bca":
            if node in self.processes:
                continue
            process = self.processes[node] = start_broker(program, self.place / node)
            wait_until(lambda p=process, n=node: accepts(self.ports[n][0]) or not p.runs(), SECONDS)
            assert process.runs(), last_lines(self.place / node / LOG)

    def stop(self):
        for client in self.clients:
            client.connection.disconnect()
            client.connection.loop_stop()
        self.clients = []
        stop(self.processes.values())
        self.processes = {}

    def client(self, node, which=0, **options):
        self.clients.append(Client(self.ports[node][which], **options))
        return self.clients[-1]

    def lines_of_operator(self):
        """Return the operator's files without what a merge adds."""
        found = {}
        for node in NODES:
            own = self.place / node
            found[node, "main"] = (own / "mosquitto.conf").read_bytes()
            found[node, "rights"] = (own / "rights").read_bytes().partition(b"# begin mesh")[0]
            found[node, "users"] = (own / "users").read_bytes().partition(b"mesh-")[0]
        return found


@pytest.fixture
def hosts(tmp_path):
    made = Hosts(tmp_path / "hosts")
    yield made
    made.stop()


def deploy(hosts, conf, wants, links):
    """Deploy in the layout for operators; every broker has a user."""
    brokers = []
    for node in NODES:
        secret = conf.parent / f"secret-{node}"
        secret.write_text(f"secret of {node}")
        user = {"username": f"mesh-{node}", "password_file": str(secret)}
        brokers.append(Broker(node, LOOPBACK, hosts.ports[node][0], **user))
    pairs = [(node, topic) for topic, nodes in wants.items() for node in nodes]
    write_conf(plan(overlay_of(pairs, links, nodes=NODES), brokers), conf)
    return conf


def assert_travels(hosts, topic, wanted, number):
    """Publish at every broker; what arrives must be what the plan says, once."""
    listeners = {node: hosts.client(node) for node in NODES}

    def arrived(text):
        return {node for node, who in listeners.items() if text in who.got}

    for at in wanted:
        # A bridge may still be on its way: what is sent before it is there does not arrive.
        sent = [f"{number} from {at}, try 0"]
        listeners[at].publish(topic, sent[0])

        def all_there(at=at, sent=sent):
            if arrived(f"{topic} {sent[-1]}") == set(wanted):
                return True
            if len(sent) < 50:
                threading.Event().wait(0.3)
                sent.append(f"{number} from {at}, try {len(sent)}")
                listeners[at].publish(topic, sent[-1])
            return False

        assert wait_until(all_there, SECONDS), (topic, at, arrived(f"{topic} {sent[-1]}"))
        for node, who in listeners.items():
            assert who.got.count(f"{topic} {sent[-1]}") == (node in wanted)


def test_an_operators_brokers_take_a_plan_and_the_next_one(hosts, tmp_path):
    before = hosts.lines_of_operator()
    one = deploy(hosts, tmp_path / "one", {"x": "abc", "y": "ab"}, [("a", "b"), ("b", "c")])
    for node in NODES:
        merge(one / node, hosts.place / node)
    hosts.start()
    assert_travels(hosts, "x", "abc", 1)
    assert_travels(hosts, "y", "ab", 1)
    # The operator's user keeps its own rights, over both kinds of listeners.
    web, local = hosts.client("a", 1, websockets=True), hosts.client("a", 2)
    local.publish("alice/note", "hello")
    local.publish("forbidden", "hello")
    local.publish("alice/note", "again")
    assert wait_until(lambda: "alice/note again" in web.got, SECONDS)
    assert [text for text in web.got if text.startswith(("alice", "forbidden"))] == [
        "alice/note hello",
        "alice/note again",
    ]
    hosts.stop()

    # mosquitto_passwd still takes the file, and the next plan has other links.
    command = ["mosquitto_passwd", "-b", hosts.place / "a" / "users", "bob", "of bob"]
    subprocess.run(command, check=True, capture_output=True)
    with (hosts.place / "a" / "rights").open("a") as file:
        file.write("user bob\ntopic readwrite bob/#\n")
    two = deploy(hosts, tmp_path / "two", {"x": "abc", "y": "bc"}, [("a", "c"), ("b", "c")])
    for node in NODES:
        merge(two / node, hosts.place / node)
        assert merge(two / node, hosts.place / node).changes == ()
    after = hosts.lines_of_operator()
    assert {key: after[key] for key in before if key[1] != "users"} == {
        key: before[key] for key in before if key[1] != "users"
    }
    for node in NODES:
        users = (hosts.place / node / "users").read_bytes()
        assert before[node, "users"] in users
    assert b"\nbob:" in (hosts.place / "a" / "users").read_bytes()
    bridges = (hosts.place / "a" / "conf.d" / "meshwright.conf").read_text()
    assert "connection b" not in bridges
    places = {node: hosts.place / node for node in NODES}
    found = check_installed(two, read_plan(two), places)
    assert (found.errors, found.warnings) == ([], [])
    hosts.start()
    assert_travels(hosts, "x", "abc", 2)
    assert_travels(hosts, "y", "bc", 2)
    bob, again = hosts.client("a", user="bob"), hosts.client("a", 1, user="bob", websockets=True)
    bob.publish("bob/note", "hello")
    assert wait_until(lambda: "bob/note hello" in again.got, SECONDS)


def test_the_command_line_shows_merges_and_checks(hosts, tmp_path, monkeypatch, capsys):
    def run(*words):
        return run_in_process(monkeypatch, capsys, "deploy", *map(str, words))

    conf = deploy(hosts, tmp_path / "conf", {"x": "abc"}, [("a", "b"), ("b", "c")])
    own = hosts.place / "a"
    before = {path: path.read_bytes() for path in own.rglob("*") if path.is_file()}
    words = ("merge", conf / "a", "--into", own / "mosquitto.conf")
    code, out, err = run(*words, "--dry-run")
    assert (code, err) == (0, "")
    assert "+connection b\n" in out
    assert "+remote_password ...\n" in out
    assert "+mesh-a:...\n" in out
    assert "secret of" not in out
    assert "$7$" not in out
    assert out.endswith("broker a: nothing was written; leave out --dry-run to do it\n")
    assert {path: path.read_bytes() for path in own.rglob("*") if path.is_file()} == before
    code, out, _ = run(*words)
    assert code == 0
    assert f"written {own}/conf.d/meshwright.conf\n" in out
    assert out.endswith("next: restart the broker\n")
    assert run(*words)[:2] == (0, "broker a: nothing changes\n")
    check = ("check", conf, "--installed", f"a={own}/mosquitto.conf")
    assert run(*check)[0] == 0
    with (own / "mosquitto.conf").open("a") as file:
        file.write("connection mine\naddress cloud.example\ntopic # out 1\n")
    code, _, err = run(*check)
    assert code == 1
    assert "the bridge 'mine'" in err
    assert run("check", conf)[0] == 0  # what we wrote is as it was
    code, _, err = run(*words)
    assert code == 1
    assert "nothing was written" in err


def started_log(place, lines, done):
    """Start a broker in a directory until its log says something; return the log."""
    port = free_ports(1)[0]
    user = "user root\n" if os.geteuid() == 0 else ""
    (place / "mosquitto.conf").write_text(f"{user}listener {port} 127.0.0.1\n{lines}")
    process = start_broker(find_mosquitto(), place)
    try:
        text = (place / LOG).read_text
        assert wait_until(lambda: done in text() or not process.runs(), SECONDS)
        return text()
    finally:
        stop([process])


def test_files_are_included_in_the_order_that_this_mosquitto_takes(tmp_path):
    (tmp_path / "d" / "deeper").mkdir(parents=True)
    for name in ("b.conf", "A.conf", ".h.conf", "x.txt", "10.conf", "9.conf", "z.CONF", "C.conf"):
        (tmp_path / "d" / name).write_text("include_dir d/deeper\n")
    (tmp_path / "d" / "deeper" / "no.conf").write_text("no such option\n")
    log = started_log(tmp_path, "include_dir d\n", "running")
    taken = re.findall(r"Loading config file d/(\S+)", log)
    names = Files(tmp_path, "/").included("d")
    assert taken == [name.removeprefix("/d/") for name in names]


def test_this_mosquitto_loses_a_bridge_line_below_an_include_that_adds_a_bridge(tmp_path):
    """The reason to refuse it: should a later Mosquitto keep the line, this test will say so."""
    (tmp_path / "d").mkdir()
    bridge = "connection {}\naddress 127.0.0.1:1\ntopic {} out 1\n"
    (tmp_path / "d" / "ours.conf").write_text(bridge.format("ours", "x"))
    mine = bridge.format("mine", "y") + "include_dir d\ntopic z out 1\n"
    log = started_log(tmp_path, f"log_type all\n{mine}", "running")
    assert "doing local SUBSCRIBE on topic y" in log
    assert "doing local SUBSCRIBE on topic z" not in log
    found = read_installed(Files(tmp_path, "/"), "/mosquitto.conf")
    assert [option.value for option in found.lost] == ["z out 1"]


def test_this_mosquitto_passwd_drops_the_users_of_a_file_with_comments(tmp_path):
    """The reason for no marks there: should a later one keep them, this test will say so."""
    users = tmp_path / "users"
    users.write_text(f"# begin\nalice:{hash_password('x')}\n# end\n")
    subprocess.run(["mosquitto_passwd", "-b", users, "bob", "y"], check=False, capture_output=True)
    assert "alice" not in users.read_text()
