"""The verbs of the data pipeline as a user types them: output, exit codes, messages."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from meshwright import __version__
from meshwright.model.instance import Instance
from tests.e2e.in_process import run_in_process
from tests.reports import write_designs

ROOT = Path(__file__).parents[2]
CSV = "node,topic\nedge-1,plant/temp\nedge-2,plant/temp\nedge-2,plant/alarm\nedge-2,plant/alarm\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(CSV)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; return (exit code, stdout, stderr)."""
    return partial(run_in_process, monkeypatch, capsys)


def process(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "meshwright", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables},
        check=False,
    )


def test_a_tiny_csv_goes_from_ingest_to_stats(spark, here, run):
    code, out, err = run("ingest", "s.csv", "-o", "w")
    assert (code, err) == (0, "")
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert lines[0] == ["workload", "w"]
    assert ["nodes", "2"] in lines
    assert ["subscriptions", "3"] in lines
    assert ["duplicates", "1 (kept once)"] in lines
    code, out, err = run("stats", "w")
    assert (code, err) == (0, "")
    assert "subscriptions per node: mean 1.5, median 1, most 2" in out
    assert "plant/temp" in out
    code, out, _ = run("stats", "w", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["digest"] == Instance.load("w").digest
    assert found["popular_topics"][0] == {"topic": "plant/temp", "subscribers": 2}


def test_json_is_the_manifest_and_nothing_else(spark, here, run):
    code, out, err = run("ingest", "s.csv", "-o", "w", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(Path("w/manifest.json").read_text())


def test_an_existing_dataset_ends_with_2_and_force_replaces_it(spark, here, run):
    sizes = ("--nodes", "20", "--topics", "9", "--subscriptions", "1-3")
    assert run("generate", "unif", "-o", "w", *sizes)[0] == 0
    before = Path("w/manifest.json").read_text()
    code, out, err = run("generate", "unif", "-o", "w", *sizes)
    assert (code, out) == (2, "")
    assert "Pass --force to replace it" in err
    assert Path("w/manifest.json").read_text() == before
    code, out, _ = run("generate", "zipf", "-o", "w", "--alpha", "0.5", *sizes, "--force")
    assert code == 0
    assert "nodes          20" in out


def test_edges_are_ingested_and_sampled(spark, here, run):
    Path("s.edges").write_text("# users\na b\nb c\nc d\nd a\nd d\n")
    code, out, _ = run("ingest", "s.edges", "-o", "w", "--undirected")
    assert code == 0
    assert "self-loops     1 (dropped)" in out
    code, out, _ = run("sample", "w", "-o", "s", "--nodes", "3", "--json")
    assert code == 0
    assert json.loads(out)["n_nodes"] == 3


def test_a_source_that_yields_no_record_is_named_in_the_result(spark, here, run):
    Path("_empty.csv").write_text("node,topic\n\n")
    code, out, _ = run("ingest", "_empty.csv", "s.csv", "-o", "w")
    assert code == 0
    assert ["no", "record", "in", "'_empty.csv'"] in [line.split() for line in out.splitlines()]
    code, out, _ = run("ingest", "_empty.csv", "s.csv", "-o", "w", "--force", "--json")
    assert (code, json.loads(out)["sources_without_records"]) == (0, ["_empty.csv"])


def test_wrong_rows_end_with_2_and_a_list(spark, here, run):
    Path("s.csv").write_text("node,topic\na,\nb,t\n")
    code, out, err = run("ingest", "s.csv", "-o", "w")
    assert (code, out) == (2, "")
    assert err.startswith("error: 1 of 2 rows are wrong, more than --max-rejected 0.01 allows")
    assert "topic is empty" in err
    assert not Path("w").exists()
    code, out, _ = run("ingest", "s.csv", "-o", "w", "--max-rejected", "0.5")
    assert code == 0
    assert "rejected       1 (listed in w/rejected.parquet)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ingest", "gone.csv", "-o", "w"], "error: 'gone.csv' does not exist"),
        (["ingest", "s.csv", "-o", "w", "--format", "xml"], "error: unknown format 'xml'."),
        (["ingest", "s.csv"], "Missing option '--out' / '-o'"),
        (["ingest", "-o", "w"], "no source given. Name at least one file"),
        (
            ["ingest", "s.csv", "-o", "w", "--max-rejected", "lots"],
            "Invalid value for '--max-rejected'",
        ),
        (["ingest", "s.csv", "-o", "s.csv", "--force"], "is not a Meshwright dataset, so --force"),
        (["stats", "gone"], "error: there is no dataset at 'gone'"),
        (["stats", "."], "error: '.' is not a Meshwright dataset"),
        (["sample", "gone", "-o", "s", "--nodes", "3"], "error: there is no dataset at 'gone'"),
        (["sample", "gone", "-o", "s"], "Missing option '--nodes'"),
        (["ingest", "a\udcff.csv", "-o", "w"], "error: 'a\\xff.csv' is not valid UTF-8"),
        (["ingest", "s3://b/s.csv", "-o", "w"], "and only local files are read. Download it"),
        (["ingest", "s.csv", "-o", "w", "--max-line", "7"], "Invalid value for '--max-line'"),
        (["nonsense"], "No such command 'nonsense'"),
        (["generate", "zipf", "-o", "w", "--nodes", "1"], "Missing option"),
    ],
)
def test_bad_arguments_end_with_2_before_spark_starts(here, run, monkeypatch, words, message):
    monkeypatch.setattr("meshwright.runtime.session.spark_session", None)  # it must not be called
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert [p.name for p in here.iterdir()] == ["s.csv"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--subscriptions": "many"}, "--subscriptions is 'many'; write a number or a range"),
        ({"--subscriptions": "9" * 5000}, "--subscriptions is '999"),
        ({"--subscriptions": "9"}, "a node cannot want 9 of 4 topics"),
        ({"--draw": "lots"}, "unknown draw 'lots'"),
        ({"--seed": "-1"}, "seed is -1"),
        ({"--rate": "-2"}, "rate is -2.0; give 0 to 700"),
    ],
)
def test_a_workload_that_cannot_be_generated_ends_with_2(here, run, monkeypatch, changes, message):
    monkeypatch.setattr("meshwright.runtime.session.spark_session", None)
    options = {"--nodes": "5", "--topics": "4", "--subscriptions": "1-2", **changes}
    code, out, err = run("generate", "expo", "-o", "w", *[x for o in options.items() for x in o])
    assert (code, out) == (2, "")
    assert message in err


