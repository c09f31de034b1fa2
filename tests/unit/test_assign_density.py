"""Densities from the user's files."""

import json

import numpy as np
import pytest

from meshwright.content.problem.density_file import read_density
from meshwright.errors import InputError

HEADER = "low_1,high_1,low_2,high_2,density\n"


def test_boxes_of_a_csv_become_cells_and_gaps_are_empty(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text(HEADER + "0,2,0,1,3\n2,4,0,4,0.5\n")
    density = read_density(file, 2)
    assert [axis.tolist() for axis in density.edges] == [[0, 2, 4], [0, 1, 4]]
    assert np.array_equal(density.values, [[3, 0], [0.5, 0.5]])


def test_a_json_file_has_edges_and_values(tmp_path):
    file = tmp_path / "d.json"
    file.write_text(json.dumps({"edges": [[0, 1, 3]], "values": [2, 0.5]}))
    assert read_density(file, 1).values.tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with 'nothing'"),
        ("low_1,high_1,density\n0,1,1\n", "its header must be low_1,high_1,low_2,high_2,density"),
        (HEADER, "no row below its header"),
        (HEADER + "0,1,0,x,1\n", "line 2: could not convert"),
        (HEADER + "0,1,1,0,1\n", "line 2: 0,1,1,0,1 is not a box"),
        (HEADER + "0,1,0,1\n", "line 2: 0,1,0,1 is not a box"),
        (HEADER + "0,inf,0,1,2\n", "line 2: 0,inf,0,1,2 is not a box"),
        (HEADER + "0,2,0,2,1\n1,3,1,3,1\n", "box 2 overlaps another"),
        (HEADER + "0,2,0,2,-1\n", "not a number of 0 or more"),
    ],
)
def test_a_bad_csv_is_refused_with_its_line(tmp_path, text, message):
    file = tmp_path / "d.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_density(file, 2)


def test_a_file_that_is_not_there_or_no_json_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_density(tmp_path / "none.csv", 2)
    (tmp_path / "d.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_density(tmp_path / "d.json", 2)
    (tmp_path / "d.json").write_text('{"edges": 3}')
    with pytest.raises(InputError, match="a density has"):
        read_density(tmp_path / "d.json", 2)


def test_too_fine_a_grid_is_refused(tmp_path):
    file = tmp_path / "d.csv"
    rows = "".join(f"{3 * i},{3 * i + 1},{3 * i},{3 * i + 1},1\n" for i in range(1500))
    file.write_text(HEADER + rows)
    with pytest.raises(InputError, match="a grid of 8,994,001 cells"):
        read_density(file, 2)
