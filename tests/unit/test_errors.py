import inspect

import pytest

from meshwright import errors
from meshwright.errors import (
    CheckError,
    DeployError,
    InfeasibleError,
    InputError,
    MeshwrightError,
    SolverError,
    SparkError,
    unknown_choice,
)


def test_an_unknown_name_is_answered_with_the_nearest_and_all_choices():
    error = unknown_choice("method", "minmix", ["gm", "minmax"])
    assert isinstance(error, InputError)
    assert str(error) == "unknown method 'minmix'; did you mean 'minmax'? Choose from: gm, minmax"


def test_a_name_like_no_other_is_answered_with_all_choices():
    error = unknown_choice("format", "docx", iter(["csv", "tsv"]))
    assert str(error) == "unknown format 'docx'. Choose from: csv, tsv"


@pytest.mark.parametrize(
    ("got", "suggested"),
    [
        ("svg", None),
        ("cvs", "csv"),
        ("csvs", "csv"),
        ("CSV", "csv"),
        ("grapml", "graphml"),
        ("garphlm", "graphml"),
        ("png", None),
        ("d", None),
        ("", None),
    ],
)
def test_only_a_misspelt_choice_is_suggested(got, suggested):
    text = str(unknown_choice("export format", got, ["csv", "graphml", "dot"]))
    hint = f"; did you mean {suggested!r}?" if suggested else "."
    assert text == f"unknown export format {got!r}{hint} Choose from: csv, graphml, dot"


def test_a_choice_that_is_no_text_is_quoted():
    assert "unknown draw None." in str(unknown_choice("draw", None, ["a"]))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 2),
        (InfeasibleError("x"), 1),
        (CheckError("x", ("finding",)), 1),
        (SolverError("x", "limit"), 3),
        (SparkError("x", "log"), 3),
        (DeployError("x", "host:1883"), 3),
    ],
)
def test_each_error_knows_the_exit_code(error, code):
    assert isinstance(error, MeshwrightError)
    assert error.exit_code == code
    assert str(error) == "x"


def test_errors_carry_their_evidence():
    assert CheckError("x", ("a", "b")).findings == ("a", "b")
    assert SolverError("x", "time limit").status == "time limit"
    assert SparkError("x", "/tmp/log").log == "/tmp/log"
    assert DeployError("x", "host:1").endpoint == "host:1"


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


def test_the_tree_in_the_docstring_names_every_error():
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, MeshwrightError):
            assert name in (errors.__doc__ or "").split()
