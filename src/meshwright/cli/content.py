"""``meshwright generate content``, ``ingest content`` and ``assign``: problems and assignments."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from meshwright.cli import app, command_name, show
from meshwright.cli.options import Job, MaxLine, Seed, makes_dataset
from meshwright.errors import CheckError, InfeasibleError, InputError

if TYPE_CHECKING:
    from meshwright.content.assignment import Assignment
    from meshwright.content.stored import AnyAssignment
    from meshwright.storage import Manifest

Alpha = Annotated[int, Option(help="Boxes per filter, at most.")]
METHOD_HELP = (
    "gr, gr-star, gr-no-latency, gr-evict-now, gr-evict-later, closest, "
    "closest-balanced, balance, slp, slp-leaves or slp-paper (small problems)."
)
MAX_DELAY_HELP = "Latency allowed to all above the least possible, a share. [default: their own]"
LAST_HOP_HELP = "Limit the latency of the last hop / of the whole path. [default: the problem's]"
DENSITY_HELP = "Density of events: a .csv with low_1,high_1,...,density. [default: uniform]"
LastHop = Annotated[
    bool, Option("--last-hop", help="Limit the latency of the last hop, not of the whole path.")
]


@makes_dataset
def generate_content(
    job: Job,
    set: int = Option(1, help="1 like Google Groups, 2 like news feeds, 3 hot spots."),
    subscribers: int = Option(100_000, help="How many subscribers."),
    brokers: int | None = Option(
        None,
        help="How many brokers, inner ones included, without the publisher. "
        "[default: 100, or 200 in several levels]",
    ),
    skew: str | None = Option(None, help="Set 1: low or high skew of interests. [default: high]"),
    broad: str | None = Option(None, help="Set 1: low or high share of wide boxes. [default: low]"),
    levels: str = Option("one", help="one: all brokers are leaves; many: a tree of brokers."),
    max_out_degree: int | None = Option(None, help="Children of a broker. [default: 15]"),
    latency: str | None = Option(None, help="Several levels: tight or loose. [default: loose]"),
    max_delay: float | None = Option(
        None, help="Latency allowed above the least possible, a share. [default: the paper's]"
    ),
    alpha: Alpha = 3,
    beta: float | None = Option(None, help="Desired load balance factor. [default: the paper's]"),
    beta_max: float | None = Option(None, help="The largest allowed. [default: the paper's]"),
    last_hop: LastHop = False,
    seed: Seed = 1,
) -> None:
    """Subscribers with boxes, and a tree of brokers to assign them to."""
    from meshwright.content.problem import generate as stage
    from meshwright.content.problem.synthetic import content_arguments

    arguments = content_arguments(**job.options())
    manifest = job.on_spark(stage.generate, stage.N_STEPS, n_rows=subscribers, arguments=arguments)
    job.print(manifest, print_problem)


@makes_dataset
def ingest_content(
    job: Job,
    subscribers: str = Option(
        metavar="FILE",
        help="CSV, TSV or Parquet: name, location_0.., low_0.., high_0..; optional: max_delay or "
        "max_latency.",
    ),
    brokers: str = Option(
        metavar="FILE",
        help="CSV, TSV or Parquet: name, parent (empty: the publisher), location_0..; optional: "
        "capacity.",
    ),
    max_delay: float = Option(
        0.3,
        help="Latency allowed above the least possible, as a share, for subscribers without a "
        "limit of their own.",
    ),
    alpha: Alpha = 3,
    beta: float = Option(1.5, help="The desired load balance factor."),
    beta_max: float = Option(1.8, help="The largest load balance factor."),
    last_hop: LastHop = False,
    max_line: MaxLine = 2**20,
) -> None:
    """Read your own subscribers and brokers, and write them as a problem to assign."""
    from meshwright.content.problem import ingest as stage
    from meshwright.content.problem.user_tables import check_columns, find_tables
    from meshwright.model.problem import check_limits
    from meshwright.workload.files import expected_rows

    check_limits(alpha, beta, beta_max, max_delay)  # complain before Spark starts
    tables = find_tables(subscribers, "--subscribers")
    check_columns(*tables, needed=("name", "location", "low", "high"))
    check_columns(*find_tables(brokers, "--brokers"), needed=("name", "parent", "location"))
    limits = {"alpha": alpha, "beta": beta, "beta_max": beta_max, "last_hop": last_hop}
    options = job.options(*limits)
    n_rows = expected_rows(tables[0])
    manifest = job.on_spark(stage.ingest, stage.N_STEPS, n_rows=n_rows, limits=limits, **options)
    for warning in manifest["parameters"]["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    job.print(manifest, print_problem)


def print_problem(out: Path, manifest: Manifest) -> None:
    """Print the size of a problem, its limits, and the next command."""
    n_brokers, leaves, levels = (manifest[f"n_{name}"] for name in ("brokers", "leaves", "levels"))
    tree = f"{n_brokers:,}, all leaves, one level"
    if levels > 1:
        tree = f"{n_brokers:,}: {leaves:,} leaves and {n_brokers - leaves:,} inner, {levels} levels"
    in_time = manifest["in_time"]
    limited = "the last hop" if manifest["last_hop"] else "the path"
    facts = {
        "subscribers": manifest["n_subscribers"],
        "brokers": tree,
        "event space": f"{manifest['n_dimensions']} dimensions",
        "leaves in time": f"{in_time['least']:,} at least, {in_time['median']:,} in the median "
        f"(latency of {limited})",
        "limits": f"alpha {manifest['alpha']}, beta {manifest['beta']:g} to "
        f"{manifest['beta_max']:g}, max delay {show.span(*manifest['max_delay'])}",
        "digest": manifest["digest"][:16],
    }
    show.print_facts(f"problem {out}", facts)
    print(f"\nnext: {command_name()} assign {out} -o A --method gr-star")


class WithContent(TyperCommand):
    """The verb ``ingest``, which takes files, with the verb ``ingest content`` below it."""

    @property
    def commands(self) -> dict[str, Any]:
        """The verb below this one, as a group would list it."""
        below = typer.Typer(add_completion=False, rich_markup_mode=None)
        below.command("content")(ingest_content)
        return {"content": typer.main.get_command(below)}

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Return the context of the verb; a file called content can be given as ./content."""
        if args[:1] == ["content"]:
            command = self.commands["content"]
            return command.make_context(f"{info_name} content", args[1:], *more, **extra)
        return super().make_context(info_name, args, *more, **extra)


