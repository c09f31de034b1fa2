"""``meshwright reproduce``: the papers' tables and figures, and the ledger of their claims.

A verb of the clone: the experiments are in `papers`, beside the package and not part of it.
"""

import os
import sys
from pathlib import Path

from typer import Argument, Option

from meshwright.cli import app
from meshwright.cli.options import Json, Master
from meshwright.errors import InputError


@app.command()
def reproduce(
    ids: list[str] | None = Argument(
        None, metavar="ID...", help="Experiments, or a paper's key such as icdcs16. [default: all]"
    ),
    out: Path | None = Option(
        None, "--out", "-o", metavar="DIR", help="Where to write cells, figures and the ledger."
    ),
    data: Path | None = Option(None, metavar="DIR", help="The directory of the graphs."),
    full: bool = Option(False, "--full", help="Use the papers' sizes and five seeds; takes hours."),
    show: bool = Option(False, "--list", help="List the experiments and stop."),
    docs: Path | None = Option(None, metavar="DIR", help="Write ledger and figures here too."),
    master: Master = None,
    json: Json = False,
) -> None:
    """Run the papers' experiments (needs a clone of the repository)."""
    require_papers()
    from papers.command import print_list, run
    from papers.registry import choose

    chosen = choose(ids or [])
    if show:
        print_list(chosen, json=json)
    else:
        run(chosen, out, data, docs, master, full=full, json=json)


def require_papers() -> None:
    """Make `papers` importable here and in Spark's workers; raise InputError outside a clone."""
    clone = Path(__file__).parents[3]
    if not (clone / "papers" / "registry.py").is_file():
        raise InputError(
            "reproduce needs the papers' experiments, which are part of a clone of Meshwright, "
            "not of its package. Clone the repository and run `./meshwright reproduce` there."
        )
    if str(clone) not in sys.path:
        sys.path.append(str(clone))
        known = os.environ.get("PYTHONPATH")  # which Spark's workers inherit
        os.environ["PYTHONPATH"] = os.pathsep.join([known, str(clone)] if known else [str(clone)])
