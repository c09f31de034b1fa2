"""RabbitMQ: what clients want are the bindings of its topic exchange, asked of its management API.

Tried with 3.10, which speaks MQTT 3.1.1 (plugin rabbitmq_mqtt). Sessions that are offline keep
their bindings, and those of a session that ended are gone, so nothing is in doubt. The bindings are
asked for again and again, over one connection that is kept.
"""

import asyncio
import base64
import hashlib
import http.client
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

from meshwright.errors import DeployError, InputError
from meshwright.mesh.adapters.adapter import Adapter, Capabilities, Surroundings, Teller
from meshwright.mesh.adapters.bindings import wanted_by

EVERY = 0.25  # seconds between two questions: a subscription must work within one
# The least pause after an answer, in times that it took: one with 10,000 bindings took 1.1 s. With
# 1 the broker would do little else, with 10 a subscription there would wait for 12 s.
PAUSES = 3
LAST_PAUSE = 2.0  # after failures
SECONDS = 10.0  # to wait for an answer
EXCHANGE = "amq.topic"
GUEST = "guest"  # the account of a broker that has no other; for loopback only
TEXT = """\
# On the broker's host; the first and the last line need no restart:
#   rabbitmq-plugins enable rabbitmq_mqtt rabbitmq_management
#   rabbitmqctl set_user_tags ACCOUNT monitoring     (the account of the inventory)
#   rabbitmqctl set_permissions ACCOUNT '.*' '.*' '.*'
# Without an account in the inventory the agent is "guest", who may connect from
# the broker's own host only.
"""


class Management:
    """The management API of a broker, over one connection."""

    def __init__(self, url: str, vhost: str, username: str, password: str, tls: Any) -> None:
        parts = urlsplit(url)
        kind: Any = http.client.HTTPConnection
        options: dict[str, Any] = {"timeout": SECONDS}
        if parts.scheme == "https":
            kind = http.client.HTTPSConnection
            options["context"] = tls
        self.where = f"{parts.hostname}:{parts.port}"
        self._connection = kind(parts.hostname, parts.port, **options)
        names = (quote(name, safe="") for name in (vhost, EXCHANGE))
        columns = "columns=destination,routing_key"
        self._path = "{}/api/exchanges/{}/{}/bindings/source?{}".format(
            parts.path.rstrip("/"), *names, columns
        )
        account = base64.b64encode(f"{username}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {account}", "Accept": "application/json"}

    def ask(self) -> bytes:
        """Return the bindings as JSON; raise DeployError."""
        try:
            self._connection.request("GET", self._path, headers=self._headers)
            answer = self._connection.getresponse()
            body: bytes = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            why = str(error) or type(error).__name__
            raise DeployError(f"the management API at {self.where}: {why}") from error
        if answer.status != http.HTTPStatus.OK:
            raise DeployError(
                f"the management API at {self.where} answers {answer.status} {answer.reason}"
            )
        return body

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


class BindingFollower:
    """Follows the bindings of one broker."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        login, own = around.endpoint.login, around.options
        url = own.get("management") or f"http://{login.host}:15672"
        account = (login.username, login.password) if login.username else (GUEST, GUEST)
        self._management = Management(url, own.get("vhost") or "/", *account, login.tls)
        self._thread = ThreadPoolExecutor(1, "management")
        self._teller = Teller(around.deliver)
        self._digest = b""
        self._failed = False
        self.remedy = (
            f"enable rabbitmq_management at {self._management.where} and give the agent's account "
            "the tag monitoring"
        )

    async def check(self) -> None:
        """Any broker will do."""

    async def run(self) -> None:
        """Ask again and again."""
        loop = asyncio.get_running_loop()
        pause = EVERY
        while True:
            began = time.monotonic()
            try:
                body = await loop.run_in_executor(self._thread, self._management.ask)
                self._read(body)
                pause = max(EVERY, PAUSES * (time.monotonic() - began))
            except DeployError as error:
                # What was wanted is kept: messages wait in the mailbox of a broker that is away.
                self._failed = True
                self._around.note("management_failures", str(error))
                pause = min(2 * pause, LAST_PAUSE)
            await asyncio.sleep(pause)

    def close(self) -> None:
        """Disconnect."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._management.close()

    @property
    def is_following(self) -> bool:
        """Whether the last question was answered."""
        return self._teller.has_told and not self._failed

    def wanted(self) -> set[str]:
        """Return the filters of clients."""
        return self._teller.wanted

    def doubts(self) -> Mapping[str, int]:
        """Return nothing: the broker itself routes by these bindings."""
        return {}

    def _read(self, body: bytes) -> None:
        """Tell the core what changed; an answer like the last one costs a digest."""
        digest = hashlib.blake2b(body, digest_size=16).digest()
        self._failed = False
        if digest == self._digest:
            return
        try:
            wanted = wanted_by(json.loads(body))
        except (ValueError, TypeError, KeyError) as error:
            raise DeployError("the management API sends no list of bindings") from error
        self._digest = digest
        self._teller.tell(wanted)


def capabilities(broker: Mapping[str, Any]) -> Capabilities:
    """Return what RabbitMQ 3.10 can do; check the address of its management API."""
    url = broker.get("management", "")
    if url:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port
        except ValueError:
            fits = False
        if not fits:
            raise InputError(f"management is {url!r}; give it as http://HOST:PORT.")
    return Capabilities(
        protocol="3.1.1",
        no_local=False,
        qos=1,
        retain_as_published=False,
        retained_by_wildcard=False,
        same_packet_ids=False,
        window=10,
        unfit=".*",
    )


RABBITMQ = Adapter(
    "RabbitMQ",
    capabilities,
    BindingFollower,
    {"rabbitmq.txt": TEXT},
    "do what rabbitmq.txt says; the broker needs no restart",
    ("management", "vhost"),
    "rabbitmq-server.service",
)
