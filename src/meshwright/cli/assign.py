"""``meshwright assign``: a problem to an assignment, checked and measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from meshwright.cli import app
from meshwright.cli.options import Job, Seed, makes_dataset
from meshwright.cli.show import number, print_facts, print_table, span, with_parameters
from meshwright.errors import CheckError, InfeasibleError

if TYPE_CHECKING:
    from meshwright.content.assignment import Assignment
    from meshwright.content.stored import AnyAssignment
    from meshwright.storage import Manifest


@app.command()
@makes_dataset
def assign(
    job: Job,
    problem: Path = Argument(help="A problem dataset."),
    method: str = Option(
        "slp",
        "--method",
        "-m",
        help="gr, gr-star, gr-no-latency, gr-evict-now, gr-evict-later, closest, "
        "closest-balanced, balance, slp or slp-leaves.",
    ),
    yardstick: bool = Option(
        False, "--yardstick", help="Also solve the linear program, to compare; slp always does."
    ),
    alpha: int | None = Option(None, help="Boxes per filter. [default: the problem's]"),
    beta: float | None = Option(None, help="Desired load balance factor. [default: the problem's]"),
    beta_max: float | None = Option(None, help="The largest allowed. [default: the problem's]"),
    max_delay: float | None = Option(None, help="One for all subscribers. [default: their own]"),
    last_hop: bool | None = Option(
        None,
        "--last-hop/--whole-path",
        help="Limit the latency of the last hop / of the whole path. [default: the problem's]",
    ),
    density: Path | None = Option(
        None,
        metavar="FILE",
        help="Density of events: a .csv with low_1,high_1,...,density. [default: uniform]",
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
    overrides = job.options("problem", "method", "yardstick", "engine", "seed")
    if density is not None:
        overrides["density"] = read_density(density, stored.n_dimensions)
    assignment: AnyAssignment
    if choose_engine(engine, method, stored) == "spark":
        from meshwright.content.slp.spark_backend import N_STEPS, assign_on_spark

        request = {"problem": problem, "method": method, "seed": seed, "overrides": overrides}
        assignment, manifest = job.on_spark(assign_on_spark, N_STEPS, **request)
    else:
        assignment, manifest = _in_memory(job, problem, method, seed, overrides, yardstick)
    job.print(manifest, partial(print_assignment, assignment))
    fail_if_infeasible(job.out, assignment)


def _in_memory(
    job: Job, path: Path, method: str, seed: int, overrides: dict[str, Any], yardstick: bool
) -> tuple[Assignment, Manifest]:
    from meshwright.content.dataset import write_assignment
    from meshwright.content.methods.registry import assign, with_yardstick
    from meshwright.content.problem.dataset import load_problem
    from meshwright.runtime.progress import Progress

    progress = Progress(4 if yardstick else 3)
    with progress.step("reading the problem"):
        problem = load_problem(path).with_limits(**overrides)
    with progress.step(f"assigning with {method}"):
        assignment = assign(problem, method, seed=seed, on_progress=progress.update)
    if yardstick:
        with progress.step("solving the linear program"):
            assignment = with_yardstick(assignment, seed)
    with progress.step("checking and computing the bound"):
        manifest = write_assignment(assignment, job.out, path, overrides=overrides, force=job.force)
    return assignment, manifest


def print_assignment(assignment: AnyAssignment, out: Path, manifest: Manifest) -> None:
    """Print the measures of an assignment, its limits, and a bound that none can beat."""
    problem = assignment.problem
    facts = {
        "method": with_parameters(manifest["method"], manifest["parameters"]),
        "problem": f"{problem.n_subscribers:,} subscribers, {len(problem.tree.leaves):,} leaves, "
        f"{problem.tree.n_brokers - 1:,} brokers",
        "feasible": manifest["feasible"],
        "seconds": f"{manifest['seconds']:.2f}",
    }
    if "n_linear_programs" in manifest["notes"]:
        facts["linear programs"] = manifest["notes"]["n_linear_programs"]
    print_facts(f"assignment {out}", facts)
    print_table(("", "value", "against"), _measures(manifest, assignment))
    for violation in assignment.report.violations:
        print(f"{violation.summary}, for example", *violation.examples, sep="\n  ")


def _measures(manifest: Manifest, assignment: AnyAssignment) -> list[tuple[str, str, str]]:
    """Return each measure: its name, its value, and the limit or bound to compare it with."""

    def cell(name: str) -> str:
        return "infinite" if manifest[name] is None else number(manifest[name])

    def compared(name: str, remark: str) -> str:
        times = f"{manifest['bandwidth'] / manifest[name]:.2f} x " if manifest[name] > 0 else ""
        return f"{times}{number(manifest[name])}, {name}{remark}"

    bound = compared("bound", "" if manifest["bound_is_exact"] else " (coarse grid)")
    rows = [("bandwidth", cell("bandwidth"), bound)]
    if manifest["fractional"] is not None:
        boxes = manifest["n_candidate_boxes"]
        rows.append(("", "", compared("fractional", f" ({boxes:,} boxes)" if boxes else "")))
    kept = "kept" if manifest["within_beta"] else "not kept"
    problem = assignment.problem
    mean = number(problem.n_subscribers / len(problem.tree.leaves))
    limits = f"beta {manifest['beta']:g} {kept}, beta_max {manifest['beta_max']:g}"
    return [
        *rows,
        ("load balance factor", cell("lbf"), limits),
        ("load, least to most", f"{manifest['load_min']:,} to {manifest['load_max']:,}", ""),
        ("  standard deviation", cell("load_stdev"), f"mean {mean}"),
        ("delay, root mean square", cell("delay_rms"), ""),
        ("  largest", cell("delay_max"), f"max_delay {span(*problem.delay_range)}"),
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
