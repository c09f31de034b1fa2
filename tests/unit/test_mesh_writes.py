"""The puts of one store: in order, again after a refusal, and not again once they were dropped."""

from meshwright.mesh.core.writes import AGAIN_AFTER, Writes


class Disk:
    """Keeps the puts that are under way, and answers them when it is told to."""

    def __init__(self):
        self.under_way, self.stored, self.refused, self.wakes = [], {}, [], []
        self.writes = Writes(
            lambda *put: self.under_way.append(put), self.refused.append, self.wakes.append
        )
        self.done = []

    def put(self, key, value="v"):
        self.writes.put((key,), (value,), lambda: self.done.append(key + value))

    def answer(self, *failures):
        """Answer the puts under way in order, with None or why they failed."""
        puts, self.under_way = self.under_way, []
        for (key, value, answer), failure in zip(puts, failures, strict=True):
            if failure is None:
                self.stored[key[0]] = value[0]
            answer(failure)


def test_what_waits_for_a_put_goes_on_when_it_and_all_before_it_are_stored():
    disk = Disk()
    for key in "abc":
        disk.put(key)
    disk.writes.after(lambda: disk.done.append("after"))
    disk.answer(None, "full", None)
    assert disk.done == ["av"]
    assert disk.refused == ["full"]
    assert disk.wakes == [AGAIN_AFTER]


def test_a_refused_put_is_tried_alone_and_then_those_after_it_in_order():
    disk = Disk()
    for key in "abc":
        disk.put(key)
    disk.answer("full", None, "full")
    disk.put("d")
    assert disk.under_way == []  # it waits
    disk.writes.retry()
    assert [key for key, *_ in disk.under_way] == [("a",)]
    disk.answer("still full")
    disk.writes.retry()
    disk.answer(None)
    assert [key for key, *_ in disk.under_way] == [("b",), ("c",), ("d",)]
    disk.answer(None, None, None)
    assert disk.done == ["av", "bv", "cv", "dv"]
    disk.put("e")
    disk.answer(None)
    assert disk.done[-1] == "ev"


def test_the_last_value_of_a_key_is_the_one_that_stays():
    disk = Disk()
    disk.put("a", "1")
    disk.put("a", "2")
    disk.answer("full", None)
    disk.writes.retry()
    disk.answer(None)
    assert disk.stored == {"a": "1"}  # and nobody was told that there is a 2
    assert disk.done == ["a1"]
    disk.answer(None)
    assert disk.stored == {"a": "2"}


def test_what_is_dropped_is_not_put_again_and_nothing_waits_for_it():
    disk = Disk()
    disk.put("a")
    disk.put("b")
    disk.answer("full", "full")
    disk.writes.drop(("a",))
    assert disk.done == ["av"]
    disk.writes.retry()
    disk.answer(None)
    assert disk.stored == {"b": "v"}
    disk.put("c")
    disk.writes.drop(("c",))  # while it is under way
    disk.answer("full")
    disk.put("d")
    disk.writes.retry()
    disk.answer(None)
    assert disk.stored == {"b": "v", "d": "v"}


def test_puts_go_on_where_all_that_was_refused_is_dropped():
    disk = Disk()
    disk.put("a")
    disk.answer("full")
    disk.writes.drop(("a",))
    disk.writes.retry()
    disk.put("b")
    disk.answer(None)
    assert disk.done == ["av", "bv"]


def test_what_is_put_while_something_goes_on_waits_for_its_turn():
    disk = Disk()
    disk.writes.put(("a",), ("v",), lambda: disk.put("c"))
    disk.put("b")
    disk.answer(None, None)
    disk.answer(None)
    assert disk.done == ["bv", "cv"]
