"""What macOS lacks is not needed: a design in a process without the Linux-only calls."""

import subprocess
import sys
import textwrap

WITHOUT_LINUX = textwrap.dedent(
    """
    import os, pathlib

    for name in ("sched_getaffinity", "process_cpu_count"):
        if hasattr(os, name):
            delattr(os, name)
    opened = pathlib.Path.open
    def refuse(path, *args, **kwargs):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(path)
        return opened(path, *args, **kwargs)
    pathlib.Path.open = refuse

    import meshwright as mw
    from meshwright.runtime.machine import machine_memory, process_name

    pairs = [(f"n{i}", f"t{(i * k) % 7}") for i in range(600) for k in (1, 2, 3)]
    instance = mw.Instance.from_pairs(pairs)
    for method in ("gm", "minmax", "cd", "sl"):
        print(mw.disconnected_topics(mw.design(instance, method=method)))
    assert machine_memory() > 0 and process_name()
    """
)


def test_a_design_needs_no_affinity_and_no_proc():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LINUX], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "[]\n" * 4
