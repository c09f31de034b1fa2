"""The kinds of brokers that agents know, and how to add one from elsewhere."""

import importlib

from meshwright.errors import InputError, check_choice
from meshwright.mesh.adapters.adapter import Adapter
from meshwright.mesh.adapters.declared import DECLARED
from meshwright.mesh.adapters.mosquitto import MOSQUITTO
from meshwright.mesh.adapters.rabbitmq import RABBITMQ

ADAPTERS: dict[str, Adapter] = {
    "mosquitto": MOSQUITTO,
    "rabbitmq": RABBITMQ,
    "declared": DECLARED,
}


def find_adapter(name: str) -> Adapter:
    """Return an adapter by its name, or that of a module as ``module:NAME``.

    Raises
    ------
    InputError
        If there is none.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        check_choice("adapter", name, ADAPTERS)
        return ADAPTERS[name]
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"adapter {name!r} cannot be imported: {error}. Is its directory in PYTHONPATH?"
        ) from error
    if not isinstance(found, Adapter):
        raise InputError(f"adapter {name!r} is a {type(found).__name__}, not an Adapter.")
    return found
