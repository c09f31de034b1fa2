"""What fails in a mesh of real brokers, and what that costs: each fault on a deployed plan."""

import json
import time

import pytest
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from meshwright.deploy.lab.clients import link_probes
from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.deploy.lab.running import redeploy
from meshwright.deploy.lab.verify import verify
from meshwright.deploy.validate import validate
from tests.e2e.lab_confs import needs_mosquitto, write_conf
from tests.e2e.lab_deployed import deploy
from tests.e2e.lab_faults import (
    AFTER,
    AUTOSAVE,
    BEFORE,
    DURING,
    INNER,
    OUTER,
    PATIENCE,
    Streams,
    crash,
    exact,
)
from tests.e2e.lab_proxy import Proxy

pytestmark = needs_mosquitto
TOTAL = BEFORE + DURING + AFTER
IN_FLIGHT = 20  # messages that a broker has under way on a link before it waits


@pytest.mark.parametrize(
    ("qos", "extra"),
    [(1, ()), (1, AUTOSAVE), (2, ())],
    ids=["as deployed", "autosave_on_changes", "qos 2"],
)
def test_a_killed_inner_broker_harms_only_what_goes_over_it(tmp_path, qos, extra):
    found = crash(tmp_path, INNER, qos=qos, extra=extra)
    assert found.recovered
    assert {key: exact(TOTAL) for key in found.beside} == found.beside
    for outcome in (*found.at_killed.values(), *found.across.values()):
        # What was sent when all links were back is there once, and nothing came out of order.
        assert [i for i in outcome.lost if i >= BEFORE + DURING] == []
        assert [i for i in outcome.doubled if i >= BEFORE + DURING] == []
        # What was under way at the crash may be sent again, on each link; with QoS 2 never.
        assert len(outcome.doubled) <= (2 * IN_FLIGHT if qos == 1 else 0)


def test_a_killed_outer_broker_misses_what_is_sent_while_it_is_away(tmp_path):
    found = crash(tmp_path, OUTER)
    assert found.recovered
    assert {key: exact(TOTAL) for key in found.beside} == found.beside
    assert found.across == {}
    (outcome,) = found.at_killed.values()
    # Its neighbour keeps nothing for a bridge that dials in: all that was sent meanwhile is lost.
    assert set(range(BEFORE, BEFORE + DURING)) <= set(outcome.lost)
    assert [i for i in outcome.lost if i >= BEFORE + DURING] == []
    assert outcome.doubled == ()


def test_without_faults_streams_arrive_once_everywhere(tmp_path, start_lab):
    wants, links = INNER
    lab = start_lab(deploy(tmp_path / "conf", wants, links))
    with lab.clients() as clients:
        clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
        flow = Streams(clients, [("a", "t"), ("k", "t"), ("b", "u")])
        flow.publish(TOTAL, pause=0.001)
        assert flow.wait_for_last(lambda i: list("abkc" if i < 2 else "ab"))
        for i, nodes in enumerate(("abkc", "abkc", "ab")):
            for node in "abkc":
                wanted = exact(TOTAL) if node in nodes else 0
                got = flow.outcome(node, i) if node in nodes else flow.arrived(node, i)
                assert got == wanted


def test_a_broker_that_is_never_up_cuts_off_only_what_needs_it(tmp_path, start_lab):
    wants, links = INNER
    lab = start_lab(deploy(tmp_path / "conf", wants, links), without=["k"])
    found = verify(lab, n_messages=2)
    assert (found.n_brokers, found.n_down) == (3, 1)
    assert (found.n_missing, found.n_extra, found.n_unwanted, found.n_out_of_order) == (0, 0, 0, 0)
    # 't' goes from a to b and back, not to k or c; 'u' is whole.
    assert found.n_deliveries == 2 * (2 + 2)
    assert found.n_cut_off == 2 * (2 + 2 + 3)
    assert found.findings == ("1 broker is not up, which 14 deliveries need: k",)


def test_a_cut_link_keeps_what_its_dialling_end_sends_and_the_rest_goes_on(tmp_path, start_lab):
    wants, links = INNER
    conf = deploy(tmp_path / "conf", wants, links)
    (port,) = free_ports(1)  # of k; the proxy must know it before the lab chooses
    proxy = Proxy(port)
    try:
        lab = start_lab(conf, via={("b", "k"): proxy.port}, ports={"k": port})
        with lab.clients() as clients:
            clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
            # a, b | k, c: the link from b to k is the one to be cut, and b dials.
            streams = [("a", "t"), ("c", "t"), ("a", "u")]
            flow = Streams(clients, streams)
            flow.publish(BEFORE)
            proxy.cut()
            flow.publish(DURING)
            proxy.mend()
            clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
            flow.publish(AFTER)
            assert flow.wait_for_last(lambda i: list(wants[streams[i][1]]))
            outcomes = {
                (publisher, topic, node): flow.outcome(node, i)
                for i, (publisher, topic) in enumerate(streams)
                for node in wants[topic]
            }
    finally:
        proxy.close()
    across = {key for key in outcomes if (key[0] in "ab") != (key[2] in "ab")}
    assert {outcomes[key] for key in outcomes.keys() - across} == {exact(TOTAL)}
    for publisher, topic, node in across:
        outcome = outcomes[publisher, topic, node]
        assert [i for i in outcome.doubled if i >= BEFORE + DURING] == []
        assert len(outcome.doubled) <= IN_FLIGHT
        if publisher == "a":  # from the dialling end: kept and sent when the link is back
            assert outcome.lost == ()
        else:  # the dialled end forgets the bridge with its connection
            assert set(outcome.lost) <= set(range(BEFORE + DURING))


