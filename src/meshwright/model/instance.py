"""Which node wants and publishes which topic: the value that every overlay is designed for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.errors import InputError, damaged
from meshwright.model.names import ArrowNames, NumberedNames, arrow_names, names_problem
from meshwright.model.publications import Publications
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.storage import Manifest, open_dataset, read_by_id, read_table
from meshwright.storage.digest import (
    names_digest,
    pack,
    pairs_digest,
    unpack,
    with_publications,
    workload_digest,
)

PAIRS_AT_ONCE = 1 << 20
MOST_IDS = 2**31 - 2  # ids are int32, and one value stays free


@dataclass(frozen=True, slots=True, eq=False)  # arrays make == ambiguous: compare .digest
class Instance:
    """Which node wants which topic: CSR over integer ids, topics sorted within a node.

    `publications` says who publishes what, where that is known. In an instance to design for
    (`meshwright.overlay.demand`), nodes that only publish a topic take part in it too: `wants` is
    false there, and `workload` is the instance that it was made of.

    Examples
    --------
    >>> instance = Instance.from_pairs([("edge-1", "plant/temp"), ("edge-2", "plant/temp")])
    >>> instance.n_nodes, instance.n_topics, instance.n_subscriptions
    (2, 1, 2)
    """

    node_names: Sequence[str]
    topic_names: Sequence[str]
    indptr: Longs  # n_nodes + 1
    topics: Ints  # n_subscriptions
    publications: Publications = field(default_factory=Publications.none)
    wants: Bools | None = None  # n_subscriptions; None: every node wants its topics
    workload: Instance | None = field(default=None, repr=False)
    _digest: list[str] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indptr", frozen(self.indptr, np.int64, "indptr"))
        object.__setattr__(self, "topics", frozen(self.topics, np.int32, "topics"))
        check_csr(self.indptr, self.topics, len(self.node_names), len(self.topic_names))
        for what, count in (("node", self.n_nodes), ("topic", self.n_topics)):
            ids = getattr(self.publications, f"{what}s")
            if len(ids) and not (ids.min() >= 0 and ids.max() < count):
                raise InputError(f"a publication has a {what} outside 0..{count - 1}.")
        if self.wants is not None:
            wants = np.array(self.wants, np.bool_)
            if len(wants) != len(self.topics):
                raise InputError(f"wants has {len(wants)} entries for {len(self.topics)} topics.")
            wants.flags.writeable = False
            object.__setattr__(self, "wants", wants)

    @property
    def n_nodes(self) -> int:
        """The number of nodes, those without a subscription included."""
        return len(self.node_names)

    @property
    def n_topics(self) -> int:
        """The number of topics."""
        return len(self.topic_names)

    @property
    def n_subscriptions(self) -> int:
        """The number of (node, topic) pairs."""
        return len(self.topics)

    @property
    def n_publications(self) -> int:
        """The number of (node, topic) pairs of which it is known that the node publishes."""
        return len(self.publications)

    @property
    def digest(self) -> str:
        """The SHA-256 of the content: equal to the digest of a workload with the same content."""
        if not self._digest:
            self._digest.append(self.compute_digest())
        return self._digest[0]

    def compute_digest(self) -> str:
        """Compute the digest from the content, even if a manifest has given one."""
        counts = self.n_nodes, self.n_topics, self.n_subscriptions
        node_names, topic_names = arrow_names(self.node_names), arrow_names(self.topic_names)
        names = names_digest(node_names), names_digest(topic_names)
        digest = workload_digest(*counts, *names, pairs_digest(pack(self.nodes, self.topics)))
        if self.wants is not None:
            only = ~self.wants
            pairs = pack(self.nodes[only], self.topics[only])
            digest = with_publications(digest, pairs, *np.zeros((2, len(pairs))))
        return self.publications.digest_with(digest)

    @property
    def nodes(self) -> Ints:
        """The node of each subscription, beside `topics`."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))

    @property
    def wanted(self) -> Instance:
        """The instance with nothing but subscriptions: without nodes that only publish."""
        if self.wants is None:
            return self
        pointers = row_pointers(self.nodes[self.wants], self.n_nodes)
        topics = self.topics[self.wants]
        return replace(self, indptr=pointers, topics=topics, wants=None, _digest=[])

    def with_publications(self, more: Iterable[tuple[str, str]]) -> Instance:
        """Return the instance with further (node, topic) publications, of unknown rate."""
        names, topics, made = list(self.node_names), list(self.topic_names), self.publications
        old = zip(made.nodes.tolist(), made.topics.tolist(), made.rates, made.sizes, strict=True)
        rows = [(names[v], topics[t], rate, size) for v, t, rate, size in old]
        known = {row[:2] for row in rows}
        pairs = zip(self.nodes.tolist(), self.topics.tolist(), strict=True)
        return Instance.from_pairs(
            [(names[v], topics[t]) for v, t in pairs],
            nodes=names,
            topics=topics,
            publications=[*rows, *(pair for pair in more if tuple(pair) not in known)],
        )

    def topics_of(self, node: int) -> Ints:
        """Return the topics that a node wants, sorted."""
        return self.topics[self.indptr[node] : self.indptr[node + 1]]

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[str, str]],
        *,
        nodes: Iterable[str] = (),
        topics: Iterable[str] = (),
        publications: Iterable[tuple[Any, ...]] = (),
    ) -> Instance:
        """Return the instance of (node, topic) names; repeats count once.

        `nodes` and `topics` are further ones, which nobody may want. `publications` are
        (node, topic), (node, topic, messages per second), or these three and the mean bytes.
        """
        wanted = {_pair(pair) for pair in pairs}
        made = [publication_row(row) for row in publications]
        named = {name for pair in wanted for name in pair} | {n for row in made for n in row[:2]}
        nodes, topics = set(nodes), set(topics)
        for name in nodes | topics | named:
            check_name(name)
        node_names = tuple(sorted({node for node, _ in wanted} | nodes | {row[0] for row in made}))
        published_topics = {row[1] for row in made}
        topic_names = tuple(sorted({topic for _, topic in wanted} | topics | published_topics))
        node_id = {name: i for i, name in enumerate(node_names)}
        topic_id = {name: i for i, name in enumerate(topic_names)}
        ids = sorted((node_id[node], topic_id[topic]) for node, topic in wanted)
        array = np.array(ids, dtype=np.int32).reshape(-1, 2)
        published = Publications.merged(
            [node_id[row[0]] for row in made],
            [topic_id[row[1]] for row in made],
            [row[2] for row in made],
            [row[3] for row in made],
        )
        pointers = row_pointers(array[:, 0], len(node_names))
        return cls(node_names, topic_names, pointers, array[:, 1], published)

    @classmethod
    def from_arrays(
        cls, indptr: npt.ArrayLike, topics: npt.ArrayLike, n_topics: int | None = None
    ) -> Instance:
        """Return the instance of CSR arrays; names are numbered (``node-07``, ``topic-3``)."""
        pointers = frozen(np.asarray(indptr), np.int64, "indptr")
        wanted = frozen(np.asarray(topics), np.int32, "topics")
        if len(pointers) == 0:
            raise InputError("indptr is empty; it needs one entry more than there are nodes.")
        count = int(wanted.max(initial=-1)) + 1 if n_topics is None else n_topics
        if count < 0:
            raise InputError(f"n_topics is {n_topics}; it must be 0 or more.")
        names = NumberedNames("node", len(pointers) - 1), NumberedNames("topic", count)
        return cls(*names, pointers, wanted)

    @classmethod
    def from_frame(cls, frame: Any, *, node: str = "node", topic: str = "topic") -> Instance:
        """Return the instance of a pandas, Arrow, Polars or Spark frame with two columns of names.

        A column `role` of ``sub`` and ``pub`` says which rows are publications; `rate` and `bytes`
        belong to them.
        """
        table = frame
        for method in ("toArrow", "to_arrow"):  # Spark, Polars
            if hasattr(table, method):
                table = getattr(table, method)()
        if not isinstance(table, pa.Table | pa.RecordBatch):
            try:
                table = pa.Table.from_pandas(table, preserve_index=False)
            except (AttributeError, TypeError, pa.ArrowInvalid) as error:
                kind = type(frame).__name__
                raise InputError(
                    f"a frame is one of pandas, Arrow, Polars or Spark; got {kind}."
                ) from error
        found = ", ".join(table.schema.names)
        for column in (node, topic):
            if column not in table.schema.names:
                raise InputError(f"the frame has no column {column!r}; it has: {found}.")
        rows = table.to_pylist()
        roles = {row.get("role", "sub") for row in rows} - {"sub", "pub"}
        if roles:
            raise InputError(f"the role of a row is sub or pub; got {min(map(str, roles))!r}.")
        published = [row for row in rows if row.get("role") == "pub"]
        return cls.from_pairs(
            [(row[node], row[topic]) for row in rows if row.get("role", "sub") == "sub"],
            publications=[
                (row[node], row[topic], row.get("rate"), row.get("bytes")) for row in published
            ],
        )

    @classmethod
    def load(cls, path: str | Path) -> Instance:
        """Return the instance of a workload dataset; needs no JVM."""
        return cls.read(open_dataset(Path(path), "workload"))

    @classmethod
    def read(cls, manifest: Manifest) -> Instance:
        """Return the instance of a workload dataset that is open."""
        node_names = _names(manifest, "nodes", "node")
        topic_names = _names(manifest, "topics", "topic")
        n_nodes, n_topics = len(node_names), len(topic_names)
        pairs = read_table(manifest, "subscriptions", ["node", "topic"])
        nodes = pairs.column("node").to_numpy()
        topics = pairs.column("topic").to_numpy()
        check_ids(manifest, "node", nodes, n_nodes)
        check_ids(manifest, "topic", topics, n_topics)
        if not _rise(nodes, topics):
            packed = pack(nodes, topics)
            packed.sort()
            nodes, topics = unpack(packed)
        return cls(
            node_names,
            topic_names,
            row_pointers(nodes, n_nodes),
            topics,
            read_publications(manifest, n_nodes, n_topics),
            _digest=[manifest["digest"]],
        )


