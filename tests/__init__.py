"""Tests of Meshwright; CONTRIBUTING.md says what is where."""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a script: what the tests start must not ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The JVMs of the tests run for seconds on few rows: the quick compiler and one collector thread
# save much processor time (CONTRIBUTING.md). By default the quick compiler gets a code cache of
# 48 MB, of which the tests of ingest used 45.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
for variable in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(variable, JVM_OPTIONS)  # Spark's scripts read them
