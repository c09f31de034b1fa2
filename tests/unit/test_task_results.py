"""Results of tasks: written once per part, whole, and read together."""

from meshwright.runtime.tasks import read_task_results, write_task_result
from meshwright.storage.digest import combine, combine_reported


def test_a_result_reads_back_and_a_task_that_runs_again_replaces_it(tmp_path):
    place = tmp_path / "results"
    assert read_task_results(place) == []
    for _ in range(2):
        write_task_result(place, {"counts": [1, 2], "blocks": [(7, b"\x01\xff")]})
    assert read_task_results(place) == [{"counts": [1, 2], "blocks": [[7, "01ff"]]}]
    assert [path.name for path in place.iterdir()] == ["0.json"]


def test_a_draft_that_a_killed_task_left_is_not_read(tmp_path):
    (tmp_path / ".3-0-99").write_text('{"counts"')
    assert read_task_results(tmp_path) == []


def test_reported_blocks_give_the_digest_of_the_table():
    reported = [{"blocks": [[1, "0b"]]}, {"blocks": []}, {"blocks": [[0, "0a"], [2, "0c"]]}]
    assert combine_reported(reported, "blocks") == combine([(0, b"\n"), (1, b"\x0b"), (2, b"\x0c")])
