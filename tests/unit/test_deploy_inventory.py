"""Inventories and publishers: everything that is wrong is reported at once."""

import pytest

from meshwright.deploy import Broker, read_inventory, read_publishers
from meshwright.deploy.inventory import read_passwords
from meshwright.errors import InputError


def inventory(tmp_path, *rows, columns="node,host,port"):
    path = tmp_path / "brokers.csv"
    path.write_text("\n".join([columns, *rows, ""]), encoding="utf-8")
    return path


def test_an_inventory_is_read_in_the_order_of_the_nodes(tmp_path):
    path = inventory(tmp_path, "b,10.0.0.2,1883", "a,broker.example,1884", 'c,"::1",1')
    found = read_inventory(path, ["a", "b", "c"])
    assert found[:2] == [Broker("a", "broker.example", 1884), Broker("b", "10.0.0.2", 1883)]
    assert found[2].host == "::1"


def test_all_problems_are_listed(tmp_path):
    path = inventory(
        tmp_path,
        "a,h1,1883",
        "a,h2,1883",
        "b,H1,1883",
        "x,h3,1883",
        "d,h4,70000",
        "e,h 5,1",
        ",h6,1",
    )
    with pytest.raises(InputError, match="nothing was written") as caught:
        read_inventory(path, ["a", "b", "c", "d", "e"])
    reported = str(caught.value)
    for problem in (
        "node 'c' is not listed",
        "node 'x' is not in the overlay",
        "node 'a' is listed 2 times",
        "'a', 'b' share the endpoint h1:1883",
        "line 6: port '70000' is not between 1 and 65535",
        "line 7: host 'h 5' is not a host name",
        "line 8: node is empty",
    ):
        assert problem in reported


def test_problems_are_listed_however_many_there_are(tmp_path):
    nodes = [f"edge-{i}" for i in range(200)]
    with pytest.raises(InputError, match="200 problems") as caught:
        read_inventory(inventory(tmp_path), nodes)
    assert all(f"node {node!r} is not listed" in str(caught.value) for node in nodes)


@pytest.mark.parametrize(
    ("one", "other", "end"),
    [
        ("localhost", "127.0.0.1", "127.0.0.1:1883"),
        ("LOCALHOST", "localhost", "127.0.0.1:1883"),
        ("fe80::1", "FE80:0:0:0:0:0:0:1", "fe80::1:1883"),
    ],
)
def test_an_endpoint_is_the_same_however_it_is_written(tmp_path, one, other, end):
    path = inventory(tmp_path, f"a,{one},1883", f"b,{other},1883")
    with pytest.raises(InputError, match=f"'a', 'b' share the endpoint {end}"):
        read_inventory(path, ["a", "b"])


@pytest.mark.parametrize("host", ["", "...", ":::", "h:1883", "[::1]", "-h", "tcp://h"])
def test_what_is_no_host_is_told(tmp_path, host):
    with pytest.raises(InputError, match="is not a host name or address"):
        read_inventory(inventory(tmp_path, f"a,{host},1883"), ["a"])


SECURE = "node,host,port,ca,cert,key,username,password_env,password_file"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["a,h1,1,,,,u,P,", "b,h2,1,,,,,,"], "'a' has a username and 'b' has none"),
        (["a,h1,1,/ca,/c,/k,,,", "b,h2,1,,,,,,"], "'a' has a ca and 'b' has none"),
        (["a,h1,1,/ca,,,,,", "b,h2,1,/ca,/c,/k,,,"], "with a ca, cert and key are needed"),
        (["a,h1,1,,/c,/k,,,", "b,h2,1,,,,,,"], "cert and key need a ca"),
        (["a,h1,1,,,,u,,", "b,h2,1,,,,v,P,"], "needs password_env or password_file"),
        (["a,h1,1,,,,u,P,F", "b,h2,1,,,,v,P,"], "needs password_env or password_file"),
        (["a,h1,1,,,,,P,", "b,h2,1,,,,,,"], "a password needs a username"),
        (["a,h1,1,,,,u,P,", "b,h2,1,,,,u,P,"], "username 'u' belongs to 2 brokers"),
        (["a,h1,1,,,,u:v,P,", "b,h2,1,,,,v,P,"], "holds a ':'"),
        (["a,h1,1,,,,#u,P,", "b,h2,1,,,,v,P,"], "or begins with '#'"),
        (['a,h1,1,"/c\nlistener 1",/c,/k,,,', "b,h2,1,/ca,/c,/k,,,"], "cannot be written in one"),
    ],
)
def test_security_that_does_not_fit_is_told(tmp_path, rows, problem):
    with pytest.raises(InputError, match=problem):
        read_inventory(inventory(tmp_path, *rows, columns=SECURE), ["a", "b"])


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("node,host", "a,h", "needed are node, host, port"),
        ("node,host,port,colour", "a,h,1,red", "has the columns node, host, port, colour"),
        ("node,host,port", "a,h,1,2", "line 2 has more cells"),
        ("node,host,port,port", "a,h,1,2", "needed are node, host, port, each once"),
        ("node,host,port", 'a,"h,1', "cannot be read as CSV"),
    ],
)
def test_a_file_of_another_shape_is_told(tmp_path, columns, row, message):
    with pytest.raises(InputError, match=message):
        read_inventory(inventory(tmp_path, row, columns=columns), ["a"])


