"""What the links of a plan carry: topics, and messages and bytes per second.

A publication crosses the links of its topic's tree, each once and only towards subscribers. One on
a filter counts at the filter's own tree, because nobody knows how its messages are spread over
narrower topics; `report` and `simulate` count the same way before a plan is made
(`smallworld.routing.traffic`).
"""

from dataclasses import dataclass, field

from meshwright.deploy.plan import Plan
from meshwright.deploy.route import Direction, Link


@dataclass(slots=True)
class Load:
    """What one link carries; `out` is from the broker that dials."""

    topics: list[tuple[str, Direction]] = field(default_factory=list)
    messages_out: float = 0.0  # per second
    messages_in: float = 0.0
    bytes_out: float = 0.0
    bytes_in: float = 0.0

    @property
    def messages(self) -> float:
        """Messages per second, both ways."""
        return self.messages_out + self.messages_in

    @property
    def bytes(self) -> float:
        """Bytes per second, both ways, of messages whose size is known."""
        return self.bytes_out + self.bytes_in


def link_loads(plan: Plan) -> dict[Link, Load]:
    """Return what each link carries, by the plan's topics and their rates.

    Cost: for each topic, its publishers with a rate times the links of its tree.
    """
    found = {link: Load() for link in plan.links}
    for route in plan.routes:
        for link, ways in route.directions.items():
            direction: Direction = "both" if len(ways) == 2 else min(ways)
            found[link].topics.append((route.name, direction))
        for rate in route.rates:
            size = rate.bytes or 0.0
            for end, start in route.arrivals(rate.node).items():
                if (start, end) in found:
                    found[start, end].messages_out += rate.messages
                    found[start, end].bytes_out += rate.messages * size
                else:
                    found[end, start].messages_in += rate.messages
                    found[end, start].bytes_in += rate.messages * size
    return found
