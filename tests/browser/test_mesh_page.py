"""The planner's page in a real browser, of a real mesh under load, with hostile names."""

import asyncio
import threading

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.mesh.clients import MeshClient
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from tests.patience import SECONDS
from tests.reports import HOSTILE, HOSTILE_TOPIC

NODES = (HOSTILE, "say \"hi\" & 'bye'", "\u202eabc مرحبا", "x" * 300, "plain")
TOPICS = (HOSTILE_TOPIC, "<b>bold</b>", "\u202eturned", "t" * 300)


class Load:
    """Clients that want all topics everywhere, and publish them one after the other."""

    def __init__(self, mesh: LocalMesh) -> None:
        self._mesh, self._ended = mesh, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    async def _run(self):
        clients = []
        for i, node in enumerate(NODES[1:]):  # the first broker is stopped by a test
            login = Login("127.0.0.1", self._mesh.brokers[node].port, f"client-{i}")
            client = await MeshClient.open(login)
            await client.subscribe(*TOPICS)
            clients.append(client)
        n = 0
        while not self._ended.is_set():
            await clients[n % len(clients)].publish(TOPICS[n % len(TOPICS)], b"x")
            n += 1
            await asyncio.sleep(0.01)
        for client in clients:
            client.close()


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "lab"
    with LocalMesh(place, NODES, per_process=len(NODES)) as made:
        made.wait_until_linked()
        with Load(made):
            yield made


@pytest.fixture
def looked_at(browser, mesh):
    """Open the page; at the end, no complaint, no dialog, no request to anybody else."""
    own = f"http://{mesh.config.metrics}/"
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    said: list[str] = []
    fetched: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(own)
    page.wait_for_selector("#picture:not([hidden])", timeout=SECONDS * 1000)
    yield page
    page.context.close()
    # A planner that is stopped is worth a line of the browser; nothing else is.
    assert [text for text in said if "ERR_CONNECTION_REFUSED" not in text] == []
    assert {url.removeprefix(own) for url in fetched} - {"data:,"} <= {"", "live", "picture"}


def shows(page, expression: str) -> bool:
    """Wait until something holds on the page."""
    for _ in range(int(SECONDS * 10)):
        if page.evaluate(expression):
            return True
        page.wait_for_timeout(100)
    return False


def cells(page, table: str) -> list[list[str]]:
    return page.evaluate(
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )


def test_rates_of_brokers_and_links_are_shown_under_load(looked_at, keep):
    page = looked_at
    assert shows(page, "document.querySelectorAll('#brokers tbody tr').length === 5")
    published = "[...document.querySelectorAll('#brokers tbody tr')].map((row) => row.children[5])"
    assert shows(page, f"{published}.filter((cell) => Number(cell.textContent) > 0).length >= 4")
    assert shows(page, "document.querySelectorAll('#links .state.good').length >= 4")
    delivered = "document.querySelector('#cards > div:nth-child(3) dd').textContent"
    assert shows(page, f"Number({delivered}.split(' ')[0]) > 0")
    assert {row[1] for row in cells(page, "brokers")} == {"up"}
    assert {row[-1] for row in cells(page, "brokers")} == {"0.1.0"}
    assert "All 5 brokers are reached" in page.inner_text("#lede")
    assert shows(
        page, "document.querySelector('#drift').textContent.includes('design from scratch')"
    )
    assert shows(page, "document.querySelectorAll('#events tr').length > 5")
    keep(page, "mesh-page")


def test_hostile_names_are_text_and_nothing_else(looked_at, keep):
    page = looked_at
    assert shows(page, "document.querySelectorAll('#brokers tbody tr').length === 5")
    names = [row[0] for row in cells(page, "brokers")]
    assert HOSTILE in names
    assert "x" * 47 + "…" in names
    assert page.evaluate("document.querySelectorAll('main script, main img, main b b').length") == 0
    # Topics: found by the search, chosen, described.
    assert shows(page, "document.querySelectorAll('.chips button').length >= 4")
    for name in TOPICS:
        page.fill(".search input", name)
        page.wait_for_selector(".search li[role=option]")
        page.press(".search input", "Enter")
        assert name in page.inner_text(".description")
        assert "4 subscribers" in page.inner_text(".description")
        page.press(".search input", "Escape")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep(page, "mesh-page-narrow")


def test_a_choice_stays_while_the_figures_change(looked_at):
    page = looked_at
    page.fill(".search input", "plain")
    page.press(".search input", "Enter")
    before = int(page.evaluate("document.documentElement.dataset.drawn"))
    assert shows(page, f"Number(document.documentElement.dataset.drawn) >= {before + 3}")
    assert page.inner_text(".description b") == "plain"


def test_what_goes_wrong_is_said_and_healed(looked_at, mesh, keep):
    page = looked_at
    mesh.brokers[HOSTILE].kill()
    assert shows(page, "document.querySelector('#findings').textContent.includes('broker down')")
    assert cells(page, "brokers")[0][:2] == [HOSTILE, "broker down"]
    assert "needs a look" in page.inner_text("#lede")
    keep(page, "mesh-page-trouble")
    mesh.brokers[HOSTILE].start()
    assert shows(page, "document.querySelector('#findings').hidden")
    mesh.kill("planner")
    assert shows(page, "document.querySelector('#clock').textContent.includes('does not answer')")
    mesh.start_planner()
    assert shows(page, "document.querySelector('#clock').textContent.startsWith('Living mesh')")
    assert wait_until(lambda: not mesh.status().findings, SECONDS)
    assert shows(page, "document.querySelector('#lede').textContent.startsWith('All 5 brokers')")
