"""From data frames to an instance, and from an overlay to other libraries."""

import pandas as pd
import pyarrow as pa
import pytest

import meshwright as mw
from meshwright.errors import InputError

ROWS = {
    "node": ["cloud", "edge", "edge"],
    "topic": ["temp", "temp", "alarm"],
    "role": ["sub", "pub", "pub"],
    "rate": [None, 2.0, None],
}


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pa.table, lambda rows: pa.RecordBatch.from_pydict(rows)]
)
def test_a_frame_says_who_wants_and_who_publishes_what(make):
    instance = mw.Instance.from_frame(make(ROWS))
    expected = mw.Instance.from_pairs(
        [("cloud", "temp")], publications=[("edge", "temp", 2.0), ("edge", "alarm")]
    )
    assert instance.digest == expected.digest


def test_columns_of_other_names_are_named():
    frame = pd.DataFrame({"broker": ["a", "b"], "filter": ["x", "x"]})
    instance = mw.Instance.from_frame(frame, node="broker", topic="filter")
    assert instance.n_subscriptions == 2
    with pytest.raises(InputError, match=r"no column 'node'; it has: broker, filter"):
        mw.Instance.from_frame(frame)


@pytest.mark.parametrize("wrong", [7, "frame", [("a", "x")]])
def test_what_is_not_a_frame_is_refused(wrong):
    with pytest.raises(InputError, match="a frame is one of pandas, Arrow, Polars or Spark"):
        mw.Instance.from_frame(wrong)


def test_an_unknown_role_is_refused():
    with pytest.raises(InputError, match="the role of a row is sub or pub; got 'both'"):
        mw.Instance.from_frame(pa.table({"node": ["a"], "topic": ["x"], "role": ["both"]}))


def test_edges_and_graphs_have_names():
    overlay = mw.design(mw.Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "y")]))
    assert overlay.edge_list(names=True) == [("a", "b")]
    graph = overlay.to_networkx()
    assert sorted(graph.nodes) == ["a", "b", "c"]
    assert graph.edges["a", "b"] == {"rank": 0, "gain": 1}


def test_design_says_what_it_takes():
    with pytest.raises(
        InputError, match=r"design takes an Instance; got 'workload'.*Instance\.load"
    ):
        mw.design("workload")
