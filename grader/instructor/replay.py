"""`python -m grader replay RESULT [CHECK ...]`: the verdicts of a graded run repeated, for an appeal.

The kept submission is graded again with the recorded seed, profile and level of confinement, in a folder of its own; the
verdicts of checks that are not repeated are taken over, since some lean on others. Each recorded verdict is shown beside the
repeated one, with what was expected and the evidence of both. What differs between then and now (grader, versions, machine,
confinement) is said first, since a verdict may differ because of it, and of games whether the machine was busy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.match.match import Load
from arena.match.referee import GameRecord
from common.errors import UsageError
from grader.assignment import Assignment, load_assignment
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.pipeline.grading import Announce, absent_verdicts, environment, grade_submission, require_strong
from grader.pipeline.order import Order, grader_digest
from grader.pipeline.report import format_points
from grader.pipeline.results import RESULTS, SUBMISSION, Results, Verdict, read_results
from grader.pipeline.submission import Submission, read_submission

OUT = Path("results", "replay")
EVIDENCE_LETTERS = 300
GAMES_DIFFER = (
    "note      an engine's time runs by the CPU clock, and not every engine draws by GOMOKU_SEED: single games differ from "
    "run to run; compare the intervals."
)
BUSY = "An engine that plans by the wall clock thinks less then, so load may explain a difference: repeat it on a free machine."


def read_record(place: Path) -> tuple[Path, Results]:
    """The folder of a graded run and what it came to.

    Args:
        place: the folder or its results.json.

    Raises:
        UsageError: there is no finished run, or something of it was altered.
    """
    path = place / RESULTS if place.is_dir() else place
    return path.parent, read_results(path)


def kept_submission(folder: Path, results: Results, assignment: Assignment) -> Submission:
    """What was graded; UsageError where today's assignment collects other files of it."""
    submission = replace(read_submission(folder / SUBMISSION, assignment, at_the_top=True), name=results.submission)
    if submission.digest != results.digest:
        raise UsageError(f"{folder / SUBMISSION}: assignment.toml collects other files of it now than when it was graded")
    return submission


def differences(results: Results, sandbox: Sandbox, assignment: Assignment) -> list[str]:
    """A phrase for each thing that a verdict may depend on and that is not as it was."""
    now = environment(assignment)
    then = results.environment
    found = [f"{key} {then[key]}, now {now.get(key)}" for key in then if key != "date" and then[key] != now.get(key)]
    for key, value in sandbox.properties.items():
        if results.sandbox.get(key) != value:
            found.append(f"confinement: {key} {results.sandbox.get(key)}, now {value}")
    return found + ["the grader's own code, the framework or assignment.toml"] * (results.grader != grader_digest(assignment))


def same_outcome(recorded: Verdict, repeated: Verdict) -> bool:
    """Whether both give the same; the words may differ, as where they tell a time."""
    return (recorded.status, recorded.points) == (repeated.status, repeated.points)


def _load_under(verdict: Verdict) -> Load:
    """What other programs took from the games of a verdict; nothing is known of those that an earlier version recorded."""
    games = verdict.evidence.get("match", verdict.evidence).get("games")
    try:
        return Load.of([GameRecord.from_json(game) for game in games]) if isinstance(games, list) else Load()
    except (KeyError, TypeError, ValueError):
        return Load()


def comparison(recorded: Verdict, repeated: Verdict) -> list[str]:
    """The lines that show a check: its outcome, what was expected, and both verdicts with their evidence."""
    lines = [f"{recorded.id}: {'same' if same_outcome(recorded, repeated) else 'DIFFERENT'}"]
    if recorded.expected or repeated.expected:
        lines.append(f"expected  {recorded.expected or repeated.expected}")
    for name, verdict in (("recorded", recorded), ("repeated", repeated)):
        points = f"{format_points(verdict.points)}/{format_points(verdict.max_points)}"
        lines.append(f"{name}  {verdict.status} {points}: {verdict.message}")
        if verdict.seen and verdict.seen not in verdict.message:
            lines.append(f"  seen      {verdict.seen}")
        text = json.dumps(verdict.evidence)
        if verdict is repeated and verdict.evidence == recorded.evidence:
            text = "the same"
        if verdict.evidence:
            lines.append(f"  evidence  {text[:EVIDENCE_LETTERS]}{'...' if len(text) > EVIDENCE_LETTERS else ''}")
    if "match" in recorded.evidence:
        lines.append(GAMES_DIFFER)
    for name, verdict in (("recorded", recorded), ("repeated", repeated)):
        if load := _load_under(verdict).sentence:
            lines.append(f"note      {name} on a busy machine: {load} {BUSY}")
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def main(
    place: Path, names: Sequence[str], out: Path, announce: Announce, *, level: str | None, allow_weak: bool = False
) -> int:
    """Repeat verdicts and show them; 0 if all are the same, 1 if one differs.

    Args:
        names: checks or parts of them; empty for all of the run.
        out: where the repeated run's folder is made, which is never that of the recorded one.
        level: of confinement, in place of the recorded one.
    """
    folder, results = read_record(place)
    if (out / results.submission).resolve() == folder.resolve():
        raise UsageError(f"expected another --out: {folder} is the recorded run itself, which is not altered")
    recorded = {verdict.id: verdict for verdict in results.program}
    assignment = load_assignment()
    if results.assignment != assignment.id:
        raise UsageError(f"{folder} is of the assignment {results.assignment!r}; expected {assignment.id!r}")
    assignment = replace(assignment, checks=tuple(check for check in assignment.checks if check.id in recorded))
    wanted = {check.id for name in names for check in assignment.named(name)} or {check.id for check in assignment.checks}
    sandbox = find_sandbox(level or str(results.sandbox["level"]))
    require_strong(sandbox, [folder / SUBMISSION], assignment, allow_weak)
    submission = kept_submission(folder, results, assignment)
    announce(
        f"{submission.name}: {len(wanted)} of {len(recorded)} checks, profile {results.profile}, seed {results.seed}, "
        f"graded {results.environment['date']}."
    )
    if differing := differences(results, sandbox, assignment):
        announce(f"Not as it was then: {'; '.join(differing)}. A verdict may differ because of that.")
    order = Order(assignment, results.profile, out, sandbox, seed=results.seed, looked_at=results.looked_at)
    taken_over = [verdict for verdict in recorded.values() if verdict.id not in wanted]
    absent = [verdict for verdict in absent_verdicts(submission, assignment) if verdict.id in wanted]
    repeated = grade_submission(
        submission,
        order,
        decided=[*taken_over, *absent],
        announce=lambda line: announce(line) if line.startswith("\r") else None,
    )
    pairs = [(recorded[verdict.id], verdict) for verdict in repeated.verdicts if verdict.id in wanted]
    for pair in pairs:
        for line in comparison(*pair):
            announce(line)
    agreeing = sum(same_outcome(*pair) for pair in pairs)
    announce(f"{agreeing} of {len(pairs)} verdicts are the same; the repeated run is in {out / submission.name}.")
    return 0 if agreeing == len(pairs) else 1
