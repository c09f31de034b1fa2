"""What users may do at real brokers: their topics and no other, and no bridge's connection."""

import re
import threading

import pytest
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from meshwright.deploy.lab.configurations import ACCOUNT
from meshwright.deploy.lab.processes import LOG, LOOPBACK, wait_until
from tests.e2e.lab_confs import needs_mosquitto
from tests.e2e.lab_deployed import deploy
from tests.patience import SECONDS

pytestmark = needs_mosquitto
SPACED, OTHER = "plant 7/z", "secret/z"  # a link carries both as "+/z"


class User:
    """A client with a name and a password, which records what it hears."""

    def __init__(self, lab, node, name, password, client_id="", topics=("#", "$SYS/#")):
        self.got: list[str] = []
        subscribed = threading.Event()
        self.connection = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=client_id)
        self.connection.username_pw_set(name, password)
        self.connection.on_subscribe = lambda *_: subscribed.set()
        self.connection.on_message = lambda _client, _data, message: self.got.append(message.topic)
        self.connection.connect(LOOPBACK, lab.access.ports[node])
        self.connection.loop_start()
        self.connection.subscribe([(topic, 1) for topic in topics])
        assert subscribed.wait(SECONDS)

    def publish(self, *topics):
        for topic in topics:
            self.connection.publish(topic, b"", 1).wait_for_publish(SECONDS)


@pytest.fixture(params=["include", "whole"])
def lab(request, tmp_path, start_lab):
    """Two brokers with users that share a topic with a space."""
    return started(tmp_path, start_lab, layout=request.param)


def started(place, start_lab, **options):
    (place / "secrets").mkdir()
    wants = {SPACED: "ab"}
    return start_lab(deploy(place / "conf", wants, ["ab"], secrets=place / "secrets", **options))


@pytest.fixture
def unlocked(tmp_path, start_lab):
    """The same two brokers; their own clients are not locked down."""
    return started(tmp_path, start_lab, lock_down=False)


@pytest.fixture
def connect(request):
    """Yield a function that connects a user; its clients are disconnected with the test."""
    users = []
    lab = request.getfixturevalue("unlocked" if "unlocked" in request.fixturenames else "lab")

    def connected(node, name=None, **options):
        password = lab.access.password if name else f"secret of {node}"
        users.append(User(lab, node, name or f"user-{node}", password, **options))
        return users[-1]

    yield connected
    for user in users:
        user.connection.disconnect()
        user.connection.loop_stop()


def settings(lab):
    included = lab.directory("a") / "conf.d" / "meshwright.conf"
    return (included if included.exists() else lab.directory("a") / "mosquitto.conf").read_text()


def test_own_clients_use_any_topic_and_see_no_client_id(unlocked, connect):
    both = [connect(node) for node in "ab"]
    for user in both:
        user.publish("local/only", OTHER, SPACED)
    for user in both:
        assert wait_until(lambda who=user: who.got.count(SPACED) == 2, SECONDS)
        assert user.got.count("local/only") == user.got.count(OTHER) == 1  # of its own broker
    (known,) = re.findall(r"^remote_clientid (\S+)$", settings(unlocked), re.MULTILINE)
    states = {topic for topic in both[0].got if topic.startswith("$SYS/broker/connection/")}
    assert states == {"$SYS/broker/connection/mesh.a.b/state"}
    assert known.startswith("mesh.a.b.")


def test_a_topic_with_a_space_lets_nothing_else_through(lab, connect):
    assert "topic +/z both 1" in settings(lab)  # which matches OTHER, too
    users = [connect(node) for node in "ab"]
    # The lab's own account may use both topics, so only the bridge's rights are in their way.
    accounts = [connect(node, ACCOUNT, topics=(SPACED, OTHER)) for node in "ab"]
    for sender in (*users, *accounts):
        sender.publish(OTHER, SPACED)
    for listener in (*users, *accounts):
        assert wait_until(lambda who=listener: who.got.count(SPACED) == 4, SECONDS)
    # Messages keep their order: what OTHER lets through came before the last SPACED.
    assert [user.got for user in users] == [[SPACED] * 4] * 2
    assert [account.got.count(OTHER) for account in accounts] == [1, 1]  # its own


def test_no_client_guesses_the_client_id_of_a_bridge(lab, connect):
    def n_ended():
        logs = ((lab.directory(node) / LOG).read_text() for node in "ab")
        return sum(log.count("already connected, closing") for log in logs)

    connect("b", client_id="mesh.a.b")
    connect("a", client_id="mesh-local.a.b")
    listener = connect("b")
    connect("a").publish(SPACED)
    assert wait_until(lambda: listener.got == [SPACED], SECONDS)
    assert n_ended() == 0
    (known,) = re.findall(r"^remote_clientid (\S+)$", settings(lab), re.MULTILINE)
    connect("b", client_id=known)  # whoever knows it ends the bridge's connection
    assert wait_until(lambda: n_ended() > 0, SECONDS)
