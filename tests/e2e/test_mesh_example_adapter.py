"""The example of docs/mesh-adapters.md: an adapter from outside, in a mesh of real brokers."""

import csv
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.errors import InputError
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.verify import verify

ROOT = Path(__file__).parents[2]
NAME = "mesh_adapter:WEB_LIST"


@pytest.fixture
def web_list():
    """A list of filters, and its address."""
    filters = ["meshwright-verify/#"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(filters).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield filters, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_the_page_shows_the_example():
    page = (ROOT / "docs" / "mesh-adapters.md").read_text()
    assert (ROOT / "examples" / "mesh_adapter.py").read_text() in page


def test_a_mesh_with_the_example_passes_verify(tmp_path, monkeypatch, web_list):
    filters, address = web_list
    examples = str(ROOT / "examples")
    monkeypatch.setenv("PYTHONPATH", examples)  # of the agents
    monkeypatch.syspath_prepend(examples)
    mesh = LocalMesh(tmp_path / "lab", ["a", "b", "web"], kinds={"web": "declared"})
    file = mesh.config.place / "web" / "agent.toml"
    own = f'adapter = "{NAME}"\nmanagement = "{address}"'
    file.write_text(file.read_text().replace('adapter = "declared"', own))
    with mesh:
        mesh.wait_until_linked()
        found = verify(mesh.config.place)
        assert found.findings == []
        assert found.n_delivered == found.n_expected >= 2 * 3 * 6  # all that a and b publish
        filters[:] = []
        assert wait_until(lambda: mesh.status().n_wanted == 0, 60)
        assert verify(mesh.config.place).findings == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:X", "adapter 'no_such_module:X' cannot be imported: No module named"),
        ("json:nothing", "adapter 'json:nothing' cannot be imported: module 'json' has no"),
        ("json:loads", "adapter 'json:loads' is a function, not an Adapter"),
        (":X", "adapter ':X' cannot be imported"),
    ],
)
def test_an_adapter_that_is_none_is_refused(tmp_path, name, why):
    with (tmp_path / "brokers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["node", "host", "port", "adapter"])
        rows.writerow(["a", "10.0.0.1", 1883, name])
        rows.writerow(["b", "10.0.0.2", 1883, ""])
    with pytest.raises(InputError, match=re.escape(why)):
        init(InitRequest(tmp_path / "brokers.csv", tmp_path / "mesh"))
