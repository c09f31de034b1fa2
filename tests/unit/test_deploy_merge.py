"""A plan beside an operator's own configuration: merged, merged again, judged."""

import shutil
import stat

import pytest

from meshwright.deploy import check_installed, merge, read_conf, read_plan
from meshwright.deploy.installed import Files, host_files, read_installed
from meshwright.errors import CheckError, InputError
from tests.deploying import brokers_of, deployed, overlay_of

PAIRS = [(node, "x") for node in "abc"] + [("a", "y"), ("b", "y")]
CHAIN = [("a", "b"), ("b", "c")]  # a and c dial b
HASH = "$7$101$AAAAAAAAAAAAAAAA$AAAA"
MAIN = """\
# my broker
listener 20001 127.0.0.1
  allow_anonymous false
password_file users
acl_file rights
listener 9001
protocol websockets
include_dir conf.d
connection_messages true
"""
USERS = f"alice:{HASH}\nbob:{HASH}"  # without a line end
RIGHTS = "user alice\r\ntopic readwrite alice/#\n\nuser bob\ntopic read #\n"


@pytest.fixture
def host(tmp_path):
    """The directory of an operator's broker, with users, rights and another listener."""
    place = tmp_path / "etc"
    (place / "conf.d").mkdir(parents=True)
    (place / "mosquitto.conf").write_text(MAIN)
    (place / "users").write_text(USERS)
    (place / "rights").write_text(RIGHTS, newline="")
    (place / "conf.d" / "mine.conf").write_text("max_keepalive 60\n")
    return place


@pytest.fixture
def deploy(tmp_path, monkeypatch):
    """A function that writes a configuration in the layout for operators."""

    def write(name, pairs=PAIRS, links=CHAIN, users=True, **options):
        for i in range(3):
            monkeypatch.setenv(f"MESH_{i}", f"secret-{i}")
        security = {"username": lambda i: f"user-{i}", "password_env": lambda i: f"MESH_{i}"}
        brokers = brokers_of("abc", **(security if users else {}))
        options = {"lock_down": False, **options}
        return deployed(
            overlay_of(pairs, links), tmp_path / name, brokers, layout="include", **options
        )

    return write


