"""A report on 10,000 nodes: the seconds to make it, its size, and the time a browser draws it.

Interests are drawn by Zipf's law; the browser is chromium, if it is installed.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._instances import zipf_rows
from benchmarks._measure import timed
from meshwright.model.instance import Instance

AIM = 2_000  # milliseconds to draw


def run(arguments: list[str]) -> None:
    """Make the report and open it a few times."""
    parser = argparse.ArgumentParser(prog="scripts/bench report", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--subscriptions", type=int, default=50, help="of each node")
    parser.add_argument("--method", default="gm")
    parser.add_argument("--repeats", type=int, default=5, help="times the page is opened")
    options = parser.parse_args(arguments)
    from tests.datasets import write_instance

    from meshwright.overlay import design
    from meshwright.overlay.dataset import write_overlay
    from meshwright.report import make_report

    instance = drawn(options.nodes, options.topics, options.subscriptions)
    with tempfile.TemporaryDirectory() as scratch:
        workload = write_instance(instance, Path(scratch) / "workload")
        overlay = design(instance, options.method, certify=False)
        write_overlay(overlay, Path(scratch) / "overlay", workload)
        print(f"{instance.n_nodes:,} nodes, {overlay.n_edges:,} links by {options.method}")
        page = Path(scratch) / "report.html"
        seconds, _, made = timed(lambda: make_report([Path(scratch) / "overlay"], page))
        print(f"made     {seconds:8.1f} s")
        print(f"size     {made.page.stat().st_size / 1e6:8.2f} MB")
        if shutil.which("chromium") is None:
            print("drawn    not measured: chromium is not installed")
            return
        times = [draw(made.page) for _ in range(options.repeats)]
        print(f"drawn    {min(times):8,} to {max(times):,} ms; the aim is {AIM:,} ms")


def smoke() -> None:
    """Report on 50 nodes."""
    run(["--nodes", "50", "--topics", "20", "--subscriptions", "4", "--repeats", "1"])


def drawn(n_nodes: int, n_topics: int, per_node: int) -> Instance:
    """Return nodes with `per_node` topics each, drawn by Zipf's law."""
    rows = [np.sort(row) for row in zipf_rows(n_nodes, n_topics, per_node)]
    pointers = np.arange(0, n_nodes * per_node + 1, per_node)
    return Instance.from_arrays(pointers, np.concatenate(rows), n_topics)


def draw(page: Path) -> int:
    """Return the milliseconds from opening a page until everything on it is drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened = browser.new_page()
        started = time.perf_counter()
        opened.goto(page.as_uri())
        opened.wait_for_selector("html[data-drawn]")
        opened.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        spent = time.perf_counter() - started
        browser.close()
    return round(spent * 1000)
