"""What a task is given besides its rows: shipped arrays, and weights from a file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Subscribers
from meshwright.runtime.tasks import ALIGNMENT, received, ship
from meshwright.smallworld.routing.simulate import read_weights


def test_arrays_come_as_they_were_sent_mapped_and_aligned(tmp_path):
    sent = {"who": Subscribers(np.arange(3), np.array([5, 7], np.int32)), "none": np.empty(0)}
    sent["who"].nodes.flags.writeable = False
    ship(tmp_path / "tables", (sent, "pie", None))
    got, *rest = received(tmp_path / "tables")
    assert rest == ["pie", None]
    assert isinstance(got["who"], Subscribers)
    for array, ref in zip((*got["who"], got["none"]), (*sent["who"], sent["none"]), strict=True):
        assert array.dtype == ref.dtype
        assert array.tolist() == ref.tolist()
        assert array.flags.writeable == ref.flags.writeable  # kernels are compiled for either
        assert array.ctypes.data % ALIGNMENT == 0 or array.size == 0


def test_a_process_maps_a_file_once_and_never_writes_to_it(tmp_path):
    ship(tmp_path / "tables", np.zeros(4))
    first = received(tmp_path / "tables")
    assert received(tmp_path / "tables") is first
    before = (tmp_path / "tables").read_bytes()
    first[0] = 1.0
    assert (tmp_path / "tables").read_bytes() == before
    (tmp_path / "tables").unlink()
    assert first.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_weights_are_read_from_every_format(tmp_path):
    (tmp_path / "w.csv").write_text('note,weight,topic\nx,1.5,"a,b"\ny,2,NA\n')
    (tmp_path / "w.tsv").write_text("topic\tweight\na,b\t1.5\nNA\t2\n")
    table = pa.table({"topic": ["a,b", "NA"], "weight": pa.array([1.5, 2], pa.float32())})
    pq.write_table(table, tmp_path / "w.parquet")
    for name in ("w.csv", "w.tsv", "w.parquet"):
        assert read_weights(tmp_path / name) == {"a,b": 1.5, "NA": 2.0}


def test_words_for_weights_are_refused_in_parquet_too(tmp_path):
    pq.write_table(pa.table({"topic": ["a"], "weight": ["often"]}), tmp_path / "w.parquet")
    with pytest.raises(InputError, match="has a weight that is not a number"):
        read_weights(tmp_path / "w.parquet")
