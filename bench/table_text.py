"""Tables in Markdown, and numbers as the tables of the documents show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from recording import Record


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], align: str = "lr") -> str:
    """Return a table in Markdown.

    Args:
        header: the heading of each column.
        rows: the cells of each row.
        align: l or r for each column; the last letter stands for all further columns.
    """
    sides = align.ljust(len(header), align[-1])
    ruler = "".join("|---:" if side == "r" else "|---" for side in sides)
    head, *body = ("".join(f"| {cell} " if cell else "| " for cell in map(str, cells)) for cells in (header, *rows))
    return "".join(f"{line}|\n" for line in (head, ruler, *body))


def rounded(value: float, places: int = 0, sign: str = "") -> str:
    """Return a number with this many decimals; halves are rounded away from zero. `sign` is "+" to show a plus as well."""
    return f"{Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):{sign}f}"


def percent(share: float) -> str:
    """Return a share in per cent with one decimal."""
    return f"{rounded(100 * share, 1)} %"


def without_zero(value: float) -> str:
    """Return a rate with two decimals and no leading zero, and 1 as it is."""
    return "1" if value == 1 else rounded(value, 2).removeprefix("0")


def rate_of(match: Record) -> float:
    """Return the score rate of a match that counts `won`, `drawn` and `lost` games."""
    rate: float = (match["won"] + match["drawn"] / 2) / (match["won"] + match["drawn"] + match["lost"])
    return rate


def listed(values: Iterable[object]) -> str:
    """Return values as in a sentence: 1, 2 and 3."""
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last
