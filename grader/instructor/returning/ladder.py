"""A round robin between the engines of a class, from the files that each graded run has kept.

Engines are compiled and run in the same confinement as in grading. Each pair plays a match of the arena, whose games are
recorded as they end, so the same command continues after a kill.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from arena.engine.cores import available_cores
from arena.engine.engine_process import EngineSpec, Limits
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.records import Records
from arena.match.referee import GameRecord
from arena.match.setup import MatchSetup
from arena.statistics.estimates import Z_95
from common.errors import UsageError
from grader.assignment import ROOT, Assignment, MatchProfile
from grader.confinement.sandbox import ProcessLimits, Sandbox
from grader.errors import CouldNotGrade, StudentFault
from grader.instructor.returning.class_results import StudentResults
from grader.pipeline.engine_build import build_submitted, require_compiler
from grader.pipeline.listeners import Announce
from grader.pipeline.results import SUBMISSION
from grader.pipeline.run import PROCESS_CPU_S
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace
from training.ratings import RatedPair, elo_ratings

SEED = 1  # of the matches: the same command must find its own records again
DIGEST_CHARACTERS = 16


@dataclass(frozen=True)
class Rung:
    """An engine of the round robin; `elo` is relative to the mean of the class, and `error` half of its 95 % interval."""

    label: str
    elo: float
    error: float
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class LadderTable:
    """The result of a round robin, the strongest engine first.

    Attributes:
        not_built: number of engines that could not be built.
        doubles: number of engines that do not play because another student handed in the same files.
    """

    rungs: tuple[Rung, ...]
    games_per_pair: int
    move_s: float
    not_built: int
    doubles: int

    def place(self, elo: float) -> float:
        """Return where a rating lies between the lowest and the highest end of all intervals, in [0, 1]."""
        low = min(rung.elo - rung.error for rung in self.rungs)
        high = max(rung.elo + rung.error for rung in self.rungs)
        return (elo - low) / (high - low)


@dataclass(frozen=True)
class LadderOrder:
    """How a round robin is played.

    Attributes:
        games: number of games of each pair.
        folder: where engines and records are kept.
    """

    assignment: Assignment
    sandbox: Sandbox
    match: MatchProfile
    games: int
    folder: Path


def play_ladder(
    found: Mapping[str, StudentResults], labels: Mapping[str, str], order: LadderOrder, announce: Announce
) -> LadderTable | None:
    """Play the games that are missing; return the table, or None if fewer than two engines could be built.

    Args:
        labels: id -> pseudonym of each engine that takes part.
    """
    require_compiler(order.assignment)
    engines: dict[str, EngineSpec] = {}
    not_built, doubles = 0, 0
    for number, (student, label) in enumerate(labels.items(), 1):
        announce(f"\rladder: building engine {number} of {len(labels)}")
        try:
            engine = _built(found[student], order)
        except (StudentFault, CouldNotGrade, UsageError) as error:
            announce(f"ladder: the engine of {student} is left out: {error}")
            not_built += 1
            continue
        if any(engine.path == other.path for other in engines.values()):
            announce(f"ladder: the engine of {student} is left out: another student handed in the same files")
            doubles += 1
            continue
        engines[label] = engine
    if len(engines) < 2:
        announce("ladder: fewer than two engines can play, so there is no ladder.")
        return None
    return _table(_Playing(order, announce, engines).play(), order, not_built, doubles)


def _built(student: StudentResults, order: LadderOrder) -> EngineSpec:
    """Compile an engine, unless a binary of the same sources, header and command is kept; say how it is started, confined."""
    assignment, results = order.assignment, student.results
    header = Path(assignment.engine_folder, assignment.engine_header)
    rests_on = [results.digest, *assignment.compile_command, hashlib.sha256((ROOT / header).read_bytes()).hexdigest()]
    name = hashlib.sha256("\0".join(rests_on).encode()).hexdigest()[:DIGEST_CHARACTERS]
    binary = (order.folder / "engines" / name).resolve()
    if not binary.is_file():
        submission = read_submission(student.folder / SUBMISSION, assignment, at_the_top=True)
        with tempfile.TemporaryDirectory(prefix="grader-ladder-") as scratch:
            workspace = build_workspace(assignment, submission, Path(scratch, "workspace"))
            build_submitted(workspace, submission, binary, assignment, order.sandbox)
    limits = assignment.limits
    process = ProcessLimits(limits.engine_memory_mib, PROCESS_CPU_S, limits.processes, limits.file_size_mib)
    command = order.sandbox.wrap([str(binary)], limits=process, read_only=[binary])
    # The records name an engine by the digest of what it was built from, so that they outlive a new order of the pseudonyms.
    return EngineSpec(path=binary.name, command=tuple(command))


@dataclass
class _Playing:
    """The matches of a round robin; `done` counts the games so far, and `played` those played by this command."""

    order: LadderOrder
    announce: Announce
    engines: Mapping[str, EngineSpec]
    done: int = 0
    played: int = 0
    started: float = field(default_factory=time.monotonic)

    def play(self) -> dict[tuple[str, str], MatchResult]:
        """Return (label, label) -> match."""
        pairs = list(combinations(self.engines, 2))
        labels = {engine.path: label for label, engine in self.engines.items()}
        limits = Limits(move_s=self.order.match.limit_s, told_move_s=self.order.match.move_s)
        games = self.order.folder / "games"
        games.mkdir(parents=True, exist_ok=True)
        results = {}
        for pair in pairs:
            first, second = sorted((self.engines[label] for label in pair), key=lambda spec: spec.path)
            setup = MatchSetup((first, second), self.order.games, SEED, limits)
            records = Records(games / f"{first.path}-{second.path}.jsonl", setup)
            tell = partial(self._tell, len(pairs), frozenset(records.games))
            result = play_match(setup, ThreadRunner(available_cores()), on_game=tell, records=records)
            results[labels[first.path], labels[second.path]] = result
        return results

    def _tell(self, pairs: int, recorded: frozenset[int], game: GameRecord) -> None:
        whole, left = pairs * self.order.games, ""
        self.done, self.played = self.done + 1, self.played + (game.index not in recorded)
        if self.played:
            left_s = (time.monotonic() - self.started) / self.played * (whole - self.done)
            left = f", about {left_s / 60:.0f} min left"
        self.announce(f"\rladder: {self.done} of {whole} games{left}")


def _table(
    results: Mapping[tuple[str, str], MatchResult], order: LadderOrder, not_built: int, doubles: int
) -> LadderTable | None:
    decided = {pair: result for pair, result in results.items() if result.plays}
    labels = list(dict.fromkeys(label for pair in decided for label in pair))
    if not labels:
        return None
    number = {label: i for i, label in enumerate(labels)}
    pairs, tallies = [], {label: [0, 0, 0] for label in labels}
    for (first, second), result in decided.items():
        seen = result.statistics(0)
        points = (seen.wins + seen.draws / 2) / seen.games * seen.effective_games
        pairs.append(RatedPair(number[second], number[first], points, seen.effective_games))
        for label, counts in ((first, (seen.wins, seen.draws, seen.losses)), (second, (seen.losses, seen.draws, seen.wins))):
            tallies[label] = [a + b for a, b in zip(tallies[label], counts, strict=True)]
    try:
        ratings, covariance = elo_ratings(len(labels), pairs)
    except np.linalg.LinAlgError as error:
        raise UsageError("expected matches that connect all engines of the ladder; too many games were undecided") from error
    centred = np.eye(len(labels)) - 1 / len(labels)
    errors = Z_95 * np.sqrt(np.diag(centred @ covariance @ centred.T))
    elos = centred @ ratings
    rungs = [Rung(label, float(elos[i]), float(errors[i]), *tallies[label]) for label, i in number.items()]
    rungs.sort(key=lambda rung: (-rung.elo, rung.label))
    return LadderTable(tuple(rungs), order.games, order.match.move_s, not_built, doubles)
