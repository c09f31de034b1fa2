"""The kinds of attacks. Each is a function of a place; it raises Failed if an attack succeeds."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.content.dataset import write_assignment
from meshwright.content.methods.registry import assign
from meshwright.content.problem.dataset import write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import write_overlay
from meshwright.runtime.session import spark_session
from meshwright.smallworld.routing.spark_simulation import simulate_on_spark
from meshwright.workload.ingest import ingest
from tests.attack.harness import (
    MOST_SECONDS,
    Done,
    Failed,
    Place,
    check_end,
    check_no_drafts,
    check_unchanged,
    in_session,
    snapshot,
    started,
    wait_until,
)
from tests.attack.mutations import NUMBERS, mutate_file, mutate_json, mutated
from tests.datasets import write_instance

BOM = b"\xef\xbb\xbf"
PAIRS = [(f"n{i % 9}", f"plant{i % 4}/t{i % 7}") for i in range(60)]
FORMATS = ("csv", "tsv", "jsonl", "edges", "log", "parquet")


# Sources


def source_text(kind: str) -> bytes:
    """Return a valid source of a text format, with repeats."""
    if kind in ("csv", "tsv"):
        comma = "," if kind == "csv" else "\t"
        lines = [comma.join(pair) for pair in (("node", "topic"), *PAIRS)]
    elif kind == "jsonl":
        lines = [json.dumps({"node": node, "topic": topic}) for node, topic in PAIRS]
    elif kind == "edges":
        lines = ["# users", *(f"u{i % 11} u{(i * i) % 13}" for i in range(60))]
    else:
        lines = [f"2024-01-02T03:04:05: {node} 1 {topic}" for node, topic in PAIRS]
    return "\n".join(lines).encode() + b"\n"


def count_rows(data: bytes, kind: str) -> int | None:
    """Return the rows of a text source; None where only some lines of it are rows."""
    lines = [line.rstrip(b"\r").removeprefix(BOM) for line in data.split(b"\n")]
    lines = [line for line in lines if line.strip(b" ")]
    if kind == "edges":
        return sum(not line.lstrip(b" ").startswith(b"#") for line in lines)
    return None if kind == "log" else len(lines) - (kind in ("csv", "tsv"))


def attack_source(place: Place) -> None:
    """Ingest a mutated source; all its rows are accounted for, or nothing is written."""
    draw, kind = place.draw, place.draw.choice(FORMATS)
    name = draw.choice(("a", "_a", ".a", "a b", "größe", "a[1]", "a%20b"))
    path = place.path(f"{name}.{kind}")
    if kind == "parquet":
        columns = {"node": [n for n, _ in PAIRS], "topic": [t for _, t in PAIRS]}
        pq.write_table(pa.table(columns), path)
        mutate_file(path, draw)
        data = b""
    else:
        data = mutated(source_text(kind), draw)
        if draw.random() < 0.2:
            path = path.with_name(f"{path.name}.gz")
            path.write_bytes(gzip.compress(data))
        else:
            path.write_bytes(data)
    words: list[object] = ["ingest", path, "-o", place.path("w")]
    directed = draw.random() < 0.5
    words += ["--directed" if directed else "--undirected"] if kind == "edges" else []
    words += ["--max-rejected", "1"] if draw.random() < 0.7 else []
    done = place.run(*words, "--json")
    if done.code:
        if place.path("w").exists():
            raise Failed(f"exit code {done.code}, and the workload was written")
    else:
        check_accounts(json.loads(done.out), data, kind, 1 if kind != "edges" or directed else 2)
        Instance.load(place.path("w"))
    check_no_drafts_but(place.directory, path.name)


def check_no_drafts_but(directory: Path, known: str) -> None:
    """Raise Failed for hidden files other than one that the case itself made."""
    left = [p.name for p in directory.iterdir() if p.name.startswith(".") and p.name != known]
    if left:
        raise Failed(f"half-written files were left: {left[:5]}")


def check_accounts(facts: dict[str, int], data: bytes, kind: str, copies: int) -> None:
    """Raise Failed unless read = kept + duplicate + rejected + self-loop."""
    n_read = count_rows(data, kind) if kind != "parquet" else None
    if n_read is None:
        return
    kept, repeated = facts["n_subscriptions"], facts["n_duplicates"]
    accounted = kept + repeated + copies * (facts["n_rejected"] + facts["n_self_loops"])
    if accounted != copies * n_read:
        raise Failed(f"{copies} x {n_read} rows were read and {accounted} are accounted for")


# Datasets


def datasets(place: Path) -> Path:
    """Return a directory with a dataset of every kind and a configuration; made once."""
    made = place / "made"
    if made.exists():
        return made
    draft = place / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    instance = Instance.from_pairs(PAIRS)
    write_instance(instance, draft / "workload")
    write_overlay(design(instance, "gm"), draft / "overlay", draft / "workload")
    write_overlay(design(instance, "sl"), draft / "world", draft / "workload")
    arguments = content_arguments(set=2, subscribers=300, brokers=6)
    spark = spark_session()
    simulate_on_spark(spark, draft / "world", draft / "run", publications=50, against="scribe")
    friends = draft / "friends.edges"
    friends.write_bytes(source_text("edges"))
    ingest(spark, [str(friends)], draft / "social", directed=True)
    problem = draw_problem(arguments)
    write_problem(draft / "problem", problem)
    write_assignment(assign(problem, "gr"), draft / "assignment", draft / "problem")
    rows = [f"{node},127.0.0.1,{20_000 + i}" for i, node in enumerate(instance.node_names)]
    (draft / "brokers.csv").write_text("\n".join(["node,host,port", *rows]) + "\n")
    draft.rename(made)
    return made


def reading_commands(made: Path, out: Path) -> dict[str, list[list[object]]]:
    """Return commands by the dataset that they read."""
    overlay, workload, brokers = made / "overlay", made / "workload", made / "brokers.csv"
    return {
        "workload": [
            ["design", workload, "-o", out],
            ["design", workload, "-o", out, "-m", "sl"],
            ["report", workload, "-o", out.with_suffix(".html")],
            ["stats", workload],
            ["check", overlay],
        ],
        "overlay": [
            ["check", overlay],
            ["export", overlay, "--to", "csv", "-o", out.with_suffix(".csv")],
            ["report", overlay, "-o", out.with_suffix(".html")],
            ["deploy", "mosquitto", overlay, "--inventory", brokers, "-o", out],
            ["simulate", overlay, "-o", out, "-r", "tree", "-n", "50"],
        ],
        "world": [["check", made / "world"], ["simulate", made / "world", "-o", out, "-n", "50"]],
        "run": [["report", made / "world", made / "run", "-o", out.with_suffix(".html")]],
        "social": [
            ["sample", made / "social", "-o", out, "--nodes", "6"],
            ["stats", made / "social"],
        ],
        "problem": [
            ["assign", made / "problem", "-o", out, "-m", "gr"],
            ["assign", made / "problem", "-o", out, "-m", "slp", "--engine", "spark"],
            ["check", made / "assignment"],
        ],
        "assignment": [
            ["check", made / "assignment"],
            ["report", made / "assignment", "-o", out.with_suffix(".html")],
        ],
    }


def attack_dataset(place: Place) -> None:
    """Damage a dataset and run what reads it; it is refused in words, and not changed."""
    made, draw = place.path("made"), place.draw
    shutil.copytree(datasets(place.directory.parent), made, symlinks=True)
    for path in made.glob("*/manifest.json"):  # datasets name each other by their place
        text = path.read_text(encoding="utf-8")
        for old in ("draft", "made"):
            text = text.replace(f"{place.directory.parent}/{old}/", f"{made}/")
        path.write_text(text, encoding="utf-8")
    commands = reading_commands(made, place.path("out"))
    kind = draw.choice(list(commands))
    files = [p for p in (made / kind).rglob("*") if p.is_file() and not p.is_symlink()]
    if draw.random() < 0.5:
        mutate_json(made / kind / "manifest.json", draw)
    elif draw.random() < 0.2:
        draw.choice(files).unlink()
    else:
        mutate_file(draw.choice(files), draw)
    before = snapshot(made)
    done = place.run(*draw.choice(commands[kind]))
    if done.code == 2 and any(place.directory.glob("out*")):
        raise Failed("exit code 2, and something was written")
    check_unchanged(made, before)
    check_no_drafts(place.directory)


def attack_inventory(place: Place) -> None:
    """Deploy with a mutated inventory; what is written passes its check."""
    made, path = datasets(place.directory.parent), place.path("brokers.csv")
    path.write_bytes(mutated((made / "brokers.csv").read_bytes(), place.draw))
    words = ["deploy", "mosquitto", made / "overlay", "--inventory", path, "-o", place.path("conf")]
    done = place.run(*words)
    if done.code == 0:
        place.run("deploy", "check", place.path("conf"), codes=(0,))
    elif place.path("conf").exists():
        raise Failed(f"exit code {done.code}, and a configuration was written")
    check_no_drafts(place.directory)


def attack_configuration(place: Place) -> None:
    """Mutate the files of a configuration; they are judged in words, and not changed."""
    made, conf, draw = datasets(place.directory.parent), place.path("conf"), place.draw
    inventory = made / "brokers.csv"
    place.run("deploy", "mosquitto", made / "overlay", "--inventory", inventory, "-o", conf)
    shutil.copytree(conf, place.path("before"))
    files = [path for path in conf.rglob("*") if path.is_file()]
    if draw.random() < 0.4:
        mutate_json(conf / "plan.json", draw)
    else:
        mutate_file(draw.choice(files), draw)
    before = snapshot(conf)
    place.run(
        *draw.choice((["deploy", "check", conf], ["deploy", "diff", place.path("before"), conf]))
    )
    check_unchanged(conf, before)


# Parameters

OPTIONS = {
    "design": ("max-edges", "average-degree", "max-degree", "budget-ratio", "k", "k-greedy",
               "k-random", "seed", "patience"),
    "assign": ("alpha", "beta", "beta-max", "max-delay", "seed"),
    "simulate": ("publications", "seed"),
    "sample": ("nodes", "seeds", "seed"),
    "generate": ("nodes", "topics", "subscriptions", "alpha", "seed"),
    "social": ("nodes", "mean-degree", "communities", "density", "largest-community", "mixing",
               "exponent", "max-degree", "seed"),
    "content": ("subscribers", "brokers", "max-out-degree", "max-delay", "alpha", "beta",
                "beta-max", "seed"),
}  # fmt: skip
METHODS = ("gm", "gpa", "gpm", "low", "minmax", "spidercast", "random-average", "random-max", "sl")


def attack_parameters(place: Place) -> None:
    """Give a verb extreme numbers; it says what it takes, or does what it is asked."""
    made, out, draw = datasets(place.directory.parent), place.path("out"), place.draw
    verb = draw.choice(list(OPTIONS))
    starts: dict[str, list[object]] = {
        "design": ["design", made / "workload", "-m", draw.choice(METHODS)],
        "assign": ["assign", made / "problem", "-m", draw.choice(("gr", "closest", "balance"))],
        "simulate": ["simulate", made / "world"],
        "sample": ["sample", made / "social", "--nodes", "3"],
        "generate": ["generate", "zipf", "--nodes", "20", "--topics", "9", "--subscriptions", "2",
                     "--alpha", "1"],
        "social": ["generate", "social", "--nodes", "60", "--mean-degree", "4"],
        "content": ["generate", "content", "--subscribers", "50", "--brokers", "3"],
    }  # fmt: skip
    words = [*starts[verb], "-o", out]
    for option in draw.sample(OPTIONS[verb], draw.choice((1, 1, 2))):
        value = draw.choice(NUMBERS)
        large = option in ("nodes", "topics", "subscribers", "publications", "brokers")
        if large and len(value) > 3 and value.isdigit():
            value = "9" * 25  # what is refused; a large number that is allowed would take hours
        words += [f"--{option}={value}"]
    done = place.run(*words)
    if done.code == 2 and out.exists():
        raise Failed("exit code 2, and a dataset was written")
    check_no_drafts(place.directory)


# Races and signals


READER = """
import sys
from pathlib import Path
from meshwright.overlay.dataset import load_overlay

