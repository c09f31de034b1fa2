import gzip
import os
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException

from meshwright.errors import InputError
from meshwright.workload.files import FORMATS, Source, find_sources, reading, refuse_long_lines


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names: str, content: bytes = b"node,topic\n") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def shown(given, format=None):
    return [source.shown for source in find_sources(given, format)[0]]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("a.CSV", "csv"),
        ("a.tsv.gz", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.json", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.edges", "edges"),
        ("a.edgelist.gz", "edges"),
        ("mosquitto.log", "mosquitto-log"),
    ],
)
def test_the_format_is_told_from_the_file_name(here, name, format):
    touch(name)
    assert find_sources([name], None)[1] == format
    assert format in FORMATS


def test_the_format_that_is_given_wins(here):
    touch("a.csv")
    assert find_sources(["a.csv"], "edges")[1] == "edges"


def test_an_unknown_format_is_answered_with_the_nearest(here):
    with pytest.raises(InputError, match=r"unknown format 'cvs'; did you mean 'csv'\?"):
        find_sources(["a.csv"], "cvs")


@pytest.mark.parametrize("names", [["a.dat"], ["a.csv", "b.tsv"], ["a"]])
def test_a_format_that_cannot_be_guessed_is_asked_for(here, names):
    touch(*names)
    with pytest.raises(InputError, match=r"the format of 'a.* cannot be guessed .*Pass --format"):
        find_sources(names, None)


def test_globs_are_sorted_and_files_named_twice_are_read_once(here):
    touch("b.csv", "a.csv", "c.txt")
    assert shown(["*.csv"]) == ["a.csv", "b.csv"]
    assert shown(["a.csv", "*.csv"]) == ["a.csv", "b.csv"]
    assert shown(["a.csv", "./a.csv", str(here / "a.csv")]) == ["a.csv"]


def test_a_glob_may_go_down_directories(here):
    touch("x/1/a.csv", "x/2/a.csv")
    assert shown(["x/*/a.csv"]) == ["x/1/a.csv", "x/2/a.csv"]


def test_a_file_whose_name_looks_like_a_glob_is_taken_as_it_is(here):
    touch("a [1], b.csv", "a 1, b.csv")
    sources, _ = find_sources(["a [1], b.csv"], None)
    assert [source.shown for source in sources] == ["a [1], b.csv"]
    assert sources[0].read == f"file://{here}/a \\[1\\]\\, b.csv"


def test_a_file_uri_is_a_path(here):
    touch("a.csv")
    assert shown([f"file://{here}/a.csv"]) == [f"{here}/a.csv"]


@pytest.mark.parametrize("uri", ["s3a://bucket/a.csv", "S3://bucket/a.csv", "http://host/a.csv"])
def test_only_local_files_are_read(uri):
    with pytest.raises(InputError, match=f"'{uri}' is not on this machine.*Download it"):
        find_sources([uri], None)


def test_gzip_under_another_name_is_refused_with_the_right_name(here):
    touch("a.csv", content=gzip.compress(b"node,topic\n"))
    with pytest.raises(InputError, match=r"'a\.csv' holds .* gzip\. Rename it to 'a\.csv\.gz'"):
        find_sources(["a.csv"], None)


def test_gzip_in_gzip_is_refused(here):
    touch("a.csv.gz", content=gzip.compress(b"node,topic\n"))
    with pytest.raises(InputError, match=r"'a\.csv\.gz' holds .* gzip\. Unpack it once first"):
        find_sources(["a.csv.gz"], None)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.edges", "a.log"])
def test_lines_that_end_with_a_carriage_return_alone_are_refused(here, name):
    touch(name, content=b"node,topic\rn,t\r")
    with pytest.raises(InputError, match=rf"the lines of '{name}' end with CR alone"):
        find_sources([name], None)


def test_a_file_name_that_is_not_utf8_is_refused(here):
    touch(os.fsdecode(b"a\xff.csv"))
    with pytest.raises(InputError, match=r"/a\\xff\.csv' is not valid UTF-8\. Rename"):
        find_sources(["*.csv"], None)