@app.command()
@makes_dataset
def assign(
    job: Job,
    problem: Path = Argument(help="A problem dataset."),
    method: str = Option("slp", "--method", "-m", help=METHOD_HELP),
    yardstick: bool = Option(
        False, "--yardstick", help="Also solve the linear program, to compare; slp always does."
    ),
    alpha: int | None = Option(None, help="Boxes per filter. [default: the problem's]"),
    beta: float | None = Option(None, help="Desired load balance factor. [default: the problem's]"),
    beta_max: float | None = Option(None, help="The largest allowed. [default: the problem's]"),
    max_delay: float | None = Option(None, help=MAX_DELAY_HELP),
    last_hop: bool | None = Option(None, "--last-hop/--whole-path", help=LAST_HOP_HELP),
    density: Path | None = Option(None, metavar="FILE", help=DENSITY_HELP),
    threshold: float | None = Option(
        None,
        help="slp on several levels: share of the leaves below a broker that must be in time for a "
        "subscriber to go there. [default: one leaf]",
    ),
    engine: str = Option(
        "auto",
        help="driver: subscribers in memory; spark: in tables (slp only); auto: on Spark for "
        "problems of over 8 GB.",
    ),
    seed: Seed = 1,
) -> None:
    """Attach subscribers to brokers; exit 1 if a limit is violated."""
    from meshwright.content.methods.registry import METHODS
    from meshwright.content.problem.density_file import read_density
    from meshwright.content.stored import choose_engine, open_problem
    from meshwright.model.method import choose

    choose(METHODS, method)
    stored = open_problem(problem)
    overrides = job.options("problem", "method", "yardstick", "threshold", "engine", "seed")
    if density is not None:
        overrides["density"] = read_density(density, stored.n_dimensions)
    request: dict[str, Any] = {"method": method, "seed": seed}
    if threshold is not None:
        from meshwright.content.slp import Settings

        if method != "slp":
            raise InputError(f"--threshold belongs to slp, not to {method}. Leave it out.")
        request["settings"] = Settings(threshold=threshold)
    assignment: AnyAssignment
    if choose_engine(engine, method, stored) == "spark":
        from meshwright.content.slp.spark_backend import N_STEPS, assign_on_spark

        request |= {"problem": problem, "overrides": overrides}
        assignment, manifest = job.on_spark(assign_on_spark, N_STEPS, **request)
    else:
        assignment, manifest = _in_memory(job, problem, request, overrides, yardstick)
    job.print(manifest, partial(print_assignment, assignment))
    fail_if_infeasible(job.out, assignment)


