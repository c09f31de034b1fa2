"""Merged files with a mistake in them: the check of what runs, or the next merge, notices each.

Every line that a merge wrote is removed, doubled and edited in turn. A mistake that stops a bridge,
opens it to more topics or could make a loop must be an error of the check. One that concerns the
broker's own clients is a warning, and what has no effect is put right by the next merge.
"""

import pytest

from meshwright.deploy import check_installed, merge, read_plan
from meshwright.errors import CheckError, InputError
from tests.deploying import brokers_of, deployed, overlay_of
from tests.unit.test_deploy_merge import CHAIN, HASH, PAIRS, RIGHTS, USERS

PORTS = {"a": 20000, "b": 20001}
MAIN = "listener {port} 127.0.0.1\nallow_anonymous false\n{users}{include}max_keepalive 60\n"
LAYOUTS = {  # what the operator has: users and an access list, a directory of includes
    "everything": ("password_file users\nacl_file rights\n", "include_dir conf.d\n"),
    "no include": ("password_file users\nacl_file rights\n", ""),
    "no users": ("", "include_dir conf.d\n"),
}


class Host:
    """The merged files of one broker of a chain in which a and c dial b."""

    def __init__(self, place, conf, node):
        self.place, self.conf, self.node = place, conf, node
        self.plan = read_plan(conf)
        merge(conf / node, place)
        assert self.check() == []

    def check(self):
        return check_installed(self.conf, self.plan, {self.node: self.place}).errors

    def warnings(self):
        return check_installed(self.conf, self.plan, {self.node: self.place}).warnings

    def merge_notices(self):
        """Whether the next merge would refuse, or write something."""
        try:
            return bool(merge(self.conf / self.node, self.place, dry_run=True).changes)
        except (InputError, CheckError):
            return True

    def check_notices(self):
        try:
            return bool(self.check())
        except InputError:
            return True

    def file(self, name):
        return next(self.place.rglob(name))


@pytest.fixture
def merged(tmp_path, monkeypatch):
    """A function that returns the merged files of a broker: host, layout and lock-down."""

    def make(node, layout="everything", *, lock_down=False):
        for i in range(3):
            monkeypatch.setenv(f"MESH_{i}", f"secret-{i}")
        security = {"username": lambda i: f"user-{i}", "password_env": lambda i: f"MESH_{i}"}
        conf = deployed(
            overlay_of(PAIRS, CHAIN),
            tmp_path / "conf",
            brokers_of("abc", **security),
            layout="include",
            lock_down=lock_down,
        )
        place = tmp_path / "etc"
        (place / "conf.d").mkdir(parents=True)
        users, include = LAYOUTS[layout]
        main = MAIN.format(port=PORTS[node], users=users, include=include)
        (place / "mosquitto.conf").write_text(main)
        (place / "users").write_text(USERS + "\n")
        (place / "rights").write_text(RIGHTS, newline="")
        return Host(place, conf, node)

    return make


def mutations(lines):
    """Yield (what, line, text) for each line that is removed, doubled or edited."""
    for i, line in enumerate(lines):
        yield "removed", line, b"".join(lines[:i] + lines[i + 1 :])
        yield "doubled", line, b"".join(lines[: i + 1] + lines[i:])
        yield "edited", line, b"".join([*lines[:i], line[:-2] + b"q\n", *lines[i + 1 :]])


def ours(host, before):
    """Return the files that the merge wrote, each with the lines that are not the operator's."""
    found = {}
    for path in sorted(host.place.rglob("*")):
        if path.is_file():
            operators = before.get(path.name, "").splitlines(keepends=True)
            lines = path.read_bytes().splitlines(keepends=True)
            if [line.decode() for line in lines] != operators:
                found[path] = lines, {line.encode() for line in operators}
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("node", PORTS)
def test_no_line_of_a_merge_can_be_changed_unnoticed(merged, node, layout):
    host = merged(node, layout)
    users, include = LAYOUTS[layout]
    before = {
        "mosquitto.conf": MAIN.format(port=PORTS[node], users=users, include=include),
        "users": USERS + "\n",
        "rights": RIGHTS,
    }
    n_tried = 0
    for path, (lines, operators) in ours(host, before).items():
        for what, line, text in mutations(lines):
            if line in operators:
                continue
            path.write_bytes(text)
            assert host.check_notices() or host.merge_notices(), (path.name, what, line)
            n_tried += 1
        path.write_bytes(b"".join(lines))
    assert n_tried > 20
    assert not host.merge_notices()


def test_every_line_of_bridges_is_checked(merged):
    host = merged("a")
    file = host.file("meshwright.conf")
    lines = file.read_bytes().splitlines(keepends=True)
    assert any(line.startswith(b"topic ") for line in lines)
    for what, line, text in mutations(lines):
        file.write_bytes(text)
        assert host.check_notices(), (what, line)