def contents(place):
    files = (path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def test_the_operators_lines_stay_and_a_second_merge_changes_nothing(host, deploy):
    conf = deploy("conf")
    (host / "users").chmod(0o640)
    before = contents(host)
    shown = merge(conf / "b", host, dry_run=True)
    assert contents(host) == before
    done = merge(conf / "b", host)
    assert [c.path for c in done.changes] == [c.path for c in shown.changes]
    assert done.restart
    after = contents(host)
    assert after["mosquitto.conf"] == before["mosquitto.conf"]
    assert after["conf.d/mine.conf"] == before["conf.d/mine.conf"]
    assert after["users"].startswith(before["users"] + b"\nuser-1:$7$")
    assert b"#" not in after["users"]  # mosquitto_passwd would drop everybody
    assert after["rights"].startswith(before["rights"] + b"# begin meshwright\n")
    assert after["rights"].endswith(b"# end meshwright\n")
    assert after["conf.d/meshwright.conf"] == (conf / "b" / "meshwright.conf").read_bytes()
    assert stat.S_IMODE((host / "users").stat().st_mode) == 0o640
    assert stat.S_IMODE((host / "conf.d" / "meshwright.conf").stat().st_mode) == 0o600
    again = merge(conf / "b", host)
    assert (again.changes, again.restart) == ((), False)
    assert contents(host) == after


def test_a_new_plan_replaces_the_old_one_and_keeps_what_came_between(host, deploy):
    merge(deploy("one") / "b", host)
    for name, more in (("users", f"carol:{HASH}\n"), ("rights", "user carol\ntopic read x\n")):
        with (host / name).open("a") as file:
            file.write(more)
    pairs = [("a", "x"), ("b", "x"), ("b", "z"), ("c", "z"), ("a", "w"), ("c", "w")]
    two = deploy("two", pairs, [("a", "b"), ("b", "c"), ("a", "c")])
    done = merge(two / "b", host)
    users = [line.split(":")[0] for line in (host / "users").read_text().splitlines()]
    fragment = [line.split(":")[0] for line in (two / "b" / "passwd").read_text().splitlines()]
    assert users == ["alice", "bob", "carol", *fragment]
    text = (host / "rights").read_bytes().decode()
    assert text.startswith(RIGHTS)
    assert text.endswith("# end meshwright\nuser carol\ntopic read x\n")
    assert text.count("# begin meshwright\n") == 1
    assert done.warnings == ()


def test_the_broker_keeps_its_own_user_where_the_operator_has_it(host, deploy):
    conf = deploy("conf")
    (host / "users").write_text(f"user-1:{HASH}\n")
    merge(conf / "b", host)
    assert (host / "users").read_text().count("user-1:") == 1
    assert "user user-1" not in (host / "rights").read_text()


def test_the_name_of_a_bridge_that_the_operator_uses_is_refused(host, deploy):
    (host / "users").write_text(f"user-0:{HASH}\n")
    before = contents(host)
    with pytest.raises(InputError, match="has the user 'user-0' already"):
        merge(deploy("conf") / "b", host)
    assert contents(host) == before


def test_a_broker_without_users_gets_files_and_its_clients_keep_every_right(host, deploy):
    (host / "mosquitto.conf").write_text("listener 20001\nallow_anonymous true\n")
    conf = deploy("conf")
    done = merge(conf / "b", host)
    main = (host / "mosquitto.conf").read_text()
    added = f"# begin meshwright\ninclude_dir {host}/meshwright.d\n# end meshwright\n"
    assert main == f"listener 20001\nallow_anonymous true\n{added}"
    rights = (host / "meshwright.acl").read_text()
    assert rights.startswith("# begin meshwright clients\ntopic readwrite #\ntopic read $SYS/#\n")
    assert [w for w in done.warnings if "anyone may use its topics" in w]
    assert merge(conf / "b", host).changes == ()
    with (host / "meshwright.passwd").open("a") as file:
        file.write(f"dave:{HASH}\n")
    found = check_installed(conf, read_plan(conf), {"b": host})
    assert "'b' has users without any right: 'dave'" in found.warnings
    merge(conf / "b", host)
    assert "user dave\ntopic readwrite #\n" in (host / "meshwright.acl").read_text()
    assert check_installed(conf, read_plan(conf), {"b": host}).errors == []


def test_locked_down_own_clients_get_no_more_than_the_plan_has(host, deploy):
    (host / "mosquitto.conf").write_text("listener 20001\npassword_file users\n")
    merge(deploy("conf", lock_down=True) / "b", host)
    rights = (host / "meshwright.acl").read_text()
    assert "user user-1\ntopic readwrite x\ntopic readwrite y\n" in rights
    assert "alice" not in rights


def test_a_plan_without_users_takes_its_users_away_again(host, deploy):
    before = contents(host)
    merge(deploy("conf") / "b", host)
    (host / "mosquitto.conf").write_text(MAIN.replace("anonymous false", "anonymous true"))
    text = (host / "rights").read_bytes()
    (host / "rights").write_bytes(b"topic readwrite #\n" + text)
    merge(deploy("open", users=False) / "b", host)
    assert (host / "users").read_bytes() == before["users"] + b"\n"
    assert (host / "rights").read_bytes() == b"topic readwrite #\n" + before["rights"]


def test_users_can_come_before_bridges(host, deploy):
    done = merge(deploy("conf") / "b", host, users_only=True)
    assert not done.restart
    assert not (host / "conf.d" / "meshwright.conf").exists()
    assert "user user-0" in (host / "rights").read_text()


def test_a_copy_of_a_host_is_changed_in_its_place(tmp_path, host, deploy):
    root = tmp_path / "host"
    root.mkdir()
    (root / "etc").mkdir()
    host.rename(root / "etc" / "mosquitto")
    main = root / "etc" / "mosquitto" / "mosquitto.conf"
    main.write_text(MAIN.replace("conf.d", "/etc/mosquitto/conf.d"))
    conf = deploy("conf")
    merge(conf / "b", "/etc/mosquitto/mosquitto.conf", root=root)
    assert (main.parent / "conf.d" / "meshwright.conf").exists()
    found = check_installed(conf, read_plan(conf), {"b": root})
    assert (found.errors, found.warnings) == ([], [])


BRIDGE = "connection mine\naddress {to}\ntopic {topic}\n"


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        (BRIDGE.format(to="cloud.example", topic="# out 1"), "carries '#' beside the plan"),
        (BRIDGE.format(to="127.0.0.1:20000", topic="x both"), "could go in circles"),
        (BRIDGE.format(to="h:1", topic="x in 1 local/ remote/") + "topic + out 1", "carries '+'"),
        (BRIDGE.format(to="127.0.0.1:20000", topic="x in 1 l/"), "beside the plan"),
        (BRIDGE.format(to="127.0.0.1:20001", topic="o both"), "dials its own broker"),
        (
            BRIDGE.format(to="h:1", topic="o both") + BRIDGE.format(to="h:1", topic="+/# both"),
            "carries '+/#' beside",
        ),
        (
            BRIDGE.format(to="h:1", topic="o both")
            + BRIDGE.format(to="h:1", topic="o both").replace("mine", "two"),
            "'o' goes in circles over bridges of your own",
        ),
        ("mount_point p/", "mount_point"),
        ("clientid_prefixes dev", "they are refused"),
    ],
)
def test_lines_that_could_carry_or_stop_a_message_are_refused(host, deploy, lines, finding):
    if lines.startswith("mount"):
        (host / "mosquitto.conf").write_text(
            MAIN.replace("password_file", f"{lines}\npassword_file")
        )
    else:
        (host / "mosquitto.conf").write_text(f"{MAIN}{lines}\n")
    before = contents(host)
    with pytest.raises(CheckError, match="nothing was written") as error:
        merge(deploy("conf") / "b", host)
    assert any(finding in found for found in error.value.findings), error.value.findings
    assert contents(host) == before


