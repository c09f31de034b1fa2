"""Figs. 6 to 9 of paper 1, on drawn workloads, for one law of the subscription sizes.

The paper gives the least and the most subscriptions of a node and leaves open how sizes between
them are spread. The main figures draw them uniformly; those named -steep in proportion to
1 / size^2, which fits the degrees that the paper states (degree 4 is about a fifth of MinMax-ODA's
maximum). The steep ones were added after the results of the uniform ones had been seen.
"""

from typing import NamedTuple

from papers.family_claims import (
    at_last,
    eighty_by_skew,
    gap_trend,
    mean_gap,
    mean_trends,
    of_family,
    per_family,
    topics_fall,
    trends,
    zipf_falls,
    zipf_falls_least,
)
from papers.findings import mean, ordered
from papers.model import Claim, Experiment, Kind
from papers.partial_claims import by_budget, by_equal_edges, eighty, ranked
from papers.partial_grids import (
    FAMILIES,
    RANKED,
    TITLES,
    by_nodes,
    by_ratio,
    by_size,
    by_topics,
    draw_families,
)
from papers.reasons import (
    LEAST_STEP,
    MORE_EDGES,
    MORE_TO_JOIN,
    SIZES_AND_TOPICS,
    SPREAD_OF_SIZES,
    STEEP_SIZES,
)


class SizeLaw(NamedTuple):
    """How subscription sizes are spread, and why a claim may differ with it."""

    suffix: str  # of the experiments' ids
    words: str
    size_law: str  # as `generate` names it
    why: str
    why_topics: str  # in the figure where topics vary

    @property
    def other(self) -> str:
        """What it changes against the law that is counted."""
        return self.words.removeprefix(", ")


UNIFORM = SizeLaw("", "", "uniform", SPREAD_OF_SIZES, SIZES_AND_TOPICS)
STEEP = SizeLaw("-steep", ", sizes as 1/size^2", "steep", STEEP_SIZES, STEEP_SIZES)


def figures(law: SizeLaw) -> list[Experiment]:
    """Return the experiments of Figs. 6 to 9."""
    return [
        Experiment(
            f"icdcs16-fig6{law.suffix}",
            f"support against |V| (Expo, Zipf, Unif){law.words}",
            by_nodes(law.size_law),
            draw_families("workload_nodes", "|V|"),
            "1,000 to 4,000 nodes, 1,000 topics, 20-600 subscriptions",
            "1,000 to 10,000 nodes, 1,000 topics, 20-600 subscriptions",
            [
                *per_family("GPM minus RandomM, mean over |V|, points", (43.9, 22.7, 30.1),
                             mean_gap("workload_nodes"), law.why),
                *per_family("GPM at the most nodes, %", (83.5, 92.0, 38.3),
                             at_last("workload_nodes", "gpm"), law.why),
                Claim(
                    "GPA, GPM and SpiderCastM rise with |V|, from each point to the next",
                    "rise noticeably",
                    trends("workload_nodes", dict.fromkeys(FAMILIES, True), RANKED[:3]),
                    law.why,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "GPM minus RandomM rises with |V|, from each point to the next",
                    "increasingly important",
                    gap_trend("workload_nodes", "gpm", rising=True),
                    law.why,
                    kind=Kind.ORDERING,
                ),
                *eighty_by_skew("workload_nodes", law.why),
                Claim(
                    "Support drops from Expo and Zipf to Unif (GPM)",
                    "83.5, 92 against 38.3%",
                    lambda rows: ordered(
                        (mean(of_family(rows, name), "support", method="gpm"),
                         mean(of_family(rows, "unif"), "support", method="gpm"))
                        for name in ("expo", "zipf")
                    ),
                    law.why,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                    "at every point",
                    ranked(lambda rows: rows, "workload_family", "workload_nodes"),
                    kind=Kind.ORDERING,
                ),
            ],
            other=law.other,
        ),
        Experiment(
            f"icdcs16-fig7{law.suffix}",
            f"support against |T| (Expo, Zipf, Unif){law.words}",
            by_topics(law.size_law),
            draw_families("workload_topics", "|T|"),
            "2,000 nodes, 1,000 to 10,000 topics, 20-600 subscriptions",
            "2,000 nodes, 1,000 to 10,000 topics, 20-600 subscriptions",
            [
                *topics_fall(law.why_topics),
                Claim("Zipf: GPM falls only by", "0.39 points", zipf_falls, law.why_topics,
                      at_default=True, kind=Kind.SYNTHETIC),
                *per_family("GPM minus RandomM, mean over |T|, points", (26.7, 22.0, 14.7),
                             mean_gap("workload_topics"), law.why_topics, at=True),
                Claim("Zipf: GPM falls less than under Expo and Unif, points", "less sensitive",
                      zipf_falls_least, law.why_topics, at_default=True, kind=Kind.ORDERING),
                *eighty_by_skew("workload_topics", law.why_topics, at=True),
                Claim(
                    "Support falls with |T| for all methods",
                    "decreases",
                    trends("workload_topics", dict.fromkeys(FAMILIES, False)),
                    LEAST_STEP,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                    "at every point",
                    ranked(lambda rows: rows, "workload_family", "workload_topics"),
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=law.other,
        ),
        Experiment(
            f"icdcs16-fig8{law.suffix}",
            f"support against the subscription size (Expo, Zipf, Unif){law.words}",
            by_size(law.size_law),
            draw_families("middle", "middle subscription size"),
            "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180",
            "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180",
            [
                Claim(
                    "Support rises with the subscription size under Expo and Unif, falls under "
                    "Zipf, from each point to the next, mean of the four methods",
                    "rises, falls",
                    mean_trends("middle", {"expo": True, "zipf": False, "unif": True}),
                    MORE_TO_JOIN,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "The gap between methods shrinks as sizes grow, from each point to the next "
                    "(GPA minus RandomM)",
                    "shrinks",
                    gap_trend("middle", "gpa", rising=False),
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=law.other,
        ),
        Experiment(
            f"icdcs16-fig9{law.suffix}",
            f"support against the budget ratio (Expo, Zipf, Unif){law.words}",
            by_ratio(law.size_law),
            draw_families("ratio", "budget ratio β"),
            "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
            "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
            [
                Claim(
                    "GPA >= GPM >= SpiderCastM >= RandomM at every ratio",
                    "at every ratio",
                    ranked(by_budget, "workload_family", "ratio"),
                    MORE_EDGES,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
                Claim(
                    "The same, all stopped at equal edges",
                    "at every ratio",
                    ranked(by_equal_edges, "workload_family", "ratio"),
                    MORE_EDGES,
                    at_default=True,
                    kind=Kind.ORDERING,
                    repeated=True,
                ),
                *[
                    claim
                    for name in ("expo", "zipf")
                    for claim in eighty(
                        TITLES[name],
                        law.why,
                        Kind.SYNTHETIC,
                        lambda rows, name=name: of_family(rows, name),  # type: ignore[misc]
                    )
                ],
                Claim(
                    "That is more evident under Expo and Zipf than under Unif (ratio 0.2)",
                    "more evident",
                    lambda rows: ordered(
                        (mean(by_budget(of_family(rows, name)), "support", method=m, ratio=0.2),
                         mean(by_budget(of_family(rows, "unif")), "support", method=m, ratio=0.2))
                        for name in ("expo", "zipf") for m in RANKED[:3]
                    ),
                    law.why,
                    at_default=True,
                    kind=Kind.ORDERING,
                ),
            ],
            other=law.other,
        ),
    ]  # fmt: skip