def test_rights_and_passwords_of_bridges_are_checked(merged):
    host = merged("b")  # user-0 and user-2 are the bridges that dial it
    rights = host.file("rights").read_bytes().decode()
    block = rights[rights.index("user user-0") :]
    for line in [line for line in block.splitlines() if line.startswith(("user ", "topic "))]:
        host.file("rights").write_text(rights.replace(block, block.replace(f"{line}\n", "", 1)))
        assert host.check_notices(), line
    for line in ("topic readwrite z", "topic readwrite #", "topic deny x", "topic write $SYS/#"):
        host.file("rights").write_text(rights.replace("user user-0\n", f"user user-0\n{line}\n"))
        assert host.check_notices(), line
    host.file("rights").write_text(rights)
    users = host.file("users").read_text()
    for user in ("user-0", "user-2"):
        entry = next(line for line in users.splitlines() if line.startswith(user))
        for new in ("", f"{user}:{HASH}\n", f"#{entry}\n", f"{entry}\n{user}:{HASH}\n"):
            host.file("users").write_text(users.replace(f"{entry}\n", new))
            assert host.check_notices(), new


@pytest.mark.parametrize("lock_down", [False, True])
def test_the_user_of_the_brokers_own_clients_is_warned_of(merged, lock_down):
    host = merged("b", lock_down=lock_down)
    assert host.warnings() == []
    users, rights = host.file("users").read_text(), host.file("rights").read_bytes().decode()
    host.file("users").write_text(
        "".join(line for line in users.splitlines(keepends=True) if not line.startswith("user-1:"))
    )
    assert any(
        "no password for 'user-1', the user of its own clients" in w for w in host.warnings()
    )
    host.file("users").write_text(users)
    start = rights.index("user user-1\n") + len("user user-1\n")
    end = rights.index("\n", start) + 1
    host.file("rights").write_text(rights[:start] + rights[end:])
    if lock_down:
        assert any("does not let 'user-1', the user of its own" in w for w in host.warnings())
        host.file("rights").write_text(rights[:start] + "topic readwrite q\n" + rights[start:])
        assert any("use 'q', which --lock-down forbids" in w for w in host.warnings())
    else:
        assert host.merge_notices()
    assert host.check() == []


SECOND = "connection {name}\naddress 127.0.0.1:20001\n{topic}\n"


@pytest.mark.parametrize("where", ["mosquitto.conf", "conf.d/mine.conf", "conf.d/zz.conf"])
@pytest.mark.parametrize("topic", ["topic x both 1", "topic # in 0", "topic x", "topic + out 1"])
def test_a_second_bridge_that_could_loop_is_an_error(merged, where, topic):
    host = merged("a")
    with (host.place / where).open("a") as file:
        file.write(SECOND.format(name="mine", topic=topic))
    assert any("a message could go in circles" in wrong for wrong in host.check())
    with pytest.raises(CheckError, match="nothing was written"):
        merge(host.conf / "a", host.place)


@pytest.mark.parametrize("name", ["meshwright-old.conf", "00-copy.conf", ".meshwright.conf"])
def test_a_copy_of_our_file_beside_it_is_an_error(merged, name):
    host = merged("a")
    file = host.file("meshwright.conf")
    file.with_name(name).write_bytes(file.read_bytes())
    assert host.check_notices()


def test_a_second_include_of_the_same_directory_is_an_error(merged):
    host = merged("a")
    with (host.place / "mosquitto.conf").open("a") as file:
        file.write("include_dir conf.d\n")
    assert any("from 2 directories" in wrong for wrong in host.check())


@pytest.mark.parametrize("mark", ["# begin meshwright\n", "# end meshwright\n"])
@pytest.mark.parametrize("change", ["removed", "doubled", "indented"])
def test_damaged_marks_stop_the_next_merge(merged, mark, change):
    host = merged("b")
    rights = host.file("rights").read_bytes().decode()
    new = {"removed": "", "doubled": mark * 2, "indented": f" {mark}"}[change]
    host.file("rights").write_text(rights.replace(mark, new), newline="")
    with pytest.raises(InputError, match="do not stand once each"):
        merge(host.conf / "b", host.place)


def test_lines_of_the_operator_inside_the_block_are_shown_before_they_go(merged):
    host = merged("b")
    rights = host.file("rights").read_bytes().decode()
    host.file("rights").write_text(
        rights.replace("# end meshwright\n", "user carol\ntopic read x\n# end meshwright\n"),
        newline="",
    )
    (change,) = merge(host.conf / "b", host.place, dry_run=True).changes
    assert b"user carol" in change.before
    assert b"user carol" not in change.after


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602])
def test_passwords_that_anyone_may_read_are_an_error_and_a_merge_closes_them(merged, mode):
    host = merged("a")
    file = host.file("meshwright.conf")
    file.chmod(mode)
    assert [wrong for wrong in host.check() if "chmod o=" in wrong]
    with pytest.raises(CheckError, match="passwords of bridges, and anyone at that host"):
        merge(host.conf / "a", host.place)  # nothing to write, so it is said
    file.write_bytes(file.read_bytes().replace(b"restart_timeout", b"# restart_timeout"))
    merge(host.conf / "a", host.place)
    assert file.stat().st_mode & 0o007 == 0
    assert host.check() == []
    file.chmod(0o640)  # of a group that the broker is in
    assert host.check() == []
