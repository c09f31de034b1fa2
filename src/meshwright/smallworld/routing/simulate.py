"""Simulate publications on an overlay: deliveries, hops, overhead, and the load of each node.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5. Topics are drawn uniformly among those with a
subscriber, or by weights, the publisher uniformly among the topic's subscribers. If the workload
says who publishes, the publisher is drawn among these; if it knows all rates, topics and publishers
are drawn by them. Publication i is
drawn from the stream of (seed, i) and nothing else. So all overlays and protocols are given the
same publications, and a range of them can be simulated separately: tasks call `simulate_range`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from meshwright.errors import InputError
from meshwright.model.instance import Instance, Subscribers, row_pointers, subscribers_of
from meshwright.model.method import check_seed
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs
from meshwright.smallworld.routing.kernels import publications as kernel
from meshwright.smallworld.routing.protocols import Direction, Match, Router, router
from meshwright.storage.digest import combine

Weights = Mapping[str, float] | npt.ArrayLike
MOST_PUBLICATIONS = 2**31 - 1
BLOCK = 4_096  # publications hashed together: on 10,000 nodes about half a second of work
WEIGHT_COLUMNS = {"topic": pa.string(), "weight": pa.float64()}
SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The result of a simulation: a row per publication, the load of each node, and totals."""

    overlay: Overlay
    routing: str
    parameters: Mapping[str, Any]
    seed: int
    publications: pa.Table  # topic, publisher, deliveries, missed, overhead, hops_mean, hops_max
    load: pa.Table  # node, sent, received
    totals: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The SHA-256 of the two tables: equal to the digest of a run dataset with the same."""
        n, rows = self.publications.num_rows, self.publications
        starts = range(0, n, BLOCK)
        blocks = combine((s // BLOCK, table_digest(rows.slice(s, BLOCK))) for s in starts)
        return run_digest(n, blocks, self.load)


class Draws(NamedTuple):
    """The topics and publishers that publications are drawn from."""

    live: Ints  # the topics that may be drawn
    weighted: bool
    cumulative: Floats  # if weighted, the cumulative shares of the live topics
    publishing: Subscribers  # of each topic: its subscribers, or who publishes it
    shared: bool  # whether the publishers of a topic have shares of their own
    shares: Floats  # if so, [n_publishing], cumulative within a topic


class Part(NamedTuple):
    """The publications of a range, and what was counted while routing them."""

    topics: Ints
    publishers: Ints
    tally: kernel.Tally


def simulate(
    overlay: Overlay,
    routing: str | None = None,
    *,
    publications: int = 1000,
    seed: int = 1,
    weights: Weights | None = None,
    direction: str = Direction.ONE,
    match: str = Match.FINGERS,
) -> Run:
    """Route publications on an overlay and return the run. In memory; needs no JVM.

    `routing` is one of `ROUTINGS`; all but ``tree`` need a small world. By default it is ``pie``
    there, and ``tree`` on other overlays. Messages in a small world go over fingers, clockwise, or
    with `direction` ``both`` over links in both directions; then `match` ``neighbours`` divides
    ranges among all neighbours, not only among fingers. `publications` is how many to draw.
    `weights` say how often topics are published on: by name (topics left out are never drawn), or
    one number per topic; by default all are equally likely. Topics without a subscriber are never
    drawn.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")])
    >>> run = simulate(design(instance, "gm"), publications=100)
    >>> run.totals["deliveries"], run.totals["missed"], run.totals["overhead"]
    (100, 0, 0)
    """
    if not (isinstance(publications, int) and 0 <= publications <= MOST_PUBLICATIONS):
        raise InputError(
            f"publications is {publications!r}; give a whole number up to {MOST_PUBLICATIONS:,}."
        )
    check_seed(seed)
    draws = new_draws(overlay.instance, weights)
    routing = routing or ("pie" if isinstance(overlay, SmallWorld) else "tree")
    ready = router(overlay, routing, direction, match)
    part = simulate_range(ready, draws, 0, publications, seed)
    tally = part.tally
    return Run(
        overlay=overlay,
        routing=routing,
        parameters={
            "publications": publications,
            "weighted": weights is not None,
            "direction": str(direction),
            "match": str(match),
        },
        seed=seed,
        publications=publication_table(part),
        load=load_table(tally.sent, tally.received),
        totals=totals_of(publications, tally.counts, tally.sent, tally.received),
    )


def simulate_range(ready: Router, draws: Draws, first: int, last: int, seed: int) -> Part:
    """Draw and route the publications first..last-1 of a seed."""
    if first >= last:
        empty = np.empty(0, np.int32)
        return Part(empty, empty, ready.route(empty, empty))
    if len(draws.live) == 0:
        raise InputError("there is nothing to publish: no topic to draw has a subscriber.")
    topics, publishers = kernel.draw_publications(seed, first, last, draws)
    return Part(topics, publishers, ready.route(topics, publishers))


def new_draws(instance: Instance, weights: Weights | None = None) -> Draws:
    """Return the topics and publishers to draw publications from."""
    heard = np.bincount(instance.wanted.topics, minlength=instance.n_topics) > 0
    publishing, known = subscribers_of(instance), np.empty(0)
    if instance.wants is not None and instance.n_publications:
        publishing, known = publishers_of(instance)
    shared = len(known) > 0
    topic_of = np.repeat(np.arange(instance.n_topics), np.diff(publishing.pointers))
    if weights is not None:
        rates = _rates(instance, weights)
    elif shared:
        rates = np.bincount(topic_of, known, instance.n_topics).astype(np.float64)
    else:
        rates = np.ones(instance.n_topics)
    able = heard & (np.diff(publishing.pointers) > 0)
    live = np.flatnonzero(able & (rates > 0)).astype(np.int32)
    cumulative = np.cumsum(rates[live]) / (rates[live].sum() or 1.0)
    weighted = weights is not None or shared
    return Draws(live, weighted, cumulative, publishing, shared, _shares(topic_of, known))


def publishers_of(instance: Instance) -> tuple[Subscribers, Floats]:
    """Return who publishes each topic, and how often if all rates are known, else nothing."""
    made = instance.publications
    order = np.lexsort((made.nodes, made.topics))
    rates = made.rates[order]
    # A publisher of a filter publishes narrower topics too; its rate is counted at the filter.
    derived = np.isnan(rates) & _covered(instance)[order]
    rates = np.where(derived, 0.0, rates)
    known = not np.isnan(rates).any() and rates.sum() > 0
    pointers = row_pointers(made.topics[order], instance.n_topics)
    return Subscribers(pointers, made.nodes[order]), rates if known else np.empty(0)


def _covered(instance: Instance) -> Bools:
    """Return which publications follow from one of a filter, and are not in the workload."""
    workload, made = instance.workload or instance, instance.publications
    names, old = list(workload.topic_names), workload.publications
    given = {(v, names[t]) for v, t in zip(old.nodes.tolist(), old.topics.tolist(), strict=True)}
    topics = list(instance.topic_names)
    rows = zip(made.nodes.tolist(), made.topics.tolist(), strict=True)
    return np.array([(v, topics[t]) not in given for v, t in rows], np.bool_)


def _shares(topic_of: Longs, rates: Floats) -> Floats:
    """Return the cumulative shares of rates within each topic, 0 where nothing is published."""
    if len(rates) == 0:
        return rates
    total = np.bincount(topic_of, rates)
    running = np.cumsum(rates)
    first = np.searchsorted(topic_of, topic_of)
    before = running[first] - rates[first]
    return (running - before) / np.where(total > 0, total, 1.0)[topic_of]


def _rates(instance: Instance, weights: Weights) -> Floats:
    """Return one rate per topic."""
    if isinstance(weights, Mapping):
        unknown = weights.keys() - set(instance.topic_names)
        if unknown:
            raise InputError(f"weights name {len(unknown)} unknown topics, as {min(unknown)!r}.")
        rates = np.array([weights.get(name, 0.0) for name in instance.topic_names], np.float64)
    else:
        rates = np.asarray(weights, np.float64)
    if rates.shape != (instance.n_topics,):
        raise InputError(f"weights are {rates.shape}; give one for each of {instance.n_topics}.")
    if not (np.isfinite(rates).all() and (rates >= 0).all()):
        raise InputError("weights must be finite and not below 0.")
    return rates


def read_weights(path: str | Path) -> dict[str, float]:
    """Return the weight of each topic in a CSV, TSV or Parquet file with columns topic, weight.

    Raise InputError if the file cannot be read, lacks a column, or names a topic twice.
    """
    source = Path(path)
    try:
        table = _read_table(source)
    except FileNotFoundError:
        raise InputError(f"there are no weights at '{source}'. Check --weights.") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"'{source}' cannot be read as weights: {error}") from error
    missing = [name for name in WEIGHT_COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(
            f"'{source}' has the columns {', '.join(table.column_names)}; weights need topic and "
            "weight."
        )
    try:
        table = table.select(list(WEIGHT_COLUMNS)).cast(pa.schema(WEIGHT_COLUMNS.items()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"'{source}' has a weight that is not a number: {error}") from error
    if any(column.null_count for column in table.columns):
        raise InputError(f"'{source}' has a row without a topic or a weight. Fill it or drop it.")
    names = table.column("topic")
    if pc.count_distinct(names).as_py() < len(names):
        counted = names.value_counts().to_pylist()
        repeated = next(row["values"] for row in counted if row["counts"] > 1)
        raise InputError(f"'{source}' gives topic {repeated!r} twice. Give each topic one weight.")
    return dict(zip(names.to_pylist(), table.column("weight").to_pylist(), strict=True))


def _read_table(source: Path) -> pa.Table:
    if source.suffix == ".parquet":
        return pq.read_table(source)
    if source.suffix not in SEPARATORS:
        raise InputError(f"'{source}' is none of .csv, .tsv and .parquet. Rename or convert it.")
    return pyarrow.csv.read_csv(
        source,
        parse_options=pyarrow.csv.ParseOptions(delimiter=SEPARATORS[source.suffix]),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=WEIGHT_COLUMNS, strings_can_be_null=True, null_values=[""]
        ),
    )


def publication_table(part: Part) -> pa.Table:
    """Return a row per publication; without a delivery its hops are null."""
    counts = part.tally.counts.astype(np.int32)
    deliveries = counts[:, kernel.DELIVERIES]
    mean = part.tally.counts[:, kernel.HOPS_SUM] / np.maximum(deliveries, 1)
    return pa.table(
        {
            "topic": part.topics,
            "publisher": part.publishers,
            "deliveries": deliveries,
            "missed": counts[:, kernel.MISSED],
            "overhead": counts[:, kernel.OVERHEAD],
            "hops_mean": pa.array(mean, mask=deliveries == 0),
            "hops_max": pa.array(counts[:, kernel.HOPS_MAX], mask=deliveries == 0),
        }
    )


def load_table(sent: Longs, received: Longs) -> pa.Table:
    """Return a row per node: the messages it sent and received."""
    nodes = np.arange(len(sent), dtype=np.int32)
    return pa.table({"node": nodes, "sent": sent, "received": received})


def add_up(counts: Longs) -> Longs:
    """Return int64[N_COUNTS], the counts of many publications or many parts as those of one."""
    added: Longs = counts.sum(axis=0)
    added[kernel.HOPS_MAX] = counts[:, kernel.HOPS_MAX].max(initial=0)
    return added


def totals_of(publications: int, counts: Longs, sent: Longs, received: Longs) -> dict[str, Any]:
    """Return the totals of a run; the mean of hops is over all deliveries."""
    deliveries, missed, overhead, hops_sum, hops_max = add_up(counts).tolist()
    load = sent + received
    return {
        "publications": publications,
        "deliveries": deliveries,
        "missed": missed,
        "overhead": overhead,
        "messages": int(sent.sum()),
        "hops_mean": hops_sum / deliveries if deliveries else None,
        "hops_max": hops_max if deliveries else None,
        **_spread("sent", sent),
        **_spread("received", received),
        **_spread("load", load),
        "busiest_share": busiest_share(load),
    }


def busiest_share(load: Longs) -> float:
    """Return the share of all load that the busiest hundredth of the nodes carries.

    Examples
    --------
    >>> busiest_share(np.array([6, 1, 1, 2]))  # of four nodes, that is one
    0.6
    """
    total = int(load.sum())
    n_busiest = -(-len(load) // 100)
    return int(np.sort(load)[len(load) - n_busiest :].sum()) / total if total else 0.0


def _spread(what: str, load: Longs) -> dict[str, float]:
    """Return the mean, the standard deviation and the largest load of a node."""
    load = load if len(load) else np.zeros(1, np.int64)
    return {
        f"{what}_mean": float(load.mean()),
        f"{what}_stdev": float(load.std()),
        f"{what}_max": int(load.max()),
    }


def table_digest(table: pa.Table | pa.RecordBatch) -> bytes:
    """Return the SHA-256 of a table of numbers, column by column, little-endian, null as 0."""
    whole = hashlib.sha256()
    for column in table.columns:
        array = column.fill_null(0) if column.null_count else column
        kind = np.dtype(column.type.to_pandas_dtype()).newbyteorder("<")
        whole.update(np.asarray(array, kind).tobytes())
    return whole.digest()


def run_digest(n: int, blocks: str, load: pa.Table) -> str:
    """Return the digest of a run of n publications, from the combined one of their blocks.

    A task hashes whole blocks, so the digest is the same for any partitioning.
    """
    whole = hashlib.sha256(b"meshwright run 1\n")
    for count in (n, load.num_rows):
        whole.update(count.to_bytes(8, "little"))
    whole.update(bytes.fromhex(blocks) + table_digest(load))
    return whole.hexdigest()
