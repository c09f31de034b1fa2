"""What brokers want and publish, from the lines of a mesh log: read one line after the other."""

import json
from collections import Counter


def lines_of(paths):
    """Return the lines of files as objects, in the order of their versions."""
    found = [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]
    return sorted(found, key=lambda line: line["version"])


def brokers(lines):
    """Return all that have a line."""
    return {line["broker"] for line in lines}


def there(lines, since=None, until=None):
    """Return the brokers that took part after the last line, or at some time from `since` on."""
    found = set()
    for broker in brokers(lines):
        now, ever = False, None
        for line in lines:
            if line["broker"] != broker or "took" in line:
                continue
            if until is not None and line["time"] > until:
                continue
            if since is not None and line["time"] >= since and ever is None:
                ever = now
            now = "gone" not in line
            ever = ever if ever is None else ever or now
        if now if ever is None else ever:
            found.add(broker)
    return found


def wanted(lines, since=None, until=None):
    """Return the (broker, filter) wanted after the last line, or at some time from `since` on."""
    found = set()
    for broker in brokers(lines):
        now, ever = set(), None
        for line in lines:
            if line["broker"] != broker or "took" in line:
                continue
            if until is not None and line["time"] > until:
                continue
            if since is not None and line["time"] >= since and ever is None:
                ever = set(now)
            if "wants" in line or "gone" in line:
                now = set(line.get("wants", ()))
            now = (now - set(line.get("went", ()))) | set(line.get("came", ()))
            if ever is not None:
                ever |= now
        found |= {(broker, name) for name in (now if ever is None else ever)}
    return found


def published(lines, since=None, until=None):
    """Return (rate, mean size) of each broker and topic that its own clients publish."""
    counts, sizes, watched = Counter(), Counter(), Counter()
    told = {x["broker"] for x in lines if "took" not in x and (until is None or x["time"] <= until)}
    gone = told - there(lines, since, until)
    for line in lines:
        if line["broker"] in gone:
            continue
        late = until is not None and line["time"] > until
        if "took" not in line or late or (since is not None and line["time"] < since):
            continue
        watched[line["broker"]] += line["ms"]
        for row in line["took"]:
            counts[line["broker"], row["topic"]] += row["n"]
            sizes[line["broker"], row["topic"]] += row["bytes"]
    return {
        key: (1000 * n / watched[key[0]] if watched[key[0]] else None, sizes[key] / n)
        for key, n in counts.items()
        if n
    }
