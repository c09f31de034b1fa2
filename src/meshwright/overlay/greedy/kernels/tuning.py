"""The tuned constants of the greedy engine, both orders. They change its time, never its edges.

The benchmark named with a group has set its values: processor time of `gm`, kernels compiled.
Costs are in units of one position read while walking along a topic.
"""

# Rows, by `scripts/bench overlay` on FB1K, TW10K, FB10K and ego-Twitter.
ROW_CACHE = 32  # partners that every row has room for; one per topic where a node has more topics
DENSE_SCAN = 4  # a scan that reads 1/4 as many positions as there are partners visits all partners
SCAN_STRETCH = 64  # partners whose gains are compared at once, so that most stretches are skipped
LOOK_UP_COST = 16  # cost of a binary search for a topic among the topics of a partner
FULL_SHARE = 4  # under a degree cap, 1/4 of a row's room is for partners that have reached it
STALE_PAIR_COST = 64  # cost of moving a pair down the heap of its row, and the row down its own
REFRESH_SHARE = 8  # when 1/8 of a row's pairs had an old degree, all of them get the current ones
# A row is scanned again once its stale pairs have cost this many scans. FB10K took 1.9 s at 4 and
# 1.6 s at 16, TW10K 0.25 s and 0.21 s. ego-Twitter took 5.6 s at 4, 6.0 s at 8 and 8.3 s at 16,
# measured before scans counted in 16 bits.
RESCAN_COST = 16
FEW_INCIDENCES = 1_000_000  # below it one thread is done before others have started
EDGES_PER_CALL = 2_000  # edges between two returns to Python, for progress and interrupts

# Table, by `scripts/bench overlay` on unif, 2,000 nodes that want 20 to 600 of 1,000 topics.
FOLLOW_COST = 100  # cost of the next member of a component, which is not in the processor's cache
DENSE_LOSS = 8  # a node whose pairs lose 1/8 as often as there are nodes: subtract a whole row
TABLE_BLOCK = 128  # pairs of a row that wait together for the sweep

# Levels, by `scripts/bench scale` on 1,000,000 generated users.
MIN_CANDIDATES = 16  # partners kept of a row at least
# One more partner is kept per 200 positions of a scan, up to two per topic: rows are scanned 1.4
# times over a run. With a quarter as many partners as topics scans took 1.6 times as long.
POSITIONS_PER_CANDIDATE = 200
CANDIDATES_PER_TOPIC = 2
LOAD_LABELS_ABOVE = 3  # for more partners than this the labels of the node are loaded by topic
SEARCH_RATIO = 16  # a topic list this many times longer than the other is searched, not merged
LEVEL_EDGES_PER_CALL = 500_000
REPORT_SECONDS = 0.2  # between two progress reports
LONG_SCAN_ROWS = 10_000  # the scan of more rows is always reported before it starts
EXPECTED_SCANS = 1.5  # scans of each row over a run, for the progress estimate

# Spark, by `scripts/bench scale`.
TASK_POSITIONS = 50_000_000  # positions per task: about half a second
LOCAL_POSITIONS = 20_000_000  # up to here a scan is done in the driver before tasks would start
