"""``meshwright assign``: a problem to an assignment, checked and measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import number, print_facts, print_json, print_table
from meshwright.errors import CheckError, InfeasibleError

if TYPE_CHECKING:
    from meshwright.assignment.answer import Answer
    from meshwright.datasets import Manifest


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "assign", help="Attach subscribers to brokers and set filters; exit 1 if infeasible."
    )(command)


def command(
    problem: Annotated[Path, typer.Argument(help="A problem dataset.")],
    out: Out,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="gr, gr-star, gr-no-latency, gr-evict-now, gr-evict-later, closest, "
            "closest-balanced, balance, slp or slp-leaves.",
        ),
    ] = "slp",
    yardstick: Annotated[
        bool,
        typer.Option(
            "--yardstick", help="Solve the linear program too, to compare with; slp does anyway."
        ),
    ] = False,
    alpha: Annotated[
        int | None, typer.Option("--alpha", help="Boxes per filter. [default: the problem's]")
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option("--beta", help="The desired load balance factor. [default: the problem's]"),
    ] = None,
    beta_max: Annotated[
        float | None,
        typer.Option("--beta-max", help="The largest one allowed. [default: the problem's]"),
    ] = None,
    max_delay: Annotated[
        float | None,
        typer.Option("--max-delay", help="Allowed of all subscribers. [default: their own]"),
    ] = None,
    last_hop: Annotated[
        bool | None,
        typer.Option(
            "--last-hop/--whole-path",
            help="Bound the last hop alone, or the path from the publisher. "
            "[default: the problem's]",
        ),
    ] = None,
    density: Annotated[
        Path | None,
        typer.Option(
            "--density",
            metavar="FILE",
            help="Where events fall: a .csv with low_1,high_1,...,density. [default: uniform]",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Where subscribers are: driver, in memory; spark, in tables (slp alone); auto, "
            "on Spark when they take more than half of the memory.",
        ),
    ] = "auto",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attach subscribers to brokers and set filters; exit 1 if infeasible."""
    from meshwright.assignment.engine import choose_engine
    from meshwright.assignment.methods import check_choice
    from meshwright.assignment.outline import load_outline
    from meshwright.datasets import refuse_overwrite
    from meshwright.problem.density_file import read_density

    check_choice(method)
    outline = load_outline(problem)
    refuse_overwrite(out.absolute(), force=force)
    given = {
        "alpha": alpha,
        "beta": beta,
        "beta_max": beta_max,
        "max_delay": max_delay,
        "last_hop": last_hop,
    }
    overrides: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if density is not None:
        overrides["density"] = read_density(density, outline.n_dimensions)
    run = partial(_on_spark, master) if choose_engine(engine, method, outline) == "spark" else _here
    answer, manifest = run(problem, out, method, seed, overrides, yardstick=yardstick, force=force)
    if json:
        print_json(manifest.as_dict())
    else:
        print_assignment(out, manifest, answer)
    fail_if_infeasible(out, answer)


def _here(
    problem: Path,
    out: Path,
    method: str,
    seed: int,
    overrides: dict[str, Any],
    *,
    yardstick: bool,
    force: bool,
) -> tuple[Answer, Manifest]:
    """Assign in memory."""
    from meshwright.assignment.dataset import write_answer
    from meshwright.assignment.methods import assign, with_yardstick
    from meshwright.problem.dataset import load_problem
    from meshwright.spark.progress import Progress

    progress = Progress(4 if yardstick else 3)
    with progress.step("reading the problem"):
        asked = load_problem(problem).with_limits(**overrides)
    with progress.step(f"assigning with {method}"):
        answer = assign(asked, method, seed=seed, progress=progress.tell)
    if yardstick:
        with progress.step("solving the linear program"):
            answer = with_yardstick(answer, seed)
    with progress.step("checking, and working out the bound"):
        manifest = write_answer(answer, out, problem, overrides=overrides, force=force)
    return answer, manifest


def _on_spark(
    master: str | None,
    problem: Path,
    out: Path,
    method: str,
    seed: int,
    overrides: dict[str, Any],
    *,
    yardstick: bool,
    force: bool,
) -> tuple[Answer, Manifest]:
    """Assign with the subscribers on Spark."""
    from meshwright.assignment.slp import on_spark_run as stage

    del yardstick  # these methods solve the linear program anyway
    spark, progress = start(master, stage.N_STEPS)
    return stage.assign_on_spark(
        spark,
        problem,
        out,
        method=method,
        seed=seed,
        overrides=overrides,
        force=force,
        progress=progress,
    )


