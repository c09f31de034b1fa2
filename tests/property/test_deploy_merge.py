"""Merges into whatever an operator may have: nothing lost, nothing done twice, nothing left."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from meshwright.deploy import Broker, check_installed, merge, plan, read_plan, write_conf
from meshwright.errors import CheckError, InputError
from tests.deploying import overlay_of
from tests.strategies import draws

HASH = "$7$101$AAAAAAAAAAAAAAAA$AAAA"
MAIN = [
    "# a comment",
    "",
    "listener 1001",
    "listener 9001",
    "protocol websockets",
    "allow_anonymous true",
    "allow_anonymous false",
    "password_file users",
    "acl_file rights",
    "include_dir conf.d",
    "  max_keepalive 60",
    "per_listener_settings true",
    "connection mine",
    "address h:1",
    "topic own/# both 1",
    "topic x out 1",
]
RIGHTS = [
    "# note",
    "",
    "user alice",
    "user bob",
    "topic readwrite a/#",
    "topic x",
    "pattern read %u",
]
USERS = [f"alice:{HASH}", f"bob:{HASH}", f"carol:{HASH}", f"mesh-a:{HASH}"]
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw, lines):
    """Lines of a file, with either kind of line end, and perhaps none at the end."""
    chosen = draw(st.lists(st.sampled_from(lines), max_size=8))
    text = "".join(line + draw(ENDS) for line in chosen)
    return text.rstrip("\r\n") if draw(st.booleans()) else text


def deployed(place: Path, links) -> Path:
    brokers = []
    for i, node in enumerate("abc"):
        (place.parent / node).write_text(f"secret of {node}")
        secret = str(place.parent / node)
        brokers.append(Broker(node, "h", 1000 + i, username=f"mesh-{node}", password_file=secret))
    write_conf(plan(overlay_of([(node, "x") for node in "abc"], links), brokers), place)
    return place


def is_part(lines, whole) -> bool:
    """Return whether lines stand in a file, in their order."""
    rest = iter(whole)
    return all(line in rest for line in lines)


@draws(60)
@given(texts(MAIN), texts(RIGHTS), texts(USERS), st.booleans())
def test_the_operators_lines_survive_two_plans(main, rights, users, users_first):
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        host = place / "host"
        (host / "conf.d").mkdir(parents=True)
        given_texts = {"mosquitto.conf": main, "rights": rights, "users": users}
        for name, text in given_texts.items():
            (host / name).write_bytes(text.encode())
        before = {path: path.read_bytes() for path in host.rglob("*") if path.is_file()}
        for name, links in (("one", ("ab", "bc")), ("two", ("ac", "bc"))):
            conf = deployed(place / name, [tuple(link) for link in links])
            try:
                if users_first:
                    merge(conf / "b", host, users_only=True)
                merge(conf / "b", host)
            except (InputError, CheckError):
                if name == "one" and not users_first:  # refused: nothing was touched
                    assert {p: p.read_bytes() for p in host.rglob("*") if p.is_file()} == before
                return
            assert merge(conf / "b", host).changes == ()
            assert check_installed(conf, read_plan(conf), {"b": host}).errors == []
            for file, text in given_texts.items():
                whole = (host / file).read_bytes().decode().splitlines()
                assert is_part(text.splitlines(), whole)
        marked = [p for p in host.rglob("*") if p.is_file() and b"# begin mesh" in p.read_bytes()]
        for path in marked:
            assert path.read_bytes().count(b"# begin meshwright\n") <= 1