def test_a_directory_gives_its_parquet_parts_and_nothing_else(here):
    touch("d/part-0.parquet", "d/part-1.parquet", "d/_x.parquet", "d/.y.parquet", "d/_SUCCESS")
    sources, kind = find_sources(["d"], None)
    assert [source.shown for source in sources] == ["d/part-0.parquet", "d/part-1.parquet"]
    assert kind == "parquet"


def test_a_directory_without_parquet_is_refused_with_advice(here):
    touch("d/a.csv")
    with pytest.raises(InputError, match=r"'d' is a directory without Parquet files.*'d/\*\.csv'"):
        find_sources(["d"], None)


def test_a_dataset_is_refused_with_advice(here):
    touch("w/manifest.json")
    with pytest.raises(InputError, match=r"'w' is a Meshwright dataset already.*stats w"):
        find_sources(["w"], None)


def test_an_empty_file_is_refused(here):
    Path("a.csv").touch()
    with pytest.raises(InputError, match=r"'a.csv' is empty\. Leave it out"):
        find_sources(["a.csv"], None)


def test_a_file_that_may_not_be_read_is_refused(here, monkeypatch):
    touch("a.csv")
    open_path = Path.open

    def refuse(self, *arguments, **options):
        if self.name == "a.csv":  # root may read everything, so permissions are no test
            raise PermissionError(13, os.strerror(13), str(self))
        return open_path(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"'a.csv' cannot be read: Permission denied"):
        find_sources(["a.csv"], None)


def test_a_pipe_is_refused_without_waiting_for_a_writer(here):
    os.mkfifo("pipe.csv")
    with pytest.raises(InputError, match=r"'pipe.csv' is not a regular file"):
        find_sources(["pipe.csv"], None)


def test_every_complaint_comes_at_once(here):
    Path("empty.csv").touch()
    touch("d/a.csv")
    with pytest.raises(InputError, match="empty") as caught:
        find_sources(["gone.csv", "empty.csv", "d", "*.tsv"], None)
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert lines[0] == "'gone.csv' does not exist and matches no file. Check the path."
    assert lines[3] == "'*.tsv' does not exist and matches no file. Check the path."


def test_no_source_is_refused():
    with pytest.raises(InputError, match="no source given"):
        find_sources([], None)


def raise_within(error: Exception, *sources: Source) -> None:
    with reading(sources):
        raise error


@pytest.mark.parametrize(
    ("name", "what"), [("b.csv.gz", "is truncated or corrupt"), ("b.parquet", "cannot be read")]
)
def test_a_file_that_spark_cannot_read_is_named_as_the_user_did(name, what):
    sources = Source("x/a.csv", "/x/a.csv"), Source(f"x/{name}", f"/x/{name}")
    error = PySparkException(f"[FAILED_READ_FILE.NO_HINT] file:///x/{name} EOF")
    with pytest.raises(InputError, match=rf"'x/{name}' {what}\. Nothing was written"):
        raise_within(error, *sources)


def test_another_error_of_spark_passes_through():
    with pytest.raises(AnalysisException, match="something else"):
        raise_within(AnalysisException("something else"), Source("a", "a"))


class Told:
    """A progress that keeps what it is told."""

    def __init__(self):
        self.shares, self.details = [], []

    def update(self, share, detail=""):
        self.shares.append(share)
        self.details.append(detail)


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz"])
def test_the_search_for_long_lines_says_how_far_it_is(here, name):
    """A small gzip file can hold so much that it takes minutes: they must not be silent."""
    content = b"node,topic\n" + b"".join(b"n%d,t%d\n" % (i, i * i) for i in range(5000))
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    told = Told()
    refuse_long_lines(find_sources([name], None)[0], "csv", 1024, told)
    *shares, _ = told.shares
    assert len(shares) > 20
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    assert told.details[-1] == "5,001 lines"
