"""The program of an uploaded autograder: grade one submission in Gradescope's container and write results.json.

`python -m grader gradescope` puts this file into autograder.zip, beside the grader. `run_autograder` starts it after it has
written a results.json that says that nothing has been graded, so a valid file is there whatever happens here. The format is
documented at https://gradescope-autograders.readthedocs.io/en/latest/specs/.

A check that could not be graded has neither a score nor a status, and so counts neither as passed nor as 0. Gradescope adds up
the scores that are there, so the total would still look like a result. An entry that stays hidden until the grades are
published prevents that: while an entry is hidden, students do not see their total.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import on_screen
from grader.assignment import Assignment, Check
from grader.assignment_file import load_named
from grader.confinement.sandbox import find_sandbox
from grader.errors import CouldNotGrade
from grader.pipeline.grading import absent_verdicts, grade_submission, require_strong
from grader.pipeline.listeners import Lines
from grader.pipeline.order import Order
from grader.pipeline.results import AWAITING_MARKS, COULD_NOT_GRADE, PASSED, Verdict
from grader.pipeline.run import decided_so_far
from grader.pipeline.run_folder import TakenOver
from grader.pipeline.submission import read_submission, submission_name

CONFIG = "config.toml"
SUBMISSION, RUNS, RESULTS = "submission", "runs", "results/results.json"
VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
PERSON = "A person will look at it. This is not a zero."
LONGEST_OUTPUT = 8000  # characters of a test's output


@dataclass(frozen=True)
class Settings:
    """The content of config.toml, which `python -m grader gradescope` writes.

    Attributes:
        checks: ids of checks, or the beginnings of their ids; empty for all.
        minutes: wall-clock time after which the rest of the checks is left to a person; below Gradescope's timeout, after
            which a submission would get 0.
        allow_weak_sandbox: whether to grade where a submission could write to the grader's files.
        visibility: when students see the checks; one of VISIBILITIES.
        sandbox: the level of confinement; empty for the strongest that works.
        lab: the lab to grade; empty for the main assignment.
    """

    profile: str = "quick"
    checks: tuple[str, ...] = ()
    minutes: float = 35.0
    allow_weak_sandbox: bool = False
    visibility: str = VISIBILITIES[0]
    sandbox: str = ""
    lab: str = ""

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read config.toml.

        Raises:
            UsageError: the file is missing or damaged, or has a key or a value that cannot be used.
        """
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"expected the settings of this autograder at {path}: {error}") from error
        kinds = {name: type(getattr(cls(), name)) for name in cls.__dataclass_fields__} | {"checks": list}
        for name, value in data.items():
            if name not in kinds:
                raise UsageError(f"{path}: expected keys among {', '.join(kinds)}; got {name!r}")
            if type(value) is not kinds[name] and not (name == "minutes" and type(value) is int):
                raise UsageError(f"{path}: expected {kinds[name].__name__} for {name}; got {value!r}")
        if strange := [check for check in data.get("checks", ()) if not isinstance(check, str)]:
            raise UsageError(f"{path}: expected ids of checks, in quotes, for checks; got {strange[0]!r}")
        settings = cls(**{**data, "checks": tuple(data.get("checks", ()))})
        settings.require_usable()
        return settings

    def require_usable(self) -> None:
        """Raise a UsageError if a value is out of range; `chosen` looks at profile and checks."""
        if self.visibility not in VISIBILITIES:
            raise UsageError(f"expected a visibility among {', '.join(VISIBILITIES)}; got {self.visibility!r}")
        if not 0 < self.minutes <= 40:
            raise UsageError(f"expected more than 0 minutes and at most 40, Gradescope's longest timeout; got {self.minutes:g}")

    def chosen(self, assignment: Assignment) -> tuple[Check, ...]:
        """Return the checks to run, in the assignment's order.

        Raises:
            UsageError: the assignment has no such check or profile.
        """
        assignment.profile(self.profile)
        named = {check.id for name in self.checks for check in assignment.named(name)}
        return tuple(check for check in assignment.checks if not self.checks or check.id in named)


@dataclass(frozen=True)
class Outcome:
    """What grading gave.

    Attributes:
        verdicts: one for each check that ran.
        sentences: what the student should read first.
    """

    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...] = ()
    seconds: float = 0.0


