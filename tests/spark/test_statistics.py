import json
import random
from collections import Counter

import pytest

from meshwright.workload.forecast import forecast
from meshwright.workload.ingest import ingest
from meshwright.workload.statistics import ccdf, quantile, statistics

RNG = random.Random(11)
# Users as nodes and topics: some follow nobody, and some nobody follows.
PAIRS = sorted({(f"u{RNG.randrange(40):02d}", f"u{RNG.randrange(8):02d}") for _ in range(150)})
PAIRS = [(a, b) for a, b in PAIRS if a != b]


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("statistics")
    (place / "s.edges").write_text("".join(f"{a} {b}\n" for a, b in PAIRS))
    ingest(spark, [str(place / "s.edges")], place / "w", directed=True)
    return statistics(spark, place / "w")


def histogram(values) -> list[tuple[int, int]]:
    return sorted(Counter(values).items())


def users() -> set[str]:
    return {name for pair in PAIRS for name in pair}


def test_counts_are_those_of_the_pairs(found):
    assert found.n_subscriptions == len(PAIRS)
    assert found.n_nodes == found.n_topics == len(users())


def test_histograms_count_those_with_nothing_too(found):
    wants = Counter(a for a, _ in PAIRS)
    wanted = Counter(b for _, b in PAIRS)
    assert list(found.subscriptions_per_node) == histogram(wants[u] for u in users())
    assert list(found.subscribers_per_topic) == histogram(wanted[u] for u in users())
    assert found.subscribers_per_topic[0][0] == 0


def test_popular_topics_come_by_subscribers_then_by_name(found):
    wanted = Counter(b for _, b in PAIRS)
    expected = sorted(wanted.items(), key=lambda item: (-item[1], item[0]))[:10]
    assert list(found.popular_topics) == expected


def test_the_forecast_counts_the_pairs_of_nodes_that_topics_give(found):
    wanted = Counter(b for _, b in PAIRS)
    assert found.forecast.incidences == sum(n * (n - 1) // 2 for n in wanted.values())
    assert found.forecast.memory_bytes > 0
    assert found.forecast.seconds > 0


def test_everything_can_be_written_as_json(found):
    content = json.loads(json.dumps(found.as_dict()))
    assert content["n_subscriptions"] == len(PAIRS)
    shares = [share for _, share in content["subscribers_per_topic"]["ccdf"]]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)


def test_a_ccdf_tells_the_share_with_at_least_each_value():
    assert ccdf([(0, 1), (2, 2), (5, 1)]) == [(0, 1.0), (2, 0.75), (5, 0.25)]
    assert ccdf([]) == []


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 1), (0.51, 3), (1.0, 9)])
def test_a_quantile_is_the_smallest_value_that_covers_the_share(share, value):
    assert quantile([(1, 2), (3, 1), (9, 1)], share) == value


def test_the_quantile_of_nothing_is_zero():
    assert quantile([], 0.5) == 0


def test_a_forecast_grows_with_each_of_its_parts():
    base = forecast(10, 100, 1000)
    assert forecast(11, 100, 1000).memory_bytes > base.memory_bytes
    assert forecast(10, 101, 1000).memory_bytes > base.memory_bytes
    assert forecast(10, 100, 1001).seconds > base.seconds
