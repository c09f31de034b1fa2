"""How a report is drawn: layouts, groups and packed numbers."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.instance import Instance
from meshwright.model.overlay import linked_parts
from meshwright.overlay import design
from meshwright.report.distributions import knee, thin
from meshwright.report.layout import SIDE, disc_layout, force_layout, ring_layout
from meshwright.report.overlay_facts import support_curve
from meshwright.report.page import embedded, packed
from meshwright.report.picture import find_groups, links_between, picture
from tests.reports import crowd


def decoded(text: str) -> list[int]:
    """The reverse of `encoded`, byte by byte."""
    out, value, shift, last = [], 0, 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            last += -((value + 1) // 2) if value % 2 else value // 2
            out.append(last)
            value = shift = 0
    return out


@given(st.lists(st.integers(-(2**40), 2**40), min_size=33, max_size=60))
def test_packed_numbers_can_be_read_again(numbers):
    assert decoded(packed({"a": numbers})["a"]["$i"]) == numbers


def test_lists_of_lists_keep_their_lengths_and_gaps():
    lists = [None, [], *[[i, i + 2] for i in range(40)]]
    lengths, values = map(decoded, packed(lists)["$l"])
    assert lengths == [-1, 0, *[2] * 40]
    assert values == [n for part in lists if part for n in part]


def test_only_whole_numbers_are_packed():
    mixed = [0.5, *range(40)]
    assert packed(mixed) == mixed
    assert packed([True] * 40) == [True] * 40


@given(st.text())
def test_no_text_can_end_a_script_element(text):
    import json

    found = embedded({text: text})
    assert not set("<>&\u2028\u2029") & set(found)
    assert json.loads(found) == {text: text}


def test_the_same_links_give_the_same_picture_within_the_square():
    overlay = design(crowd(150, 20, 3), "gm")
    one, other = picture(overlay), picture(overlay)
    assert one == other
    assert one["of"] == "nodes"
    assert min(one["x"] + one["y"]) >= 0
    assert max(one["x"] + one["y"]) <= SIDE
    assert len(set(zip(one["x"], one["y"], strict=True))) == 150


def test_linked_nodes_are_drawn_nearer_than_others():
    # Two cliques and a bridge: what belongs together must be together.
    edges = [(u, v) for a in (0, 10) for u in range(a, a + 10) for v in range(u + 1, a + 10)]
    x, y = force_layout(20, np.array([*edges, (9, 10)], np.int32))
    place = np.column_stack((x, y)).astype(float)
    far = np.linalg.norm(place[:, None] - place[None], axis=2)
    assert far[:10, :10].max() < far[:9, 11:].min()


def test_separate_parts_are_drawn_apart():
    # A star of five, a path of three, and two nodes alone.
    edges = np.array([(0, 1), (0, 2), (0, 3), (0, 4), (5, 6), (6, 7)], np.int32)
    x, y = force_layout(10, edges)
    place = np.column_stack((x, y)).astype(float)
    parts = [place[:5], place[5:8], place[8:9], place[9:]]
    boxes = [(part.min(axis=0), part.max(axis=0)) for part in parts]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[i + 1 :]:
            assert (low > other_high).any() or (other_low > high).any()


def test_a_ring_is_drawn_as_a_circle_in_its_order():
    x, y = ring_layout(np.array([2, 0, 1, 3], np.int32))
    assert (x[2], y[2]) == (SIDE // 2, 0)
    assert (x[0], y[0]) == (SIDE, SIDE // 2)


def test_discs_do_not_overlap():
    draw = np.random.default_rng(3)
    pairs = np.array([(u, v) for u in range(30) for v in range(u + 1, 30)][::4], np.int32)
    (x, y), radius = disc_layout(draw.random(30) * 5 + 1, pairs, draw.random(len(pairs)))
    far = np.hypot(x[:, None] - x[None], y[:, None] - y[None]) + np.eye(30) * SIDE * 9
    assert (far >= radius[:, None] + radius[None]).all()


def test_groups_are_few_bounded_and_numbered_by_size():
    overlay = design(crowd(900, 60, 3), "gm")
    group = find_groups(900, overlay.edges)
    sizes = np.bincount(group)
    assert 10 <= len(sizes) <= 80
    assert (np.diff(sizes) <= 0).all()
    assert sizes.max() <= 2 * -(-900 // 30)
    pairs, counts, inside = links_between(group, overlay.edges)
    assert counts.sum() + inside.sum() == overlay.n_edges
    assert (pairs[:, 0] < pairs[:, 1]).all()
    # Well-linked: far more links stay inside than if groups were drawn by lot.
    assert inside.sum() > 3 * overlay.n_edges * (sizes / 900 @ sizes / 900)


def test_nodes_without_links_are_drawn_as_one_group():
    edges = np.array([(i, i + 1) for i in range(0, 200, 2)], np.int32)
    group = find_groups(1000, edges, most=40)
    assert group.max() < 40
    assert np.bincount(group).sum() == 1000


def test_a_group_tells_of_how_many_separate_parts_it_is():
    overlay = design(crowd(400, 30, 3), "gpa", max_edges=150)
    drawn = picture(overlay, most_nodes=100)
    part = linked_parts(400, overlay.edges)
    for g, parts in enumerate(drawn["parts"]):
        mine = [part[v] for v, h in enumerate(drawn["group"]) if h == g]
        assert parts == len(set(mine))
    assert max(drawn["parts"]) > 1
    whole = picture(design(crowd(400, 30, 3), "gm"), most_nodes=100)
    assert set(whole["parts"]) == {1}


def test_a_large_overlay_is_drawn_as_groups():
    overlay = design(crowd(400, 30, 3), "gm")
    drawn = picture(overlay, most_nodes=300)
    assert drawn["of"] == "groups"
    assert sum(drawn["size"]) == 400
    assert sum(drawn["links_inside"]) + sum(drawn["links"]["count"]) == overlay.n_edges


@pytest.mark.parametrize("method", ["sl", "none"])
def test_a_large_small_world_is_drawn_as_stretches_of_its_ring(method):
    from meshwright.overlay import design as design_any

    world = design_any(crowd(300, 30, 3), method, certify=False)
    drawn = picture(world, most_nodes=200)
    group = np.array(drawn["group"])[world.ring]
    assert (np.diff(group) >= 0).all()
    assert drawn["layout"] == "ring"


def test_the_knee_is_where_the_curve_bends():
    rise = np.concatenate((np.linspace(0, 0.9, 10), np.linspace(0.901, 1.0, 90)))
    assert knee(rise) == (9, pytest.approx(0.9 - 9 / 99))
    assert knee(np.linspace(0, 1, 3)) == (0, 0.0)
    assert knee(np.array([0.5])) == (0, 0.0)


def test_the_support_curve_marks_where_it_reaches_80_percent():
    instance = Instance.from_pairs((node, topic) for node in "abc" for topic in "xyz")
    curve = support_curve(design(instance, "gm"))
    assert curve["points"] == [[0, 0.0], [1, 0.5], [2, 1.0]]
    assert curve["knee"] is None  # a straight line
    assert curve["eighty_percent"] == {"links": 2, "share_of_links": 1.0, "support": 1.0}


def test_thinning_keeps_both_ends_and_what_is_asked_for():
    kept = thin(100_000, also=[77_777])
    assert {0, 99_999, 77_777} <= set(kept)
    assert len(kept) < 300
    assert thin(5) == [0, 1, 2, 3, 4]
