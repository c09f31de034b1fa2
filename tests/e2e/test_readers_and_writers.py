"""Readers of a dataset that is replaced all the time, in processes of their own."""

import subprocess
import sys
import textwrap

from tests.datasets import write_instance

N_LOADS = 10_000
N_READERS = 2

WRITER = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    from tests.e2e.test_readers_and_writers import write_number

    number, parent = 0, os.getppid()
    while not Path(sys.argv[2]).exists() and os.getppid() == parent:  # the test may be killed
        number += 1
        write_number(Path(sys.argv[1]), number)
        time.sleep(0.01)  # the processors are for the readers
    print(number)
    """
)
READER = textwrap.dedent(
    """
    import sys
    from meshwright.model.instance import Instance

    numbers = set()
    for _ in range(int(sys.argv[2])):
        instance = Instance.load(sys.argv[1])
        names = [*instance.node_names, *instance.topic_names]
        found = {name.partition("-")[0] for name in names}
        number = int(found.pop())
        size = 2 + number % 5
        assert not found, f"names of {number} and {found}"
        assert (instance.n_nodes, instance.n_topics) == (size, size + 1), number
        assert instance.n_subscriptions == size * (size + 1), number
        reported = instance.digest
        object.__setattr__(instance, "_digest", [])
        assert instance.digest == reported, f"the digest of {number} is of another"
        numbers.add(number)
    print(len(numbers))
    """
)


def write_number(target, number):
    """Write a workload whose every table tells its number."""
    from meshwright.model.instance import Instance

    size = 2 + number % 5
    pairs = [(f"{number}-n{i}", f"{number}-t{j}") for i in range(size) for j in range(size + 1)]
    write_instance(Instance.from_pairs(pairs), target, force=True)


def test_ten_thousand_loads_under_replacement_are_whole(tmp_path):
    target, ended = tmp_path / "w", tmp_path / "ended"
    write_number(target, 0)
    writer = run(WRITER, target, ended)
    readers = [run(READER, target, N_LOADS // N_READERS) for _ in range(N_READERS)]
    try:
        seen = [reader.communicate()[0] for reader in readers]
    finally:
        ended.touch()
        written = writer.communicate()[0]
    assert [process.returncode for process in (*readers, writer)] == [0] * (N_READERS + 1)
    assert int(written) > 100  # it did not stand still
    assert all(int(numbers) > 10 for numbers in seen)
    assert len(list(target.glob("v-*"))) <= 1 + N_READERS


def run(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
