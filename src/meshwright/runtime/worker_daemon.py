"""The process from which Spark forks its Python workers: it imports what all of them need.

Otherwise each worker would import Arrow and the modules of its task again. Used on Linux, by
sessions whose workers import from the directories of this process.
"""

import importlib
import os
from contextlib import suppress

IMPORTS_VARIABLE = "MESHWRIGHT_WORKER_IMPORTS"  # further modules, with commas between them
WARM = ("numpy", "pyarrow.compute", "pandas")


def import_all() -> None:
    """Import the modules; one that is missing is missed by the task that needs it."""
    further = os.environ.get(IMPORTS_VARIABLE, "")
    for name in (*WARM, *filter(None, further.split(","))):
        with suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    from pyspark import daemon  # imports PySpark's worker

    import_all()
    daemon.manager()
