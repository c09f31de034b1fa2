"""The files of a configuration: written whole, safe against names, read back, proved."""

import json
import re
import stat
import subprocess
from contextlib import suppress

import pytest

from meshwright.deploy import plan, read_conf, validate, write_conf
from meshwright.deploy.inventory import hash_password, is_hash_of
from meshwright.errors import InputError
from meshwright.runtime.machine import host_name
from tests.deploying import brokers_of, deployed, overlay_of

PAIRS = [(node, "x") for node in "abc"] + [("a", "y"), ("b", "y")]


@pytest.fixture
def conf(tmp_path):
    return deployed(overlay_of(PAIRS, [("a", "b"), ("b", "c")]), tmp_path / "conf")


@pytest.fixture
def secured(tmp_path, monkeypatch):
    overlay = overlay_of(PAIRS, [("a", "b"), ("b", "c")])
    for i in range(3):
        monkeypatch.setenv(f"MESH_PASSWORD_{i}", f"secret {i} #'\"")
    brokers = brokers_of(
        "abc", username=lambda i: f"user-{i}", password_env=lambda i: f"MESH_PASSWORD_{i}"
    )
    return deployed(overlay, tmp_path / "conf", brokers, publishers=[("c", "y")])


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_was_written_is_read_back(conf):
    found = read_conf(conf)
    assert list(found.brokers) == ["a", "b", "c"]
    bridge = found.brokers["a"].bridges[0]
    assert bridge.options["address"] == "127.0.0.1:20001"
    assert bridge.options["remote_clientid"] == "mesh.a.b"
    assert bridge.options["local_clientid"] == "mesh-local.a.b"
    assert [tuple(line) for line in bridge.lines] == [("x", "both"), ("y", "both")]
    assert bridge.qos == [1, 1]
    assert validate(conf) == []


def test_more_messages_may_be_under_way_with_qos_2(conf, tmp_path):
    overlay = overlay_of(PAIRS, [("a", "b"), ("b", "c")])
    second = read_conf(deployed(overlay, tmp_path / "second", qos=2))
    assert second.brokers["a"].options["max_inflight_messages"] == "1000"
    assert second.brokers["a"].bridges[0].qos == [2, 2]
    assert "max_inflight_messages" not in read_conf(conf).brokers["a"].options


def test_the_plan_says_what_travels_where(conf):
    facts = json.loads((conf / "plan.json").read_text())
    assert facts["links"] == [{"from": "a", "to": "b"}, {"from": "c", "to": "b"}]
    assert facts["topics"][1] == {
        "name": "y",
        "pattern": "y",
        "example": "y",
        "subscribers": ["a", "b"],
        "publishers": ["a", "b"],
        "relays": [],
        "edges": [["a", "b"]],
    }


