"""`python -m grader check`: run the checks that take seconds, and say what to do first. Students run it after each change.

It grades the tree that it belongs to as if it were a submission, with the profile `check`. Checks that take minutes run only on
request. It writes only below `build/`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from common.near_names import near_name
from common.unwritten import REMINDER
from grader.assignment import ROOT, Assignment, Check
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.confinement.worker_client import NOT_WRITTEN
from grader.pipeline.gains import points_in_words
from grader.pipeline.grading import grade_submission
from grader.pipeline.handed_out import changed_in_vain, find_resemblances
from grader.pipeline.listeners import Announce, Lines
from grader.pipeline.order import Order
from grader.pipeline.results import PASSED, Results
from grader.pipeline.submission import Submission, read_submission

PROFILE = "check"
OUT = Path("build", "check")
OTHER_SOURCES = ("c++", "C", "CC", "cp", "c")  # names of C++ sources elsewhere


def choose_checks(assignment: Assignment, only: Sequence[str], asked: Collection[str]) -> tuple[Check, ...]:
    """Return the checks to run.

    Args:
        only: ids of checks, or beginnings of several up to a dot; empty for all.
        asked: keys of `[long_checks]` in assignment.toml whose checks are run too. If a name in `only` stands for nothing but
            long checks, they are run anyway.

    Raises:
        UsageError: a name in `only` matches no check.
    """
    left_out = {i for kind, ids in assignment.long_checks.items() if kind not in asked for i in ids}
    wanted: set[str] = set()
    for chosen in [assignment.named(name) for name in only] or [list(assignment.checks)]:
        ids = {check.id for check in chosen}
        wanted |= ids - left_out or ids
    return tuple(check for check in assignment.checks if check.id in wanted)


def unwritten_methods(submission: Submission, assignment: Assignment) -> dict[str, list[str]]:
    """Return file -> `method, section 5.1` for each method that is not written yet, in the file's order."""
    found = {}
    for path in assignment.stubs:
        text = submission.files.get(path, b"").decode("utf-8", "replace")
        if methods := [f"{match['method']}, section {match['section']}" for match in REMINDER.finditer(text)]:
            found[path] = methods
    return found


def vain_change(path: str) -> str:
    """Return a sentence about a handed-out file that the student has changed."""
    return f"{path} has been changed, but grading uses its own copy: put your work into a file with another name."


def name_advice(submission: Submission, assignment: Assignment) -> list[str]:
    """Return a sentence for each file that would count under a slightly different name."""
    present = [*submission.files, *(path for path, _ in submission.ignored)]
    own = [path for path in present if path not in assignment.stubs]
    advice = []
    for stub in assignment.stubs:
        if stub not in submission.files and (near := near_name(stub, own)):
            advice.append(f"{stub} is missing; {near} has nearly this name: rename it.")
    for path in present:
        stem, _, suffix = path.rpartition(".")
        renamed = f"{stem}.cpp"
        if suffix in OTHER_SOURCES and assignment.is_collected(renamed) and renamed not in submission.files:
            advice.append(f"{path} does not count, because its name ends in .{suffix}: rename it to {renamed}.")
    return advice


def version_advice(assignment: Assignment, running: tuple[int, int] = sys.version_info[:2]) -> list[str]:
    """Return a sentence if the Python that is running is newer than the one that grades."""
    if running <= tuple(int(part) for part in assignment.python.split(".")):
        return []
    mine = ".".join(map(str, running))
    return [f"You run Python {mine}, but grading uses {assignment.python}: code that needs a newer Python earns nothing."]


def what_to_do_first(results: Results, unwritten: dict[str, list[str]], handout: str) -> list[str]:
    """Return a sentence for each chapter in which a check fell short; it names the first method to write, or that check."""
    sentences = []
    short = [verdict for verdict in results.program if verdict.status != PASSED]
    for _, checks in groupby(short, key=lambda verdict: verdict.handout.split(".")[0]):
        first = next(checks)
        # A message may also name a file because what is written there fails.
        file = next((path for path in unwritten if first.message.startswith(f"{NOT_WRITTEN} {path}")), None)
        if file:
            sentences.append(f"Write {file}: {unwritten[file][0]} of {handout}.")
        else:
            sentences.append(f"{first.id} (section {first.handout} of {handout}): {first.message}")
    return list(dict.fromkeys(sentences))


def next_step(assignment: Assignment) -> str:
    """Return what comes after the checks: the report, if the assignment has one, and handing in."""
    report = "python -m grader report-draft begins your report, and " if assignment.reports else ""
    lab = f" --lab {assignment.id}" if assignment.home else ""
    return f"{report}python -m grader submit{lab} packs what you hand in"


def main(
    only: Sequence[str],
    asked: Collection[str],
    announce: Announce,
    root: Path = ROOT,
    assignment: Assignment | None = None,
) -> int:
    """Run the checks of an assignment, by default the main one, on a folder; return 0 if all passed, 1 if any fell short."""
    assignment = assignment or load_assignment()
    checks = choose_checks(assignment, only, asked)
    submission = read_submission(root, assignment, at_the_top=True)
    for note in (*submission.notes, *version_advice(assignment)):
        announce(note)
    for path in changed_in_vain(root):
        announce(vain_change(path))
    for sentence in name_advice(submission, assignment):
        announce(sentence)
    for resemblance in find_resemblances(submission, assignment):
        announce(f"{resemblance.sentence}: when you hand it in, a person decides what counts.")
    chosen = replace(assignment, checks=checks)
    order = Order(chosen, PROFILE, root / OUT, find_sandbox())
    results = grade_submission(submission, order, listener=Lines(announce))
    passed = sum(verdict.status == PASSED for verdict in results.verdicts)
    announce(f"{passed} of {len(checks)} checks passed in {results.seconds:.0f} s.")
    left_out = [f"--{kind}" for kind in assignment.long_checks if not only and kind not in asked]
    if left_out:
        announce(f"The other checks take minutes; run them with {' and '.join(left_out)}.")
    long = {check for ids in assignment.long_checks.values() for check in ids}
    if passed == len(checks):
        announce(points_in_words(results, long))
        if not only:
            announce(f"Next: {next_step(assignment)}.")
        return 0
    announce("What to do first:")
    for sentence in what_to_do_first(results, unwritten_methods(submission, assignment), assignment.handout):
        announce(f"  {sentence}")
    announce(f"More on each check: {root / OUT / submission.name / 'report.html'}")
    announce(points_in_words(results, long))
    return 1
