"""`assignment.toml` as frozen dataclasses: the only definition of files, points, opponents, limits and formulas.

The file at the root describes the main assignment. A lab is another assignment of the same course: a folder below `labs/` with
its own file. The paths in it are relative to the root all the same, except that its stubs lie in the lab's folder. In a lab's
kit the lab's file and stubs lie at the root, so that there the lab is the main assignment.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath

from arena.statistics.estimates import GameResult, mean_interval_95
from common.errors import UsageError
from common.near_names import meant
from common.scoring import FORMULAS

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION = "assignment.toml"
LABS = "labs"
INSTRUCTOR = "instructor"
LONG = ("match", "training")
"""The kinds of checks that take minutes: the keys of `[long_checks]`, and fields of a Profile with their own time limits."""


@dataclass(frozen=True)
class Check:
    """A check or a mark: an item with points. A program decides a check; a person gives a mark.

    Attributes:
        handout: the section of the handout that it belongs to.
        purpose: why there is such a check, in a sentence for students.
    """

    id: str
    title: str
    points: float
    handout: str
    purpose: str = ""

    def is_of(self, name: str) -> bool:
        """Return whether a name refers to this check: its id, or the beginning of its id up to a dot."""
        return f"{self.id}.".startswith(f"{name}.")


@dataclass(frozen=True)
class MatchProfile:
    """A match against the baseline.

    Attributes:
        move_s: the time per move that the engines should use.
        limit_s: the time limit per move that the referee enforces.
        minutes: the time limit for the whole match (see `grader.pipeline.budget`).
    """

    games: int
    move_s: float
    limit_s: float
    minutes: float


@dataclass(frozen=True)
class TrainingProfile:
    """How long the 3x3 training may take and how its result is evaluated.

    Attributes:
        max_games: the largest number of self-play games per seed.
        minutes: the time limit for each check of the training (see `grader.pipeline.budget`).
    """

    seeds: int
    max_games: int
    check_every: int
    playouts: tuple[int, ...]
    own_playouts: int
    minutes: float


NO_MATCH = MatchProfile(games=0, move_s=0.0, limit_s=0.0, minutes=0.0)
NO_TRAINING = TrainingProfile(seeds=0, max_games=0, check_every=0, playouts=(), own_playouts=0, minutes=0.0)


@dataclass(frozen=True)
class Profile:
    """The settings behind `--profile NAME`.

    Attributes:
        call_limit_s: the time limit for one call into a student's Python.
        check_minutes: the time limit for each check that is neither the match nor the training (see `grader.pipeline.budget`).
        budget_minutes: the time limit for all checks of a submission in total.
        match, training: left out by an assignment without such checks.
    """

    name: str
    call_limit_s: float
    check_minutes: float
    budget_minutes: float
    match: MatchProfile = NO_MATCH
    training: TrainingProfile = NO_TRAINING


@dataclass(frozen=True)
class ResourceLimits:
    """What the programs of a submission may use: a worker that runs its Python, and its engine."""

    worker_memory_mib: int
    engine_memory_mib: int
    processes: int
    file_size_mib: int


@dataclass(frozen=True)
class Likeness:
    """The shares in [0, 1] of common code at which two sources are too similar.

    `pair` is measured by `grader.instructor.similarity`, all others are shares of fingerprints (`grader.pipeline.likeness`).

    Attributes:
        submission: the threshold for a submission and a handed-out source.
        example: the threshold for a submission and one of `examples`.
        examples: the handed-out sources from which students may begin.
        pair: the threshold for two submissions.
        kit: the threshold for a file of the kit and a file that must not be handed out.
    """

    submission: float
    example: float
    examples: tuple[str, ...]
    pair: float
    kit: float


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """The whole content of `assignment.toml`.

    Attributes:
        home: the folder of a lab, relative to the root; empty for the main assignment.
        checks_folder: the folder of the checks, relative to the root.
        judging: patterns of the sources outside `grader/` that decide verdicts.
        python: the version of Python that grades, such as 3.11.
        bank: the module whose `make_bank` makes the expected values of a kit.
        engine_folder: empty for an assignment in which no engine is written.
        opponents: name -> sources; what they include belongs to them too. A submission plays the first one.
    """

    home: str = ""

    id: str
    title: str
    handout: str
    handout_url: str
    stubs: tuple[str, ...]
    collected: tuple[str, ...]
    protected: tuple[str, ...]
    framework: tuple[str, ...]
    reports: tuple[str, ...]
    decides: dict[str, tuple[str, ...]]
    parts: dict[str, tuple[str, ...]]
    kit: tuple[str, ...]
    withheld: tuple[str, ...]
    kit_readme: str
    answers: tuple[str, ...]
    bank: str
    checks_folder: str
    judging: tuple[str, ...]
    python: str
    likeness: Likeness
    engine_folder: str = ""
    engine_header: str = ""
    compile_command: tuple[str, ...] = ()
    compile_limit_s: float = 0.0
    opponents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    limits: ResourceLimits
    win_rate_formula: str = "straight"
    losing_line_steps: tuple[tuple[int, float], ...] = ()
    shares: dict[str, dict[str, float]] = field(default_factory=dict)
    profiles: dict[str, Profile]
    long_checks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checks: tuple[Check, ...]
    marks: tuple[Check, ...] = ()

    @property
    def reference(self) -> str:
        """The folder of the solution, laid out as a submission; relative to the root, and absent from every kit."""
        return f"{self.home or INSTRUCTOR}/reference"

    @property
    def samples(self) -> str:
        """The folder of the submissions whose grades are known; relative to the root, and absent from every kit."""
        return f"{self.home or INSTRUCTOR}/submissions"

    @property
    def lab_option(self) -> str:
        """What a command line adds after a command to name this assignment; empty for the main assignment."""
        return f" --lab {self.id}" if self.home else ""

    @property
    def opponent(self) -> str:
        """The name of the engine that a submission plays."""
        return next(iter(self.opponents))

    @property
    def python_parts(self) -> tuple[str, ...]:
        """The parts in which students write Python."""
        return tuple(part for part, needs in self.parts.items() if any(pattern.endswith(".py") for pattern in needs))

    def place(self, relative: str) -> str:
        """Return the place of a file in this tree, given its place in the kit; both are relative to the root."""
        return f"{self.home}/{relative}" if self.home and relative in self.own_files else relative

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files of the kit that lie in the folder of a lab, by their places in the kit."""
        return (DESCRIPTION, self.handout, *self.stubs)

    def check(self, check_id: str) -> Check:
        """Return the check with this id; raise KeyError if the assignment has no such check."""
        for check in self.checks:
            if check.id == check_id:
                return check
        raise KeyError(check_id)

    def named(self, name: str) -> list[Check]:
        """Return the checks that a name refers to (see `Check.is_of`).

        Raises:
            UsageError: there is no such check.
        """
        if found := [check for check in self.checks if check.is_of(name)]:
            return found
        parts = dict.fromkeys(check.id.split(".")[0] for check in self.checks)
        hint = meant(name, [*parts, *(check.id for check in self.checks)])
        raise UsageError(f"expected a check such as {self.checks[0].id} or a part among {', '.join(parts)}; got {name!r}{hint}")

    def deadlines_s(self, profile: Profile) -> dict[str, float]:
        """Return a dict from check id to the number of seconds that the check may take."""
        long = {"match": profile.match.minutes, "training": profile.training.minutes}
        minutes = dict.fromkeys((check.id for check in self.checks), profile.check_minutes)
        minutes |= {i: long[part] for part, ids in self.long_checks.items() for i in ids}
        return {check: 60 * limit for check, limit in minutes.items()}

    def profile(self, name: str) -> Profile:
        """Return the profile with this name; if there is none, raise a UsageError that lists the profiles."""
        if name not in self.profiles:
            raise UsageError(f"expected a profile among {', '.join(self.profiles)}; got {name!r}")
        return self.profiles[name]

    def python_notes(self, running: tuple[int, int] = sys.version_info[:2]) -> list[str]:
        """Return a sentence if the Python that is running is not the version that students are told."""
        mine = ".".join(map(str, running))
        if mine == self.python:
            return []
        told = f"{DESCRIPTION} and the handout say that {self.python} grades"
        return [f"Python {mine} is running; {told}: a solution that is right there may lose points here."]

    def is_collected(self, path: str) -> bool:
        """Return whether a submission's file counts; `path` is relative, with forward slashes."""
        return matches(path, self.collected) and not matches(path, self.protected)

    def is_in_kit(self, path: str) -> bool:
        """Return whether a file of this tree is handed out to students; `path` is relative, with forward slashes."""
        return matches(path, self.kit) and not matches(path, self.withheld)

    def win_rate_points(self, wins: int, losses: int, plays: int, points: float) -> float:
        """Return the points for a match by the formula that the assignment names."""
        return FORMULAS[self.win_rate_formula].points(wins, losses, plays, points)

    def win_rate_points_between(self, games: Sequence[GameResult], points: float) -> tuple[float, float]:
        """Return the points at both ends of the 95 % interval that these games give."""
        formula = FORMULAS[self.win_rate_formula]
        low, high = mean_interval_95(games, formula.draw)
        return formula.points_at(low, points), formula.points_at(high, points)

    def losing_lines_share(self, losing_lines: int) -> float:
        """Return the share in [0, 1] of the points for this many losing lines."""
        return next((share for most, share in self.losing_line_steps if losing_lines <= most), 0.0)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a relative path matches one of the patterns; `**` stands for any number of folders, including zero."""
    parts = PurePosixPath(path).parts
    return any(_match_parts(parts, _parts_of(pattern)) for pattern in patterns)


@cache
def _parts_of(pattern: str) -> tuple[str, ...]:
    return PurePosixPath(pattern).parts


def _match_parts(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        # A ** at the end matches files at any depth, but not the folder itself.
        if len(pattern) == 1:
            return bool(parts)
        return any(_match_parts(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _match_parts(parts[1:], pattern[1:])
