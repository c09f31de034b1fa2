"""The commonest network on real brokers: edge brokers publish, cloud brokers subscribe."""

import pytest

from meshwright.deploy import Broker, plan, write_conf
from meshwright.deploy.lab.verify import verify
from meshwright.model.instance import Instance
from meshwright.overlay import design

EDGES = [f"edge-{i}" for i in range(1, 7)]
WANTED = [("cloud-1", "dev/+/telemetry"), ("cloud-2", "#")]
NAMES = [(edge, f"dev/{i}/telemetry") for i, edge in enumerate(EDGES, 1)]
FILTERS = [("edge-4", "#"), ("edge-5", "dev/+/telemetry"), ("edge-6", "dev/99/#")]


@pytest.mark.parametrize(
    ("published", "assume", "further"),
    [
        (NAMES, None, []),
        ([*NAMES, *FILTERS], None, []),
        ([], "anyone", []),
        (NAMES, None, FILTERS),
    ],
    ids=["names", "filters", "anyone", "further filters"],
)
def test_what_edge_brokers_publish_reaches_the_cloud(
    tmp_path, start_lab, published, assume, further
):
    workload = Instance.from_pairs(WANTED, nodes=EDGES, publications=published)
    overlay = design(workload, "gm", assume_publishers=assume)
    nodes = overlay.instance.node_names
    brokers = [Broker(node, "127.0.0.1", 1883 + i) for i, node in enumerate(nodes)]
    made = plan(overlay, brokers, publishers=further)
    write_conf(made, tmp_path / "conf")
    lab = start_lab(tmp_path / "conf")
    found = verify(lab, n_messages=2)
    assert found.findings == ()
    assert found.n_publishers == sum(len(route.publishers) for route in made.routes) > 0
    assert found.n_deliveries == 2 * sum(
        len(set(route.subscribers) - {node}) for route in made.routes for node in route.publishers
    )
    if published == NAMES and not further:
        assert found.n_relayed == 0
        assert found.unpublished == ("#", "dev/+/telemetry")
