"""SLP: subscriber assignment by linear programs, rounding and maximum flow.

One algorithm (`down_the_tree` over `one_level`) on two backends: in memory (`backend`) and on Spark
(`spark_backend`). `as_printed` is the paper's version of `one_level`, for small problems in memory.
"""

from meshwright.content.slp.down_the_tree import slp, slp_leaves, slp_paper, yardstick
from meshwright.content.slp.one_level import Settings
