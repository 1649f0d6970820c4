"""Make untrusted text safe to print on a terminal or to write into a CSV cell.

File and archive names, program output and the names on a roster all come from students.
"""

from __future__ import annotations

# Characters at which a spreadsheet starts a formula, including their full-width forms (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def on_screen(text: str, keep: str = "") -> str:
    """Return the text on one line; control characters, text direction marks and the like become spaces.

    Args:
        keep: control characters to leave unchanged, such as a newline.
    """
    return "".join(c if c.isprintable() or c in keep else " " for c in text)


def csv_cell(value: object) -> str:
    """Return the text to pass to `csv.writer`; an apostrophe is put before text that a spreadsheet would evaluate."""
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else str(value)
    text = on_screen(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


def text_of_csv_cell(cell: str) -> str:
    """Return the text of a cell that `csv_cell` wrote, without the apostrophe that it may have put in front."""
    return cell[1:] if cell.startswith("'") and cell[1:].lstrip().startswith(FORMULA) else cell
