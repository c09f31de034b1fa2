"""Who takes part in a message: the definition, name by name, on plain strings."""


def matches(pattern: str, name: str) -> bool:
    """Return whether an MQTT pattern matches a concrete name."""
    levels, words = pattern.split("/"), name.split("/")
    if pattern[:1] in ("+", "#") and name[:1] == "$":
        return False
    for i, level in enumerate(levels):
        if level == "#":
            return True
        if i >= len(words) or level not in ("+", words[i]):
            return False
    return len(levels) == len(words)


def participants(wanted, published, name: str, assume: str, nodes) -> tuple[set[str], set[str]]:
    """Return the subscribers of a name and all who take part in its messages.

    `wanted` and `published` are (node, pattern); nobody takes part where nothing must travel.
    """
    subscribers = {node for node, pattern in wanted if matches(pattern, name)}
    if assume == "subscribers":
        publishers = subscribers
    elif assume == "anyone":
        publishers = set(nodes)
    else:
        publishers = {node for node, pattern in published if matches(pattern, name)}
    if not subscribers or not publishers:
        return set(), set()
    return subscribers, subscribers | publishers
