"""The tables of methods: reading one imports no kernel, and every function they name exists."""

import subprocess
import sys

import pytest

from meshwright.content.methods.registry import METHODS as ASSIGNMENT_METHODS
from meshwright.errors import InputError
from meshwright.model.method import Method, check_seed, choose, fill
from meshwright.overlay.methods import METHODS as OVERLAY_METHODS

TABLE = {
    "plain": Method("math:sqrt"),
    "capped": Method("math:sqrt", {"max_edges": None, "seed": 1}, budget="max_edges"),
}


@pytest.mark.parametrize("table", [OVERLAY_METHODS, ASSIGNMENT_METHODS], ids=["overlay", "content"])
def test_every_function_of_a_table_can_be_loaded(table):
    assert all(callable(method.load()) for method in table.values())


def test_the_table_of_overlay_methods_imports_no_compiler():
    code = "import sys, meshwright.overlay; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_are_filled_in_and_none_counts_as_not_given():
    assert choose(TABLE, "plain").load()(9) == 3
    assert fill(TABLE, "plain", {"seed": None}) == {}
    assert fill(TABLE, "capped", {"max_edges": 3}) == {"max_edges": 3, "seed": 1}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("plan", {}, "unknown method 'plan'; did you mean 'plain'"),
        ("plain", {"k": 2}, "plain does not take k; it takes no parameter"),
        ("capped", {"k": 2}, "capped does not take k; it takes max_edges, seed"),
        ("capped", {}, r"capped needs a budget: give max_edges \(--max-edges\)"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        fill(TABLE, name, given)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "1"])
def test_a_seed_is_a_whole_number_of_63_bits(seed):
    with pytest.raises(InputError, match="seed is"):
        check_seed(seed)
