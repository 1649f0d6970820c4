"""`python -m grader submit`: pack exactly the collected files and the reports of the tree that it belongs to.

The archive gets its name only after it has been read back and found to hold the same files with the same digest. It replaces
an earlier submission, but no other file.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

from common.errors import UsageError
from common.harmless_text import on_screen
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_assignment
from grader.errors import CouldNotGrade, StudentFault
from grader.pipeline.archive import write_archive
from grader.pipeline.engine_build import engine_sources
from grader.pipeline.handed_out import changed_in_vain, find_resemblances
from grader.pipeline.submission import Submission, read_submission
from grader.student.check import name_advice, unwritten_methods, vain_change, version_advice
from grader.student.report_advice import report_advice

COMMENT = b"packed by python -m grader submit"  # at the end of each archive, so that a later call knows what it may replace


def missing_parts(submission: Submission, assignment: Assignment) -> list[str]:
    """Return a sentence for each file or part that is missing or will not count."""
    advice = name_advice(submission, assignment)
    found = [
        f"{path} is missing."
        for path in assignment.stubs
        if path not in submission.files and not any(sentence.startswith(path) for sentence in advice)
    ]
    found += advice
    found += [_syntax_error(path, content) for path, content in submission.files.items() if path.endswith(".py")]
    found = [sentence for sentence in found if sentence]
    for path, methods in unwritten_methods(submission, assignment).items():
        others = f", and {len(methods) - 1} more" if len(methods) > 1 else ""
        found.append(f"{path} is not finished: {methods[0]}{others}.")
    try:
        if assignment.engine_folder:
            engine_sources(submission, assignment)
    except (StudentFault, CouldNotGrade) as fault:
        found.append(str(fault))
    if assignment.reports and not submission.reports:
        names = ", ".join(assignment.reports)
        found.append(f"There is no report: expected a file such as {names}; python -m grader report-draft begins one.")
    found += report_advice(submission.report_files, [one for one in submission.reports if one not in submission.report_files])
    found += [f"{path} does not count: {reason}." for path, reason in submission.ignored if assignment.is_collected(path)]
    return found


def _syntax_error(path: str, content: bytes) -> str:
    """Return a sentence if a Python file cannot be compiled, otherwise an empty string."""
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(content, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a ValueError before Python 3.11.4: null bytes
        line, what = (error.lineno, error.msg) if isinstance(error, SyntaxError) else (None, error)
        place = f", line {line}," if line else ""
        hint = " (save it as UTF-8)" if b"\0" in content else ""  # as in UTF-16
        return f"{path}{place} is not valid Python: {what}{hint}."
    return ""


def pack(root: Path, submission: Submission, archive: Path, assignment: Assignment) -> None:
    """Write the archive, whole or not at all.

    Raises:
        UsageError: the submission's files are not at the top of the folder, another file has the archive's name, or a file
            cannot be read or written.
    """
    if archive.exists() and not _is_submission(archive):
        raise UsageError(
            f"expected a new file after --out, or a submission that this command packed earlier; {archive} is something else: "
            "name another file, or move that one away"
        )
    files = dict(submission.files)
    astray = [path for path, content in files.items() if _content(root / path) != content]
    if astray:
        raise UsageError(f"expected your files at the top of {root}, such as {astray[0]}; {' '.join(submission.notes)}")
    try:
        files |= {path: (root / path).read_bytes() for path in submission.reports}
    except OSError as error:
        raise UsageError(f"expected reports that can be read; {error.filename}: {error.strerror}") from error
    try:
        with tempfile.TemporaryDirectory(prefix=".submit-", dir=archive.parent) as folder:
            fresh = Path(folder, archive.name)
            write_archive(files, fresh)
            with zipfile.ZipFile(fresh, "a") as written:
                written.comment = COMMENT
            packed = read_submission(fresh, assignment)
            if (packed.digest, packed.reports) != (submission.digest, submission.reports):
                raise UsageError(
                    f"the archive does not contain the same submission as the folder {root}; tell your instructor. "
                    f"{' '.join(packed.notes)}"
                )
            fresh.replace(archive)
    except OSError as error:
        raise UsageError(f"the archive {archive} was not written: {error.strerror}; name another file after --out") from error


def _is_submission(archive: Path) -> bool:
    if not archive.is_file():
        return False
    with archive.open("rb") as file:
        file.seek(max(0, archive.stat().st_size - len(COMMENT)))
        return file.read() == COMMENT


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def main(archive: Path, root: Path = ROOT, assignment: Assignment | None = None) -> int:
    """Pack this folder for an assignment, by default the main one; list the packed files, and warn about missing ones."""
    assignment = assignment or load_assignment()
    if archive.suffix.lower() != ".zip":
        raise UsageError(f"expected an archive with a name that ends in .zip; got {archive}")
    submission = read_submission(root, assignment, at_the_top=True)
    pack(root, submission, archive, assignment)
    for path in sorted([*submission.files, *submission.reports]):
        print(on_screen(f"  {path}"))
    print(
        on_screen(f"{archive}: {len(submission.files)} files that are graded, {len(submission.reports)} for a person to read.")
    )
    print(f"Digest of the graded files: {submission.digest}")
    sentences = missing_parts(submission, assignment)
    sentences += [vain_change(path) for path in changed_in_vain(root)]
    sentences += [
        f"{resemblance.sentence}: a person decides what counts." for resemblance in find_resemblances(submission, assignment)
    ]
    for sentence in sentences:
        print(on_screen(f"Warning: {sentence}"), file=sys.stderr, flush=True)
    for sentence in version_advice(assignment):
        print(on_screen(sentence))
    first = "fix what the warnings name, run this command again, and " if sentences else ""
    print(on_screen(f"Next: {first}hand in {archive}."))
    return 0
