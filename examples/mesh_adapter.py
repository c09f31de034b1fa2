"""An adapter: what a broker's clients want is a JSON list of topic filters at a web address."""

import asyncio
import json
import urllib.request
from collections.abc import Mapping

from meshwright.mesh.adapters.adapter import Adapter, Capabilities, Surroundings, Teller


class WebList:
    """Asks for the list twice a second."""

    remedy = "check `management` in agent.toml: it must be the address of the list"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._teller = Teller(around.deliver)

    async def check(self) -> None:
        """Any broker will do."""

    async def run(self) -> None:
        """Ask again and again; what goes wrong is counted, and what was wanted is kept."""
        while True:
            try:
                self._teller.tell(await asyncio.to_thread(self._ask))
            except (OSError, ValueError) as error:
                self._around.note("web_list_failures", str(error))
            await asyncio.sleep(0.5)

    def _ask(self) -> set[str]:
        with urllib.request.urlopen(self._around.options["management"], timeout=10) as answer:
            return set(json.load(answer))

    def close(self) -> None:
        """Nothing is open."""

    @property
    def is_following(self) -> bool:
        """Whether the list was there."""
        return self._teller.has_told

    def wanted(self) -> set[str]:
        """Return the filters of the list."""
        return self._teller.wanted

    def doubts(self) -> Mapping[str, int]:
        """Return nothing: the list counts."""
        return {}


WEB_LIST = Adapter(
    "a broker with a web list",
    lambda _broker: Capabilities(live=False),  # MQTT 5, and all it can do
    WebList,
    next_step="see that the address `management` of the inventory gives the list",
    keys=("management",),
)
