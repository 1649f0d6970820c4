"""Read CSV tables that people write with a spreadsheet, which in many countries separates cells by semicolons."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from common.errors import UsageError, reason_of

SEPARATORS = ",;\t"
SEPARATOR_LINE = re.compile(r"sep=([,;\t])(?:\r\n|\r|\n)", re.IGNORECASE)  # the first line of some tables, for Excel
MOST_NAMED = 5  # columns in one sentence


def read_table(path: Path, what: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Read a table in UTF-8 whose cells are separated by the first of comma, semicolon and tab that its first line holds.

    Before that line there may be one that names the separator for Excel, such as `sep=;`.

    Args:
        what: what the table should hold, for messages.

    Returns:
        The cells of the first line without spaces around them, and (file and line, cells) for each further line that is not
        empty. Empty cells at the end of lines, which spreadsheets write for columns that were once used, are left out as far as
        the first line has none there.

    Raises:
        UsageError: the file cannot be read, or has an unbalanced quote.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
        named = SEPARATOR_LINE.match(text)
        text = text[named.end() :] if named else text
        begin = text.partition("\n")[0]
        separator = named[1] if named else next((mark for mark in SEPARATORS if mark in begin), ",")
        table = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True, delimiter=separator)
        header = _without_empty_end([name.strip() for name in next(table, [])])
        before = 1 if named else 0
        lines = [
            (f"{path}, line {before + table.line_num}", _without_empty_end(cells, len(header)))
            for cells in table
            if any(cell.strip() for cell in cells)
        ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"expected {what} (CSV, UTF-8) at {path}: {reason_of(error)}") from error
    return header, lines


def _without_empty_end(cells: list[str], least: int = 0) -> list[str]:
    while len(cells) > least and not cells[-1].strip():
        cells = cells[:-1]
    return cells


def listed(names: Sequence[str]) -> str:
    """Return the names of columns for a sentence; of a long list only the first ones, and the number of the others."""
    shown = ", ".join(name or "a column without a name" for name in names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown
