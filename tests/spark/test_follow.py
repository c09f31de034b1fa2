"""Workloads that follow logs: every version equals a batch ingest of the files that were there."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from meshwright.errors import InputError
from meshwright.runtime.progress import no_progress
from meshwright.storage import open_dataset
from meshwright.workload import following
from meshwright.workload.following import Follower, check_request, follow, passed_over
from meshwright.workload.ingest import NothingFoundError, ingest
from tests.spark.test_ingest_logs import drawn_log, published, wanted
from tests.spark.test_ingest_mesh_log import LOG, line

FACTS = ("digest", "n_nodes", "n_subscriptions", "n_publications", "n_rejected", "log")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("inbox").mkdir()
    return tmp_path


def drop(name: str, text: str | bytes) -> None:
    """Move a complete file into the directory that is followed."""
    draft = Path(f".{name}")
    draft.write_bytes(text if isinstance(text, bytes) else text.encode())
    draft.rename(Path("inbox") / name)


def parts_of_a_log(broker: str, seed: int, n: int) -> dict[str, str]:
    """Return a drawn log in n parts, by their names."""
    lines = drawn_log(seed, 20 * n)
    size = -(-len(lines) // n)
    cut = [lines[i : i + size] for i in range(0, len(lines), size)]
    return {
        f"{broker}.log-2026111{i}": "".join(f"{text}\n" for text in some)
        for i, some in enumerate(cut)
    }


def facts(manifest) -> dict:
    return {name: manifest[name] for name in FACTS}


def test_each_version_equals_a_batch_ingest_also_when_parts_come_late(spark, here):
    parts = {**parts_of_a_log("north", 1, 3), **parts_of_a_log("south sea", 2, 3)}
    names = random.Random(4).sample(sorted(parts), len(parts))
    drop("quiet.log-20261111", "")  # nothing happened there: a node, too
    drop("blank.log-20261111", "\n \n")
    drop("odd.log-20261111", b"1: c 0 t/\xff\n" + "1: ü 0 größe\n".encode() * 150)
    versions = []
    options = {"once": True, "max_rejected": 0.5, "on_version": versions.append}
    settings = check_request("inbox", "mosquitto-log")
    for some in (names[:2], names[2:3], names[3:]):
        for name in some:
            drop(name, parts[name])
        follow(spark, settings, "w", **options)
        batch = ingest(spark, ["inbox/*"], "batch", force=True, max_rejected=0.5)
        assert facts(versions[-1]) == facts(batch)
        assert versions[-1]["nodes_without_subscriptions"] == batch["nodes_without_subscriptions"]
        assert wanted("w") == wanted("batch")
        assert published("w") == published("batch")
    assert [manifest["followed"]["generation"] for manifest in versions] == [1, 2, 3]
    assert versions[-1]["n_rejected"] == 1
    follow(spark, settings, "w", **options)  # nothing is new
    assert len(versions) == 3
    rows = spark.read.parquet(f"{here}/w.follow/rows-3/rows")
    assert rows.where("n is not null").count() < 80 < rows.where("text is not null").count()


def test_mesh_logs_are_followed_without_their_history(spark, here):
    versions = []
    settings = check_request("inbox", "mesh-log")
    with pytest.raises(InputError, match="cannot be told from their names"):
        check_request("inbox")
    for i, text in enumerate([LOG[0], LOG[2], LOG[1]]):  # the last two out of order
        drop(f"0000000{i}.meshlog", text)
        follow(spark, settings, "w", once=True, on_version=versions.append)
    assert facts(versions[-1]) == facts(ingest(spark, ["inbox"], "batch"))
    more = [line(9, came=["x"], went=[]), *(line(10 + i, wants=["a"]) for i in range(50))]
    drop("00000009.meshlog", "".join(more))
    follow(spark, settings, "w", once=True, on_version=versions.append)
    assert facts(versions[-1]) == facts(ingest(spark, ["inbox"], "batch", force=True))
    assert spark.read.parquet(f"{here}/w.follow/rows-4/rows").count() < 10


def test_all_since_a_time_is_kept_on_request(spark, here):
    settings = check_request("inbox", "mesh-log", since="1700000002")
    for i, text in enumerate(LOG):
        drop(f"0000000{i}.meshlog", text)
        follow(spark, settings, "w", once=True)
    ingest(spark, ["inbox"], "batch", since="1700000002")
    assert wanted("w") == wanted("batch") >= {("b1", "a"), ("b1", "größe")}
    assert open_dataset(Path("w"))["digest"] == open_dataset(Path("batch"))["digest"]


STEPS = ["_stream", "_merge", "_publish", "_clean_up"]


class KilledError(Exception):
    """Stands for kill -9 at some point."""


@pytest.mark.parametrize("seed", range(2))
def test_a_follower_that_ends_at_any_point_goes_on_where_it_was(spark, here, monkeypatch, seed):
    draw = random.Random(seed)
    parts = parts_of_a_log("north", seed, 4)
    settings = check_request("inbox", "mosquitto-log")
    for name, text in parts.items():
        drop(name, text)
        for step in draw.sample(STEPS, 2):
            original, before = getattr(Follower, step), draw.random() < 0.4

            def killed(self, *arguments, original=original, before=before):
                if not before:
                    original(self, *arguments)
                raise KilledError

            monkeypatch.setattr(Follower, step, killed)
            with suppress(KilledError):
                follow(spark, settings, "w", once=True)
            monkeypatch.setattr(Follower, step, original)
    follow(spark, settings, "w", once=True)
    batch = ingest(spark, ["inbox/*"], "batch")
    assert facts(open_dataset(Path("w"))) == facts(batch)


def test_a_batch_that_was_stored_and_not_committed_is_replaced(spark, here):
    settings = check_request("inbox", "mosquitto-log")
    drop("a.log-20261110", "1: c 0 t\n")
    with Follower(settings, Path("w")) as follower:
        follower._stream(spark)
        commits = Path("w.follow/checkpoint/commits")
        for path in commits.iterdir():  # as if it was killed just before
            path.unlink()
        follower._stream(spark)
        assert [path.name for path in follower._batches()] == ["0"]
        assert follower.step(spark, no_progress())["n_subscriptions"] == 1
    assert facts(open_dataset(Path("w"))) == facts(ingest(spark, ["inbox/*"], "batch"))


def test_a_reader_keeps_its_version_while_another_is_written(spark, here):
    settings = check_request("inbox", "mosquitto-log")
    drop("a.log-20261110", "1: c 0 t\n")
    follow(spark, settings, "w", once=True)
    first = open_dataset(Path("w"))
    drop("a.log-20261111", "1: c 0 u\n")
    follow(spark, settings, "w", once=True)
    assert first.table("subscriptions").exists()
    assert (first["n_subscriptions"], open_dataset(Path("w"))["n_subscriptions"]) == (1, 2)


def test_without_anything_wanted_there_is_no_version_yet(spark, here):
    settings, said = check_request("inbox", "mesh-log"), []
    follow(spark, settings, "w", once=True, on_nothing=said.append)
    assert (said, Path("w").exists()) == ([], False)
    drop("1.meshlog", line(1, wants=[]))
    with Follower(settings, Path("w")) as follower:
        with pytest.raises(NothingFoundError, match="no broker wants anything"):
            follower.step(spark, no_progress())
        assert follower.step(spark, no_progress()) is None
    drop("2.meshlog", line(2, came=["a"], went=[]))
    follow(spark, settings, "w", once=True)
    assert wanted() == {("b1", "a")}


def test_a_second_follower_is_refused(here):
    settings = check_request("inbox", "mesh-log")
    said = r"'.*/w' is followed by another process\. Stop that one first"
    with Follower(settings, Path("w")), pytest.raises(InputError, match=said):
        Follower(settings, Path("w"))
    Follower(settings, Path("w")).close()


def test_another_source_for_the_same_workload_is_refused(here):
    Follower(check_request("inbox", "mesh-log"), Path("w")).close()
    Path("other").mkdir()
    with pytest.raises(InputError, match=r"follows source '.*inbox', not '.*other'\. Go on"):
        Follower(check_request("other", "mesh-log"), Path("w"))
    with pytest.raises(InputError, match="follows since None, not '1700000000'"):
        Follower(check_request("inbox", "mesh-log", since="1700000000"), Path("w"))


def test_what_is_there_already_is_kept_unless_forced(spark, here):
    Path("x.csv").write_text("node,topic\na,b\n")
    ingest(spark, ["x.csv"], "w")
    settings = check_request("inbox", "mesh-log")
    with pytest.raises(InputError, match="Pass --force to replace it"):
        Follower(settings, Path("w"))
    assert not os.path.lexists("w.follow")
    drop("1.meshlog", LOG[0])
    follow(spark, settings, "w", once=True, force=True)
    follow(spark, settings, "w", once=True)
    assert wanted() == {("b1", "a"), ("b1", "b")}


def test_files_that_may_still_change_are_not_followed(here):
    for name in ("a.log", "a.log.1", "a.log-20261118", "a.log-20261117.gz", "_b.log-20261118"):
        Path("inbox", name).write_text("x")
    settings = check_request("inbox")
    assert settings.format == "mosquitto-log"
    assert passed_over(settings) == ["_b.log-20261118", "a.log", "a.log-20261117.gz", "a.log.1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "'nowhere' is not there. Give the directory"),
        (("x.csv",), "'x.csv' is a file. Give the directory"),
        (("inbox", "csv"), "--follow reads logs; --format is 'csv'"),
        (("inbox", "mesh-log", "soon"), "--since is 'soon'"),
        (("inbox", "mesh-log", None, 0.0), "--interval is 0; give the seconds"),
    ],
)
def test_what_cannot_be_followed_is_refused(here, arguments, said):
    Path("x.csv").write_text("node,topic\na,b\n")
    with pytest.raises(InputError, match=said):
        check_request(*arguments)


def test_spark_selects_the_names_that_are_listed(spark, here):
    names = ["a.log-20261118", "b.txt.2026-11-18", "c.log-20261118T0930", "d.log-2026-x", "e.log"]
    for name in names:
        Path("inbox", name).write_text("x")
    reader = spark.read.option("pathGlobFilter", following.GLOBS["mosquitto-log"])
    read = reader.text(f"{here}/inbox").select("_metadata.file_name").collect()
    assert sorted(row[0] for row in read) == names[:3]
    assert passed_over(check_request("inbox")) == names[3:]
