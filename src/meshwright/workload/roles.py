"""Rows that subscribe and rows that publish: the role of a row, its rate and the size of messages.

A row with a role that is neither, or with a rate or size that is not a number, is rejected.
"""

from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from meshwright.model.publications import MOST_RATE

SUBSCRIBES = r"(?i)^(sub|subs|subscribe[rsd]?|subscribers|subscriptions?|consume[rs]?)$"
PUBLISHES = r"(?i)^(pub|pubs|publish|publishe[rsd]|publishers|publications?|produce[rs]?)$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
SHOWN = 40  # characters of a wrong value


class Fields(NamedTuple):
    """The columns of text that make a record; None where the sources have no such column."""

    node: Column
    topic: Column
    role: Column | None = None
    rate: Column | None = None
    bytes: Column | None = None
    publishes: bool = False  # every row is a publication


class Facts(NamedTuple):
    """The values of a row, or the reason why they are rejected."""

    published: Column
    rate: Column
    bytes: Column
    reason: Column


def read_facts(fields: Fields) -> Facts:
    """Return whether rows publish, and how often and how much."""
    published, reasons = F.lit(fields.publishes), []
    if fields.role is not None:
        role = F.trim(fields.role)
        published = F.coalesce(role.rlike(PUBLISHES), F.lit(False))
        known = published | role.rlike(SUBSCRIBES)
        said = F.concat(F.lit("role '"), _shown(role), F.lit("' is neither sub nor pub"))
        missing = F.coalesce(F.length(role), F.lit(0)) == 0
        reasons += [F.when(missing, "role is missing").when(~known, said)]
    values = []
    for name, text in (("rate", fields.rate), ("bytes", fields.bytes)):
        value, reason = _number(name, text)
        values.append(F.when(published, value))
        reasons.append(F.when(published, reason))
    return Facts(published, values[0], values[1], F.coalesce(*reasons))


def _number(name: str, text: Column | None) -> tuple[Column, Column]:
    """Return the number in a text, null if it is blank, and the reason to reject it, if any."""
    if text is None:
        return F.lit(None).cast("double"), F.lit(None).cast("string")
    text = F.trim(text)
    value = F.when(text.rlike(NUMBER), text.try_cast("double"))
    fits = F.coalesce((value >= 0) & (value <= MOST_RATE), F.lit(False))
    said = F.concat(
        F.lit(f"{name} '"), _shown(text), F.lit(f"' is not a number from 0 to {MOST_RATE:g}")
    )
    return F.abs(value), F.when((F.length(text) > 0) & ~fits, said)  # abs: there are two zeros


def _shown(text: Column) -> Column:
    return F.make_valid_utf8(F.substring(text, 1, SHOWN))
