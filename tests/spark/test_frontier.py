"""The frontier on Spark: the same points for any number of tasks, each what it claims."""

from dataclasses import replace

import numpy as np
import pytest

import meshwright as mw
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay
from meshwright.overlay.frontier import load_frontier
from meshwright.overlay.spark_frontier import frontier_on_spark
from tests.datasets import write_instance


def hubs():
    """Return an instance whose plan without a cap has a node with many links."""
    rng = np.random.default_rng(3)
    pairs = {(f"node-{v:02}", f"topic-{t}") for v in range(16) for t in rng.choice(9, 2)}
    return Instance.from_pairs(pairs | {("node-00", f"topic-{t}") for t in range(9)})


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    return write_instance(hubs(), tmp_path_factory.mktemp("frontier") / "workload")


def test_points_are_the_same_for_one_task_and_for_five(spark, tmp_path, workload):
    found = []
    for partitions in (1, 5):
        out = tmp_path / str(partitions) / "f"
        out.parent.mkdir()
        made = frontier_on_spark(spark, workload, out, rounds=40, partitions=partitions)
        overlays = [load_overlay(made.overlay_path(point)) for point in made.points]
        points = [replace(point, seconds=0.0) for point in made.points]
        found.append((points, [overlay.digest for overlay in overlays]))
    assert found[0] == found[1]
    points, last = found[0][0], found[0][0][-1]
    assert len(points) > 2
    assert last.max_degree is None
    assert all(point.degree <= point.max_degree for point in points[:-1])
    assert points[0].max_degree == last.bound_degree
    assert points[-2].max_degree < last.degree
    here = design(hubs(), "refined", rounds=40, max_degree=points[0].max_degree)
    assert (points[0].links, points[0].support) == (here.n_edges, here.support)
    assert mw.check(made.overlay_path(points[1])).findings == ()


def test_every_point_obeys_limits_and_links(spark, tmp_path, workload):
    limits = [{"node": "node-00", "max_degree": 6}, {"node": "node-01", "role": "leaf"}]
    links = [{"a": "node-00", "b": "node-02", "allowed": "no"}]
    made = frontier_on_spark(spark, workload, tmp_path / "f", rounds=40, limits=limits, links=links)
    assert len(made.points) > 1
    for point in made.points:
        path = made.overlay_path(point)
        overlay = load_overlay(path)
        assert overlay.degrees[0] <= 6
        assert (0, 2) not in overlay.edge_list()
        assert overlay.limits is not None
        assert overlay.links is not None
        assert mw.check(path).findings == ()
    here = design(hubs(), "refined", rounds=40, limits=limits, links=links)
    assert made.points[-1].links <= here.n_edges


def test_limits_of_unknown_nodes_are_refused_before_the_search(spark, tmp_path, workload):
    with pytest.raises(InputError, match="'node-99'"):
        frontier_on_spark(spark, workload, tmp_path / "f", limits=[{"node": "node-99"}])


def test_a_workload_with_publishers_is_planned_with_them(spark, tmp_path):
    instance = Instance.from_pairs(
        [("cloud", "dev/+/temp")],
        publications=[(f"edge-{i}", f"dev/{i}/temp") for i in range(4)],
    )
    workload = mw.write(instance, tmp_path / "w")
    found = mw.frontier(workload, tmp_path / "f", rounds=5)
    assert [point.links for point in found.points] == [4]  # all at the cloud: no cap is possible
    assert load_overlay(found.overlay_path(found.points[0])).connected
    assert load_frontier(tmp_path / "f").points == found.points
