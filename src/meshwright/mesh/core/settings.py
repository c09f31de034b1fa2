"""Settings of an agent and of the planner, with the times that the protocol keeps."""

from typing import NamedTuple


class Limits(NamedTuple):
    """How much of a broker's messages may wait on disk."""

    messages: int = 100_000
    payload_bytes: int = 256 << 20
    seconds: float = 7 * 86_400.0


class AgentSettings(NamedTuple):
    """What an agent has to know before it starts. Times are in seconds."""

    mesh: str
    node: int
    journal: Limits = Limits()
    mailbox: Limits = Limits()
    exactly_once: bool = False  # QoS 2 to the own broker, with packet ids on disk
    max_message: int = 16 << 20
    window: int = 1_000  # messages on their way to the own broker
    packets: int = 32_767  # packets of the own broker not accepted yet: half of 65,535
    same_packet_ids: bool = True  # what the own broker sends again has the packet id it had
    journal_after: float = 1.0  # what is not settled by then goes to the journal
    retry_after: float = 1.5  # later than a slow round trip, sooner than anybody's patience
    retry_most: float = 8.0  # the longest pause between two attempts
    held_for: float = 15.0  # how long "held" keeps an origin from sending again
    ask_after: float = 0.3  # how long a message waits for the one before it
    order_for: float = 60.0  # then it waits no longer
    ack_after: float = 0.002  # acknowledgements are gathered for so long
    links_for: float = 10.0  # links of an older overlay are kept for so long
    count_for: float = 60.0  # messages are counted for so long, then the planner is told
    early: int = 1_000  # messages that may wait for an entry of the log


class PlannerSettings(NamedTuple):
    """What the planner has to know before it starts. Times are in seconds."""

    mesh: str
    routing: str = "tree"
    listen_for: float = 1.0  # after a start, for agents with a longer log
    gather_for: float = 0.02  # changes that become one entry
    away_after: float = 0.3  # an agent that nobody can reach is away
    design_after: float = 2.0  # without further changes
    design_every: float = 5.0  # at most so often
    restores: bool = False  # the log is collected from the agents first
    restore_for: float = 15.0  # for agents that do not answer, once one has
