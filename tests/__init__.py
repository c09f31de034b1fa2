"""Tests of Meshwright; CONTRIBUTING.md says what is where."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a script: what the tests start must not ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