def read_publications(manifest: Manifest, n_nodes: int, n_topics: int) -> Publications:
    """Return the publications of a workload dataset; a dataset of format version 1 has none."""
    if not manifest.rows.get("publications"):
        return Publications.none()
    rows = read_table(manifest, "publications")
    for column, count in (("node", n_nodes), ("topic", n_topics)):
        check_ids(manifest, column, rows.column(column).to_numpy(), count, "publication")
    try:
        return Publications.of_table(rows)
    except InputError as error:
        raise damaged(manifest.path, str(error).rstrip(".")) from error


class Subscribers(NamedTuple):
    """The subscribers of topic t are ``nodes[pointers[t] : pointers[t + 1]]``, sorted."""

    pointers: Longs  # [n_topics + 1]
    nodes: Ints  # [n_subscriptions]


def subscribers_of(instance: Instance, numbers: Ints | None = None) -> Subscribers:
    """Return the subscribers of each topic; `numbers`, if given, replace the ids of the nodes."""
    ids = np.arange(instance.n_nodes, dtype=np.int32) if numbers is None else numbers
    nodes = np.repeat(ids, np.diff(instance.indptr))
    order = np.lexsort((nodes, instance.topics))
    return Subscribers(row_pointers(instance.topics[order], instance.n_topics), nodes[order])