def test_a_configuration_is_kept_unless_forced_and_other_things_always(conf, tmp_path):
    made = plan(overlay_of(PAIRS), brokers_of("abc"))
    with pytest.raises(InputError, match="Pass --force"):
        write_conf(made, conf)
    write_conf(made, conf, force=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter").write_text("dear")
    with pytest.raises(InputError, match="so --force will not replace it"):
        write_conf(made, mine, force=True)
    assert (mine / "letter").read_text() == "dear"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conf", "mine"]


def test_a_write_that_fails_leaves_the_old_one_and_nothing_else(conf, tmp_path, monkeypatch):
    from meshwright.deploy import mosquitto

    def fail(_):
        raise OSError("disk full")

    before = (conf / "plan.json").read_text()
    monkeypatch.setattr(mosquitto, "json_text", fail)
    with pytest.raises(OSError, match="disk full"):
        write_conf(plan(overlay_of(PAIRS), brokers_of("abc")), conf, force=True)
    assert (conf / "plan.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["conf"]


def test_what_fails_its_proof_is_not_written(conf, tmp_path):
    from dataclasses import replace

    from meshwright.errors import CheckError

    made = plan(overlay_of(PAIRS, [("a", "b"), ("b", "c")]), brokers_of("abc"))
    link = ("a", "c")
    routes = tuple(replace(route, edges=(*route.edges, link)) for route in made.routes)
    looped = replace(made, links=(*made.links, link), routes=routes)
    before = (conf / "plan.json").read_text()
    with pytest.raises(CheckError, match="'x' goes in circles"):
        write_conf(looped, conf, force=True)
    assert (conf / "plan.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["conf"]


def test_a_reader_leaves_what_a_dead_writer_left_and_the_next_writer_cleans_up(conf, tmp_path):
    dead = subprocess.Popen(["true"])
    dead.wait()
    aside = tmp_path / f".conf.old-{host_name()}-{dead.pid}-0-0"
    conf.rename(aside)
    unfinished = tmp_path / f".conf.tmp-{host_name()}-{dead.pid}-0-0"
    unfinished.mkdir()
    with pytest.raises(InputError, match=rf"previous version is at '{aside}': rename it to 'conf'"):
        validate(conf)
    assert set(tmp_path.iterdir()) == {aside, unfinished}
    with pytest.raises(InputError, match=r"exists\. Pass --force"):
        write_conf(plan(overlay_of(PAIRS, [("a", "b"), ("b", "c")]), brokers_of("abc")), conf)
    assert validate(conf) == []
    assert set(tmp_path.iterdir()) == {conf}


def test_no_password_leaves_its_file_and_files_with_secrets_are_the_owners(secured):
    for path in secured.rglob("*"):
        if path.name == "plan.json":
            assert "secret" not in path.read_text()
        elif path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert ("secret" in path.read_text()) <= (path.name == "mosquitto.conf")
    facts = json.loads((secured / "plan.json").read_text())
    assert facts["brokers"][0]["username"] == "user-0"
    assert facts["brokers"][0]["password_env"] == "MESH_PASSWORD_0"


def test_each_bridge_user_may_use_its_topics_and_no_other(secured):
    found = read_conf(secured)
    middle = found.brokers["b"]
    assert middle.options["allow_anonymous"] == "false"
    assert middle.acl["user-0"] == [("readwrite", "x"), ("readwrite", "y")]
    assert middle.acl["user-2"] == [("readwrite", "x"), ("write", "y")]  # c only publishes y
    assert middle.acl["user-1"] == [("readwrite", "x"), ("readwrite", "y")]
    assert is_hash_of(middle.users["user-0"], "secret 0 #'\"")
    assert validate(secured) == []


def test_own_clients_are_unrestricted_unless_locked_down(tmp_path, monkeypatch):
    monkeypatch.setenv("MESH_PASSWORD", "secret")
    users = {"username": lambda i: f"user-{i}", "password_env": lambda _: "MESH_PASSWORD"}
    overlay = overlay_of(PAIRS, [("a", "b"), ("b", "c")])
    for layout in ("whole", "include"):
        where = tmp_path / layout
        deployed(overlay, where, brokers_of("abc", **users), layout=layout, lock_down=False)
        middle = read_conf(where).brokers["b"]
        assert middle.acl["user-1"] == [("readwrite", "#"), ("read", "$SYS/#")]
        assert middle.acl["user-0"] == [("readwrite", "x"), ("readwrite", "y")]  # a bridge
        assert validate(where) == []
        edit(where / "b" / "acl", "topic readwrite #\n", "")
        assert "'b' does not let 'user-1' use '#' as it needs to" in validate(where)
        edit(where / "b" / "acl", "user user-0\n", "user user-0\ntopic readwrite #\n")
        assert "'b' lets 'user-0' use '#', which nothing needs" in validate(where)


def test_client_ids_of_bridges_are_secrets_of_their_two_ends(secured, tmp_path, monkeypatch):
    def ids(conf):
        return {
            node: (bridge.options["remote_clientid"], bridge.options["local_clientid"])
            for node, broker in read_conf(conf).brokers.items()
            for bridge in broker.bridges
        }

    def again(name):
        brokers = brokers_of(
            "abc", username=lambda i: f"user-{i}", password_env=lambda i: f"MESH_PASSWORD_{i}"
        )
        overlay = overlay_of(PAIRS, [("a", "b"), ("b", "c")])
        return ids(deployed(overlay, tmp_path / name, brokers, publishers=[("c", "y")]))

    before = ids(secured)
    remote, local = before["a"]
    secret = remote.removeprefix("mesh.a.b.")
    assert re.fullmatch("[0-9a-f]{32}", secret)
    assert local == f"mesh-local.a.b.{secret}"
    assert before["c"][0].removeprefix("mesh.c.b.") != secret
    assert again("same") == before
    for i, changed in ((0, {"a"}), (1, {"a", "c"}), (2, {"c"})):
        monkeypatch.setenv(f"MESH_PASSWORD_{i}", "another")
        after = again(str(i))
        assert {node for node in "ac" if after[node] != before[node]} == changed
        before = after


def test_a_password_is_hashed_with_a_new_salt_each_time():
    one, other = hash_password("secret"), hash_password("secret")
    assert one != other
    assert is_hash_of(one, "secret")
    assert not is_hash_of(one, "Secret")
    assert not is_hash_of("$6$x", "secret")
    assert re.fullmatch(r"\$7\$101\$[A-Za-z0-9+/]{16}\$[A-Za-z0-9+/]{86}==", one)


def test_tls_is_for_listeners_and_bridges(tmp_path):
    overlay = overlay_of(PAIRS, [("a", "b"), ("b", "c")])
    files = {name: lambda i, name=name: f"/etc/{name}.pem" for name in ("ca", "cert", "key")}
    found = read_conf(deployed(overlay, tmp_path / "conf", brokers_of("abc", **files)))
    assert found.brokers["a"].options["certfile"] == "/etc/cert.pem"
    options = found.brokers["a"].bridges[0].options
    assert [options[f"bridge_{name}"] for name in ("cafile", "certfile", "keyfile")] == [
        "/etc/ca.pem",
        "/etc/cert.pem",
        "/etc/key.pem",
    ]
    edit(found.path / "a" / "mosquitto.conf", "bridge_cafile /etc/ca.pem\n", "")
    assert "'a' - 'b': only one end of the link uses TLS" in validate(found.path)


NASTY = ['"', "#x", "größe/数", "'a'/b", "\u2028listener", "-", "%u", "topic", "a\\nb", "\u00a0"]


def test_nothing_in_a_name_adds_or_ends_a_line(tmp_path):
    nodes = ["\nlistener 1", "#node", "a b/../c", 'q"uote', "größe"]
    topics = [name for name in NASTY if "#" not in name] + ["x/y/with a space/z"]
    pairs = [(node, topic) for node in nodes for topic in topics]
    conf = deployed(overlay_of(pairs), tmp_path / "conf")
    found = read_conf(conf)
    known = {"listener", "allow_anonymous", "persistence", "persistence_location"}
    known |= {"log_dest", "log_type"}
    for broker in found.brokers.values():
        assert set(broker.options) == known | {"max_queued_messages"}
    carried = {line.pattern for b in found.brokers.values() for x in b.bridges for line in x.lines}
    assert carried == {*topics[:-1], "x/y/+/z"}
    assert validate(conf) == []


SECOND = """
connection a
address 127.0.0.1:20000
try_private true
cleansession true
notifications_local_only true
remote_clientid z
topic x both 1
"""


def test_two_bridges_between_a_pair_are_a_cycle(conf):
    path = conf / "b" / "mosquitto.conf"
    path.write_text(path.read_text() + SECOND)
    assert any("'x' goes in circles over" in finding for finding in validate(conf))


def test_an_unpruned_triangle_is_refused(tmp_path):
    conf = deployed(overlay_of([(n, "x") for n in "abc"], [("a", "b"), ("b", "c")]), tmp_path / "c")
    path = conf / "a" / "mosquitto.conf"
    bridge = path.read_text().partition("# Link to")[2]
    more = bridge.replace(":20001", ":20002").replace("connection b", "connection c")
    path.write_text(f"{path.read_text()}#{more}")
    assert any("'x' goes in circles" in finding for finding in validate(conf))


@pytest.mark.parametrize(
    ("node", "old", "new", "finding"),
    [
        ("a", "topic x both 1\n", "", "topic 'x' from 'a' does not reach 'b', 'c'"),
        ("a", "topic x both", "topic x in", "does not reach"),
        (
            "c",
            "topic x both 1\n",
            "topic x both 1\ntopic y both 1\n",
            "brokers that do not want it: 'c'",
        ),
        ("a", "topic x both 1", "topic x both 1\ntopic + both 1", "is sent twice by the bridge"),
        ("a", "127.0.0.1:20001", "127.0.0.1:1", "which is not another broker of the plan"),
        ("c", "mesh.c.b", "mesh.a.b", "each connection would end the other"),
        ("a", "local_clientid mesh-local.a.b\n", "", "share the local client id ''"),
        ("a", "\ncleansession true", "\ncleansession false", "cleansession is false"),
        ("a", "try_private true", "try_private false", "try_private is false"),
        (
            "a",
            "topic x both 1",
            "topic x both 1\ntopic hidden both 1",
            "'hidden' reaches brokers",
        ),
        ("b", "listener 20001", "listener 20009", "listens on '20009 127.0.0.1', and others dial"),
        ("b", "listener 20001 127.0.0.1\n", "", "'b' listens on 'nowhere'"),
        ("b", "allow_anonymous true\n", "", "lets nobody in: allow_anonymous is not set"),
        ("b", "allow_anonymous true", "allow_anonymous false", "has no users and lets nobody in"),
        ("a", "topic x both 1\ntopic y both 1\n", "", "has no topic, so it does not start"),
        (
            "a",
            "keepalive_interval 30",
            "remote_username me",
            "as the user 'me', not as ''",
        ),
        ("a", "keepalive_interval 30", "bridge_cafile x", "not all of cafile, certfile, keyfile"),
        ("b", "allow_anonymous", "cafile x\nallow_anonymous", "its plan says TLS is False"),
    ],
)
def test_the_validator_finds_what_is_wrong(conf, node, old, new, finding):
    edit(conf / node / "mosquitto.conf", old, new)
    assert any(finding in reported for reported in validate(conf)), validate(conf)


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("acl", "topic write y", "topic read y", "does not let 'user-2' use 'y'"),
        ("acl", "topic write y", "topic readwrite y", "which nothing needs"),
        ("acl", "topic write y", "topic write y\ntopic read #", "lets 'user-2' use '#'"),
        ("passwd", "user-0:", "someone:", "no password for the user 'user-0'"),
        ("mosquitto.conf", "anonymous false", "anonymous true", "lets anyone in"),
        ("acl", "user user-1\ntopic readwrite x", "user user-1", "not let 'user-1' use 'x'"),
        ("acl", "user user-1", "user user-1\ntopic read z", "lets 'user-1' use 'z'"),
        ("../a/mosquitto.conf", "secret 0", "secret 9", "has another password for 'user-0'"),
    ],
)
def test_the_validator_finds_wrong_rights(secured, file, old, new, finding):
    edit(secured / "b" / file, old, new)
    assert any(finding in reported for reported in validate(secured)), validate(secured)


def test_the_client_id_of_a_bridge_is_not_published_below_sys(secured):
    path = secured / "a" / "mosquitto.conf"
    (line,) = re.findall(r"^notification_topic .*\n", path.read_text(), re.MULTILINE)
    edit(path, line, "")
    assert "'a' shows who reads $SYS the client id of its bridge 'b'" in validate(secured)


def test_the_validator_finds_files_that_others_can_read(secured):
    (secured / "b" / "mosquitto.conf").chmod(0o644)
    assert any("can be read by others" in reported for reported in validate(secured))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("topic x both 1", "topic x y both 1", "is not a name, a direction and a qos"),
        ("topic x both 1", "topic x both 1 local/ remote/", "is not a name"),
        ("keepalive_interval 30", "keepalive_interval 30\nkeepalive_interval 30", "given twice"),
    ],
)
def test_topics_and_options_that_say_something_else_are_refused(conf, old, new, message):
    edit(conf / "a" / "mosquitto.conf", old, new)
    with pytest.raises(InputError, match=message):
        read_conf(conf)


