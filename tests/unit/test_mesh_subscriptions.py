"""What an agent subscribes to at its own broker."""

from hypothesis import given
from hypothesis import strategies as st

from meshwright.mesh.core.subscriptions import changed_cover, uncovered

PATTERNS = st.sets(
    st.sampled_from(["a", "a/b", "a/c", "a/+", "a/#", "+/b", "b", "b/c", "#", "c/d"])
)
NAMES = st.sets(st.sampled_from(["a", "a/b", "a/c", "b", "b/c", "c/d"]))


@given(PATTERNS, PATTERNS)
def test_a_cover_that_follows_changes_is_the_one_made_anew(before, now):
    assert changed_cover(uncovered(before), before, now) == uncovered(now)


@given(PATTERNS, NAMES, NAMES)
def test_also_where_only_names_change(before, gone, come):
    now = (before - gone) | come
    assert changed_cover(uncovered(before), before, now) == uncovered(now)
