"""`assignment.toml` as frozen dataclasses: the only definition of files, points, opponents, limits and formulas.

The file at the root describes the main assignment. A lab is another assignment of the same course: a folder below `labs/` with
its own file. The paths in it are relative to the root all the same, except that its stubs lie in the lab's folder. In a lab's
kit the lab's file and stubs lie at the root, so that there the lab is the main assignment.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, get_type_hints

from arena.statistics.estimates import GameResult, mean_interval_95
from common.errors import UsageError
from common.near_names import meant
from common.scoring import FORMULAS
from grader.assignment_mistakes import mistakes_in
from grader.typed_toml import Mistake, converted, read_toml, require_known_keys, value_at

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


# The place of each field of an Assignment in the file.
PLACES = {
    "id": "assignment.id",
    "title": "assignment.title",
    "handout": "assignment.handout",
    "handout_url": "assignment.handout_url",
    "stubs": "files.stubs",
    "collected": "files.collected",
    "protected": "files.protected",
    "framework": "files.framework",
    "reports": "files.reports",
    "decides": "files.decides",
    "parts": "parts",
    "kit": "release.kit",
    "withheld": "release.withheld",
    "kit_readme": "release.readme",
    "answers": "release.answers",
    "bank": "release.bank",
    "checks_folder": "judge.checks",
    "judging": "judge.files",
    "python": "judge.python",
    "likeness": "likeness",
    "engine_folder": "engine.folder",
    "engine_header": "engine.header",
    "compile_command": "engine.compile",
    "compile_limit_s": "engine.compile_limit_s",
    "opponents": "opponents",
    "limits": "limits",
    "win_rate_formula": "score.win_rate.formula",
    "losing_line_steps": "score.losing_lines.steps",
    "shares": "score.shares",
    "profiles": "profiles",
    "long_checks": "long_checks",
    "checks": "checks",
    "marks": "marks",
}
# An assignment may leave out a table as a whole if its fields have defaults. Opponents are needed where there is an engine.
NEEDED_WITH = {"opponents": "engine"}


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


def lab_names(root: Path = ROOT) -> list[str]:
    """Return the names of the labs in this tree; a kit has none, because its lab is the main assignment there."""
    return sorted(path.parent.name for path in (root / LABS).glob(f"*/{DESCRIPTION}"))


def load_named(name: str, root: Path = ROOT) -> Assignment:
    """Read and check the file of an assignment.

    Args:
        name: the id of the main assignment or of a lab; empty for the main assignment.

    Raises:
        UsageError: there is no such assignment, or its file is wrong (see `load_assignment`).
    """
    main, labs = load_assignment(root / DESCRIPTION), lab_names(root)
    if name in ("", main.id):
        _require_files(main, root)
        return main
    if name not in labs:
        raise UsageError(f"expected a lab among {', '.join(labs) or 'those of this tree, which has none'}; got {name!r}")
    home = f"{LABS}/{name}"
    lab = load_assignment(root / home / DESCRIPTION)
    if lab.id != name:
        raise UsageError(f"{root / home / DESCRIPTION}: expected the name of its folder as assignment.id; got {lab.id!r}")
    if not lab.checks_folder.startswith(f"{home}/"):
        got = repr(lab.checks_folder)
        raise UsageError(f"{root / home / DESCRIPTION}: expected a folder below {home} as judge.checks; got {got}")
    lab = replace(lab, home=home)
    _require_files(lab, root)
    return lab


def _require_files(assignment: Assignment, root: Path) -> None:
    """Raise a UsageError unless the files that the assignment names are there; a kit, which has no reference, lacks some."""
    if not (root / assignment.reference).is_dir():
        return
    file, module = root / (assignment.home or ".") / DESCRIPTION, f"{assignment.bank.replace('.', '/')}.py"
    if not (root / module).is_file():
        raise UsageError(f"{file}: expected the module that makes the values of a kit as release.bank; there is no {module}")
    lists = {
        "files.framework": assignment.framework,
        "files.protected": assignment.protected,
        "release.answers": assignment.answers,
    }
    for place, patterns in lists.items():
        for pattern in patterns:
            # Path.glob finds only folders for a pattern that ends with **.
            found = root.glob(f"{pattern}/*" if pattern.endswith("**") else pattern)
            if not any(path.is_file() for path in found):
                raise UsageError(f"{file}: expected a file for each pattern of {place}; no file matches {pattern}")


def load_assignment(path: Path = ROOT / DESCRIPTION) -> Assignment:
    """Read and check an assignment file.

    Raises:
        UsageError: the file is missing or not TOML, or its values are incomplete or contradict each other.
    """
    data = read_toml(path, "the assignment's description")
    try:
        assignment = _from_toml(data)
    except Mistake as error:
        raise UsageError(f"{path}: {error}") from error
    for sentence in mistakes_in(assignment):
        raise UsageError(f"{path}: {sentence}")
    return assignment


def _from_toml(data: dict[str, Any]) -> Assignment:
    profiles = data.get("profiles")
    for name, profile in profiles.items() if isinstance(profiles, dict) else ():
        if isinstance(profile, dict):
            profile["name"] = name
    kinds = get_type_hints(Assignment)
    optional = {each.name for each in fields(Assignment) if (each.default, each.default_factory) != (MISSING, MISSING)}
    places = {
        name: place
        for name, place in PLACES.items()
        if name not in optional or NEEDED_WITH.get(place, place.split(".")[0]) in data
    }
    values = {name: value_at(data, place) for name, place in places.items()}
    require_known_keys(data, PLACES.values())
    assignment = Assignment(**{name: converted(value, kinds[name], places[name]) for name, value in values.items()})
    if unknown_kinds := sorted(set(assignment.long_checks) - set(LONG)):
        raise Mistake(f"expected {' or '.join(LONG)} in long_checks; got {', '.join(unknown_kinds)}")
    return assignment
