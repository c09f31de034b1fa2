"""Attack for some minutes; `scripts/attack --help` lists the options."""

import argparse
import contextlib
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.attack.harness import INTERRUPTED, Failed, Place


def attack(seed: int, number: int, kind: str, directory: Path) -> str | None:
    """Run one case in a directory of its own; return what went wrong, and the commands."""
    from tests.attack.cases import KINDS

    place = Place(directory / f"{kind}-{number}", random.Random(f"{seed}/{kind}/{number}"))
    shutil.rmtree(place.directory, ignore_errors=True)
    place.directory.mkdir(parents=True)
    try:
        KINDS[kind][0](place)
    except Exception as error:  # what a case itself runs into is a failure too
        what = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        commands = "".join(f"\n  meshwright {shlex.join(words)}" for words in place.commands)
        return f"{what}\n  files: {place.directory}{commands}"
    shutil.rmtree(place.directory, ignore_errors=True)
    return None


def main() -> int:
    """Attack until the time is over; print each failure, and the counts at the end."""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one")
    parser.add_argument("--kind", help="one kind of case only")
    parser.add_argument("--case", type=int, help="one case only, as a failure names it")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    directory = Path(tempfile.mkdtemp(prefix="attack-"))
    tempfile.tempdir = str(directory / "temporary")  # so that what commands leave is seen
    Path(tempfile.tempdir).mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir
    from meshwright.runtime.session import spark_session
    from tests.attack.cases import KINDS, datasets

    print(f"seed {seed}; the files of failures stay in {directory}", flush=True)
    spark_session("local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    if options.case is None:
        datasets(directory)  # before the clock starts: kernels that are new are compiled here
    kinds = [kind for kind, (_, weight) in KINDS.items() for _ in range(weight)]
    kinds = [options.kind] if options.kind else kinds
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    started, said = time.monotonic(), time.monotonic()
    order = random.Random(seed)
    interrupted = False
    while not interrupted and time.monotonic() - started < 60 * options.minutes:
        kind = order.choice(kinds)
        number = tried[kind] if options.case is None else options.case
        try:
            wrong = attack(seed, number, kind, directory)
        except KeyboardInterrupt:
            interrupted = True
            continue
        tried[kind] += 1
        if wrong:
            failed[kind] += 1
            again = f"scripts/attack --seed {seed} --kind {kind} --case {number}"
            print(f"\nFAILED {again}\n  {wrong}", flush=True)
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"{tried.total():,} cases, {failed.total():,} failed", flush=True)
        if options.case is not None:
            break
    for kind in KINDS:
        print(f"{kind:14} {tried[kind]:6,} cases {failed[kind]:4,} failed")
    print(f"seed {seed}: {tried.total():,} cases, {failed.total():,} failed")
    if not failed:
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)
    return INTERRUPTED if interrupted else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