SAME_IDS = {  # a second bridge to the same broker would end the first
    "remote_clientid mesh.a.b": "'a' and 'a' dial 'b' with the client id 'mesh.a.b'",
    "local_clientid mesh-local.a.b": "share the local client id 'mesh-local.a.b'",
}


@pytest.mark.parametrize("line", SAME_IDS)
def test_two_bridges_of_a_broker_need_their_own_client_ids(conf, line):
    path = conf / "a" / "mosquitto.conf"
    bridge = path.read_text().partition("# Link to")[2].replace("topic x both 1\n", "")
    bridge = bridge.replace("connection b", "connection b2").replace("a.b\n", "a.b2\n")
    edit(path, "topic y both 1\n", f"#{bridge}")
    assert validate(conf) == []
    edit(path, f"{line}2", line)
    assert any(SAME_IDS[line] in reported for reported in validate(conf)), validate(conf)


ADDED_TO_BRIDGE = {
    "connection b": "'b' is not a new bridge name",
    "topic hidden both 01": "is not a name, a direction and a qos",
    "topic x/#/y both 1": "has a '#' that is not its whole last level",
    "bridge_protocol_version mqttv5": "'mqttv5' is not a value that this check understands",
    "keepalive_interval 4": "'4' is not a value",
    "restart_timeout 5 1": "'5 1' is not a value",
    "cleansession 1": "'1' is not a value",
    "# note\rtopic hidden both 1": r"line \d+ holds the control character '\\r'",
    "# note\0": r"holds the control character '\\x00'",
    "\r": r"holds the control character '\\r'",
    "  topic hidden both 1": "'  topic hidden both 1' is not an option",
    "topic\thidden both 1": "Mosquitto may read it as something else",
    "topic  hidden both 1": "one space and a value",
    "topic hidden both 1 ": "one space and a value",
    "addresses h:1": "'addresses' is not an option of a bridge",
    "listener 1": "'listener' is not an option of a bridge",
}
ADDED_TO_BROKER = {
    "log_type everything": "'everything' is not a value",
    "include_dir more": "'include_dir' is not an option of a broker",
    "plugin /x.so": "'plugin' is not an option of a broker",
    "per_listener_settings true": "'per_listener_settings' is not an option",
    "pid_file x": "'pid_file' is not an option",
    "no_such_option 1": "so nothing can be proved",
    "topic x both 1": "a topic before any connection",
}


