"""Topics that bridges cannot hold, told when a workload is made and when it is designed for."""

from meshwright.cli import show
from meshwright.model.instance import Instance
from meshwright.patterns.bridgeable import hard_topics
from tests.datasets import write_instance

GOOD = ["a/b", "a/+", "#", "größe/数", "$own/x", "a-b_c.d"]
HARD = ["a b", " a", "a#", "$SYS/x", "$share/g/t", "tab\tbed", "x/\u0085"]


def test_hard_topics_are_found_and_no_others(tmp_path):
    write_instance(Instance.from_pairs([("n", name) for name in GOOD + HARD]), tmp_path / "w")
    assert sorted(hard_topics(tmp_path / "w")) == sorted(HARD)


def test_ten_are_listed_on_one_line(tmp_path, capsys):
    write_instance(Instance.from_pairs([("n", f"a {i:02d}") for i in range(12)]), tmp_path / "w")
    show.warn_of_topics(tmp_path / "w")
    err = capsys.readouterr().err
    assert err.startswith("warning: Mosquitto's bridges cannot hold 12 topics as written")
    assert err.endswith("'a 09', ...\n")
    assert err.count("\n") == 1
    write_instance(Instance.from_pairs([("n", name) for name in GOOD]), tmp_path / "good")
    show.warn_of_topics(tmp_path / "good")
    assert capsys.readouterr().err == ""
