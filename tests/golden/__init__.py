"""Frames as bytes, recorded once for each version of the protocol and never changed again.

`frames-2.json` holds what version 2 wrote. A change of the code that reads or writes any of them
in another way fails a test: such a change needs a new version (docs/mesh.md). To record a new one:

    .venv/bin/python -m tests.golden
"""
