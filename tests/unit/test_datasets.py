import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import InputError
from meshwright.runtime.machine import host_name
from meshwright.storage import (
    open_dataset,
    read_manifest,
    read_table,
    refuse_overwrite,
    staging,
    write_table,
)
from meshwright.storage.kinds import KINDS
from meshwright.storage.manifest import new_manifest
from meshwright.storage.replacing import sibling

DEAD = f"{host_name()}-{2**22 + 1}-0-0"  # above the largest process id that Linux gives


FACTS = {
    "workload": "w",
    "workload_digest": "0" * 64,
    "method": "gm",
    "parameters": {},
    "seed": None,
    "seconds": 0.1,
    "n_edges": 1,
    "average_degree": 1.0,
    "max_degree": 1,
    "support": 1.0,
    "connected": True,
    "n_disconnected": 0,
    "bounds": None,
}


def edge_table(edges: list[tuple[int, int]]) -> pa.Table:
    us, vs = [u for u, _ in edges], [v for _, v in edges]
    return pa.table({"u": us, "v": vs, "rank": range(len(us)), "gain": [1] * len(us)})


def write_overlay(
    target: Path, edges: list[tuple[int, int]], *, force: bool = False, **facts: object
) -> None:
    with staging(target, "overlay", force=force) as stage:
        write_table(stage.table("edges"), edge_table(edges))
        stage.publish({**FACTS, **facts})


def edges_of(path: Path) -> list[tuple[int, int]]:
    table = read_table(open_dataset(path), "edges").to_pydict()
    return list(zip(table["u"], table["v"], strict=True))


def table_of(path: Path, name: str = "edges") -> Path:
    return read_manifest(path).directory / f"{name}.parquet"


def siblings(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir() if path.name != target.name)


def edit_manifest(path: Path, **changes: object) -> None:
    file = path / "manifest.json"
    content = json.loads(file.read_text())
    content.update(changes)
    file.write_text(json.dumps(content))


def test_a_published_dataset_reads_back_with_its_facts(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1), (1, 2)], method="gm", support=1.0)
    manifest = open_dataset(tmp_path / "o", "overlay")
    assert manifest.kind == "overlay"
    assert manifest.rows == {"edges": 2}
    assert manifest["method"] == "gm"
    assert manifest.get("nothing", 7) == 7
    assert edges_of(tmp_path / "o") == [(0, 1), (1, 2)]


@pytest.mark.parametrize("program", ["meshwright", "meshwright/__main__.py"])
def test_a_manifest_names_the_time_the_command_and_the_versions(tmp_path, monkeypatch, program):
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{program}", "design", "my workload"])
    write_overlay(tmp_path / "o", [(0, 1)])
    content = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert content["format_version"] == KINDS["overlay"].format_version
    assert content["command"] == "meshwright design 'my workload'"
    assert content["created"].endswith("+00:00")
    assert {"meshwright", "python", "pyspark", "numpy"} <= set(content["versions"])


def test_a_fact_that_is_missing_is_an_input_error(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    with pytest.raises(InputError, match=r"has no 'colour'\. Make the dataset again"):
        open_dataset(tmp_path / "o")["colour"]


def test_a_new_manifest_refuses_an_unknown_kind():
    with pytest.raises(InputError, match=r"unknown dataset kind 'overlays'; did you mean 'overl"):
        new_manifest("overlays", {}, {}, Path("o/v-1"))


def test_a_path_with_nothing_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no dataset at '.*missing'"):
        open_dataset(tmp_path / "missing")


def test_a_directory_without_manifest_is_no_dataset(tmp_path):
    with pytest.raises(InputError, match=r"is not a Meshwright dataset: it has no manifest\.json"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"kind": "overlay"}', '{"format_version": 1, "kind": 2}']
)
def test_a_manifest_that_is_not_whole_is_an_input_error(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"cannot be read as a manifest .*Make the dataset again"):
        read_manifest(tmp_path)


