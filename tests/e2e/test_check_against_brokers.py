"""What `deploy check` passes, real brokers carry as it says: mutated configurations.

``MESHWRIGHT_MUTATIONS=300`` tries that many instead of a few.
"""

import os
import random

from tests.e2e import broken_confs
from tests.e2e.lab_confs import needs_mosquitto

pytestmark = needs_mosquitto
MUTATIONS = int(os.environ.get("MESHWRIGHT_MUTATIONS", "0"))
FEW = 8  # configurations that pass the check, each on three brokers
FIRST = int(os.environ.get("MESHWRIGHT_FIRST_MUTATION", "0"))


def test_brokers_do_what_the_check_says(tmp_path):
    wrong, n_passed = {}, 0
    for seed in range(FIRST, FIRST + (MUTATIONS or 1000)):
        draw = random.Random(seed)
        place = tmp_path / str(seed)
        place.mkdir()
        secured, lock_down = draw.random() < 0.5, seed % 2 == 0
        made = broken_confs.deploy(place / "conf", secured=secured, lock_down=lock_down)
        done = broken_confs.spoil(place / "conf", made, draw) if seed else "nothing"
        if not broken_confs.passes(place / "conf"):
            continue
        n_passed += 1
        found = broken_confs.run(place / "conf", made, place / "brokers")
        if found:
            wrong[f"{seed}: {done}"] = found
            print(seed, done, found, flush=True)
        if not MUTATIONS and n_passed == FEW:
            break
    assert not wrong, "\n".join(f"{done}: {found}" for done, found in wrong.items())
    assert n_passed
