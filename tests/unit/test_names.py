import pyarrow as pa
import pytest

from meshwright.model.names import ArrowNames, NumberedNames, arrow_names, number_width


@pytest.mark.parametrize(("count", "width"), [(0, 1), (1, 1), (10, 1), (11, 2), (100, 2), (101, 3)])
def test_the_width_is_that_of_the_largest_number(count, width):
    assert number_width(count) == width


def test_numbered_names_sort_as_their_ids():
    names = NumberedNames("node", 1001)
    assert sorted(names) == list(names)
    assert names[7] == "node-0007"


def test_numbered_names_count_from_the_end_and_slice():
    names = NumberedNames("t", 12)
    assert names[-1] == "t-11"
    assert names[10:] == ("t-10", "t-11")
    assert names[::-6] == ("t-11", "t-05")


@pytest.mark.parametrize("index", [3, -4])
def test_a_number_past_the_end_is_an_index_error(index):
    with pytest.raises(IndexError, match=f"no name {index} among 3"):
        NumberedNames("t", 3)[index]


def test_arrow_names_read_like_a_tuple():
    names = ArrowNames(pa.array(["a", "b", "c"]))
    assert len(names) == 3
    assert names[1] == "b"
    assert names[-1] == "c"
    assert names[1:] == ("b", "c")
    assert list(names) == ["a", "b", "c"]
    assert "b" in names
    assert names.index("c") == 2


def test_arrow_names_past_the_end_are_an_index_error():
    with pytest.raises(IndexError, match="out of bounds"):
        ArrowNames(pa.array(["a"]))[1]


def test_names_become_arrow_without_a_copy_when_they_are_already():
    array = pa.array(["a", "b"])
    assert arrow_names(ArrowNames(array)) is array
    assert arrow_names(("a", "b")).equals(array)
    assert arrow_names(()).type == pa.string()
