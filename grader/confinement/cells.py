"""Run the cells of a student's notebook, one after the other, in one namespace.

It is loaded beside `grader.confinement.worker` inside the sandbox. Cells are plain Python: there is no kernel, so the commands
that begin with `%` or `!` do not exist here.
"""

from __future__ import annotations

import linecache
import traceback
from typing import Any

MAX_SOURCE_LINE = 120
NAMESPACE: dict[str, Any] = {"__name__": "__main__"}


def run_cell(name: str, source: str) -> str:
    """Run one cell after those before it.

    Returns:
        "" if it ended without an exception; otherwise the exception, with the last line of a cell that it passed through.
    """
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), NAMESPACE)
    except BaseException as error:  # including SystemExit: the cells below still have to run
        return _told(error)
    return ""


def _told(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError):
        return text
    in_cells = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell ")]
    if not in_cells:
        return text
    last = in_cells[-1]
    return f"{text} ({last.filename[1:-1]}, line {last.lineno}: {(last.line or '')[:MAX_SOURCE_LINE]})"
