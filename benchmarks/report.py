"""A report on 10,000 nodes: seconds to make it, its size, and how long a browser takes to draw it.

Interests are drawn by Zipf's law; the browser is the chromium on the path.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from meshwright.values import Instance

AIM = 2_000  # milliseconds to draw
SEED = 1


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

    from meshwright.report import make_report
    from meshwright.smallworld import design, write_overlay

    instance = drawn(options.nodes, options.topics, options.subscriptions)
    with tempfile.TemporaryDirectory() as place:
        workload = write_instance(instance, Path(place) / "workload")
        overlay = design(instance, options.method, certify=False)
        write_overlay(overlay, Path(place) / "overlay", workload)
        print(f"{instance.n_nodes:,} nodes, {overlay.n_edges:,} links by {options.method}")
        started = time.perf_counter()
        made = make_report([Path(place) / "overlay"], Path(place) / "report.html")
        print(f"made     {time.perf_counter() - started:8.1f} s")
        print(f"size     {made.page.stat().st_size / 1e6:8.2f} MB")
        times = [draw(made.page) for _ in range(options.repeats)]
        print(f"drawn    {min(times):8,} to {max(times):,} ms; the aim is {AIM:,} ms")


def drawn(n_nodes: int, n_topics: int, per_node: int) -> Instance:
    """Return nodes that each want some topics, popular ones more often."""
    draw = np.random.default_rng(SEED)
    shares = 1 / np.arange(1, n_topics + 1) ** 0.5
    shares /= shares.sum()
    rows = [
        np.sort(draw.choice(n_topics, per_node, replace=False, p=shares)) for _ in range(n_nodes)
    ]
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