def test_another_kind_is_refused(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    with pytest.raises(InputError, match=r"of kind 'overlay'; 'workload' is needed here"):
        open_dataset(tmp_path / "o", "workload")


def test_another_format_version_is_refused(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    edit_manifest(tmp_path / "o", format_version=KINDS["overlay"].format_version + 1)
    with pytest.raises(InputError, match=r"has format version 2; this Meshwright reads version 1"):
        open_dataset(tmp_path / "o")


def test_rows_that_are_lost_are_noticed(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1), (1, 2)])
    write_table(table_of(tmp_path / "o"), edge_table([(0, 1)]))
    with pytest.raises(InputError, match=r"damaged: table 'edges' has 1 rows, its manifest says 2"):
        open_dataset(tmp_path / "o")


def test_a_part_of_a_table_that_is_lost_is_noticed(tmp_path):
    with staging(tmp_path / "o", "overlay") as stage:
        stage.table("edges").mkdir()
        for i in range(2):
            write_table(stage.table("edges") / f"part-{i}.parquet", edge_table([(i, i + 1)]))
        stage.publish(FACTS)
    assert edges_of(tmp_path / "o") == [(0, 1), (1, 2)]
    (table_of(tmp_path / "o") / "part-1.parquet").unlink()
    with pytest.raises(InputError, match=r"table 'edges' has 1 rows, its manifest says 2"):
        open_dataset(tmp_path / "o")