def test_the_counts_of_verify_are_those_of_the_wire(tmp_path, start_lab):
    wants, links = INNER
    conf = deploy(tmp_path / "conf", wants, links)
    ports = dict(zip("abkc", free_ports(4), strict=True))
    plan = json.loads((conf / "plan.json").read_text())
    proxies = {(link["from"], link["to"]): Proxy(ports[link["to"]]) for link in plan["links"]}
    try:
        via = {link: proxy.port for link, proxy in proxies.items()}
        lab = start_lab(conf, via=via, ports=ports)
        found = verify(lab)
    finally:
        for proxy in proxies.values():
            proxy.close()
    assert found.findings == ()
    counted = {(u, v): n for u, v, n in found.crossings}
    for (u, v), proxy in proxies.items():
        assert [counted.get((u, v), 0), counted.get((v, u), 0)] == proxy.sent
    assert sum(sum(proxy.sent) for proxy in proxies.values()) == found.n_crossings > 0


def test_an_unpruned_cycle_storms_and_the_validator_refuses_it(tmp_path, start_lab):
    """Three brokers, one topic on all three links, for one second."""
    conf = write_conf(tmp_path / "conf", {"t": [("b", "a"), ("c", "b"), ("c", "a")]})
    wrong = validate(conf)
    assert any(finding.startswith("'t' goes ") for finding in wrong)
    lab = start_lab(conf)
    with lab.clients() as clients:
        number = clients.take_numbers(1)
        clients.publish("a", "t", number)
        copies: list[str] = []

        def many() -> bool:
            copies.extend(node for node, _ in clients.news())
            return len(copies) > 100

        assert wait_until(many, PATIENCE)  # a pruned topic would give three
        time.sleep(1.0)
        copies.extend(node for node, _ in clients.news())
    lab.stop()
    assert set(copies) == set("abc")
    pruned = deploy(tmp_path / "pruned", {"t": "abc"}, ("ab", "bc", "ac"))
    assert validate(pruned) == []
    lab = start_lab(pruned)
    assert verify(lab).findings == ()


def test_a_redeploy_under_load_never_circles_and_ends_exact(tmp_path, start_lab):
    """A ring is opened at another place: in a wrong order 't' would go round it."""
    wants = {"t": "abcd", "w": "ef"}
    before = deploy(tmp_path / "before", wants, ("ab", "bc", "cd", "ef"))
    after = deploy(tmp_path / "after", wants, ("bc", "cd", "ad", "ef"))
    lab = start_lab(before)
    with lab.clients() as clients:
        clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
        streams = [("a", "t"), ("c", "t"), ("e", "w")]
        flow = Streams(clients, streams)
        flow.publish(50)
        steps = redeploy(lab, before, after, done=lambda _: flow.publish(50))
        clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
        flow.publish(50)
        assert flow.wait_for_last(lambda i: list(wants[streams[i][1]]))
        n_sent = 50 * (len(steps) + 2)
        # Those that are not restarted notice nothing.
        assert {step.node for step in steps} <= set("abcd")
        assert [flow.outcome(node, 2) for node in "ef"] == [exact(n_sent)] * 2
        for i, node in ((i, node) for i in (0, 1) for node in "abcd"):
            outcome = flow.outcome(node, i)
            assert [n for n in outcome.lost if n >= n_sent - 50] == []
            # Sent again at a restart, by a bridge or by our client: never on and on.
            assert flow.most_copies(node, i) <= len(steps) + 1
            assert len(outcome.doubled) <= IN_FLIGHT * len(steps)
    assert verify(lab).findings == ()
    assert {tuple(sorted(link)) for link in lab.plan.links} == set(
        map(tuple, ("bc", "cd", "ad", "ef"))
    )


def test_a_redeploy_of_a_secured_plan_brings_users_and_rights_along(tmp_path, start_lab):
    (tmp_path / "secrets").mkdir()
    options = {"secrets": tmp_path / "secrets", "tls": True}
    before = deploy(tmp_path / "before", {"t": "abc"}, ("ab", "bc"), **options)
    after = deploy(tmp_path / "after", {"t": "abc", "u": "abd"}, ("ac", "ab", "bd"), **options)
    lab = start_lab(before)
    old = {node: bridges_of(lab, node) for node in "abc"}
    taken = set()

    def look(step):
        """Whoever crashes before its turn must come back as it was."""
        taken.update({step.node} if step.action in ("start", "restart") else ())
        assert {node for node in "abc" if bridges_of(lab, node) != old[node]} <= taken

    steps = redeploy(lab, before, after, done=look)
    assert {step.action for step in steps} == {"reload", "start", "restart"}
    assert verify(lab, n_messages=1).findings == ()
    assert not (lab.place / "next").exists()