target, stop, *known = sys.argv[1:]
n_loads = 0
while n_loads < 5 or not Path(stop).exists():
    assert load_overlay(target).digest in known, "a mixture"
    n_loads += 1
"""


def attack_with_writers(place: Place) -> None:
    """Load an overlay while this process replaces it; each load is one of the two, whole."""
    made, target, stop = datasets(place.directory.parent), place.path("overlay"), place.path("stop")
    workload = place.path("workload")
    shutil.copytree(made / "workload", workload, symlinks=True)
    instance = Instance.load(workload)
    variants = [design(instance, method, certify=False) for method in ("gm", "star")]
    write_overlay(variants[0], target, workload)
    known = [overlay.digest for overlay in variants]
    command = [sys.executable, "-c", READER, str(target), str(stop), *known]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as reader:
        deadline = time.monotonic() + 3.0
        while time.monotonic() < deadline and reader.poll() is None:
            for overlay in variants:
                write_overlay(overlay, target, workload, force=True)
        stop.touch()
        _, errors = reader.communicate(timeout=MOST_SECONDS)
    if reader.returncode:
        raise Failed(f"a load failed: {errors.strip()[-600:]}")
    check_no_drafts(place.directory)


def signalled(place: Place) -> list[list[object]]:
    """Return commands that take long enough to be hit by a signal."""
    made, out = datasets(place.directory.parent), place.path("out")
    source = place.path("source.csv")
    source.write_bytes(source_text("csv"))
    return [
        ["design", made / "workload", "-o", out, "--force"],
        ["design", made / "workload", "-o", out, "-m", "sl", "--force"],
        ["ingest", source, "-o", out, "--force"],
        ["assign", made / "problem", "-o", out, "-m", "gr", "--force"],
        ["check", made / "overlay"],
    ]


def attack_with_signal(place: Place) -> None:
    """Interrupt, end or kill a command; the old dataset is whole, and nothing of it still runs."""
    draw, out = place.draw, place.path("out")
    words = draw.choice(signalled(place))
    place.commands.append([str(word) for word in words])
    if "-o" in words:
        shutil.copytree(datasets(place.directory.parent) / "workload", out, symlinks=True)
    number = draw.choice((signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    with started(*words) as process:
        time.sleep(draw.uniform(0.2, 9.0))
        ended = process.poll() is not None
        if not ended:
            process.send_signal(number)
        text, errors = process.communicate(timeout=MOST_SECONDS)
        codes = {signal.SIGINT: (130,), signal.SIGTERM: (143, -15), signal.SIGKILL: (-9,)}[number]
        check_end(Done(place.commands[-1], process.returncode, text, errors), (0, *codes))
        if not wait_until(lambda: not in_session(process.pid), 20.0):
            raise Failed(f"processes still run: {in_session(process.pid)}")
    if "-o" in words:
        check_whole(place, out, killed=number != signal.SIGINT)


def check_whole(place: Place, out: Path, *, killed: bool) -> None:
    """Raise Failed unless a dataset can be read, and what a killed writer left is cleaned up."""
    from meshwright.storage import open_dataset

    try:
        open_dataset(out)
    except InputError as error:
        raise Failed(f"the old dataset is lost: {error}") from error
    if killed:  # only the next writer of the same target may remove what it left
        write_instance(Instance.from_pairs(PAIRS), out, force=True)
    check_no_drafts(place.directory)


KINDS: dict[str, tuple[Callable[[Place], None], int]] = {  # with how often each is drawn
    "source": (attack_source, 6),
    "dataset": (attack_dataset, 8),
    "inventory": (attack_inventory, 3),
    "configuration": (attack_configuration, 3),
    "parameters": (attack_parameters, 5),
    "writers": (attack_with_writers, 1),
    "signal": (attack_with_signal, 1),
}