def test_a_table_that_is_gone_is_noticed(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    table_of(tmp_path / "o").unlink()
    with pytest.raises(InputError, match=r"edges\.parquet' cannot be read .*Make the dataset ag"):
        open_dataset(tmp_path / "o")


def test_a_table_that_is_no_parquet_is_noticed(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    table_of(tmp_path / "o").write_bytes(b"PAR1 and then nothing of use")
    with pytest.raises(InputError, match=r"edges\.parquet' cannot be read"):
        open_dataset(tmp_path / "o")


def test_a_table_missing_from_the_manifest_is_noticed(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    edit_manifest(tmp_path / "o", rows={})
    with pytest.raises(InputError, match=r"it lists no table 'edges'"):
        open_dataset(tmp_path / "o")


def test_an_existing_dataset_is_kept_unless_forced(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    with pytest.raises(InputError, match=r"exists\. Pass --force to replace it"):
        write_overlay(tmp_path / "o", [(2, 3)])
    assert edges_of(tmp_path / "o") == [(0, 1)]
    write_overlay(tmp_path / "o", [(2, 3)], force=True)
    assert edges_of(tmp_path / "o") == [(2, 3)]
    assert siblings(tmp_path / "o") == []


def test_force_does_not_replace_a_directory_that_is_no_dataset(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"meow")
    with pytest.raises(InputError, match=r"not a Meshwright dataset, so --force will not replace"):
        write_overlay(tmp_path / "photos", [(0, 1)], force=True)
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"meow"


def test_force_does_not_replace_a_file(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(InputError, match=r"is not a Meshwright dataset"):
        write_overlay(tmp_path / "notes", [(0, 1)], force=True)
    assert (tmp_path / "notes").read_text() == "mine"


def test_force_replaces_an_empty_directory(tmp_path):
    (tmp_path / "o").mkdir()
    write_overlay(tmp_path / "o", [(0, 1)], force=True)
    assert edges_of(tmp_path / "o") == [(0, 1)]


def test_what_appeared_during_a_run_is_not_replaced_without_force(tmp_path):
    with staging(tmp_path / "o", "overlay") as stage:
        write_table(stage.table("edges"), edge_table([(8, 9)]))
        write_overlay(tmp_path / "o", [(0, 1)])  # another run, which was quicker
        with pytest.raises(InputError, match=r"exists\. Pass --force"):
            stage.publish(FACTS)
    assert edges_of(tmp_path / "o") == [(0, 1)]
    assert siblings(tmp_path / "o") == []


def test_a_link_to_a_dataset_keeps_pointing_at_the_new_one(tmp_path):
    write_overlay(tmp_path / "real", [(0, 1)])
    (tmp_path / "link").symlink_to("real")
    write_overlay(tmp_path / "link", [(2, 3)], force=True)
    assert (tmp_path / "link").is_symlink()
    assert edges_of(tmp_path / "real") == [(2, 3)]


def test_a_target_below_a_file_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written: File exists\. Choose another"):
        write_overlay(tmp_path / "file" / "o", [(0, 1)])


def test_parents_of_the_target_are_made(tmp_path):
    write_overlay(tmp_path / "a" / "b" / "o", [(0, 1)])
    assert edges_of(tmp_path / "a" / "b" / "o") == [(0, 1)]


def test_an_error_during_a_write_leaves_nothing(tmp_path):
    def fail() -> None:
        with staging(tmp_path / "o", "overlay") as stage:
            write_table(stage.table("edges"), edge_table([(0, 1)]))
            raise RuntimeError("mid-way")

    with pytest.raises(RuntimeError, match="mid-way"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_scratch_files_are_no_part_of_the_dataset(tmp_path):
    with staging(tmp_path / "o", "overlay") as stage:
        stage.scratch("records").write_text("for a while")
        write_table(stage.table("edges"), edge_table([(0, 1)]))
        stage.publish(FACTS)
    version = read_manifest(tmp_path / "o").version
    names = ["edges.parquet", "manifest.json", version]
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == names
    assert [path.name for path in (tmp_path / "o" / version).iterdir()] == ["edges.parquet"]


def test_refuse_overwrite_says_nothing_where_nothing_is(tmp_path):
    refuse_overwrite(tmp_path / "new", force=False)


def refuse_writing(target: Path) -> None:
    """Begin to write a dataset where one exists: only the cleaning up is done."""
    with pytest.raises(InputError, match=r"exists\. Pass --force"):
        write_overlay(target, [(2, 3)])


def test_a_writer_removes_what_a_dead_writer_left(tmp_path):
    (tmp_path / f".o.tmp-{DEAD}").mkdir()
    write_overlay(tmp_path / "o", [(0, 1)])
    assert siblings(tmp_path / "o") == []


def test_a_writer_leaves_a_living_writer_other_hosts_and_other_names_alone(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", NAME_OF_SIBLING, str(tmp_path / "o")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    living = parent.stdout.readline().strip()
    kept = [
        living,
        f".o.tmp-elsewhere-{2**22 + 1}-0-0",
        f".other.tmp-{DEAD}",
        ".o.notes-x-y",
        f".o.tmp-{2**22 + 1}-aa",
        "o.old-1-2",
    ]
    for name in kept:
        (tmp_path / name).mkdir()
    write_overlay(tmp_path / "o", [(0, 1)])
    assert siblings(tmp_path / "o") == sorted(kept)
    parent.communicate()
    write_overlay(tmp_path / "o", [(0, 1)], force=True)
    assert siblings(tmp_path / "o") == sorted(kept[1:])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path):
    def write_to_a_full_disk() -> None:
        with staging(tmp_path / "o", "overlay") as stage:
            stage.table("edges").symlink_to("/dev/full")
            write_table(stage.table("edges"), edge_table([(0, 1)]))

    with pytest.raises(InputError, match=r"/o' cannot be written: no space left on device\. Free"):
        write_to_a_full_disk()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "stray",
    [
        ".o.tmp-99999999999999999999-x",
        ".o.tmp-²-x",
        ".o.tmp-{host}-99999999999999999999-0-²",
        ".o.old-{host}-²-0-0",
        ".o.old-{host}-٣-0-0",
        ".o.tmp-{host}-7-0-0-0",
    ],
)
def test_strays_that_resemble_our_siblings_are_left_alone(tmp_path, stray):
    left = tmp_path / stray.format(host=host_name())
    left.mkdir()
    write_overlay(tmp_path / "o", [(0, 1)])
    write_overlay(tmp_path / "o", [(0, 1)], force=True)
    assert open_dataset(tmp_path / "o", "overlay").rows["edges"] == 1
    with pytest.raises(InputError, match="there is no dataset at"):
        open_dataset(tmp_path / "o2")
    assert left.is_dir()


NAME_OF_SIBLING = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from meshwright.storage.replacing import sibling

    print(sibling(Path(sys.argv[1]), "tmp").name, flush=True)
    sys.stdin.read()
    """
)


def test_a_process_id_that_was_given_again_does_not_keep_a_dead_writers_files(tmp_path):
    left = tmp_path / f".o.tmp-{host_name()}-{os.getpid()}-0-0"  # another start time
    left.mkdir()
    with staging(tmp_path / "o", "overlay") as stage:
        write_table(stage.table("edges"), edge_table([(0, 1)]))
        assert not left.exists()
        refuse_overwrite(tmp_path / "o", force=False)
        stage.publish(FACTS)
    assert edges_of(tmp_path / "o") == [(0, 1)]


def test_two_writers_of_one_process_do_not_remove_each_others_files(tmp_path):
    with staging(tmp_path / "o", "overlay") as first:
        write_table(first.table("edges"), edge_table([(0, 1)]))
        with staging(tmp_path / "o", "overlay"):
            assert first.table("edges").exists()


def test_a_dataset_moved_aside_by_a_dead_writer_is_named_by_readers_and_put_back_by_a_writer(
    tmp_path,
):
    write_overlay(tmp_path / "o", [(0, 1)])
    (tmp_path / "o").rename(tmp_path / f".o.old-{DEAD}")
    with pytest.raises(InputError, match=rf"at '.*\.o\.old-{DEAD}': rename it to 'o', or write"):
        open_dataset(tmp_path / "o")
    assert siblings(tmp_path / "o") == [f".o.old-{DEAD}"]
    refuse_writing(tmp_path / "o")
    assert open_dataset(tmp_path / "o").rows == {"edges": 1}
    assert siblings(tmp_path / "o") == []


def test_an_old_dataset_does_not_come_back_over_the_new_one(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    (tmp_path / "o").rename(tmp_path / f".o.old-{DEAD}")
    write_overlay(tmp_path / "new", [(2, 3)])
    (tmp_path / "new").rename(tmp_path / "o")
    open_dataset(tmp_path / "o")
    assert siblings(tmp_path / "o") == [f".o.old-{DEAD}"]
    refuse_writing(tmp_path / "o")
    assert edges_of(tmp_path / "o") == [(2, 3)]
    assert siblings(tmp_path / "o") == []


def test_a_reader_waits_for_a_writer_between_its_two_renames(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    aside = sibling(tmp_path / "o", "old")
    (tmp_path / "o").rename(aside)
    threading.Timer(0.2, aside.rename, [tmp_path / "o"]).start()
    assert open_dataset(tmp_path / "o").rows == {"edges": 1}


def test_odd_names_are_taken_literally(tmp_path):
    (tmp_path / f".a*.tmp-{DEAD}").mkdir()
    (tmp_path / f".ab.tmp-{DEAD}").mkdir()
    write_overlay(tmp_path / "a*", [(0, 1)])
    assert siblings(tmp_path / "a*") == [f".ab.tmp-{DEAD}"]


KILLED_WRITER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from meshwright.storage import staging, store, write_table
    from tests.unit.test_datasets import FACTS, edge_table

    target, when = Path(sys.argv[1]), sys.argv[2]

    def stop(*_, **__):
        print("now", flush=True)
        time.sleep(600)

    if when == "after the manifest":
        write = store.write_manifest
        store.write_manifest = lambda *arguments: [write(*arguments), stop()]
    elif when != "before the tables are counted":
        setattr(store, when, stop)
    with staging(target, "overlay", force=True) as stage:
        write_table(stage.table("edges"), edge_table([(7, 8)]))
        if when == "before the tables are counted":
            stop()
        stage.publish(FACTS)
    """
)
MOMENTS = {  # when a writer is killed, and which dataset is there then
    "before the tables are counted": [(0, 1)],
    "refuse_overwrite": [(0, 1)],
    "current_version": [(0, 1)],
    "write_manifest": [(0, 1)],
    "after the manifest": [(7, 8)],
    "link_tables": [(7, 8)],
    "remove_old_versions": [(7, 8)],
}


@pytest.mark.parametrize("when", MOMENTS)
def test_a_writer_that_is_killed_leaves_one_dataset_whole(tmp_path, when):
    target = tmp_path / "o"
    write_overlay(target, [(0, 1)])
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED_WRITER, str(target), when], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "now\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    left = sorted(tmp_path.rglob("*"))
    assert len(left) > 4  # it was killed in the middle, not before
    assert edges_of(target) == MOMENTS[when]
    assert sorted(tmp_path.rglob("*")) == left  # readers remove nothing
    write_overlay(target, [(2, 3)], force=True)
    assert edges_of(target) == [(2, 3)]
    assert siblings(target) == []
    version = read_manifest(target).version
    assert sorted(path.name for path in target.iterdir()) == [
        "edges.parquet",
        "manifest.json",
        version,
    ]


def versions(target: Path) -> list[str]:
    return sorted(path.name for path in target.glob("v-*"))


def test_a_version_stays_as_long_as_a_reader_has_it(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    old = open_dataset(tmp_path / "o")
    write_overlay(tmp_path / "o", [(2, 3)], force=True)
    write_overlay(tmp_path / "o", [(4, 5)], force=True)
    assert versions(tmp_path / "o") == sorted([old.version, read_manifest(tmp_path / "o").version])
    assert read_table(old, "edges").column("u").to_pylist() == [0]
    del old
    write_overlay(tmp_path / "o", [(6, 7)], force=True)
    assert versions(tmp_path / "o") == [read_manifest(tmp_path / "o").version]


def test_where_there_are_no_locks_a_replaced_version_stays_for_a_day(tmp_path, monkeypatch):
    def no_locks(fd, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    write_overlay(tmp_path / "o", [(0, 1)])
    first = read_manifest(tmp_path / "o").version
    os.utime(tmp_path / "o" / first, (0, 0))  # it is old, but current until now
    write_overlay(tmp_path / "o", [(2, 3)], force=True)
    assert first in versions(tmp_path / "o")
    os.utime(tmp_path / "o" / first, (0, 0))
    write_overlay(tmp_path / "o", [(4, 5)], force=True)
    assert first not in versions(tmp_path / "o")
    assert edges_of(tmp_path / "o") == [(4, 5)]


@pytest.mark.parametrize("there", [False, True], ids=["new", "replaced"])
def test_of_two_writers_at_once_the_first_wins_and_the_other_says_so(tmp_path, there):
    target = tmp_path / "o"
    if there:
        write_overlay(target, [(0, 1)])
    with staging(target, "overlay", force=True) as second:
        write_table(second.table("edges"), edge_table([(4, 5)]))
        write_overlay(target, [(2, 3)], force=True)
        with pytest.raises(
            InputError, match=r"another run wrote .* while this one worked; its dat"
        ):
            second.publish(FACTS)
    assert edges_of(target) == [(2, 3)]
    assert siblings(target) == []
    assert len(versions(target)) == 1


def test_a_dataset_that_was_removed_during_a_run_is_written_anew(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    with staging(tmp_path / "o", "overlay", force=True) as stage:
        write_table(stage.table("edges"), edge_table([(2, 3)]))
        shutil.rmtree(tmp_path / "o")
        stage.publish(FACTS)
    assert edges_of(tmp_path / "o") == [(2, 3)]


def test_tables_beside_their_manifest_are_read_and_replaced(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    version = tmp_path / "o" / read_manifest(tmp_path / "o").version
    (tmp_path / "o" / "edges.parquet").unlink()
    (version / "edges.parquet").rename(tmp_path / "o" / "edges.parquet")
    version.rmdir()
    edit_manifest(tmp_path / "o", version="")
    assert edges_of(tmp_path / "o") == [(0, 1)]
    write_overlay(tmp_path / "o", [(2, 3)], force=True)
    assert edges_of(tmp_path / "o") == [(2, 3)]
    assert siblings(tmp_path / "o") == []


def test_other_programs_find_the_current_tables_under_their_plain_names(tmp_path):
    for edges in ([(0, 1)], [(2, 3)]):
        write_overlay(tmp_path / "o", edges, force=True)
        assert pq.read_table(tmp_path / "o" / "edges.parquet").column("u").to_pylist() == [
            edges[0][0]
        ]
    shutil.copytree(tmp_path / "o", tmp_path / "copy", symlinks=True)
    shutil.rmtree(tmp_path / "o")
    assert pq.read_table(tmp_path / "copy" / "edges.parquet").num_rows == 1
    assert edges_of(tmp_path / "copy") == [(2, 3)]


def test_a_version_that_is_lost_is_named(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    version = read_manifest(tmp_path / "o").version
    shutil.rmtree(tmp_path / "o" / version)
    with pytest.raises(InputError, match=rf"is damaged: it has no '{version}'\. Make the dataset"):
        open_dataset(tmp_path / "o")


WRONG_FACTS = {
    "workload": 3,
    "bounds": {"edges": "none"},
    "parameters": "none",
    "seconds": True,
    "n_edges": -1,
    "connected": 1,
    "support": "1.0",
    "rows": {"edges": 1.0},
    "version": "../elsewhere",
    "versions": [],
    "created": None,
}


@pytest.mark.parametrize("fact", WRONG_FACTS)
def test_a_fact_of_the_wrong_type_is_named(tmp_path, fact):
    write_overlay(tmp_path / "o", [(0, 1)])
    edit_manifest(tmp_path / "o", **{fact: WRONG_FACTS[fact]})
    with pytest.raises(InputError, match=rf"cannot be read as a manifest \('{fact}' "):
        open_dataset(tmp_path / "o")


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_format_version_is_a_whole_number(tmp_path, version):
    write_overlay(tmp_path / "o", [(0, 1)])
    edit_manifest(tmp_path / "o", format_version=version)
    with pytest.raises(InputError, match=f"has format version {version!r}; this Meshwright reads"):
        open_dataset(tmp_path / "o")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"u": [0], "v": [1], "rank": [0]}, "'gain' is needed once"),
        ({"u": ["0"], "v": [1], "rank": [0], "gain": [1]}, "column 'u' of table 'edges' is string"),
        ({"u": [None], "v": [1], "rank": [0], "gain": [1]}, "column 'u' of table 'edges' is null"),
        (
            {"u": pa.array([None], pa.int32()), "v": [1], "rank": [0], "gain": [1]},
            "column 'u' of table 'edges' has nulls",
        ),
    ],
    ids=["missing", "text", "null", "nulls"],
)
def test_columns_are_checked(tmp_path, columns, message):
    write_overlay(tmp_path / "o", [(0, 1)])
    write_table(table_of(tmp_path / "o"), pa.table(columns))
    with pytest.raises(InputError, match=message):
        read_table(open_dataset(tmp_path / "o"), "edges")


def test_damaged_pages_are_an_input_error(tmp_path):
    write_overlay(tmp_path / "o", [(i, i + 1) for i in range(1000)])
    table = table_of(tmp_path / "o")
    content = bytearray(table.read_bytes())
    content[8:400] = bytes(392)
    table.write_bytes(content)
    with pytest.raises(
        InputError, match=r"edges.parquet' cannot be read \(.*\)\. Make the dataset"
    ):
        read_table(open_dataset(tmp_path / "o"), "edges")


def test_a_reader_deletes_nothing_beside_a_dataset(tmp_path):
    write_overlay(tmp_path / "o", [(0, 1)])
    left = [f".o.tmp-{DEAD}", f".o.old-{DEAD}", ".o.tmp-4194305-aa"]
    for name in left:
        (tmp_path / name).mkdir()
    open_dataset(tmp_path / "o")
    assert siblings(tmp_path / "o") == sorted(left)