@pytest.mark.parametrize(("line", "message"), [*ADDED_TO_BRIDGE.items(), *ADDED_TO_BROKER.items()])
def test_lines_that_the_check_does_not_understand_are_refused(conf, line, message):
    before = "topic x both 1" if line in ADDED_TO_BRIDGE else "persistence true"
    edit(conf / "a" / "mosquitto.conf", before, f"{before}\n{line}")
    with pytest.raises(InputError, match=message):
        read_conf(conf)


@pytest.mark.parametrize(
    "entry", ["user-0:$7$1$eA==$eA==", "me:secret", "me", " me:$7$1$eA==$eA=="]
)
def test_users_that_mosquitto_passwd_did_not_write_are_refused(secured, entry):
    path = secured / "b" / "passwd"
    path.write_text(f"{path.read_text()}{entry}\n")
    with pytest.raises(InputError, match=r"passwd' line 4 is not a new user, a colon and a hash"):
        read_conf(secured)


@pytest.mark.parametrize("line", ["topic secret/#", "topic deny y", "topic", "pattern %u/#"])
def test_rights_that_are_not_written_by_us_are_refused(secured, line):
    edit(secured / "b" / "acl", "topic write y", f"topic write y\n{line}")
    with pytest.raises(InputError, match="one of read, write, readwrite, and a topic"):
        read_conf(secured)


def test_logging_may_be_added(conf):
    edit(conf / "a" / "mosquitto.conf", "persistence true", "log_type all\npersistence true")
    assert validate(conf) == []


@pytest.mark.parametrize("layout", ["whole", "include"])
def test_brokers_log_what_ingest_reads(tmp_path, layout):
    made = plan(overlay_of(PAIRS), brokers_of("abc"))
    file = {"whole": "mosquitto.conf", "include": "meshwright.conf"}[layout]
    logged = {}
    for log in ("none", "subscriptions", "publications"):
        write_conf(made, tmp_path / log, layout=layout, log=log)
        text = (tmp_path / log / "a" / file).read_text()
        logged[log] = set(re.findall(r"^log_type (\w+)$", text, re.MULTILINE))
    assert logged["none"] == set()
    defaults = {"error", "warning", "notice", "information"}  # else a broker would lose them
    assert logged["subscriptions"] == defaults | {"subscribe", "unsubscribe"}
    assert logged["publications"] == logged["subscriptions"] | {"debug"}
    with pytest.raises(InputError, match="unknown --log 'everything'"):
        write_conf(made, tmp_path / "no", layout=layout, log="everything")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ('{"kind": "x", "format_version": 1}', "is of kind 'x'"),
        ('{"kind": "mosquitto", "format_version": 1, "brokers": [{}]}', "'node' is missing"),
        ('{"kind": "mosquitto", "format_version": 1, "brokers": []}', "'topics' is missing"),
    ],
)
def test_a_damaged_plan_is_told(conf, content, message):
    (conf / "plan.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_conf(conf)


def places(value, at=()):
    """Yield the path of each value inside JSON, of lists the first two entries."""
    if at:
        yield at
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]):
            yield from places(inner, (*at, key))


WRONG = [None, True, 3, -1, 2.5, "?#", "", [], ["x"], [[1, 2]], {}, {"a": 1}, 10**400, 1.0]
WRONG += ["0" * 5000, "\ud800", float("nan")]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_a_plan_with_a_value_of_another_type_is_refused_in_words(conf, value):
    good = json.loads((conf / "plan.json").read_text())
    for *parents, last in places(good):
        changed = inner = json.loads(json.dumps(good))
        for key in parents:
            inner = inner[key]
        fits = type(inner[last]) is type(value) or last in ("command", "created")
        fits = fits or (inner[last] is None and isinstance(value, str))  # users and passwords
        inner[last] = value
        (conf / "plan.json").write_text(json.dumps(changed))
        if fits:  # it may still be a wrong one
            with suppress(InputError):
                validate(conf)
        else:
            with pytest.raises(InputError, match=r"plan.json' (is|cannot)|has no mosquitto.conf"):
                validate(conf)


def test_a_directory_of_something_else_is_told(tmp_path):
    with pytest.raises(InputError, match=r"holds no plan.json"):
        validate(tmp_path)