@pytest.mark.parametrize("port", ["9" * 5_000, "0" * 5_000 + "1", "65536", "0", "-1", "1e3", "٣"])
def test_what_is_no_port_is_told_in_few_words(tmp_path, port):
    with pytest.raises(InputError, match=r"port '.{1,20}' is not between 1 and 65535") as caught:
        read_inventory(inventory(tmp_path, f"a,h,{port}"), ["a"])
    assert len(str(caught.value)) < 400


def test_a_user_or_password_beyond_what_mqtt_can_send_is_told(tmp_path, monkeypatch):
    longest = "é" * 32_767 + "x"  # 65,535 bytes
    monkeypatch.setenv("MESH_A", longest)
    columns = "node,host,port,username,password_env"
    brokers = read_inventory(inventory(tmp_path, f"a,h,1,{longest},MESH_A", columns=columns), ["a"])
    assert read_passwords(brokers) == {"a": longest}
    row = f"a,h,1,{longest}x,MESH_A"
    with pytest.raises(InputError, match=r"username 'é{20}'\.\.\. is longer than the 65,535 bytes"):
        read_inventory(inventory(tmp_path, row, columns=columns), ["a"])
    monkeypatch.setenv("MESH_A", f"{longest}x")
    with pytest.raises(InputError, match="for 'a': the password is longer than the 65,535 bytes"):
        read_passwords(brokers)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be read as CSV"):
        read_inventory(tmp_path / "none.csv", ["a"])


def test_passwords_come_from_variables_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MESH_A", "one")
    (tmp_path / "b").write_text("two words\n")
    found = read_passwords(
        [
            Broker("a", "h", 1, username="a", password_env="MESH_A"),
            Broker("b", "h", 2, username="b", password_file=str(tmp_path / "b")),
            Broker("c", "h", 3),
        ]
    )
    assert found == {"a": "one", "b": "two words"}


def test_passwords_that_cannot_be_had_are_told_and_never_shown(tmp_path, monkeypatch):
    monkeypatch.delenv("MESH_A", raising=False)
    monkeypatch.setenv("MESH_B", "hidden\nlistener 1")
    with pytest.raises(InputError, match="'MESH_A' for 'a' is empty or not set") as caught:
        read_passwords(
            [
                Broker("a", "h", 1, username="a", password_env="MESH_A"),
                Broker("b", "h", 2, username="b", password_env="MESH_B"),
                Broker("c", "h", 3, username="c", password_file=str(tmp_path / "none")),
            ]
        )
    reported = str(caught.value)
    assert "holds a control character" in reported.replace("\n", " ")
    assert "cannot be read: No such file" in reported
    assert "hidden" not in reported


def test_publishers_are_checked(tmp_path):
    path = tmp_path / "pubs.csv"
    path.write_text("node,topic\na,x\na,x\nb,y/+\n")
    assert read_publishers(path, ["a", "b"]) == [("a", "x"), ("b", "y/+")]
    path.write_text("node,topic\nz,x\na,x/+\na,x+\n")
    with pytest.raises(InputError, match=r"(?s)'z' is not in the overlay.*line 4: topic 'x\+'"):
        read_publishers(path, ["a", "b"])
