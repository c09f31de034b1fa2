"""The planner's page: who may see it, what it may load, and the picture behind it."""

import asyncio
import base64
import json
import stat
from pathlib import Path

from meshwright.mesh.core.events import Design, LinkUp, Received
from meshwright.mesh.core.frames import Hello
from meshwright.mesh.core.log import ALL_WELL, Shape
from meshwright.mesh.core.values import NO_VERSION, Topology
from meshwright.mesh.design import design_topology
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.shell.planner import PlannerRunner, planner_options
from meshwright.mesh.shell.web import Doorkeeper, read_token, serve
from meshwright.report.live import LiveSite, picture_document

TOKEN = "s3cret"
NAMES = ("<script>alert(1)</script>", 'say "hi"', "plain")


def ask(tmp_path: Path, *requests: str, token: str = "") -> list[tuple[str, dict[str, str], bytes]]:
    """Return what a planner without agents answers: code, headers and body of each request."""
    inventory = tmp_path / "brokers.csv"
    rows = ['"{}",127.0.0.1,{}'.format(n.replace('"', '""'), 1883 + i) for i, n in enumerate(NAMES)]
    inventory.write_text("node,host,port\n" + "\n".join(rows) + "\n")
    config = init(InitRequest(inventory, tmp_path / "mesh", name="plant"))

    async def main():
        runner = PlannerRunner(planner_options(config))
        runner.start()
        server = await serve(runner, "127.0.0.1", 0, LiveSite(runner, config.place), token)
        port = server.sockets[0].getsockname()[1]
        found = []
        try:
            async with asyncio.timeout(60):
                # It begins with the first agent, after it has listened for other planners.
                runner.deliver(LinkUp(0))
                runner.deliver(Received(0, Hello("plant", 0, 1, NO_VERSION, 0)))
                while not runner.planner.log.joined:
                    await asyncio.sleep(0.02)
                for request in requests:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.write(request.replace("\n", "\r\n").encode() + b"\r\n\r\n")
                    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                    first, *lines = head.decode().split("\r\n")
                    headers = dict(line.split(": ", 1) for line in lines)
                    found.append((first.split(" ")[1], headers, body))
                    writer.close()
        finally:
            server.close()
            await runner.close()
        return found

    return asyncio.run(main())


def codes(answers) -> list[str]:
    return [code for code, _, _ in answers]


def test_on_loopback_the_page_is_there_for_all_who_ask_for_loopback(tmp_path):
    answers = ask(
        tmp_path,
        *(f"GET / HTTP/1.1\nHost: {host}" for host in ("127.0.0.1:7901", "localhost", "[::1]:80")),
        *(f"GET /live HTTP/1.1\nHost: {host}" for host in ("evil.example:7901", "10.0.0.9", "")),
        "GET /metrics HTTP/1.1\nHost: evil.example",
        "GET /nothing HTTP/1.1\nHost: localhost",
    )
    assert codes(answers) == ["200"] * 3 + ["403"] * 3 + ["200", "404"]


def test_elsewhere_the_page_asks_for_its_token_and_metrics_do_not(tmp_path):
    def basic(text):
        return "Authorization: Basic " + base64.b64encode(text.encode()).decode()

    answers = ask(
        tmp_path,
        "GET / HTTP/1.1\nHost: 10.0.0.9",
        f"GET /live HTTP/1.1\n{basic('anybody:wrong')}",
        "GET /picture HTTP/1.1\nAuthorization: Basic %%%",
        "GET /live HTTP/1.1\nAuthorization: Bearer",
        f"GET / HTTP/1.1\n{basic(f'anybody:{TOKEN}')}",
        f"GET /live HTTP/1.1\nAuthorization: Bearer {TOKEN}",
        "GET /metrics HTTP/1.1\nHost: 10.0.0.9",
        "GET /status HTTP/1.1\nHost: 10.0.0.9",
        "GET /agents HTTP/1.1\nHost: 10.0.0.9",
        "POST /replan HTTP/1.1\nHost: 10.0.0.9",
        f"POST /replan HTTP/1.1\nAuthorization: Bearer {TOKEN}",
        token=TOKEN,
    )
    assert codes(answers) == ["401"] * 4 + ["200"] * 4 + ["401"] * 2 + ["200"]
    assert answers[0][1]["WWW-Authenticate"].startswith("Basic ")
    assert TOKEN.encode() not in b"".join(body for _, _, body in answers)


def test_the_page_may_load_nothing_and_nobody_may_frame_it(tmp_path):
    ((code, headers, body),) = ask(tmp_path, "GET / HTTP/1.1\nHost: localhost")
    policy = headers["Content-Security-Policy"]
    assert code == "200"
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in body


def test_a_web_page_cannot_make_the_planner_replan(tmp_path):
    answers = ask(
        tmp_path,
        "POST /replan HTTP/1.1\nHost: 127.0.0.1\nOrigin: http://evil.example",
        "POST /replan HTTP/1.1\nHost: evil.example",
        "POST /replan HTTP/1.1\nHost: 127.0.0.1",
    )
    assert codes(answers) == ["403", "403", "200"]


def test_names_are_data_in_what_the_page_asks_for(tmp_path):
    ((_, headers, body),) = ask(tmp_path, "GET /live HTTP/1.1\nHost: localhost")
    assert headers["Content-Type"] == "application/json"
    live = json.loads(body)
    assert live["mesh"] == "plant"
    assert [broker["name"] for broker in live["brokers"]] == list(NAMES)
    assert not any(broker["connected"] for broker in live["brokers"])
    assert live["command"] == f"mesh replan {tmp_path / 'mesh'}"
    assert [who for _, who, _ in live["events"]][-1] == "plan"


def test_a_token_is_made_once_and_is_for_its_owner_only(tmp_path):
    token = read_token(tmp_path)
    assert len(token) >= 32
    assert read_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "page-token").stat().st_mode) == 0o600
    assert Doorkeeper(token).refusal({"authorization": f"Bearer {token}"}) is None


WANTED = {"b": ["x", "plant/#"], "a": ["plant/1", "x"], "c": ["x"], "d": []}
NUMBERS = {0: "b", 1: "a", 2: "c", 3: "d"}


def test_the_picture_is_that_of_a_report_with_what_one_failure_costs():
    shape = Shape(1, Topology("tree", ((0, 1), (0, 2), (2, 3))), ALL_WELL)
    made = picture_document(NUMBERS, WANTED, shape)
    (overlay,) = made["overlays"]
    assert made["workload"]["node_names"] == ["a", "b", "c", "d"]
    assert made["numbers"] == [1, 0, 2, 3]
    assert overlay["edges"] == {"one": [0, 1, 2], "other": [1, 2, 3]}
    assert overlay["losses"]["worst"][0]["node"] == "b"  # a and c want x, and lose each other
    assert overlay["picture"]["of"] == "nodes"
    assert len(overlay["picture"]["x"]) == 4


def test_a_small_world_is_drawn_as_a_ring():
    request = Design(
        1, (0, 1, 2, 3), tuple((n, tuple(WANTED[NUMBERS[n]])) for n in range(4)), (), None
    )
    topology = design_topology(request, "sl", "pie").topology
    made = picture_document(NUMBERS, WANTED, Shape(1, topology, ALL_WELL))
    assert made["overlays"][0]["picture"]["layout"] == "ring"
