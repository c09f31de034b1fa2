"""The property tests with fresh random draws: a new seed for each run, which is printed.

`scripts/test --random` is one such run. Other arguments go to pytest, as in
`scripts/bench properties --runs 20 tests/property/test_slp.py`. A failing seed is repeated with
`scripts/test --random --hypothesis-seed=SEED`; add its smallest failing draw to the test as an
`@example`.
"""

import argparse
import secrets
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks._measure import timed

ROOT = Path(__file__).parents[1]
RUNS = 5
PYTEST = (sys.executable, "-m", "pytest", "--hypothesis-profile=random", "-m", "hypothesis")


def run(arguments: list[str]) -> None:
    """Run the property tests several times; exit with an error if a run fails."""
    parser = argparse.ArgumentParser(prog="scripts/bench properties", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"each with a new seed [{RUNS}]")
    parser.add_argument("--hypothesis-seed", type=int, help="instead of a new seed for each run")
    options, rest = parser.parse_known_args(arguments)
    failed = []
    for _ in range(options.runs):
        seed = options.hypothesis_seed
        if seed is None:
            seed = secrets.randbelow(2**32)
        seeded = [f"--hypothesis-seed={seed}", *rest]
        print(f"repeat this run with: scripts/test --random {' '.join(seeded)}", flush=True)
        seconds, _, done = timed(partial(subprocess.run, [*PYTEST, *seeded], cwd=ROOT, check=False))
        if done.returncode:
            failed.append(str(seed))
        print(
            f"seed {seed} {'failed' if done.returncode else 'passed'} in {seconds:.0f} s",
            flush=True,
        )
    if failed:
        raise SystemExit(f"error: failed with the seeds {', '.join(failed)}")


def smoke() -> None:
    """Run a quick file of property tests with a new seed."""
    run(["--runs", "1", "tests/property/test_social.py"])