def _in_memory(
    job: Job, path: Path, request: dict[str, Any], overrides: dict[str, Any], yardstick: bool
) -> tuple[Assignment, Manifest]:
    from meshwright.content.dataset import write_assignment
    from meshwright.content.methods.registry import assign, with_yardstick
    from meshwright.content.problem.dataset import load_problem
    from meshwright.runtime.progress import Progress

    progress = Progress(4 if yardstick else 3)
    with progress.step("reading the problem"):
        problem = load_problem(path).with_limits(**overrides)
    with progress.step(f"assigning with {request['method']}"):
        assignment = assign(problem, **request, on_progress=progress.update)
    if yardstick:
        with progress.step("solving the linear program"):
            assignment = with_yardstick(assignment, request["seed"])
    with progress.step("checking and computing the bound"):
        manifest = write_assignment(assignment, job.out, path, overrides=overrides, force=job.force)
    return assignment, manifest


def print_assignment(assignment: AnyAssignment, out: Path, manifest: Manifest) -> None:
    """Print the measures of an assignment, its limits, and a bound that none can beat."""
    problem = assignment.problem
    facts = {
        "method": show.with_parameters(manifest["method"], manifest["parameters"]),
        "problem": f"{problem.n_subscribers:,} subscribers, {len(problem.tree.leaves):,} leaves, "
        f"{problem.tree.n_brokers - 1:,} brokers",
        "feasible": manifest["feasible"],
        "seconds": f"{manifest['seconds']:.2f}",
    }
    if "n_linear_programs" in manifest["notes"]:
        facts["linear programs"] = manifest["notes"]["n_linear_programs"]
    show.print_facts(f"assignment {out}", facts)
    show.print_table(("", "value", "against"), _measures(manifest, assignment))
    for violation in assignment.report.violations:
        print(f"{violation.summary}, for example", *violation.examples, sep="\n  ")


def _measures(manifest: Manifest, assignment: AnyAssignment) -> list[tuple[str, str, str]]:
    """Return each measure: its name, its value, and the limit or bound to compare it with."""

    def cell(name: str) -> str:
        return "infinite" if manifest[name] is None else show.number(manifest[name])

    def compared(name: str, remark: str) -> str:
        times = f"{manifest['bandwidth'] / manifest[name]:.2f} x " if manifest[name] > 0 else ""
        return f"{times}{show.number(manifest[name])}, {name}{remark}"

    bound = compared("bound", "" if manifest["bound_is_exact"] else " (coarse grid)")
    rows = [("bandwidth", cell("bandwidth"), bound)]
    if manifest["fractional"] is not None:
        boxes = manifest["n_candidate_boxes"]
        rows.append(("", "", compared("fractional", f" ({boxes:,} boxes)" if boxes else "")))
    kept = "kept" if manifest["within_beta"] else "not kept"
    problem = assignment.problem
    mean = show.number(problem.n_subscribers / len(problem.tree.leaves))
    limits = f"beta {manifest['beta']:g} {kept}, beta_max {manifest['beta_max']:g}"
    return [
        *rows,
        ("load balance factor", cell("lbf"), limits),
        ("load, least to most", f"{manifest['load_min']:,} to {manifest['load_max']:,}", ""),
        ("  standard deviation", cell("load_stdev"), f"mean {mean}"),
        ("delay, root mean square", cell("delay_rms"), ""),
        ("  largest", cell("delay_max"), f"max_delay {show.span(*problem.delay_range)}"),
    ]


def fail_if_infeasible(out: Path, assignment: AnyAssignment) -> None:
    """Raise if the assignment violates a constraint, and say which method may not."""
    if assignment.feasible:
        return
    kept = f"The best assignment found is in '{out}'."
    if assignment.obstacle is not None:
        raise InfeasibleError(f"no assignment is feasible: {assignment.obstacle}. {kept}")
    violations = assignment.report.violations
    raise CheckError(
        f"this assignment is not feasible ({', '.join(found.constraint for found in violations)}), "
        f"but others are: try --method slp or gr-star. {kept}",
        tuple(map(str, violations)),
    )