def frozen(array: npt.NDArray[Any], dtype: type, what: str) -> npt.NDArray[Any]:
    """Return a read-only copy of a type; raise InputError for values that do not fit it."""
    if array.ndim != 1:
        raise InputError(f"{what} must be one-dimensional; got {array.ndim} dimensions.")
    if not np.issubdtype(array.dtype, np.integer) and len(array):
        raise InputError(f"{what} must be integers; got an array of {array.dtype}.")
    copy: npt.NDArray[Any] = np.array(array, dtype=dtype)
    if array.dtype != copy.dtype and not np.array_equal(copy, array):
        raise InputError(f"{what} must fit {np.dtype(dtype).name}; they reach {array.max()}.")
    copy.flags.writeable = False
    return copy


def _pair(pair: object) -> tuple[str, str]:
    if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2:
        return pair[0], pair[1]
    raise InputError(f"a pair is (node, topic); got {pair!r}.")


def publication_row(row: Any) -> tuple[str, str, float, float]:
    """Return a publication as (node, topic, rate, bytes), NaN for what is not given."""
    if not isinstance(row, Sequence) or isinstance(row, str) or not 2 <= len(row) <= 4:
        raise InputError(f"a publication is (node, topic[, rate[, bytes]]); got {row!r}.")
    try:
        rate, size = (
            np.nan if value is None else float(value) for value in (*row[2:], None, None)[:2]
        )
    except (TypeError, ValueError):
        raise InputError(f"rate and bytes of a publication are numbers; got {row!r}.") from None
    return row[0], row[1], rate, size


