"""Untrusted text made harmless: on a screen, and in a cell of a CSV file.

Names of archives and files, messages of programs and names from a roster come from students.
"""

from __future__ import annotations

# What a spreadsheet takes for the beginning of a formula, also in full width (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def on_screen(text: str, keep: str = "") -> str:
    """The text as one line: nothing that a terminal obeys, nothing that turns the direction of writing.

    Args:
        keep: control characters that stay, such as a newline.
    """
    return "".join(c if c.isprintable() or c in keep else " " for c in text)


def csv_cell(value: object) -> str:
    """What `csv.writer` is given for the value: text that a spreadsheet would compute begins with an apostrophe."""
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else str(value)
    text = on_screen(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