@pytest.mark.parametrize(
    "lines",
    [
        BRIDGE.format(to="cloud.example", topic="billing/# out 1"),
        BRIDGE.format(to="h:1", topic="x in 1 from-h/"),  # it is called from-h/x here
        BRIDGE.format(to="127.0.0.1:20000", topic="own both"),
        "listener 8883\ncertfile /x",
        "persistence true\nqueue_qos0_messages true",
    ],
)
def test_other_lines_of_the_operator_are_none_of_our_business(host, deploy, lines):
    (host / "mosquitto.conf").write_text(f"{MAIN}{lines}\n")
    assert merge(deploy("conf") / "b", host).warnings == ()


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        ("message_size_limit 100", "messages beyond it"),
        ("plugin /usr/lib/x.so", "may decide about users"),
        ("allow_anonymous true", "anyone may use"),
    ],
)
def test_what_matters_elsewhere_is_a_warning(host, deploy, lines, warning):
    (host / "mosquitto.conf").write_text(f"{MAIN}{lines}\n")
    assert warning in " ".join(merge(deploy("conf") / "b", host).warnings)


def test_a_bridge_that_the_include_would_tear_is_refused(host, deploy):
    torn = "connection mine\naddress h:1\ntopic o in\ninclude_dir conf.d\ntopic p in\n"
    (host / "mosquitto.conf").write_text(MAIN.replace("include_dir conf.d\n", "") + torn)
    with pytest.raises(CheckError, match="stands below an include_dir inside a bridge"):
        merge(deploy("conf") / "a", host)


def test_listeners_with_users_of_their_own_are_told_apart(host, deploy):
    own = "per_listener_settings true\nlistener 20001\n{}include_dir conf.d\nlistener 1\n{}"
    files = "password_file users\nacl_file rights\n"
    conf = deploy("conf")
    (host / "mosquitto.conf").write_text(own.format("", files))
    with pytest.raises(InputError, match="its listener at port 20001 has no password_file and no"):
        merge(conf / "b", host)
    (host / "mosquitto.conf").write_text(own.format(files, ""))
    merge(conf / "b", host)
    assert "user-0:" in (host / "users").read_text()


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("rights", "user user-2", "user nobody", "does not let 'user-2' use 'x'"),
        ("rights", "# end meshwright", "topic read #\n# end meshwright", "a line about '#'"),
        ("rights", "# end meshwright\n", "# end meshwright\ntopic deny x\n", "a line about"),
        ("users", "user-0:", "other:", "no password for the user 'user-0'"),
        ("users", "user-0:$7$101$", "user-0:$7$101$B", "another password"),
        ("mosquitto.conf", "include_dir conf.d\n", "", "from no directory"),
        ("mosquitto.conf", "acl_file rights\n", "", "has no access list"),
    ],
)
def test_the_check_of_what_runs_finds_what_was_changed(host, deploy, file, old, new, finding):
    conf = deploy("conf")
    merge(conf / "b", host)
    assert check_installed(conf, read_plan(conf), {"b": host}).errors == []
    text = (host / file).read_bytes().decode()
    (host / file).write_bytes(text.replace(old, new).encode())
    found = check_installed(conf, read_plan(conf), {"b": host / "mosquitto.conf"}).errors
    assert any(finding in one for one in found), found


def test_a_changed_bridge_and_an_older_plan_are_found(host, deploy):
    conf = deploy("conf")
    merge(conf / "a", host)
    with (host / "conf.d" / "meshwright.conf").open("a") as file:
        file.write("topic hidden both 1\n")
    (found,) = check_installed(conf, read_plan(conf), {"a": host}).errors
    assert "is not the meshwright.conf of" in found


def test_brokers_without_users_need_anonymous_clients(host, deploy):
    conf = deploy("conf", users=False)
    with pytest.raises(CheckError, match="does not allow anonymous clients"):
        merge(conf / "b", host)
    (host / "mosquitto.conf").write_text(MAIN.replace("anonymous false", "anonymous true"))
    with pytest.raises(CheckError, match="does not let anonymous clients, and so bridges, use 'x'"):
        merge(conf / "b", host)
    (host / "rights").write_text("topic readwrite #\n" + RIGHTS)
    assert merge(conf / "b", host).warnings == ()
    assert (host / "users").read_text() == USERS


