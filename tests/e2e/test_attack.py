"""A few cases of each kind of attack; `scripts/attack --minutes 20` tries many more."""

import tempfile

import pytest

from tests.attack.__main__ import attack
from tests.attack.cases import KINDS

CASES = {"source": 3, "dataset": 6, "inventory": 4, "configuration": 4, "parameters": 5}
SEED = 1


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory for the cases, and one for temporary files in which leftovers are seen."""
    directory = tmp_path_factory.mktemp("attack")
    kept, tempfile.tempdir = tempfile.tempdir, str(directory / "temporary")
    (directory / "temporary").mkdir()
    yield directory
    tempfile.tempdir = kept


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_of_a_kind_succeeds(spark, place, kind):
    wrong = [attack(SEED, number, kind, place) for number in range(CASES.get(kind, 1))]
    assert [text for text in wrong if text] == []
