"""Paper 2 again, where each node wants each topic with probability s / |T|.

The paper says both that subscriptions are s in number and that "each node is interested in each
topic uniformly at random". The main figures give each node exactly s topics; these show the
results of the other reading, as ego-Facebook does for FB. They were added
after the results of the first had been seen.
"""

from papers.degree_claims import (
    S,
    T,
    V,
    conclusions,
    degrees_part,
    pair_claims,
    percent_more,
    star_claims,
    times_as_large,
)
from papers.model import Claim, Kind
from papers.reasons import EVENER_TIES, FEW_HUBS, LESS_WITH_SIZE, SMALL_GAIN, TIES_BY_ID
from papers.ton11 import (
    AVERAGE,
    DEGREE,
    PAIR,
    STARS,
    all_stars,
    by_nodes,
    by_size,
    figure,
    one,
    star_sizes,
    stars_by_nodes,
    stars_by_topics,
)
from papers.workloads import EACH

LARGE = "1,000 to 10,000 nodes, 10 subscriptions on average"
SMALL = "100 nodes, 100 topics, 10 to 50 subscriptions on average"
OTHER = "each topic with a probability"


def _more(over: str, paper: float, figure: str) -> Claim:
    return Claim(
        f"Fig. {figure}: average degree of MinMax-ODA over GM's, on average",
        f"{paper:g}% more",
        percent_more(over, paper),
        LESS_WITH_SIZE,
        at_default=True,
        kind=Kind.SYNTHETIC,
    )


EXPERIMENTS = (
    one(
        "fig2-each",
        "Figs. 2, 4 and 6 where each topic is wanted with a probability, 100 topics",
        by_nodes(100, draw=EACH),
        figure(V, "nodes", *DEGREE),
        f"{LARGE}, 100 topics",
        [
            *pair_claims(V, 10, name="100 topics", why=TIES_BY_ID, even=EVENER_TIES),
            *degrees_part(V, "nodes", FEW_HUBS),
            _more(V, 9.0, "4"),
            Claim(
                "Fig. 6: diameter of GM (ties by id) against MinMax-ODA, on average",
                "0.7 times",
                times_as_large("diameter", V, 0.7),
                "GM's hubs, which sizes that vary give it, shorten its paths.",
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
        ],
        OTHER,
    ),
    one(
        "fig3-each",
        "Figs. 3 and 5 where each topic is wanted with a probability, 200 topics",
        by_nodes(200, draw=EACH),
        figure(V, "nodes", *DEGREE),
        f"{LARGE}, 200 topics",
        [
            *pair_claims(V, 10, name="200 topics", why=TIES_BY_ID, even=EVENER_TIES),
            *degrees_part(V, "nodes", FEW_HUBS),
            _more(V, 9.0, "5"),
        ],
        OTHER,
    ),
    one(
        "fig7-each",
        "Figs. 7 and 8 where each topic is wanted with a probability",
        by_size(PAIR, EACH),
        figure(S, "subscription size", *DEGREE),
        SMALL,
        [
            *pair_claims(S, 4, name="10 to 50 subscriptions", why=TIES_BY_ID, even=EVENER_TIES),
            *degrees_part(S, "the size", FEW_HUBS),
            _more(S, 10.0, "8"),
        ],
        OTHER,
    ),
    one(
        "fig17-each",
        "Fig. 17 where each topic is wanted with a probability",
        stars_by_nodes(EACH),
        figure(V, "nodes", *AVERAGE, STARS),
        "100 to 1,000 nodes, 100 topics, 10 subscriptions on average",
        star_claims(V, 2.3, 3, 2, rising=False, why=SMALL_GAIN, apart=True),
        OTHER,
    ),
    one(
        "fig18-each",
        "Fig. 18 where each topic is wanted with a probability",
        stars_by_topics(EACH),
        figure(T, "topics", *AVERAGE, STARS),
        "100 nodes, 100 to 500 topics, 20 subscriptions on average",
        star_claims(T, 1.9, 6, 2, rising=True, why=SMALL_GAIN),
        OTHER,
    ),
    one(
        "fig19-each",
        "Fig. 19 where each topic is wanted with a probability",
        all_stars(EACH),
        star_sizes,
        f"{SMALL}; the points of Figs. 17 and 18, too, where it is said",
        [*star_claims(S, 1.8, 20, 1, rising=False, why=SMALL_GAIN), *conclusions(SMALL_GAIN)],
        OTHER,
    ),
)
