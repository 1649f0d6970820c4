"""`python -m grader replay RESULT [CHECK ...]`: repeat the verdicts of a graded run, for an appeal.

The kept submission is graded again in a separate folder, with the recorded seed, profile and level of confinement. Verdicts of
checks that are not repeated are taken over, because some checks depend on others. Each recorded verdict is shown beside the
repeated one, with what was expected and the evidence of both. Changes since the grading (grader, versions, machine,
confinement) come first, because a verdict may differ because of them. For games, a note says whether the machine was busy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.engine.cores import at_most_cores, available_cores
from arena.match.match import Load
from arena.match.referee import GameRecord
from common.errors import UsageError
from grader.assignment import Assignment
from grader.assignment_file import load_named
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.instructor.gradebook_entries import refusal_of
from grader.pipeline.engine_build import require_compiler
from grader.pipeline.grading import absent_verdicts, environment, grade_submission, require_strong
from grader.pipeline.judging import grader_digest
from grader.pipeline.listeners import Announce, Progress
from grader.pipeline.order import Order
from grader.pipeline.report import format_points
from grader.pipeline.results import RESULTS, SUBMISSION, Results, Verdict, read_results
from grader.pipeline.run_folder import EARLIER, TakenOver
from grader.pipeline.submission import Submission, read_submission

REPLAYS = "replay"  # the folder of repeated runs, beside the recorded one
EVIDENCE_CHARACTERS = 300
GAMES_DIFFER = (
    "note      an engine's time is CPU time, and not every engine uses GOMOKU_SEED, so single games differ from run to run; "
    "compare the intervals."
)
BUSY = (
    "An engine that plans by the wall clock then thinks less, so load may explain a difference: repeat it on an idle machine."
)


def read_record(place: Path) -> tuple[Path, Results]:
    """Return the folder of a graded run, and its results.

    Args:
        place: the folder or its results.json.

    Raises:
        UsageError: there is no finished run, or its files were altered.
    """
    path = place / RESULTS if place.is_dir() else place
    if not path.exists() and (refusal := refusal_of(path.parent)):
        raise UsageError(f"expected a graded run in {path.parent}; the archive was refused: {refusal}")
    if not path.exists() and (runs := sorted(place.glob(f"*/{RESULTS}"))):
        raise UsageError(f"expected the folder of one graded run, such as {runs[0].parent}; {place} holds {len(runs)} of them")
    return path.parent, read_results(path)


def replays_beside(folder: Path) -> Path:
    """Return the folder for repetitions of a run: `replay` beside the run, or beside the run that replaced an earlier one."""
    latest = folder.parent.parent if folder.parent.name == EARLIER else folder
    return latest.parent / REPLAYS


def kept_submission(folder: Path, results: Results, assignment: Assignment) -> Submission:
    """Return the graded submission; raise a UsageError if the current assignment collects other files from it."""
    submission = replace(read_submission(folder / SUBMISSION, assignment, at_the_top=True), name=results.submission)
    if submission.digest != results.digest:
        raise UsageError(
            f"expected the files that were graded in {folder / SUBMISSION}; assignment.toml now collects others: replay with "
            "the assignment.toml of the grading"
        )
    return submission


def differences(results: Results, sandbox: Sandbox, assignment: Assignment) -> list[str]:
    """Return a phrase for each change since the grading that may affect a verdict."""
    now = environment(assignment)
    then = results.environment
    # A result from a cluster also names its machine and that machine's speed, which nothing here compares with.
    found = [f"{key} {then[key]}, now {now[key]}" for key in now if key in then and key != "date" and then[key] != now[key]]
    for key, value in sandbox.properties.items():
        if results.sandbox.get(key) != value:
            found.append(f"confinement: {key} {results.sandbox.get(key)}, now {value}")
    return found + ["the grader's own code, the framework or assignment.toml"] * (results.grader != grader_digest(assignment))


def same_outcome(recorded: Verdict, repeated: Verdict) -> bool:
    """Return whether both have the same status and points; the messages may differ, for instance in a time."""
    return (recorded.status, recorded.points) == (repeated.status, repeated.points)


def recorded_games(verdict: Verdict) -> list[GameRecord]:
    """Return the games with engines in a verdict's evidence; empty for games recorded by an earlier version."""
    games = verdict.evidence.get("match", verdict.evidence).get("games")
    try:
        return [GameRecord.from_json(game) for game in games] if isinstance(games, list) else []
    except (KeyError, TypeError, ValueError):
        return []


