"""Make untrusted text harmless on a screen or in a cell of a CSV file.

Names of archives and files, messages of programs and names from a roster come from students.
"""

from __future__ import annotations

# Characters with which a spreadsheet formula may begin, including their full-width forms (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def on_screen(text: str, keep: str = "") -> str:
    """Return the text as one line, without characters that a terminal acts on or that reverse the direction of writing.

    Args:
        keep: control characters to keep, such as a newline.
    """
    return "".join(c if c.isprintable() or c in keep else " " for c in text)


def csv_cell(value: object) -> str:
    """Return the value as text for `csv.writer`; text that a spreadsheet would evaluate gets an apostrophe in front."""
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else str(value)
    text = on_screen(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
