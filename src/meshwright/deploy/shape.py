"""The shape of JSON: which types stand where."""

from typing import Any

from meshwright.errors import InputError


def check_shape(value: Any, shape: Any, where: str) -> None:
    """Raise InputError unless JSON has a shape: a type, or dicts, lists or tuples of shapes."""
    is_list = isinstance(shape, list | tuple)
    kind = dict if isinstance(shape, dict) else list if is_list else shape
    fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if not fits or (isinstance(shape, tuple) and len(value) != len(shape)):
        raise InputError(f"{where} is {str(value)[:40]!r}, which is not valid")
    if isinstance(shape, dict):
        for key, inner in shape.items():
            name = key.removesuffix("?")
            if name in value:
                check_shape(value[name], inner, f"{name!r} of {where}")
            elif name == key:
                raise InputError(f"{name!r} is missing in {where}")
    elif is_list:
        for i, entry in enumerate(value):
            check_shape(entry, shape[0], f"entry {i} of {where}")
