"""Names in Mosquitto's files: directories, topic lines, values of one line."""

from meshwright.deploy.names import (
    ambiguous_patterns,
    bridge_pattern,
    directory_name,
    directory_names,
    fits_one_line,
)


def test_a_level_with_a_space_is_written_as_a_plus():
    assert bridge_pattern("hall 3/temp") == "+/temp"
    assert bridge_pattern('""') == "+"
    assert bridge_pattern("hall/temp") == "hall/temp"


def test_a_plus_that_would_carry_something_else_is_named():
    assert ambiguous_patterns(["hall 3/temp", "hall/temp"]) == {"hall 3/temp": "hall/temp"}
    assert ambiguous_patterns(["hall 3/temp", "hall 4/temp"]).keys() == {
        "hall 3/temp",
        "hall 4/temp",
    }
    assert ambiguous_patterns(["hall 3/temp", "x/+/y"]) == {}
    assert ambiguous_patterns(["hall 3/temp", "+/+"]) == {}
    assert ambiguous_patterns(["hall 3/temp", "hall 3/#", "#"]) == {}
    assert ambiguous_patterns(["hall 3/temp", "x/#"]) == {"hall 3/temp": "x/#"}


def test_directories_are_safe_and_differ():
    assert directory_name("../etc") == "%2E./etc".replace("/", "%2F")
    assert "/" not in directory_name("a/b\n\0")
    long = directory_names([f"{'n' * 300}{i}" for i in range(3)])
    assert len(set(long.values())) == 3
    assert max(map(len, long.values())) <= 100
    cases = directory_names(["Edge", "edge", "plan.json"])
    assert len({name.lower() for name in cases.values()} | {"plan.json"}) == 4


def test_values_that_need_more_than_one_line_are_not_written():
    assert fits_one_line("pass word")
    assert not fits_one_line(" x")
    assert not fits_one_line("a\nlistener 1")
    assert not fits_one_line("")
