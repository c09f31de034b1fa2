"""Attacks on the command line: mutated inputs of every kind, races, kills and interrupts.

A case draws an input, changes it, runs a command, and looks at what the command did and left. It
passes if the exit code is 0, 1 or 2, nothing looks like a traceback, nothing is half-written, old
data is whole, no process and no scratch file is left, and every row of a source is accounted for.
`scripts/attack` runs cases for some minutes; `tests/e2e/test_attack.py` runs a few of each kind.
"""
