"""Lives of a mesh in virtual time, with drawn faults, judged by the oracle (docs/mesh.md).

`scripts/bench mesh-faults --seeds 10000` runs the seeds 0 to 9,999. A seed that breaks a promise is
printed with what went wrong, and repeated with `--first SEED --seeds 1`; make it a named test.
"""

import argparse
import time
from collections import Counter

from meshwright.mesh.simulator.oracle import FOREVER
from meshwright.mesh.simulator.scenario import run_scenario

SEEDS = 1_000
EVERY = 100  # seeds between two lines of progress


def run(arguments: list[str]) -> None:
    """Run lives of a mesh; exit with an error if one breaks a promise."""
    parser = argparse.ArgumentParser(prog="scripts/bench mesh-faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many lives [{SEEDS}]")
    parser.add_argument("--first", type=int, default=0, help="the first seed [0]")
    options = parser.parse_args(arguments)
    started, broken = time.process_time(), []
    faults: Counter[str] = Counter()
    n_posts = n_arrivals = 0
    for done, seed in enumerate(range(options.first, options.first + options.seeds), start=1):
        result = run_scenario(seed)
        faults.update(fault.kind for fault in result.history.faults)
        members = result.history.memberships
        faults["added"] += sum(member.since > 0 for member in members)
        faults["removed at once"] += sum(member.at_once for member in members)
        faults["removed"] += sum(m.until < FOREVER and not m.at_once for m in members)
        n_posts += len(result.history.posts)
        n_arrivals += len(result.history.seen)
        if result.violations:
            broken.append(seed)
            for promise, text in result.violations:
                print(f"seed {seed}, promise {promise}: {text}", flush=True)
        if done % EVERY == 0 or done == options.seeds:
            seconds = time.process_time() - started
            print(f"{done} lives, {len(broken)} with violations, {seconds:.0f} s", flush=True)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items()))
    print(f"{n_posts:,} messages published, {n_arrivals:,} delivered; faults: {listed}")
    if broken:
        raise SystemExit(f"error: promises broken with the seeds {', '.join(map(str, broken))}")


def smoke() -> None:
    """Run a few lives."""
    run(["--seeds", "5"])
