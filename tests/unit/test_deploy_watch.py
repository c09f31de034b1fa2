"""A deployment compared with logs: what is wanted, what ended, and what limits the comparison."""

import gzip
from pathlib import Path

import pytest

from meshwright.deploy import read_plan
from meshwright.deploy.watch import ENDED, UNKNOWN, WANTED, Difference, compare, watch
from meshwright.errors import InputError
from meshwright.runtime.progress import no_progress
from meshwright.workload.files import find_sources
from meshwright.workload.log_files import LogInterests, follow_logs
from tests.deploying import deployed, overlay_of
from tests.naive import logs as naive
from tests.spark.test_ingest_logs import PARTS, drawn_log

PAIRS = [
    *(("north", topic) for topic in ("plant/#", "news", "gone")),
    *(("Halle 3", topic) for topic in ("plant/line/1", "news", "gone")),
]
START = "1700000000: mosquitto version 2.0.11 starting\n"


@pytest.fixture(scope="module")
def conf(tmp_path_factory) -> Path:
    return deployed(overlay_of(PAIRS), tmp_path_factory.mktemp("conf") / "conf")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def log(*topics: str, start: str = START) -> str:
    head = "1700000001: New client connected from 127.0.0.1:9 as app (p2, c0, k60).\n"
    return start + head + "".join(f"1700000002: app 1 {topic}\n" for topic in topics)


def same_logs() -> None:
    """Write logs of clients that want what the plan was made for."""
    for node in ("north", "Halle 3"):
        Path(f"{node}.log").write_text(log(*(topic for own, topic in PAIRS if own == node)))


def test_clients_that_want_what_was_planned_make_no_difference(conf, here):
    same_logs()
    found = watch(conf, ["*.log"])
    assert found.differences == ()
    assert (found.n_brokers, found.n_interests) == (2, 6)
    assert found.without_log == found.begins_late == ()


def test_interests_that_came_and_went_are_named(conf, here):
    same_logs()
    Path("north.log").write_text(log("plant/#", "news", "more/+", "$share/pool/jobs"))
    found = watch(conf, ["*.log"])
    assert found.differences == (
        Difference("north", WANTED, "jobs"),
        Difference("north", WANTED, "more/+"),
        Difference("north", ENDED, "gone"),
    )


@pytest.mark.parametrize(
    ("wanted", "missing", "ended"),
    [
        (["plant/a/b", "news", "gone"], [], ["plant/#"]),  # narrower: all of it still comes
        (["plant/#", "news", "gone", "plant/+/x"], [], []),
        (["#"], ["#"], []),  # wider: nothing has ended
        (["plant", "news", "gone"], [], ["plant/#"]),  # plant/# brings plant
        ([], [], ["gone", "news", "plant/#"]),
    ],
)
def test_filters_count_by_what_they_cover(conf, wanted, missing, ended):
    found = compare(read_plan(conf), {"north": LogInterests(set(wanted))})
    assert [one.topic for one in found.of(WANTED)] == missing
    assert [one.topic for one in found.of(ENDED)] == ended


def test_brokers_that_the_plan_does_not_know_and_those_without_a_log_are_named(conf, here):
    Path("strange.log").write_text(log("a"))
    Path("north.log").write_text(log("plant/#", "news", "gone"))
    found = watch(conf, ["*.log"])
    assert found.differences == (Difference("strange", UNKNOWN, ""),)
    assert found.without_log == ("Halle 3",)
    assert found.as_dict()["unknown_brokers"] == ["strange"]


def test_a_log_may_be_named_after_the_directory_of_its_broker(conf, here):
    same_logs()
    directory = read_plan(conf).directories["Halle 3"]
    assert directory != "Halle 3"
    Path("Halle 3.log").rename(f"{directory}.log")
    found = watch(conf, ["*.log"])
    assert (found.differences, found.without_log) == ((), ())


def test_a_log_that_begins_late_is_named(conf, here):
    same_logs()
    Path("north.log").write_text(log("news", start=""))
    found = watch(conf, ["*.log"])
    assert found.begins_late == ("north",)
    assert [one.topic for one in found.of(ENDED)] == ["gone", "plant/#"]


def test_lines_that_are_not_utf_8_are_counted_and_the_others_read(conf, here):
    same_logs()
    with Path("north.log").open("ab") as file:
        file.write(b"1700000003: app 1 \xff\xfe\n1700000004: app 1 late\n")
    found = watch(conf, ["*.log"])
    assert found.n_unreadable == 1
    assert [one.topic for one in found.differences] == ["late"]


def test_rotated_parts_are_read_as_one_the_oldest_first(here):
    lines = drawn_log(7, 60)
    third = len(lines) // 3
    for broker, endings in PARTS.items():
        for i, ending in enumerate(endings):
            cut = lines[i * third : (i + 1) * third if i < 2 else len(lines)]
            content = "".join(f"{line}\n" for line in cut).encode()
            packed = gzip.compress(content) if ending.endswith(".gz") else content
            Path(f"{broker}{ending}").write_bytes(packed)
    sources, _ = find_sources(["*.log*"], "mosquitto-log")
    found = follow_logs(sources, no_progress())
    expected = {topic for _, topic in naive.wanted(lines)}
    assert expected
    assert {name: facts.wanted for name, facts in found.items()} == dict.fromkeys(PARTS, expected)
    assert all(facts.n_lines == len(lines) for facts in found.values())


def test_logs_of_one_name_in_two_directories_are_of_one_broker(conf, here):
    for place, topics in (("a", ["news", "gone"]), ("b", ["plant/#"])):
        Path(place).mkdir()
        Path(place, "north.log").write_text(log(*topics))
    assert watch(conf, ["*/north.log"]).differences == ()


def test_what_cannot_be_read_is_bad_input(conf, here):
    with pytest.raises(InputError, match=r"'logs/\*' does not exist and matches no file"):
        watch(conf, ["logs/*"])
    same_logs()
    with pytest.raises(InputError, match=r"holds no plan\.json"):
        watch(here, ["*.log"])
    Path("north.log").write_bytes(b"x" * (2**20 + 10))
    with pytest.raises(InputError, match="longer than"):
        watch(conf, ["*.log"])