@pytest.fixture
def overlay(here):
    return write_designs(here, Instance.from_pairs([("a", "x"), ("b", "x")]), o={"method": "gm"})


FILE_WRITERS = [["export", "o", "--to", "dot", "-o"], ["report", "o", "-o"]]


@pytest.mark.parametrize("words", FILE_WRITERS, ids=lambda words: words[0])
def test_a_missing_directory_is_made_for_a_file(overlay, run, words):
    code, _, err = run(*words, "new/deep/file.html")
    assert (code, err) == (0, "")
    assert Path("new/deep/file.html").is_file()
    assert not list(Path("new/deep").glob(".*"))


@pytest.mark.parametrize("words", [*FILE_WRITERS, ["demo", "-o"]], ids=lambda words: words[0])
def test_a_directory_that_cannot_be_made_ends_with_2_and_words(overlay, run, monkeypatch, words):
    monkeypatch.setattr("meshwright.runtime.session.spark_session", None)  # it must not be called
    code, out, err = run(*words, "s.csv/deep/file.html")
    assert (code, out) == (2, "")
    assert "'s.csv/deep/file.html' cannot be written" in err
    assert "Choose another -o." in err
    assert Path("s.csv").read_text() == CSV


@pytest.mark.parametrize("words", FILE_WRITERS, ids=lambda words: words[0])
def test_a_file_is_kept_unless_forced_and_a_directory_always(overlay, run, words):
    Path("file.html").write_text("mine")
    code, _, err = run(*words, "file.html")
    assert code == 2
    assert "'file.html' exists. Pass --force" in err
    code, _, err = run(*words, "o", "--force")
    assert (code, err) == (2, "error: 'o' is a directory; give -o a file name.\n")
    assert run(*words, "file.html", "--force")[0] == 0
    assert Path("file.html").read_text() != "mine"


def test_the_version_is_printed(run):
    assert run("--version")[:2] == (0, f"meshwright {__version__}\n")


def test_no_verb_shows_the_help(run):
    code, out, err = run()
    assert code in (0, 2)
    assert "Usage: meshwright" in out + err


def test_without_java_the_command_line_ends_with_3_and_one_line(here):
    done = process("ingest", "s.csv", "-o", "w", cwd=here, JAVA_HOME=str(here / "none"))
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: JAVA_HOME is ")
    assert "Spark needs Java 17 or later" in line
    assert not (here / "w").exists()


def test_the_demo_runs_as_a_process_of_its_own_and_leaves_no_scratch_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    variables = {"TMPDIR": str(tmp_path / "tmp"), "MESHWRIGHT_COMMAND": "./meshwright"}
    done = process("demo", "-o", "out", cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    assert "$ ./meshwright ingest out/company.csv -o out/workload" in done.stdout
    assert "$ ./meshwright stats out/workload" in done.stdout
    assert "  │        └─ office-porto (relay)" in done.stdout
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("\noverlay         links") :].split("\n```")[0]
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    assert table in printed
    assert "Traceback" not in done.stderr
    instance = Instance.load(tmp_path / "out" / "workload")
    assert instance.n_nodes == 60
    assert list((tmp_path / "tmp").glob("meshwright-spark-*")) == []
    *lines, last = done.stdout.splitlines()
    assert "on this machine: ./meshwright lab demo" in lines[-3]
    assert Path(last) == tmp_path / "out" / "report.html"
    assert "links</strong> join the subscribers of every topic" in Path(last).read_text()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("command", ["meshwright", "./meshwright"])
def test_messages_show_commands_as_this_one_was_started(here, run, monkeypatch, command):
    if command != "meshwright":
        monkeypatch.setenv("MESHWRIGHT_COMMAND", command)
    _, _, err = run("stats", ".")
    assert f"Make one with `{command} ingest` or `{command} generate`." in err
    assert f"Usage: {command} stats" in run("stats", "--help")[1]


def test_a_damaged_configuration_of_brokers_cannot_be_reported(here, run):
    Path("conf").mkdir()
    Path("conf/plan.json").write_text("{}")
    code, _, err = run("report", "conf")
    assert code == 2
    assert "plan.json' cannot be read ('kind'). Deploy again." in err


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_a_configuration_of_brokers_is_called_so_and_not_a_workload(here, run, verb):
    Path("conf").mkdir()
    Path("conf/plan.json").write_text("{}")
    code, _, err = run(verb, "conf")
    assert code == 2
    assert "'conf' is a configuration of brokers, not a dataset" in err
    assert "`meshwright deploy check conf`" in err
    assert "`meshwright lab up conf`" in err
    assert "ingest" not in err


def test_another_kind_of_dataset_is_answered_with_the_verb_that_makes_the_right_one(overlay, run):
    code, _, err = run("export", "workload", "--to", "csv")
    assert code == 2
    assert "of kind 'workload'; 'overlay' is needed here. Make one with `meshwright design`" in err
