"""What is known of RabbitMQ without one: bindings as filters, and the management API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.mesh.adapters.bindings import filter_of, wanted_by
from meshwright.mesh.adapters.known import ADAPTERS
from meshwright.model.client_ids import AGENT
from meshwright.patterns.filters import covers

LEVELS = st.one_of(st.text("ab c", min_size=0, max_size=3), st.just("+"))


@given(st.lists(LEVELS, min_size=1, max_size=5), st.booleans())
def test_a_filter_that_mqtt_can_say_comes_back_as_it_was(levels, has_rest):
    name = "/".join([*levels, *(["#"] if has_rest else [])])
    key = name.replace("/", ".").replace("+", "*")
    assert filter_of(key) == (name or None)


def words_match(key: list[str], words: list[str]) -> bool:
    """Return whether a binding of AMQP matches: the definition."""
    if not key:
        return not words
    if key[0] == "#":
        return any(words_match(key[1:], words[i:]) for i in range(len(words) + 1))
    return bool(words) and key[0] in ("*", words[0]) and words_match(key[1:], words[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "*", "#"]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5),
)
def test_whatever_a_binding_matches_its_filter_matches_too(key, words):
    found = filter_of(".".join(key))
    assert found is not None
    if words_match(key, words):
        assert covers(found, "/".join(words))


def test_bindings_of_agents_are_no_interests():
    rows = [
        {"destination": f"mqtt-subscription-{AGENT}m.edge-1.dataqos1", "routing_key": "#"},
        {"destination": "mqtt-subscription-a b.cqos0", "routing_key": "x.*"},
        {"destination": "a queue of AMQP", "routing_key": "x.#.y"},
        {"destination": "q", "routing_key": ""},
        {"destination": "q", "routing_key": "$SYS.x"},
    ]
    assert wanted_by(rows) == {"x/+", "x/#"}


@pytest.mark.parametrize("url", ["localhost:15672", "ftp://h:1", "http://h", "http://h:x"])
def test_an_address_of_the_management_api_is_checked(url):
    with pytest.raises(InputError, match="give it as http://HOST:PORT"):
        ADAPTERS["rabbitmq"].capabilities({"management": url})
