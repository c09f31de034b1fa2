"""Metrics and status of an agent or planner over HTTP, and the planner's page.

All of it is on loopback unless told otherwise. Metrics and status answer whoever reaches the port,
as Prometheus expects. The page shows names of topics, and who may POST changes the mesh. So on any
other address than loopback both ask for a token: as the password of HTTP's basic authentication
(any user name does), or as a bearer token.
"""

import asyncio
import base64
import binascii
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from meshwright.mesh.config import TOKEN_FILE, is_loopback
from meshwright.mesh.shell.metrics import metrics
from meshwright.mesh.shell.runner import Runner

MOST_BYTES = 16_000  # of a request
SECONDS = 5.0
HARDENED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Answer(NamedTuple):
    """What a request is answered with."""

    kind: str  # of the content
    body: bytes
    code: str = "200 OK"
    headers: Mapping[str, str] = {}


class Site(Protocol):
    """Pages that people read, beside metrics and status."""

    async def get(self, path: str) -> Answer | None:
        """Return what is at a path; None if nothing is."""


class Doorkeeper(NamedTuple):
    """Who may see the pages."""

    token: str = ""  # empty: on loopback, where only the address asked for is checked

    def refusal(self, headers: Mapping[str, str]) -> Answer | None:
        """Return why a request is refused; None if it is not."""
        if not self.token:
            # A page from elsewhere must not read ours by giving its own name this address.
            host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
            if is_loopback(host.strip("[]")):
                return None
            text = b"on loopback, ask for 127.0.0.1 or localhost\n"
            return Answer("text/plain", text, "403 Forbidden")
        way, _, given = headers.get("authorization", "").partition(" ")
        if way.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                given = ""
        if hmac.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        text = f"the page asks for the token in {TOKEN_FILE} as the password\n".encode()
        asked = {"WWW-Authenticate": 'Basic realm="meshwright", charset="UTF-8"'}
        return Answer("text/plain", text, "401 Unauthorized", asked)


def read_token(place: Path) -> str:
    """Return the token of a planner's page; it is made when it is first needed."""
    path = place / TOKEN_FILE
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(24)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token + "\n")
        return token


async def serve(
    runner: Runner, host: str, port: int, site: Site | None = None, token: str = ""
) -> asyncio.Server:
    """Answer GET /metrics (Prometheus text), /status (JSON) and pages, and POST of some paths."""
    keeper = Doorkeeper(token)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, *_ = first.split(" ")
            fields = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in fields}
            found = await _answer(runner, site, keeper, method, target.partition("?")[0], headers)
            own = {
                "Content-Type": found.kind,
                "Content-Length": str(len(found.body)),
                "Connection": "close",
                **HARDENED,
                **found.headers,
            }
            lines = [f"HTTP/1.1 {found.code}", *(f"{name}: {text}" for name, text in own.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode() + found.body)
            await writer.drain()
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone, or speaks no HTTP
        except asyncio.LimitOverrunError:
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=MOST_BYTES)


async def _answer(
    runner: Runner,
    site: Site | None,
    keeper: Doorkeeper,
    method: str,
    path: str,
    headers: Mapping[str, str],
) -> Answer:
    if method == "GET" and path == "/metrics":
        return Answer("text/plain; version=0.0.4", metrics(runner))
    if method == "GET" and path == "/status":
        return _json(runner.status())
    if method == "POST" and path in runner.posts():
        if "origin" in headers:  # a web page that somebody here has open, not the command line
            return Answer("text/plain", b"not for browsers\n", "403 Forbidden")
        return keeper.refusal(headers) or _json(await runner.posts()[path]())
    if method == "GET" and path in runner.gets():
        return keeper.refusal(headers) or _json(runner.gets()[path]())
    if method == "GET" and site is not None:
        found = keeper.refusal(headers) or await site.get(path)
        if found is not None:
            return found
    text = b"there are /metrics and /status" + (b", and a page at /" if site else b"") + b"\n"
    return Answer("text/plain", text, "404 Not Found")


def _json(value: object) -> Answer:
    return Answer("application/json", json.dumps(value).encode())
