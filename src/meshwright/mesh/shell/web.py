"""Metrics and status of an agent or planner over HTTP, on loopback unless told otherwise."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from meshwright.mesh.shell.runner import Runner

MOST_BYTES = 8_000  # of a request
SECONDS = 5.0
MOVED = {
    "taken": "Messages taken from clients of this broker.",
    "delivered": "Messages published at this broker.",
    "received": "Messages that came over links.",
}


async def serve(runner: Runner, host: str, port: int) -> asyncio.Server:
    """Answer GET /metrics (Prometheus text), GET /status (JSON) and POST of some paths."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            method, path, *_ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
            code, kind, body = _answer(runner, method, path)
            writer.write(
                f"HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone, or speaks no HTTP
        except asyncio.LimitOverrunError:
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=MOST_BYTES)


def _answer(runner: Runner, method: str, path: str) -> tuple[str, str, bytes]:
    if method == "GET" and path == "/metrics":
        return "200 OK", "text/plain; version=0.0.4", metrics(runner)
    if method == "GET" and path == "/status":
        return "200 OK", "application/json", json.dumps(runner.status()).encode()
    if method == "POST" and path in runner.posts():
        runner.posts()[path]()
        return "200 OK", "application/json", b"{}"
    return "404 Not Found", "text/plain", b"there are /metrics and /status\n"


class _Collector:
    """Makes metrics of a runner's status."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        status = self._runner.status()
        name = status["name"]
        counts = CounterMetricFamily(
            "meshwright_events", "What was counted, by kind.", labels=["name", "kind"]
        )
        for kind, n in status["counters"].items():
            counts.add_metric([name, kind], n)
        yield counts
        if status.get("kind") == "agent":
            for key, words in MOVED.items():
                family = CounterMetricFamily(f"meshwright_{key}", words, labels=["name"])
                family.add_metric([name], status[key])
                yield family
            up = GaugeMetricFamily("meshwright_broker_up", "1 if connected.", labels=["name"])
            up.add_metric([name], status["broker_up"])
            yield up
        links = GaugeMetricFamily("meshwright_links", "Links that are up.", labels=["name"])
        links.add_metric([name], len(status["links"]))
        yield links
        version = GaugeMetricFamily("meshwright_version", "Of the log.", labels=["name"])
        version.add_metric([name], status["version"][1])
        yield version
        held = GaugeMetricFamily(
            "meshwright_records", "Records on disk, by store.", labels=["name", "store"]
        )
        for store, facts in status["stores"].items():
            held.add_metric([name, store], facts["records"])
        yield held


def metrics(runner: Runner) -> bytes:
    """Return the metrics of a runner in Prometheus text."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(runner))
    text: bytes = generate_latest(registry)
    return text