def print_assignment(out: Path, manifest: Manifest, answer: Answer) -> None:
    """Print what an answer achieves, against its limits and what none can beat."""
    problem = answer.problem
    told = [f"{name} {value}" for name, value in manifest["parameters"].items()]
    print(f"assignment {out}")
    facts: dict[str, object] = {
        "method": manifest["method"] + (f" ({', '.join(told)})" if told else ""),
        "problem": f"{problem.n_subscribers:,} subscribers, {len(problem.tree.leaves):,} leaves, "
        f"{problem.tree.n_brokers - 1:,} brokers",
        "feasible": "yes" if manifest["feasible"] else "no",
        "seconds": f"{manifest['seconds']:.2f}",
    }
    if "n_linear_programs" in manifest["notes"]:
        facts["linear programs"] = number(manifest["notes"]["n_linear_programs"])
    print_facts(facts)
    print_table(("", "value", "against"), rows_of(manifest, answer))
    for found in answer.report.violations:
        examples = "".join(f"\n  {example}" for example in found.examples)
        print(f"{found.summary}, such as{examples}")


def rows_of(manifest: Manifest, answer: Answer) -> list[tuple[str, str, str]]:
    """Return the measures, each beside what it is held against."""
    from meshwright.assignment.outline import delays_of

    bandwidth, bound, fractional = (manifest[name] for name in ("bandwidth", "bound", "fractional"))
    about = "" if manifest["bound_is_exact"] else " (coarse grid)"
    rows = [("bandwidth", number(bandwidth), _times(bandwidth, bound, f"bound{about}"))]
    if fractional is not None:
        boxes = manifest["n_candidate_boxes"]
        of = f" ({boxes:,} boxes)" if boxes is not None else ""
        rows.append(("", "", _times(bandwidth, fractional, f"fractional{of}")))
    kept = "kept" if manifest["within_beta"] else "not kept"
    limits = f"beta {manifest['beta']:g} {kept}, beta_max {manifest['beta_max']:g}"
    low, high = delays_of(answer.problem)
    most = f"{high:g}" if low == high else f"{low:g} to {high:g}"
    fair = answer.problem.n_subscribers / len(answer.problem.tree.leaves)
    return [
        *rows,
        ("load balance factor", _cell(manifest["lbf"]), limits),
        ("load, least to most", f"{manifest['load_min']:,} to {manifest['load_max']:,}", ""),
        ("  standard deviation", _cell(manifest["load_stdev"]), f"mean {number(fair)}"),
        ("delay, root mean square", _cell(manifest["delay_rms"]), ""),
        ("  largest", _cell(manifest["delay_max"]), f"max_delay {most}"),
    ]


def fail_if_infeasible(out: Path, answer: Answer) -> None:
    """Raise when the answer violates a constraint, with what could be done."""
    if answer.feasible:
        return
    if answer.obstacle is not None:
        raise InfeasibleError(
            f"no answer is feasible: {answer.obstacle}. The best effort is in '{out}'."
        )
    violated = ", ".join(found.constraint for found in answer.report.violations)
    raise CheckError(
        f"this answer is not feasible ({violated}), but others are: try --method slp or gr-star. "
        f"The best effort is in '{out}'.",
        tuple(str(found) for found in answer.report.violations),
    )


def check_assignment(path: Path, problem: Path | None, *, json: bool) -> None:
    """Run the checker on an assignment dataset, and recompute what its manifest claims."""
    from meshwright.assignment.dataset import check_claims

    report, findings = check_claims(path, problem)
    if json:
        found = {"feasible": report.feasible, "violations": report.as_dict()}
        print_json({**found, "findings": list(findings)})
    else:
        print(f"assignment {path}")
        print_facts({"feasible": "yes" if report.feasible else "no"})
        for violation in report.violations:
            print(f"  {violation}")
    if findings:
        raise CheckError(
            f"'{path}' is not what its manifest claims:\n  " + "\n  ".join(findings), findings
        )
    if not json:
        print("all claims of the manifest hold")


def _times(value: float, reference: float, name: str) -> str:
    ratio = f"{value / reference:.2f} x " if reference > 0 else ""
    return f"{ratio}{number(reference)}, {name}"


def _cell(value: float | None) -> str:
    return "infinite" if value is None else number(value)
