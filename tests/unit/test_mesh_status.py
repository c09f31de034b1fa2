"""What `mesh status` says of processes that it cannot ask from this host.

The other hosts have names that are no names, so that asking for them reaches no network.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from meshwright.errors import DeployError
from meshwright.mesh.init import InitRequest, init, write_mesh_file
from meshwright.mesh.status import ask_agent, ask_planner, ask_replan, mesh_status

AWAY, ALSO_AWAY = "host..1", "host..2"


def mesh(tmp_path, *hosts: str, **options):
    inventory = tmp_path / "brokers.csv"
    rows = [f"edge-{i},{host},1883" for i, host in enumerate(hosts, 1)]
    inventory.write_text("\n".join(["node,host,port", *rows]) + "\n")
    return init(InitRequest(inventory, tmp_path / "mesh", **options))


@contextmanager
def answering(name: str, host: str = "127.0.0.1"):
    """A process of the mesh that says who it is, on loopback; yields its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"name": name}).encode())

        def log_message(self, *_args) -> None:
            pass

    server = HTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_agents_of_other_hosts_are_not_said_to_be_down_while_the_planner_is(tmp_path):
    made = mesh(tmp_path, AWAY, ALSO_AWAY)
    write_mesh_file(made._replace(planner="127.0.0.1:1", metrics="127.0.0.1:2"))
    found = mesh_status(made.place)
    assert found.n_unknown == 2
    assert not any("agent of" in finding for finding in found.findings)
    assert found.findings[0].startswith("the planner at 127.0.0.1:1 does not answer")
    assert found.findings[1].startswith("of 'edge-1', 'edge-2' nothing is known here")


def test_on_another_host_than_the_planners_status_says_where_to_ask(tmp_path):
    place = mesh(tmp_path, AWAY, ALSO_AWAY).place
    assert "host host..1 is another one" in mesh_status(place).findings[0]
    with pytest.raises(DeployError, match=r"run this there, or set metrics .* 0\.0\.0\.0:7901"):
        ask_replan(place)


def test_a_planner_that_serves_on_every_address_is_asked_at_its_host(tmp_path):
    with answering("planner", "127.0.0.2") as port:  # 0.0.0.0 would be asked at 127.0.0.1
        planner = f"127.0.0.2:{port - 1}"
        made = mesh(tmp_path, "127.0.0.3", "127.0.0.4", planner=planner, metrics_host="0.0.0.0")
        assert made.metrics == f"0.0.0.0:{port}"
        assert ask_planner(made) == {"name": "planner"}


def test_an_agent_of_this_host_is_asked_on_loopback_but_no_other_process_for_it(tmp_path):
    with answering("edge-1") as port:
        made = mesh(tmp_path, "127.0.0.2", "127.0.0.3", metrics_ports=(1, port, port))
        first, second = made.brokers
        assert first.metrics == f"127.0.0.2:{port}"
        assert ask_agent(made, first) == {"name": "edge-1"}
        assert ask_agent(made, second) is None