def gradescope_json(outcome: Outcome, visibility: str) -> dict[str, Any]:
    """Return the content of Gradescope's results.json."""
    waiting = [verdict for verdict in outcome.verdicts if verdict.status == COULD_NOT_GRADE]
    sentences = list(outcome.sentences)
    if waiting:
        sentences.append(f"{len(waiting)} of {len(outcome.verdicts)} checks could not be graded. {PERSON}")
    parts = list(dict.fromkeys(verdict.id.split(".")[0] for verdict in outcome.verdicts))
    counts = dict.fromkeys(parts, 0)
    tests = []
    for verdict in outcome.verdicts:
        part = verdict.id.split(".")[0]
        counts[part] += 1
        tests.append(_test(verdict, f"{parts.index(part) + 1}.{counts[part]}"))
    if waiting or not tests:
        tests.append(_total_is_open(len(waiting)))
    return {
        "execution_time": round(outcome.seconds),
        "output": _plain("\n".join(sentences)) or "Every check was graded.",
        # Without this, Gradescope would render HTML in a text that may quote a submission.
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def _test(verdict: Verdict, number: str) -> dict[str, Any]:
    lines = [verdict.message]
    if verdict.status == COULD_NOT_GRADE:
        lines.append(PERSON)
    if verdict.status != PASSED:
        lines += [f"{word}: {text}" for word, text in (("Expected", verdict.expected), ("Seen", verdict.seen)) if text]
    lines.append(f"Handout section {verdict.handout}.")
    test: dict[str, Any] = {
        "name": verdict.title,
        "number": number,
        "output": _plain("\n".join(lines)),
        "output_format": "text",
    }
    if verdict.status == COULD_NOT_GRADE:
        return {**test, "name": f"{verdict.title} (could not be graded)"}
    status = "passed" if verdict.status == PASSED else "failed"
    return {**test, "score": verdict.points, "max_score": verdict.max_points, "status": status}


def _total_is_open(waiting: int) -> dict[str, Any]:
    what = f"{waiting} check{'' if waiting == 1 else 's'}" if waiting else "The whole submission"
    return {
        "name": "The total is not final",
        "output": f"{what} could not be graded by the program. A person gives these points before the grades are published.",
        "output_format": "text",
        "visibility": "after_published",
    }


def _plain(text: str) -> str:
    return on_screen(text, keep="\n")[:LONGEST_OUTPUT]


def run(root: Path, settings: Settings) -> Outcome:
    """Grade `root/submission`.

    What a student should know about a submission that cannot be read, or a machine that cannot grade, is in the outcome.
    """
    started = time.monotonic()
    assignment = load_named(settings.lab)
    assignment = replace(assignment, checks=settings.chosen(assignment))
    path, stopping = root / SUBMISSION, threading.Event()
    timer = threading.Timer(60 * settings.minutes, stopping.set)
    timer.daemon = True
    timer.start()
    sentences: list[str] = []
    verdicts: tuple[Verdict, ...] = ()
    try:
        sandbox = find_sandbox(settings.sandbox or None)
        require_strong(sandbox, [path], assignment, settings.allow_weak_sandbox)
        order = Order(assignment, settings.profile, root / RUNS, sandbox)
        submission = read_submission(path, assignment)
        absent, listener = TakenOver(absent_verdicts(submission, assignment)), Lines(_to_the_instructor)
        results = grade_submission(submission, order, taken_over=absent, listener=listener, stopping=stopping)
        _to_the_instructor(f"{sandbox.sentence} Seed {results.seed}, grader {results.grader}.")
        sentences += results.notes
        verdicts = results.program
    except KeyboardInterrupt:
        sentences.append(f"The time of this autograder, {settings.minutes:g} minutes, was used up.")
        verdicts = _decided(root / RUNS / submission_name(path), assignment.checks, sentences[-1])
    except (UsageError, CouldNotGrade) as error:
        sentences.append(f"The submission could not be graded: {_without_root(str(error), root)}. {PERSON}")
    finally:
        timer.cancel()
    return Outcome(verdicts, tuple(sentences), time.monotonic() - started)


def _decided(folder: Path, checks: Sequence[Check], reason: str) -> tuple[Verdict, ...]:
    """Return the verdicts that were recorded before the time was used up, and one for each check that has none."""
    decided = decided_so_far(folder)
    open_ones = {check.id: Verdict.of(check, COULD_NOT_GRADE, reason) for check in checks}
    return tuple(verdict for verdict in (open_ones | decided).values() if verdict.status != AWAITING_MARKS)


def _without_root(text: str, root: Path) -> str:
    return text.replace(f"{root.resolve()}/", "").rstrip(".")


def _to_the_instructor(line: str) -> None:
    """Print a line; Gradescope shows standard output to instructors only."""
    if not line.startswith("\r"):
        print(on_screen(line), flush=True)


def main(root: Path, source: Path) -> int:
    """Write results.json; return 0 if it says what the grader found.

    Args:
        root: the folder that Gradescope calls /autograder.
        source: the folder with config.toml.
    """
    try:
        settings = Settings.read(source / CONFIG)
        outcome = run(root, settings)
        visibility = settings.visibility
    except UsageError as error:
        outcome, visibility = Outcome((), (f"The autograder is not set up correctly: {error}. {PERSON}",)), VISIBILITIES[0]
    content = gradescope_json(outcome, visibility)
    write_whole(root / RESULTS, json.dumps(content, indent=1, ensure_ascii=False))
    for sentence in outcome.sentences:
        _to_the_instructor(sentence)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(__file__).resolve().parents[1]))
