"""The command line run in this process, which saves starting one and reuses the Spark session."""

import sys

from meshwright import cli


def run_in_process(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    """Return (exit code, stdout, stderr) of a command."""
    monkeypatch.setattr(sys, "argv", ["meshwright", *words])
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    else:
        code = 0
    captured = capsys.readouterr()
    # Progress appears where the machine is slow; it is no part of the answer.
    errors = [line for line in captured.err.splitlines(keepends=True) if not line.startswith("[")]
    return int(code), captured.out, "".join(errors)
