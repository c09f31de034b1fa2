"""Make ``company.csv``: a company with 60 MQTT brokers and nearly 400 topics.

Four plants with production lines, two warehouses, offices and a cloud region. Edge brokers want
what their machines need; plant brokers want all of their plant; analytics, alarms and dashboards
want slices across plants. Run ``python examples/make_company.py`` to write it again; the seed
makes it the same file.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

SEED = 2026
PLANTS, LINES = 4, 6
MACHINES = ("press", "oven", "robot", "conveyor", "paint")
SIGNALS = {
    "press": ("temperature", "pressure", "cycle"),
    "oven": ("temperature", "energy", "door"),
    "robot": ("position", "torque", "alarm"),
    "conveyor": ("speed", "jam", "energy"),
    "paint": ("humidity", "level", "alarm"),
}


def main() -> None:
    """Write company.csv beside this file."""
    rng = random.Random(SEED)
    wants: set[tuple[str, str]] = set()
    machine_topics: list[str] = []
    for plant in range(1, PLANTS + 1):
        plant_topics: list[str] = []
        for line in range(1, LINES + 1):
            broker = f"plant{plant}-line{line}"
            for machine in MACHINES:
                for signal in SIGNALS[machine]:
                    topic = f"plant{plant}/line{line}/{machine}/{signal}"
                    plant_topics.append(topic)
                    if rng.random() < 0.85:
                        wants.add((broker, topic))
            # A line follows the one before it: what comes out there arrives here.
            for signal in ("speed", "jam"):
                wants.add((broker, f"plant{plant}/line{max(1, line - 1)}/conveyor/{signal}"))
            wants.add((broker, f"plant{plant}/orders"))
            wants.add((broker, "company/time"))
        for role, share in (
            ("scada", 1.0),
            ("historian", 0.9),
            ("service", 0.5),
            ("gateway", 0.35),
        ):
            wants.update((f"plant{plant}-{role}", t) for t in plant_topics if rng.random() < share)
            wants.add((f"plant{plant}-{role}", f"plant{plant}/orders"))
            wants.add((f"plant{plant}-{role}", "company/time"))
        machine_topics += plant_topics
    slices = {
        "cloud-analytics": lambda t: t.endswith(("temperature", "energy", "cycle")),
        "cloud-alarms": lambda t: t.endswith(("alarm", "jam", "door")),
        "cloud-dashboards": lambda t: "/line1/" in t or t.endswith("alarm"),
        "cloud-energy": lambda t: t.endswith("energy"),
        "cloud-quality": lambda t: "/paint/" in t or "/press/" in t,
        "cloud-archive": lambda _: True,
        "cloud-replica": lambda _: True,
        "cloud-robots": lambda t: "/robot/" in t,
    }
    for broker, keep in slices.items():
        wants.update((broker, topic) for topic in machine_topics if keep(topic))
        wants.add((broker, "company/time"))
    for warehouse in ("warehouse-north", "warehouse-south"):
        for dock in range(1, 4):
            broker = f"{warehouse}-dock{dock}"
            for topic in ("arrivals", "departures", "stock"):
                wants.add((broker, f"{warehouse}/dock{dock}/{topic}"))
                wants.add((f"{warehouse}-hub", f"{warehouse}/dock{dock}/{topic}"))
            wants.add((broker, f"{warehouse}/stock/total"))
        wants.add((f"{warehouse}-hub", f"{warehouse}/stock/total"))
        wants.update((f"{warehouse}-hub", f"plant{p}/orders") for p in range(1, PLANTS + 1))
    for office in ("office-berlin", "office-lyon", "office-porto", "office-turin"):
        wants.add((office, "company/news"))
        wants.add((office, "company/time"))
        wants.update((office, f"plant{p}/orders") for p in rng.sample(range(1, PLANTS + 1), 2))
    for warehouse in ("warehouse-north", "warehouse-south"):
        wants.add((rng.choice(["office-berlin", "office-lyon"]), f"{warehouse}/stock/total"))
    rows = sorted(wants)
    rng.shuffle(rows)
    with Path(__file__).with_name("company.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("broker", "topic"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