def check_name(name: object) -> None:
    """Raise InputError unless a name is text that can be stored."""
    if not isinstance(name, str) or not name:
        raise InputError(f"names are text and not empty; got {name!r}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"names are Unicode text; {name!r} holds a lone surrogate.") from None


def row_pointers(sorted_rows: Ints, n_rows: int) -> Longs:
    """Return where each row starts and ends in a sorted column of row numbers."""
    # np.bincount would first make a copy of twice the size.
    return np.searchsorted(sorted_rows, np.arange(n_rows + 1, dtype=sorted_rows.dtype))


def _rise(nodes: Ints, topics: Ints) -> bool:
    """Return whether the pairs are strictly increasing; in pieces, to keep copies small."""
    for first in range(0, len(nodes), PAIRS_AT_ONCE):
        u, t = (ids[first : first + PAIRS_AT_ONCE + 1] for ids in (nodes, topics))
        if not np.all((u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (t[1:] > t[:-1]))):
            return False
    return True


def check_ids(
    workload: Manifest, what: str, ids: Ints, count: int, row: str = "subscription"
) -> None:
    """Raise InputError if a column of a workload's table holds an id that nothing has."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < count):
        raise InputError(
            f"'{workload.path}' has a {row} of a {what} outside 0..{count - 1}. "
            "Make the dataset again."
        )


def check_csr(indptr: Longs, topics: Ints, n_nodes: int, n_topics: int) -> None:
    """Raise unless the arrays are a CSR of sorted, distinct topics."""
    if max(n_nodes, n_topics) > MOST_IDS:
        raise InputError(f"{max(n_nodes, n_topics):,} names do not fit int32 ids ({MOST_IDS:,}).")
    if len(indptr) != n_nodes + 1 or indptr[0] != 0 or indptr[-1] != len(topics):
        raise InputError(
            f"indptr must run from 0 to {len(topics)} in {n_nodes + 1} entries; "
            f"got {len(indptr)} entries from {indptr[:1].tolist()} to {indptr[-1:].tolist()}."
        )
    if np.any(np.diff(indptr) < 0):
        raise InputError("indptr must not fall from one node to the next.")
    if len(topics) and not (topics.min() >= 0 and topics.max() < n_topics):
        raise InputError(f"topics must lie in 0..{n_topics - 1}; got up to {topics.max()}.")
    rises = topics[1:] > topics[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(topics))] - 1] = True
    if not rises.all():
        raise InputError("topics must be sorted and distinct within a node.")


def _names(manifest: Manifest, table: str, column: str) -> ArrowNames:
    """Return the names of a table in id order."""
    names = read_by_id(manifest, table, [column, "name"], manifest[f"n_{table}"])
    found = names.column("name").combine_chunks()
    wrong = names_problem(found)
    if wrong:
        raise damaged(manifest.path, f"the names of table {table!r} are {wrong}")
    return ArrowNames(found)
