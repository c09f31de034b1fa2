"""One value of each kind of frame and of each change of the log, by the version that brought it."""

from meshwright.mesh.core import frames, values
from meshwright.mesh.shell import codec

ONE = values.Version(3, 70_000)
ID = values.MessageId(3, 2, 4_294_967_296)
MESSAGE = values.Message("plant 1/größe", b"\x00\xffpayload", 2, True, 1.5, b"\x26\x00\x01a")
PREVIOUS = frames.Previous(values.MessageId(3, 1, 8), ONE)
TREE = values.Topology("tree", ((0, 3), (1, 300)))
RING = values.Topology("po", ((0, 1),), (1, 0), ((1,), (0,)))
HEALTH = values.Health((4,), ((1, 2),))
JOINED = values.Joined(3, "Halle 3", "[::1]:6883")
INTERESTS = values.Interests(3, ("a/#", "+/ü"), ("c",))
SNAPSHOT = values.Snapshot((JOINED,), RING, HEALTH, (("a/#", (0, 3)),))

SINCE_2 = {
    "preface": codec.Preface(2, "demo", -1, 3, bytes(range(16))),
    "proof": codec.Proof(bytes(32)),
    "ping": codec.Ping(),
    "hello": frames.Hello("demo", 3, 7, ONE, 3),
    "hello of a planner": frames.Hello("demo", -1, 0, ONE, 3),
    "log": frames.Log((values.Entry(ONE, (JOINED, INTERESTS, values.Linked(TREE), HEALTH)),)),
    "log with a snapshot": frames.Log((values.Entry(ONE, (SNAPSHOT,)),)),
    "need log": frames.NeedLog(ONE),
    "data": frames.Data(
        ID, MESSAGE, ONE, 1, 0, (1, 2), PREVIOUS, (1, 5), (9,), values.Stamp(4, 3), True
    ),
    "data of a plain message": frames.Data(
        ID, values.Message("a", b"", 1), ONE, 1, 0, (), None, (1, 5), ()
    ),
    "acks": frames.Acks(3, 4, 1, (ID,), (PREVIOUS.id,), 5),
    "refused": frames.Refused(3, 4, ID, 2, (5, 6), "full", 64),
    "ask": frames.Ask(3, 4, ID, "a/b", 1, 64),
    "never": frames.Never(3, 4, ID, PREVIOUS, 64),
    "never and nothing instead": frames.Never(3, 4, ID, None, 64),
    "wants": frames.Wants(3, True, ("a/#",), ("b",)),
    "neighbours": frames.Neighbours(3, (1, 2), (4,)),
    "confirm": frames.Confirm(3, 9),
}

SINCE_3 = {
    "drained": frames.Drained(3),
    "took": frames.Took(3, 10.5, (("plant 1/größe", 7, 4_294_967_296),), 2),
    "log of a broker that goes": frames.Log(
        (values.Entry(ONE, (INTERESTS, values.Leaving(3), values.Left(3))),)
    ),
    "log with a snapshot while one goes": frames.Log(
        (values.Entry(ONE, (SNAPSHOT._replace(leaving=(3,)),)),)
    ),
}


def said_by(version):
    """Return all that a version of the protocol can say."""
    return {**SINCE_2, **(SINCE_3 if version >= 3 else {})}