def bridges_of(lab, node: str) -> list[str]:
    text = (lab.directory(node) / "conf.d" / "meshwright.conf").read_text()
    return [line for line in text.split("\n") if line.startswith(("address", "topic"))]


def test_verify_ends_and_says_so_when_messages_run_in_circles(monkeypatch, tmp_path, start_lab):
    monkeypatch.setattr("meshwright.deploy.lab.traffic.STORM", 1)  # a thousand copies are enough
    conf = write_conf(tmp_path / "conf", {"t": [("b", "a"), ("c", "b"), ("c", "a")]})
    lab = start_lab(conf)
    found = verify(lab, n_messages=1)
    assert found.findings[0].startswith("messages run in circles: a storm")
    assert found.n_extra > 900


class Intruder:
    """A client that tries to read everything and to write, with whatever credentials it has."""

    def __init__(self, port: int, user: str | None, password: str | None) -> None:
        self.got: list[str] = []
        self.answer: bool | None = None  # whether the broker let it in
        self.acknowledged = 0
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, reconnect_on_failure=False)
        if user is not None:
            self._client.username_pw_set(user, password)
        self._client.on_connect = self._connected
        self._client.on_message = lambda _c, _d, message: self.got.append(message.topic)
        self._client.on_subscribe = lambda *_: self._written()
        self._client.on_publish = lambda *_: self._acknowledge()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def _connected(self, _client, _data, _flags, reason, _properties) -> None:
        self.answer = not reason.is_failure
        if self.answer:
            self._client.subscribe([("#", 1), ("u", 1), ("t", 1)])

    def _written(self) -> None:
        for topic in ("u", "t", "own/k", "nobody/wants/this"):
            self._client.publish(topic, b"intruder", qos=1)

    def _acknowledge(self) -> None:
        self.acknowledged += 1

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.mark.parametrize(
    ("user", "password"),
    [(None, None), ("user-b", "wrong"), ("nobody", "secret of b"), ("user-b", "secret of a")],
    ids=["no credentials", "wrong password", "unknown user", "another's password"],
)
def test_an_intruder_without_the_right_credentials_is_not_let_in(secured, user, password):
    lab, heard = secured
    intruder = Intruder(lab.access.ports["b"], user, password)
    try:
        assert wait_until(lambda: intruder.answer is not None, PATIENCE)
        assert intruder.answer is False
        assert verify(lab, n_messages=1).findings == ()
    finally:
        intruder.close()
    assert intruder.got == []
    assert intruder.acknowledged == 0
    assert heard() == []


def test_a_bridge_user_reads_and_writes_the_topics_of_its_link_and_no_other(secured):
    """User c is the bridge from c to k, which carries 't' alone; 'v' is on b and k, 'u' on a, b."""
    lab, heard = secured
    intruder = Intruder(lab.access.ports["k"], "user-c", "secret of c")
    try:
        # The broker acknowledges what it refuses: what counts is that nobody gets it.
        assert wait_until(lambda: intruder.acknowledged == 4, PATIENCE)
        assert verify(lab, n_messages=1).findings == ()
        assert wait_until(lambda: "t" in intruder.got, PATIENCE)
    finally:
        intruder.close()
    assert set(intruder.got) == {"t"}
    assert set(heard()) == {("a", "t"), ("b", "t"), ("k", "t"), ("c", "t")}


@pytest.fixture
def secured(tmp_path, start_lab):
    """Yield a lab whose brokers want credentials, and what strangers published in it."""
    (tmp_path / "secrets").mkdir()
    wants, links = INNER
    conf = deploy(tmp_path / "conf", {**wants, "v": "bk"}, links, secrets=tmp_path / "secrets")
    assert validate(conf) == []
    lab = start_lab(conf)
    watchers: list[mqtt.Client] = []
    heard: list[tuple[str, str]] = []
    ready: list[str] = []
    try:
        for node in lab.up:
            watcher = mqtt.Client(CallbackAPIVersion.VERSION2)
            watcher.username_pw_set("meshwright-lab", lab.access.password)
            watcher.on_connect = lambda client, *_: client.subscribe("#", 1)
            watcher.on_subscribe = lambda *_, node=node: ready.append(node)
            watcher.on_message = lambda _c, _d, message, node=node: (
                heard.append((node, message.topic)) if message.payload == b"intruder" else None
            )
            watcher.connect("127.0.0.1", lab.access.ports[node])
            watcher.loop_start()
            watchers.append(watcher)
        assert wait_until(lambda: len(ready) == len(watchers), PATIENCE)
        yield lab, lambda: list(heard)
    finally:
        for watcher in watchers:
            watcher.disconnect()
            watcher.loop_stop()
        lab.stop()
