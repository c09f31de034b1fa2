"""SLP: subscriber assignment by linear programs, rounding and maximum flow.

One algorithm (`down_the_tree` over `one_level`) on two backends: in memory (`backend`) and on Spark
(`spark_backend`).
"""

from meshwright.content.slp.down_the_tree import slp, slp_leaves, yardstick
from meshwright.content.slp.one_level import Settings
