"""What the tests on real brokers share: labs that are stopped when a test ends."""

from contextlib import ExitStack

import pytest


@pytest.fixture
def start_lab():
    """Yield a function like `up` of the lab; whatever it starts is stopped with the test."""
    from meshwright.deploy.lab.running import up

    with ExitStack() as started:

        def start(*arguments, **options):
            lab = up(*arguments, **options)
            started.callback(lambda: lab.stop() if lab.place.exists() else None)
            return lab

        yield start
