"""Paper 5: subscribers assigned to brokers."""

from papers.assignment_claims import (
    BLIND,
    TABLE_1,
    TABLE_2,
    at_each,
    comparable,
    diminishing,
    excess,
    feasible,
    keep,
    largest_factor,
    least_factor,
    more_than_greedy,
    nearer_if_loose,
    on_average,
    one_level_longer,
    ratios,
    several_boxes,
    sweep_claim,
    times_of,
    vulnerable,
)
from papers.assignment_grids import (
    CROWDS,
    EVICTING,
    KEPT,
    LABELS,
    LOOSE,
    MANY_FULL,
    MANY_SIZE,
    ONE_FULL,
    ONE_SIZE,
    OTHER_SETS,
    PRINTED,
    SET_1,
    SEVEN,
    SMALL_SIZE,
    as_printed,
    by_alpha,
    by_crowd,
    by_setting,
    draw_alpha,
    draw_bandwidth,
    draw_corners,
    draw_delays,
    draw_load_shares,
    draw_loads,
    draw_ratios,
    draw_seconds,
    draw_sweep,
    one_level,
    over_fractional,
    several_levels,
)
from papers.findings import POINTS, at_least, at_most, mean, number, ordered, trend, where
from papers.model import Claim, Experiment, Kind, Rows
from papers.reasons import (
    ADDED,
    BUSY,
    CURVE,
    FEW_BOXES,
    FEWER_LEAVES,
    GENERATOR,
    GR_ALONE,
    GR_OVER,
    ONE_SEED,
    OUSTING,
    PACKED,
    PRINTED_APART,
    SIZE_DECIDES,
    SKEW,
    SMALL_SET_2,
    SMALL_SET_3,
    SMALL_TREES,
    STAR_KEEPS,
)

WITHIN = "within a factor of 1.22, as in Table I"
BEST = {"IS:H BI:H": SET_1["IS:H BI:H"]}


def _exp(id: str, what: str, cells, figure, claims, *, many: bool = False) -> Experiment:  # type: ignore[no-untyped-def]
    sizes = (MANY_SIZE, MANY_FULL) if many else (ONE_SIZE, ONE_FULL)
    return Experiment(f"icde11-{id}", what, cells, figure, *sizes, claims)


def _loose(rows: Rows) -> Rows:
    return where(rows, workload_latency="loose")


def _blind() -> list[Claim]:
    """Return the claims on methods that ignore the event space or the network, tight and loose."""
    return [
        Claim("Tight and loose: Closest-b, Closest and Balance take more bandwidth than SLP, Gr* "
              "and Gr", "high", at_each("bandwidth", BLIND, KEPT), CURVE, kind=Kind.ORDERING),
        Claim("Tight and loose: Gr-l has longer delays (RMS) than all others", "long",
              at_each("delay_rms", ("gr-no-latency",), (*KEPT, *BLIND)), GENERATOR,
              kind=Kind.ORDERING),
    ]  # fmt: skip


