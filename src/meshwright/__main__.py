"""``python -m meshwright``."""

from meshwright.cli import main

main()
