"""The command, as ``python -m meshwright`` and as a script: interrupts end it from here on."""

import signal
import sys

from meshwright.runtime import interrupts


def main() -> None:
    """Run the command line; an interrupt at any time ends it with 130 and a word."""
    interrupts.raise_on(signal.SIGINT)
    try:
        from meshwright.cli import main

        main()
    except KeyboardInterrupt:
        print(f"error: {interrupts.MESSAGE}", file=sys.stderr)
        sys.exit(interrupts.EXIT_CODE)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left to do takes a moment
        # Python remembers an interrupt that left code run from text, as libraries run it, and would
        # end this process by a signal instead of the exit code. Running some text makes it forget.
        exec("")


if __name__ == "__main__":
    main()
