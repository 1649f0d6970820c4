"""Make untrusted text safe to print on a terminal, to write into a cell of CSV or Markdown, or to name a file after.

File and archive names, program output and the names on a roster all come from students.
"""

from __future__ import annotations

from decimal import Decimal

# Characters at which a spreadsheet starts a formula, including their full-width forms (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
FILE_NAME_PUNCTUATION = "-_.()+, "
MARKDOWN = "\\`*_{}[]<>#|~$&!"


def on_screen(text: str, keep: str = "") -> str:
    """Return the text on one line; control characters, text direction marks and the like become spaces.

    Args:
        keep: control characters to leave unchanged, such as a newline.
    """
    return "".join(c if c.isprintable() or c in keep else " " for c in text)


def markdown_cell(text: str) -> str:
    """Return the text as a cell of a table in Markdown, with a backslash before each character that would do anything there."""
    return "".join(f"\\{c}" if c in MARKDOWN else c for c in on_screen(text)).strip()


def csv_cell(value: object) -> str:
    """Return the text to pass to `csv.writer`; an apostrophe is put before text that a spreadsheet would evaluate.

    Text that already has apostrophes there gets one more, so that `from_csv_cell` returns the text as it was.
    """
    if isinstance(value, Decimal):
        return f"{value.normalize() + 0:f}"  # without an exponent, and 0 without a sign
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else str(value)
    text = on_screen(str(value))
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def from_csv_cell(cell: str) -> str:
    """Return the text of a cell that `csv_cell` wrote: without the apostrophe before text that a spreadsheet would evaluate."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell.lstrip("'")) else cell


def _is_formula(text: str) -> bool:
    return text.lstrip().startswith(FORMULA)


def file_name(text: str, most: int) -> str:
    """Return text as the name of a file, without a leading dot and without characters that are special to a shell, browser
    or file system; the result may be empty.

    Args:
        most: number of characters kept.
    """
    clean = "".join(c if c.isalnum() or c in FILE_NAME_PUNCTUATION else "_" for c in text)
    return clean[:most].strip(" .").lstrip("-")