def test_damaged_marks_and_foreign_directories_are_told(host, deploy, tmp_path):
    conf = deploy("conf")
    (host / "rights").write_text("# begin meshwright\nuser x\n")
    with pytest.raises(InputError, match="do not stand once each, in this order"):
        merge(conf / "b", host)
    with pytest.raises(InputError, match="is not a broker's directory"):
        merge(conf / "d", host)
    with pytest.raises(InputError, match="does not exist"):
        merge(conf / "b", tmp_path / "none.conf")
    whole = deployed(overlay_of(PAIRS, CHAIN), tmp_path / "whole")
    with pytest.raises(InputError, match="has the layout whole"):
        merge(whole / "b", host)


def test_a_link_to_a_file_stays_one_and_nothing_is_left_behind(host, deploy, tmp_path):
    (host / "users").rename(tmp_path / "elsewhere")
    (host / "users").symlink_to(tmp_path / "elsewhere")
    merge(deploy("conf") / "b", host)
    assert (host / "users").is_symlink()
    assert "user-0:" in (tmp_path / "elsewhere").read_text()
    left = {path.name for path in host.rglob("*")}
    assert left == {"conf.d", "mosquitto.conf", "rights", "users", "meshwright.conf", "mine.conf"}


def test_files_are_included_as_mosquitto_does(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "sub").mkdir()
    for name in ("b.conf", "A.conf", ".h.conf", "x.txt", "10.conf", "z.CONF"):
        (tmp_path / "d" / name).write_text("include_dir d/sub\n")
    (tmp_path / "d" / "sub" / "no.conf").write_text("connection no\n")
    main = " listener 1\r\n#include_dir no\ninclude_dir d\nconnection a b\ntopic  y  in\n"
    (tmp_path / "mosquitto.conf").write_text(main + 'addresses h k:2\ntopic z both 1 l/ ""\n')
    files = Files(tmp_path, "/")
    names = [name.removeprefix("/d/") for name in files.included("d")]
    assert names == [".h.conf", "10.conf", "A.conf", "b.conf"]
    found = read_installed(files, "/mosquitto.conf")
    assert [listener.port for listener in found.listeners] == ["", "1"]
    (bridge,) = found.bridges
    assert (bridge.name, bridge.addresses) == ("a", ["h:1883", "k:2"])
    lines = [("y", "y", "in"), ("l/z", "z", "both")]
    assert [tuple(line) for line in bridge.lines] == lines


def test_the_two_layouts_mean_the_same(tmp_path, deploy):
    include = read_conf(deploy("include"))
    whole = read_conf(deploy("two"))
    for node, broker in include.brokers.items():
        assert broker.bridges == whole.brokers[node].bridges
        assert broker.acl == whole.brokers[node].acl


@pytest.mark.parametrize(
    "main", [MAIN, "listener 20001\nallow_anonymous true\n"], ids=["with users", "without"]
)
def test_a_broker_that_leaves_the_mesh_is_as_it_was(host, deploy, main):
    (host / "mosquitto.conf").write_text(main)
    (host / "users").write_text(USERS + "\n")
    before = contents(host)
    conf = deploy("conf")
    merge(conf / "b", host)
    done = merge(conf / "b", host, remove=True)
    assert done.restart
    # Files that were made for it stay, empty: nothing names them.
    assert {name: text for name, text in contents(host).items() if text} == before
    assert merge(conf / "b", host, remove=True).changes == ()


def test_users_that_the_operator_added_to_our_files_keep_them(host, deploy):
    (host / "mosquitto.conf").write_text("listener 20001\nallow_anonymous false\n")
    conf = deploy("conf")
    merge(conf / "b", host)
    with (host / "meshwright.passwd").open("a") as file:
        file.write(f"dave:{HASH}\n")
    merge(conf / "b", host, remove=True)
    found = read_installed(*host_files(host))
    assert found.options["password_file"] == str(host / "meshwright.passwd")
    assert "acl_file" not in found.options  # so that dave may use any topic, as before
    assert (host / "meshwright.passwd").read_text() == f"dave:{HASH}\n"


def test_a_host_needs_no_other_brokers_files(host, deploy, tmp_path):
    conf = deploy("conf")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copytree(conf / "b", alone / "b")
    shutil.copy(conf / "plan.json", alone)
    assert merge(alone / "b", host).restart
    with (alone / "b" / "meshwright.conf").open("a") as file:
        file.write("plugin /x.so\n")
    with pytest.raises(InputError, match="'plugin' is not an option"):
        merge(alone / "b", host)
