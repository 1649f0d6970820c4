"""What an exception inside a worker says, and whose it is: the submission's or ours.

It is loaded beside `grader.confinement.worker` inside the sandbox.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The folders of a workspace that have the submission's Python, unless the caller names others; we handed out everything else.
SUBMITTED = ("AlphaZero",)
# `policy_value` begins with these assertions in the published stubs.
HANDED_OUT_ASSERTION = re.compile(r"assert \(?(actin_fc|action_fc|evaluation_fc) ==")


def describe(error: BaseException, workspace: Path, submitted: Sequence[str] = SUBMITTED) -> dict[str, Any]:
    """Return an exception as plain text: its class, its message and the line of the submission where it arose.

    Paths are relative to the workspace, so that a message is the same on every machine.

    `ours` means that the submission is not to blame.
    """
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file.is_relative_to(workspace):
            place = f"{file.relative_to(workspace).as_posix()}, line {frame.lineno}"
    message = str(error).replace(f"{workspace}/", "")
    if isinstance(error, SyntaxError) and error.filename:
        file = Path(error.filename)
        inside = file.relative_to(workspace).as_posix() if file.is_relative_to(workspace) else file.name
        place, message = f"{inside}, line {error.lineno}", error.msg
    if "null bytes" in message:  # as in UTF-16
        message += " (save the file as UTF-8)"
    return {
        "type": type(error).__name__,
        "message": message[:500],
        "place": place,
        "ours": is_ours(error, workspace, submitted),
    }


def is_ours(error: BaseException, workspace: Path, submitted: Sequence[str] = SUBMITTED) -> bool:
    """Return whether code that we handed out failed for a reason other than the submission.

    An assertion counts against the submission only if the submission wrote it. The framework's assertions, and the two about
    handles in the published stubs, mean that framework and stubs do not agree. Any other exception is ours if Board raised
    it and no code of the submission had called Board.
    """
    frames = traceback.extract_tb(error.__traceback__)
    folders = [_folder(Path(frame.filename), workspace) for frame in frames]
    if isinstance(error, AssertionError):
        raised_in, line = folders[-1], frames[-1].line or ""
        return raised_in != "" and (raised_in not in submitted or bool(HANDED_OUT_ASSERTION.match(line)))
    return {folder for folder in folders if folder} == {"Board"}


def _folder(file: Path, workspace: Path) -> str:
    """Return the top folder (or file) of the workspace that contains the file; "" for a file from elsewhere."""
    return file.relative_to(workspace).parts[0] if file.is_relative_to(workspace) else ""