def comparison(recorded: Verdict, repeated: Verdict) -> list[str]:
    """Return the lines that compare two verdicts of a check: whether they agree, what was expected, and all evidence."""
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
            lines.append(f"  evidence  {text[:EVIDENCE_CHARACTERS]}{'...' if len(text) > EVIDENCE_CHARACTERS else ''}")
    if "match" in recorded.evidence:
        lines.append(GAMES_DIFFER)
    for name, verdict in (("recorded", recorded), ("repeated", repeated)):
        if load := Load.of(recorded_games(verdict)).sentence:
            lines.append(f"note      {name} on a busy machine: {load} {BUSY}")
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def main(
    place: Path, names: Sequence[str], out: Path | None, announce: Announce, *, level: str | None, allow_weak: bool = False
) -> int:
    """Repeat verdicts and show them; return 0 if all are the same, 1 if any differs or can no longer be repeated.

    Args:
        names: ids of checks, or parts; empty for all checks of the run.
        out: folder in which the repeated run gets its folder; never that of the recorded run. None for `replays_beside` it.
        level: level of confinement to use instead of the recorded one.
    """
    folder, results = read_record(place)
    out = out or replays_beside(folder)
    if os.path.realpath(out / results.submission) == os.path.realpath(folder):
        raise UsageError(f"expected another --out: {folder} is the recorded run itself, which must not be altered")
    recorded = {verdict.id: verdict for verdict in results.program}
    assignment = load_named(results.assignment)
    require_compiler(assignment)
    assignment = replace(assignment, checks=tuple(check for check in assignment.checks if check.id in recorded))
    gone = sorted(set(recorded) - {check.id for check in assignment.checks})
    if not assignment.checks:
        raise UsageError(f"expected the checks of {folder} in assignment.toml; it has none of them: {', '.join(gone)}")
    wanted = {check.id for name in names for check in assignment.named(name)} or {check.id for check in assignment.checks}
    sandbox = find_sandbox(level or str(results.sandbox["level"]))
    require_strong(sandbox, [folder / SUBMISSION], assignment, allow_weak)
    submission = kept_submission(folder, results, assignment)
    announce(
        f"{submission.name}: {len(wanted)} of {len(recorded)} checks, profile {results.profile}, seed {results.seed}, "
        f"graded {results.environment['date']}."
    )
    if gone:
        announce(f"Cannot be repeated, because assignment.toml no longer has them: {', '.join(gone)}.")
    order = Order(
        assignment,
        results.profile,
        out,
        sandbox,
        seed=results.seed,
        looked_at=results.looked_at,
        whole_match=results.whole_match,
    )
    taken_over = [verdict for verdict in recorded.values() if verdict.id not in wanted]
    absent = [verdict for verdict in absent_verdicts(submission, assignment) if verdict.id in wanted]
    # A class is graded with one core for each submission.
    cores = results.environment.get("cores", "")
    with at_most_cores(int(cores) if cores.isdecimal() else available_cores()):
        if differing := differences(results, sandbox, assignment):
            announce(f"Changed since the grading: {'; '.join(differing)}. A verdict may differ because of that.")
        repeated = grade_submission(
            submission,
            order,
            taken_over=TakenOver([*taken_over, *absent]),
            keeps_earlier=True,  # another run of this name may lie in the folder
            listener=Progress(announce),
        )
    pairs = [(recorded[verdict.id], verdict) for verdict in repeated.verdicts if verdict.id in wanted]
    for pair in pairs:
        for line in comparison(*pair):
            announce(line)
    agreeing = sum(same_outcome(*pair) for pair in pairs)
    announce(f"{agreeing} of {len(pairs)} verdicts are the same; the repeated run is in {out / submission.name}.")
    return 0 if agreeing == len(pairs) and (names or not gone) else 1