EXPERIMENTS = (
    _exp("fig6", "bandwidth, delay and load of all methods, set 1, one level",
         one_level(SET_1, (*SEVEN, *EVICTING)), draw_corners, [
        Claim("Gr overloads brokers on all four workloads", "infeasible on all four",
              keep(("gr",), broken=True), GENERATOR, kind=Kind.PRIVATE),
        Claim("Its variants that oust subscribers do too", "infeasible",
              keep(EVICTING, broken=True),
              OUSTING, kind=Kind.PRIVATE),
        Claim("Gr* keeps every limit (of SLP as printed: icde11-printed)", "feasible",
              feasible(("gr-star",)), GENERATOR, kind=Kind.ORDERING),
        Claim("Closest-b, Closest and Balance take more bandwidth than SLP, Gr* and Gr", "huge",
              at_each("bandwidth", BLIND, KEPT), GENERATOR, kind=Kind.ORDERING),
        Claim("Gr-l has longer delays (RMS) than all others", "unacceptable",
              at_each("delay_rms", ("gr-no-latency",), (*KEPT, *BLIND)), GENERATOR,
              kind=Kind.ORDERING),
        Claim("Gr has less even loads (STDEV) than SLP and Gr*, on average over the workloads",
              "very unbalanced", on_average("load_stdev", ("gr",), ("slp", "gr-star")), PACKED,
              kind=Kind.ORDERING),
    ]),
    _exp("fig7a", "bandwidth by workload, set 1, one level",
         one_level(SET_1, SEVEN), draw_bandwidth(tuple(SET_1)), [
        Claim("Gr takes more bandwidth than SLP and Gr*", "on all four workloads",
              at_each("bandwidth", ("gr",), ("slp", "gr-star")), SKEW, kind=Kind.ORDERING),
        Claim("Gr-l takes the least", "on all four workloads",
              at_each("bandwidth", (*KEPT, *BLIND), ("gr-no-latency",)), SKEW,
              kind=Kind.ORDERING),
        Claim(f"Gr* takes about the bandwidth of SLP ({WITHIN})", "comparable",
              comparable("gr-star", "slp"), SKEW, kind=Kind.ORDERING, repeated=True),
    ]),
    _exp("fig7b", "delay against least latency, IS:H BI:H, one level",
         one_level(BEST, SEVEN), draw_delays, [
        Claim("SLP and Gr* keep delays within 0.3", "0.3",
              lambda rows: at_most(
                  max(mean(rows, "delay_max", method=m) for m in ("slp", "gr-star")),
                  0.3 * (1 + 1e-6), "at most {:.3f}"), GENERATOR, kind=Kind.ORDERING),
        Claim("Gr-l does not", "far above",
              lambda rows: at_least(mean(rows, "delay_max", method="gr-no-latency"), 0.3,
                                    "up to {:.3g}"), GENERATOR, kind=Kind.PRIVATE),
    ]),
    _exp("fig7c", "loads of brokers, IS:H BI:H, one level",
         one_level(BEST, SEVEN), draw_loads, [
        Claim("Balance has the most even loads", "best",
              at_each("load_stdev", (*KEPT, "gr-no-latency", "closest", "closest-balanced"),
                       ("balance",)), GENERATOR, kind=Kind.ORDERING),
        Claim("SLP, Gr* and Gr-l stay within the largest load", "within",
              keep(("slp", "gr-star", "gr-no-latency"), broken=False), GENERATOR,
              kind=Kind.ORDERING),
        Claim("The load balance factor of SLP is close to the one desired", "1.5",
              lambda rows: number(mean(rows, "lbf", method="slp"), 1.5, "{:.2f}"), GENERATOR,
              kind=Kind.PRIVATE),
    ]),
    _exp("fig7d", "loads of brokers as a distribution, IS:H BI:H, one level",
         one_level(BEST, KEPT), draw_load_shares, [
        Claim("Gr leaves more than 10% of the brokers overloaded", "over 10%",
              lambda rows: at_least(100 * mean(rows, "overloaded", method="gr"), 10.0, "{:.1f}%",
                                    base=POINTS),
              GENERATOR, kind=Kind.PRIVATE),
    ]),
    _exp("table1", "bandwidth over the fractional solution, set 1",
         one_level(SET_1, KEPT), draw_ratios(TABLE_1), [
        *ratios(TABLE_1),
        Claim("Largest factor of SLP and Gr* over the fractional solution", "at most 2.7",
              largest_factor, SIZE_DECIDES, kind=Kind.PRIVATE),
    ]),
    _exp("table2", "bandwidth over the fractional solution, sets 2 and 3",
         one_level(OTHER_SETS, (*KEPT, "gr-no-latency")), draw_ratios(TABLE_2), [
        *ratios(TABLE_2),
        *[Claim(f"{name}: load of Gr above its limit, %", f"{paper}%",
                lambda rows, name=name, paper=paper: number(  # type: ignore[misc]
                    excess(name)(rows), paper, "{:.0f}%", base=POINTS), why, kind=Kind.PRIVATE)
          for name, paper, why in (("set 2", 39, SMALL_SET_2), ("set 3", 58, SMALL_SET_3))],
        Claim("SLP and Gr* keep the limit on load", "feasible",
              keep(("slp", "gr-star"), broken=False), GENERATOR, kind=Kind.ORDERING),
        Claim("set 2: Gr* takes less than the fractional solution", "less",
              lambda rows: at_most(over_fractional(rows, "set 2", "gr-star"), 1.0, "{:.2f} of it"),
              GENERATOR, kind=Kind.PRIVATE),
    ]),
    _exp("fig8a", "all methods on several levels, tight latency",
         several_levels(("tight",), SEVEN), draw_corners, [
        Claim("Gr and Gr* fail on load", "infeasible",
              keep(("gr", "gr-star"), broken=True, workload_latency="tight"), STAR_KEEPS,
              kind=Kind.PRIVATE),
        Claim("SLP does not", "feasible", feasible(("slp",), workload_latency="tight"), GENERATOR,
              kind=Kind.ORDERING),
        Claim("The least load balance factor there is (that of Balance; our trees were chosen by "
              "it)", "around 6", least_factor, SMALL_TREES, kind=Kind.PRIVATE),
    ], many=True),
    _exp("fig8b", "all methods on several levels, loose latency; what is said of both",
         several_levels(("tight", "loose"), SEVEN),
         lambda rows, title: draw_corners(_loose(rows), title), [
        *[Claim(f"{LABELS[method]} is feasible", "feasible",
                feasible((method,), workload_latency="loose"), GR_ALONE,
                kind=Kind.ORDERING if method == "slp" else Kind.PRIVATE) for method in KEPT],
        *[Claim(f"Loose latency: bandwidth of SLP, as ours extends it, against that of "
                f"{LABELS[method]}", paper,
                lambda rows, method=method: times_of(  # type: ignore[misc]
                    "slp", method)(_loose(rows)), ADDED, kind=Kind.IMPROVEMENT)
          for method, paper in (("gr-star", "slightly higher"), ("gr", "comparable"))],
        Claim("Gr* takes at most the bandwidth of Gr", "dominates",
              lambda rows: at_each("bandwidth", ("gr",), ("gr-star",))(_loose(rows)), GR_OVER,
              kind=Kind.ORDERING),
        *_blind(),
    ], many=True),
    _exp("fig9a", "bandwidth of SLP and Gr* on several levels",
         several_levels(("tight", "loose"), ("slp", "gr-star")), draw_bandwidth(tuple(SET_1)), [
        Claim("Bandwidth of SLP, as ours extends it, against that of Gr*, eight workloads",
              "higher on 7 of 8", times_of("slp", "gr-star"), ADDED, kind=Kind.IMPROVEMENT),
        Claim("SLP and Gr* are nearer to each other with loose latency than with tight",
              "more similar", nearer_if_loose, ADDED, kind=Kind.ORDERING),
    ], many=True),
    _exp("fig9b", "loads of brokers on several levels, IS:L BI:H",
         several_levels(("tight", "loose"), ("slp", "gr-star"), ("IS:L BI:H",)), draw_loads, [
        Claim("SLP keeps every limit, tight and loose", "feasible", feasible(("slp",)), GENERATOR,
              kind=Kind.ORDERING),
        Claim("Gr* overloads brokers with tight latency", "infeasible",
              keep(("gr-star",), broken=True, workload_latency="tight"), STAR_KEEPS,
              kind=Kind.PRIVATE),
        Claim("More than 10% of the brokers, with tight latency", "over 10%",
              lambda rows: at_least(
                  100 * mean(rows, "overloaded", method="gr-star", workload_latency="tight"),
                  10.0, "{:.1f}%", base=POINTS), STAR_KEEPS, kind=Kind.PRIVATE),
    ], many=True),
    _exp("fig10", "bandwidth against filter complexity, IS:H BI:H", by_alpha, draw_alpha, [
        Claim("Each number of boxes takes less bandwidth than a single one, for SLP, Gr* and Gr",
              "clear and similar", several_boxes, ONE_SEED, kind=Kind.ORDERING),
        Claim("1 to 3 boxes saves bandwidth, and more than 3 to 6, for SLP, Gr* and Gr",
              "3 is reasonable, more has diminishing effect", diminishing, GENERATOR,
              kind=Kind.ORDERING),
        Claim("SLP loses more than Gr and Gr* with 1 or 2 boxes", "more vulnerable", vulnerable,
              FEW_BOXES, kind=Kind.ORDERING),
    ]),
    Experiment(
        "icde11-fig11", "seconds of SLP against subscribers, several levels", by_crowd,
        draw_seconds, "2,500 to 20,000 subscribers, 60 brokers",
        "100,000 to 1,000,000 subscribers, 200 brokers", [
            Claim("The time rises with the subscribers, from each point to the next",
                  "shows it, states no trend",
                  lambda rows: ordered(trend(where(rows, workload_levels="many"), "seconds",
                                             "workload_subscribers", rising=True)),
                  BUSY, kind=Kind.ORDERING, repeated=True),
            Claim("A million subscribers: the time on one level over that on several",
                  "5.75 times", one_level_longer, FEWER_LEAVES, kind=Kind.PRIVATE),
            *[Claim(f"A million subscribers, {what}: seconds, at most", f"about {hours} hours",
                    lambda rows, levels=levels, hours=hours: at_most(  # type: ignore[misc]
                        mean(rows, "seconds", workload_levels=levels,
                             workload_subscribers=CROWDS[0][-1]), 3600.0 * hours, "{:.0f} s"),
                    kind=Kind.HARDWARE)
              for what, levels, hours in (("200 brokers on several levels", "many", 4),
                                          ("100 brokers on one level", "one", 23))],
        ], alone=True),
    *[
        Experiment(f"icde11-{key}", f"the paper's algorithm as printed, on small problems of one "
                   f"level{words}", as_printed(limits, methods), draw_bandwidth(tuple(SET_1)),
                   SMALL_SIZE, SMALL_SIZE, [
            Claim("SLP as printed takes more bandwidth than Gr* on three of four workloads",
                  where_from, more_than_greedy, GENERATOR, kind=Kind.ORDERING),
            *[Claim(f"{LABELS[one]} takes about the bandwidth of SLP as printed ({WITHIN})", paper,
                    comparable(one, "slp-paper"), PRINTED_APART, kind=Kind.ORDERING)
              for one, paper in alike.items()],
            Claim("SLP as printed keeps every limit", "feasible", feasible(("slp-paper",)),
                  GENERATOR, kind=Kind.ORDERING),
        ], below=True)
        for key, words, limits, methods, where_from, alike in (
            ("printed", "", {}, PRINTED, "on 3 of 4",
             {"gr-star": "comparable"}),
            ("printed-loose", ", with the limits of the loose setting", LOOSE, (*PRINTED, "gr"),
             "on 7 of 8, tight and loose",
             {"gr-star": "slightly lower", "gr": "comparable"}),
        )
    ],
    *[
        Experiment(f"icde11-{which}", f"bandwidth of SLP against {what}", by_setting(which),
                   draw_sweep(which), size, size, [sweep_claim(which)])
        for which, what, size in (
            ("sample", "the size of its load sample", ONE_SIZE),
            ("super", "the number of super-subscriptions", ONE_SIZE),
            ("threshold", "its threshold", MANY_SIZE),
        )
    ],
)  # fmt: skip
