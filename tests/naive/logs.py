"""What a broker's clients want, from the lines of its log: for each subscription, look for its end.

For logs of all kinds of lines, in which every request is announced, and clients whose names no
other line begins with.
"""

import re
from collections import Counter

TIME = re.compile(r"^[0-9]+: ")
PUBLISH = re.compile(
    r"Received PUBLISH from (.*?) \(d., q., r., m[0-9]+, '(.*)', \.\.\. \(([0-9]+) bytes\)\)"
)
OURS = re.compile(r"mesh(-local)?\.[^. ][^ ]*\.[^ ]+|meshwright-(agent|verify)\..*")


def split(line):
    seconds, _, text = line.partition(": ")
    return int(seconds), text


def requests(texts):
    """Return (position, client, filter, whether it subscribes) of each line that grants one."""
    found, asking = [], None
    for i, text in enumerate(texts):
        asked = re.fullmatch(r"Received (SUBSCRIBE|UNSUBSCRIBE) from (.*)", text)
        if asked:
            asking = asked[2], asked[1] == "SUBSCRIBE"
        elif re.match(r"Sending (SUBACK|UNSUBACK) to ", text):
            asking = None
        elif asking and text.startswith(asking[0] + " "):
            rest = text[len(asking[0]) + 1 :]
            found.append((i, asking[0], rest[2:] if asking[1] else rest, asking[1]))
    return found


def connection(texts, client, before):
    """Return (version, clean) of the client's last connect line before a position, or None."""
    for text in reversed(texts[:before]):
        match = re.fullmatch(
            rf"New client connected from \S+ as {re.escape(client)} \(p(.), c(.), k.*\)\.", text
        )
        if match:
            return match[1], match[2] == "1"
    return None


def is_clean(texts, client, before):
    found = connection(texts, client, before)
    return found is not None and found[0] != "5" and found[1]


def ends(texts, i, client, name, asked):
    """Return whether line i ends the subscription of a client."""
    text = texts[i]
    if (i, client, name, False) in asked:
        return True
    if text.startswith("mosquitto version ") and text.endswith(" starting"):
        return is_clean(texts, client, i)
    said = (
        f"Client {client} disconnected.",
        f"Client {client} closed its connection.",
        f"Client {client} has exceeded timeout, disconnecting.",
        f"Client {client} already connected, closing old connection.",
    )
    if text in said:
        return is_clean(texts, client, i)
    if text == f"Expiring client {client} due to timeout.":
        return True
    if connection([*texts[:i], text], client, i + 1) != connection(texts, client, i) or (
        text.startswith("New client connected") and f" as {client} (p" in text
    ):
        return ", c1, " in text
    return text == f"Sending CONNACK to {client} (0, 0)"


def wanted(lines, since=None, until=None):
    """Return the (client, filter) wanted after the last line, or at some time from `since` on."""
    timed = [split(line) for line in lines]
    timed = [(t, text) for t, text in timed if until is None or t <= until]
    texts = [text for _, text in timed]
    asked = requests(texts)
    found = set()
    for i, client, name, subscribes in asked:
        if not subscribes or OURS.fullmatch(client) or name.startswith("$SYS/"):
            continue
        over = [j for j in range(i + 1, len(texts)) if ends(texts, j, client, name, asked)]
        last = over[0] if over else len(texts)  # it is wanted up to this line
        window = [j for j, (t, _) in enumerate(timed) if since is not None and t >= since]
        if last == len(texts) or (window and last >= window[0]):
            found.add((client, name))
    return found


def messages(lines):
    """Return (messages, bytes) of each topic that clients which are not ours publish."""
    counts, sizes = Counter(), Counter()
    for line in lines:
        match = PUBLISH.fullmatch(split(line)[1])
        if match and not OURS.fullmatch(match[1]) and not match[2].startswith("$SYS/"):
            counts[match[2]] += 1
            sizes[match[2]] += int(match[3])
    return {topic: (n, sizes[topic]) for topic, n in counts.items()}
