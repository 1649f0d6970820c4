"""The cells of instructor/submissions/attacks/notebook_links, ready for a notebook."""

import json
import tomllib
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "instructor" / "submissions" / "attacks" / "notebook_links" / "cells.toml"
TOLD = tomllib.loads(FILE.read_text(encoding="utf-8"))
# The script without quotes, brackets of Markdown or angle brackets: it stays itself in a link, an attribute and an element.
SCRIPT = f"eval(String.fromCharCode({','.join(str(ord(character)) for character in TOLD['script'])}))"
CELLS = {cell["name"]: json.loads(json.dumps(cell).replace("ATTACK", SCRIPT)) for cell in TOLD["cell"]}


def to_cell(told):
    """The cell as nbformat has it."""
    import nbformat
    from nbformat import v4

    kind = told.get("type", "markdown")
    cell = {"markdown": v4.new_markdown_cell, "raw": v4.new_raw_cell, "code": v4.new_code_cell}[kind](told["source"])
    more = {key: told[key] for key in ("metadata", "attachments", "outputs") if key in told}
    return nbformat.from_dict({**cell, **more})
