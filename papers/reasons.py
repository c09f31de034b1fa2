"""Why claims differ, in the words of the ledger: what separate runs showed, or what we think.

The figures given here were measured. "Separate runs" are small runs made to check a reason: one
seed unless more are named, and the workloads of the experiments except for the stated change.
"""

# Paper 1
OTHER_GRAPHS = (
    "The samples are of other graphs than the paper's, with other hubs: the maximum degree of "
    "MinMax-ODA ranges from 25 to 101 in five samples of Cornell5 and from 41 to 79 in five of "
    "ego-Facebook."
)
DEGREE_BUDGET = (
    "The ratio is relative to the maximum degree of MinMax-ODA, which differs on our samples (the "
    "paper's FB1K: 231), and the budget decides: with the paper's 46 links per node, a fifth of "
    "231, RandomM has 0.44 to 0.73 on our five samples of FB1K (separate runs)."
)
EDGE_BUDGET = (
    "GM itself needs 0.55 to 0.79 of MinMax-ODA's edges on our 15 samples of 1,000 nodes, and "
    "0.65 and 0.63 on FB10K and TW10K (separate runs): a fifth of them cannot be enough. In the "
    "paper's samples MinMax-ODA must have used five times GM's."
)
SPREAD_OF_SIZES = (
    "The paper leaves open how the sizes from 20 to 600 are spread; ours are uniform (310 on "
    "average). With sizes that fall as 1/size^2 (69 on average) GPM has 83, 86 and 47% (Expo, "
    "Zipf, Unif) at 2,000 nodes and degree 4, which is 37, 30 and 33 points above RandomM; ours "
    "has 96, 89 and 83%, 9, 12 and 20 points above. Degree 4, about 20% of MinMax-ODA's maximum "
    "in the paper, is 21, 29 and 40% of it here."
)
SIZES_AND_TOPICS = (
    "The paper leaves open how the sizes from 20 to 600 are spread. With sizes that fall as "
    "1/size^2 (69 on average) GPM falls from 73 to 22% (Expo), 80 to 78% (Zipf) and 36 to 9% "
    "(Unif), and is 25, 28 and 14 points above RandomM on average (runs at 1,000, 5,000 and "
    "10,000 topics)."
)
SPIDER_GAP = (
    "The graph decides: the gap is about 7 points on samples of Cornell5 and of ego-Twitter, 2.5 "
    "on ego-Facebook (see their rows), and the paper's graphs are others."
)
FIFTH_OF_EDGES = (
    "It is a fifth of the edges of MinMax-ODA, which needs 4,570 to 5,062 on our five samples of "
    "FB1K and 2,679 to 3,403 on those of ego1K; the paper's FB1K took about 6,850."
)
MORE_EDGES = (
    "A share of the maximum degree of MinMax-ODA allows more edges than the same share of its "
    "edges, so GPM uses more than GPA is given; stopped at equal edges, as in the next row, most "
    "of the difference disappears."
)
FEW_BOUND = (
    "A share of the maximum degree binds few nodes. On our samples of FB1K RandomM has 0.44 to "
    "0.73 with the paper's 46 links per node and 23,000 edges, and 0.03 to 0.07 when stopped at "
    "the 1,370 of the paper's GPA: the paper's 0.367 cannot come from as few either."
)
# Paper 2
EVEN_TIES = (
    "With ties by degree GM spreads its edges nearly as evenly as MinMax-ODA, at no cost: with "
    "equally many topics a node the advantage lies in how GM breaks ties."
)
EQUAL_SIZES = (
    "Here every node has exactly s topics. Where each topic is wanted with probability s/|T|, so "
    "that sizes vary, hubs arise: see the experiments named -each. Ties alone are not the reason: "
    "broken towards the largest degree, GM has 1.6 to 2.0 times the maximum degree of MinMax-ODA "
    "at 100 nodes and 2.9 at 600 (runs of a naive twin)."
)
EXTRA_EDGES = (
    "Where each topic is wanted with probability s/|T| it is near the paper's: see the "
    "experiments named -each. Edges of gain 0 that count in degrees, as in Alg. 1, change it by "
    "less than 1% (runs of a naive twin up to 600 nodes)."
)
TIES_BY_ID = (
    "Ties go to the smaller id here. Broken towards the largest degree the ratio is 2.9 to 6.8 "
    "times at 100 nodes and 8.4 instead of 4.6 at 600 (runs of a naive twin); the paper does not "
    "state its rule."
)
FEW_HUBS = (
    "The maximum degree of GM is that of its largest hub and varies with the draw; we think that "
    "the paper's curve is smoother because it averages more draws."
)
EVENER_TIES = "With ties by degree GM spreads its edges more evenly, at no cost."
LESS_WITH_SIZE = (
    "It is 11% at 10 subscriptions and 1% at 50; we think that the paper's sizes vary differently."
)
EQUAL_STARS = (
    "Here every node has exactly s topics. Where each topic is wanted with probability s/|T|, the "
    "limits of Figs. 17 to 19 and most gains are near the paper's: see the experiments named "
    "-each."
)
SMALL_GAIN = (
    "The gain is a few edges in a hundred; we think that ties among equal stars decide it, for "
    "which the paper gives no rule."
)
TIES_UNTOLD = "Ties go to the smaller id here; we think that the paper breaks them differently."
# Paper 3
FAST_NAIVE = (
    "Both methods are compiled here, and the naive one is a tight loop over arrays: at 1,000 Zipf "
    "nodes and 100 topics it takes 20 s where the paper's took 555 minutes, 1,700 times as long, "
    "while the fast one takes 0.04 s and the paper's 3.8 s, 90 times as long. So the gap is "
    "smaller than between the paper's programs."
)
OTHER_PATH = (
    "Between 600 and 700 nodes a table of all gains would take more than 64 bytes a subscription, "
    "and the engine switches to rows of partners: 19.5 ms instead of 10.6 at 700 Zipf nodes "
    "(separate runs). Elsewhere the share falls, except for 7% from 500 to 600 Zipf nodes with "
    "F-Low-ODA."
)
DENSE_PATHS = (
    "With more subscriptions fewer edges are needed, 1,383 with 20 and 759 with 100 (Unif), which "
    "saves the naive method most: from 20 to 100 it goes from 2.9 to 4.9 s, ours from 4.1 to 15.6 "
    "ms (separate runs). Our naive method is a loop over arrays; the paper's must have grown by "
    "more."
)
MORE_TOPICS = (
    "With more topics there are more edges to find, which costs our naive method more than the "
    "fast one: from 100 to 1,000 topics at 500 Unif nodes it goes from 4.5 to 8.5 s, ours from 10 "
    "to 13 ms (a separate run)."
)
# Paper 4
GRAPH_DECIDES = (
    "The samples are of other graphs than the paper's, and the graph decides: BeaConvey(SL, Pie) "
    "has 0.41 to 0.43 of Scribe's overhead on samples of 1,000 nodes of Cornell5, 0.20 to 0.27 on "
    "ego-Facebook, 0.19 to 0.20 on ego-Twitter (separate runs, three samples each)."
)
LONG_FINGERS = (
    "Long fingers gain more than short ones on our samples of 1,000 nodes of Cornell5, "
    "ego-Facebook and ego-Twitter alike, whether publications are spread evenly or in proportion "
    "to subscribers (separate runs); we think that GSwicoL chooses differently among equal gains."
)
PUBLICATIONS = (
    "Publications are spread evenly over topics, as the paper says. In proportion to subscribers "
    "BeaConvey(SL, Pie) would have 0.54 instead of 0.45 of Scribe's overhead under Zipf, 0.50 "
    "instead of 0.47 under Unif, and BeaConvey(S) would be below (L) under Zipf (runs at 5,000 "
    "topics), all nearer to the paper's; we think that its publications were spread that way."
)
LONE_SUBSCRIBERS = (
    "Of the topics 31% have one subscriber, which costs Scribe a route to the rendezvous and "
    "BeaConvey nothing. With publications on the others only it is 0.377 (separate runs): we "
    "think that the paper does not publish on topics that nobody else wants, although it says "
    "that every topic has the same chance."
)
OVERLAY_SHARE = (
    "How publications are spread is not the reason: it is 12 to 14% on topics with two "
    "subscribers or more and in proportion to subscribers (separate runs). We think that the "
    "choice among fingers of equal gain is."
)
STILL_APART = (
    "The paths of BeaConvey's own overlays are 0.78 to 0.83 of Scribe's at 1,000 topics and 0.50 "
    "to 0.58 at 10,000, where a topic has two subscribers on average and a long finger chosen by "
    "interest still saves a hop to the other; we think that they meet with more topics, as the "
    "paper expects."
)
BOTH_WAYS = (
    "Greedy routes go clockwise here: 5.0 hops on average to the rendezvous and as many from it. "
    "Over links in both directions, which the paper's footnote 1 allows, they take 3.4 (Chord) or "
    "3.7 (random fingers): twice that is about the paper's 7.20. Scribe is the base of all "
    "ratios, so we think that they move with it."
)
# Paper 5
GENERATOR = (
    "The paper's generator is not public: ours follows its description. We think that how far "
    "interests and places cluster decides how much each method gains."
)
SKEW = (
    "Skewed interests cluster less in ours: from IS:L to IS:H the fractional solution falls by 2% "
    "here (10,000 subscribers), by 61 and 66% in the paper, whose generator is not public. We "
    "think that this decides how much each method gains."
)
GR_ALONE = (
    "Only Gr fails: it loads a leaf with up to 2.3 times the mean, where 1.5 is allowed (10,000 "
    "subscribers). We think that the paper takes subscribers in another order than by id."
)
YARDSTICK = (
    "The fractional solution hardly grows with the network here, while the bandwidth of every "
    "method does: on IS:H BI:L it is 3.31 million with 10,000 subscribers at 30 brokers and at "
    "100, and 3.33 with 100,000 at 30; SLP needs 1.47, 1.82 and 2.02 times as much, Gr* 2.18, "
    "1.97 and 2.71 times (separate runs). So the ratio depends on the size; and from IS:L to IS:H "
    "the fractional solution falls by 2% here, by 61 and 66% in the paper, whose generator is not "
    "public."
)
REFITTED = (
    f"{YARDSTICK} Ours also fits and prunes filters again while that saves bandwidth: without it "
    "(`tightenings` 0) SLP has 2.29, 1.68, 2.08 and 1.79 times the fractional solution on the "
    "four workloads, at 10,000 subscribers and 30 brokers."
)
GREEDY_STAR = (
    "The paper's generator is not public, and we think that its interests cluster differently. "
    "That ours fits filters again is not the reason: without it SLP has 0.85 to 1.01 times the "
    "bandwidth of Gr* with tight latency and 0.47 to 0.94 with loose (runs at 10,000 "
    "subscribers)."
)
ROOM = (
    "On our trees loads can be far more even than on the paper's: Balance reaches a factor of "
    "1.01 on all eight workloads (runs at 10,000 subscribers), where the paper could not go below "
    "6, so the limits of 7 and 8 do not bind."
)
HARDLY_OVER = (
    "Our brokers are hardly short of capacity: at the paper's size Gr is over the limit by at "
    "most 1.2%, on at most 4 of 100 brokers (separate runs)."
)
OUSTING = (
    "Our brokers are hardly short of capacity: at the paper's size Gr is over the limit by at "
    "most 1.2%, on at most 4 of 100 brokers, and one eviction per subscriber (ours allows ten) "
    "makes room for all (separate runs)."
)
CHOICE = (
    "A subscriber of set 2 has 42 of 100 brokers within its latency limit here (median), so a "
    "broker can serve few interests: with latency all methods need 122 to 506 unit squares for "
    "the 50 interests, 65 without; the paper's need 8.5 and 13.7 million with it and 220 without. "
    "Its generator is not public, and we think that its latencies leave far less choice."
)
NO_GROWTH = (
    "The fractional solution hardly grows with the network here, while the bandwidth of every "
    "method does: from 10,000 subscribers at 30 brokers to 100,000 at 100 it goes from 49 to 57 "
    "thousand, SLP from 125 to 225, Gr* from 214 to 461 and Gr-l from 116 to 430 thousand. So the "
    "ratio depends on the size; the paper's generator is not public."
)
SOME_CHOICE = (
    "A subscriber of set 3 has 43 of 100 brokers within its latency limit (median), so few leaves "
    "are crowded. The paper's generator is not public, and we think that its latencies leave less "
    "choice."
)
PACKED = (
    "SLP fills some brokers up to the limit and leaves others nearly empty where that saves "
    "bandwidth, as the boxes of Fig. 7c show: the limit bounds the largest load, not the spread."
)
FEWER_LEAVES = (
    "Where the time goes was not measured. We think that ours goes into filters and flow, which "
    "grow with the subscribers on one level and on several alike, and the paper's into its linear "
    "programs, which grow with the brokers under one parent; ours are built from a sample."
)
