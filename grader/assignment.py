"""`assignment.toml` as frozen values: the only definition of files, points, opponents, limits and formulas."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, get_args, get_origin, get_type_hints

from arena.statistics.estimates import GameResult, mean_interval_95
from common.errors import UsageError
from common.scoring import FORMULAS

ROOT = Path(__file__).resolve().parent.parent
LIMITS = ("worker_memory_mib", "engine_memory_mib", "processes", "file_size_mib")


@dataclass(frozen=True)
class Check:
    """One item of the rubric. A program decides it, or a person if it is one of `Assignment.marks`."""

    id: str
    title: str
    points: float
    handout: str


@dataclass(frozen=True)
class MatchProfile:
    """A match against the baseline.

    Attributes:
        move_s: time per move that the engines are given.
        limit_s: time per move that the referee enforces.
        minutes: limit for the whole match (see `grader.pipeline.budget`).
    """

    games: int
    move_s: float
    limit_s: float
    minutes: float


@dataclass(frozen=True)
class TrainingProfile:
    """How long the 3x3 training may last and how its result is judged.

    Attributes:
        max_games: largest number of self-play games per seed.
        minutes: limit for each check of the training (see `grader.pipeline.budget`).
    """

    seeds: int
    max_games: int
    check_every: int
    playouts: tuple[int, ...]
    own_playouts: int
    minutes: float


@dataclass(frozen=True)
class Profile:
    """The settings behind `--profile NAME`.

    Attributes:
        call_limit_s: limit for one call into a student's Python.
        check_minutes: limit for each check that is neither the match nor the training (see `grader.pipeline.budget`).
        budget_minutes: limit for all checks of a submission together.
    """

    name: str
    call_limit_s: float
    check_minutes: float
    budget_minutes: float
    match: MatchProfile
    training: TrainingProfile


@dataclass(frozen=True)
class Likeness:
    """The shares in [0, 1] of common fingerprints at which two sources are too much alike (`grader.pipeline.likeness`).

    Attributes:
        submission: between a submission and a handed-out source.
        example: between a submission and one of `examples`.
        examples: handed-out sources from which students may begin.
        pair: between two submissions.
        kit: between a file of the kit and a file that must not be handed out.
    """

    submission: float
    example: float
    examples: tuple[str, ...]
    pair: float
    kit: float


@dataclass(frozen=True)
class Assignment:
    """The whole content of `assignment.toml`."""

    id: str
    title: str
    handout: str
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
    likeness: Likeness
    engine_folder: str
    engine_header: str
    compile_command: tuple[str, ...]
    compile_limit_s: float
    opponents: dict[str, tuple[str, ...]]
    limits: dict[str, int]
    win_rate_formula: str
    losing_line_steps: tuple[tuple[int, float], ...]
    shares: dict[str, dict[str, float]]
    profiles: dict[str, Profile]
    long_checks: dict[str, tuple[str, ...]]
    checks: tuple[Check, ...]
    marks: tuple[Check, ...]

    def check(self, check_id: str) -> Check:
        """The check with that id; KeyError if the assignment has no such check."""
        for check in self.checks:
            if check.id == check_id:
                return check
        raise KeyError(check_id)

    def named(self, name: str) -> list[Check]:
        """The checks that a name stands for: an id, or the beginning of several ids up to a dot.

        Raises:
            UsageError: there is no such check.
        """
        if found := [check for check in self.checks if f"{check.id}.".startswith(f"{name}.")]:
            return found
        parts = dict.fromkeys(check.id.split(".")[0] for check in self.checks)
        raise UsageError(f"expected a check such as {self.checks[0].id} or a part among {', '.join(parts)}; got {name!r}")

    def deadlines_s(self, profile: Profile) -> dict[str, float]:
        """Check -> seconds that it may take."""
        long = {"match": profile.match.minutes, "training": profile.training.minutes}
        minutes = dict.fromkeys((check.id for check in self.checks), profile.check_minutes)
        minutes |= {i: long[part] for part, ids in self.long_checks.items() for i in ids if part in long}
        return {check: 60 * limit for check, limit in minutes.items()}

    def profile(self, name: str) -> Profile:
        """The profile with that name; the UsageError for an unknown one lists the profiles."""
        if name not in self.profiles:
            raise UsageError(f"expected a profile among {', '.join(self.profiles)}; got {name!r}")
        return self.profiles[name]

    def is_collected(self, path: str) -> bool:
        """Whether a submission's file counts; `path` is relative with forward slashes."""
        return matches(path, self.collected) and not matches(path, self.protected)

    def is_in_kit(self, path: str) -> bool:
        """Whether a file of this tree is handed out to students; `path` is relative with forward slashes."""
        return matches(path, self.kit) and not matches(path, self.withheld)

    def win_rate_points(self, wins: int, losses: int, plays: int, points: float) -> float:
        """Points of a match by the formula that the assignment names."""
        return FORMULAS[self.win_rate_formula].points(wins, losses, plays, points)

    def win_rate_points_between(self, games: Sequence[GameResult], points: float) -> tuple[float, float]:
        """Points at both ends of the 95 % interval of what these games show."""
        formula = FORMULAS[self.win_rate_formula]
        low, high = mean_interval_95(games, formula.draw)
        return formula.points_at(low, points), formula.points_at(high, points)

    def losing_lines_share(self, losing_lines: int) -> float:
        """Share in [0, 1] of the points for that many losing lines."""
        return max((share for most, share in self.losing_line_steps if losing_lines <= most), default=0.0)


# The place of each field of an Assignment in the file.
PLACES = {
    "id": "assignment.id",
    "title": "assignment.title",
    "handout": "assignment.handout",
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


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a relative path matches one of the patterns; `**` stands for any number of folders, including zero."""
    parts = PurePosixPath(path).parts
    return any(_match_parts(parts, PurePosixPath(pattern).parts) for pattern in patterns)


def _match_parts(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        # A ** at the end matches files at any depth, but not the folder itself.
        if len(pattern) == 1:
            return bool(parts)
        return any(_match_parts(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _match_parts(parts[1:], pattern[1:])


def load_assignment(path: Path = ROOT / "assignment.toml") -> Assignment:
    """Read and check an assignment file.

    Raises:
        UsageError: the file is missing or not TOML, or its values are incomplete or contradict each other.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        assignment = _from_toml(data)
    except OSError as error:
        raise UsageError(f"expected the assignment's description at {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: expected UTF-8 text; byte {error.start} is not") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    except _Mistake as error:
        raise UsageError(f"{path}: {error}") from error
    ids = [check.id for check in (*assignment.checks, *assignment.marks)]
    if doubled := sorted({i for i in ids if ids.count(i) > 1}):
        raise UsageError(f"{path} names a check twice: {', '.join(doubled)}")
    if assignment.win_rate_formula not in FORMULAS:
        raise UsageError(
            f"{path}: expected score.win_rate.formula among {', '.join(FORMULAS)}; got {assignment.win_rate_formula!r}"
        )
    if unknown := sorted(set(assignment.shares) - {check.id for check in assignment.checks}):
        raise UsageError(f"{path}: expected checks of the assignment in score.shares; got {', '.join(unknown)}")
    for place, names in assignment.decides.items():
        if unknown := [name for name in names if not any(f"{check.id}.".startswith(f"{name}.") for check in assignment.checks)]:
            raise UsageError(f"{path}: expected checks of the assignment in files.decides.{place}; got {', '.join(unknown)}")
    if undecided := sorted(set(assignment.parts) - set(assignment.decides)):
        raise UsageError(f"{path}: expected the checks of each part in files.decides; {', '.join(undecided)} is missing")
    if beyond := [i for i, shares in assignment.shares.items() if any(share >= 1 for share in shares.values())]:
        raise UsageError(f"{path}: expected shares below 1 in score.shares; {', '.join(beyond)} has a share of 1 or more")
    if lacking := [name for name in LIMITS if name not in assignment.limits]:
        raise UsageError(f"{path}: expected {', '.join(LIMITS)} in limits; {', '.join(lacking)} is missing")
    return assignment


class _Mistake(Exception):
    """What is wrong with a value of the file, and where."""


def _from_toml(data: dict[str, Any]) -> Assignment:
    profiles = data.get("profiles")
    for name, profile in profiles.items() if isinstance(profiles, dict) else ():
        if isinstance(profile, dict):
            profile["name"] = name
    kinds = get_type_hints(Assignment)
    return Assignment(**{name: _converted(_value_at(data, place), kinds[name], place) for name, place in PLACES.items()})


def _value_at(data: Any, place: str) -> Any:
    for key in place.split("."):
        if not isinstance(data, dict) or key not in data:
            raise _Mistake(f"expected a value at {place}; {key!r} is missing")
        data = data[key]
    return data


def _converted(value: Any, kind: Any, place: str) -> Any:
    """A value of the file as the type `kind`, an annotation of one of the classes above; nothing is coerced."""
    arguments, is_record = get_args(kind), is_dataclass(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise _Mistake(f"expected a list for {place}; got {_shown(value)}")
        if arguments[-1] is Ellipsis:
            arguments = arguments[:1] * len(value)
        if len(value) != len(arguments):
            raise _Mistake(f"expected {len(arguments)} values for {place}; got {_shown(value)}")
        return tuple(_converted(item, k, f"{place}[{i}]") for i, (item, k) in enumerate(zip(value, arguments, strict=True)))
    if get_origin(kind) is dict or is_record:
        if not isinstance(value, dict):
            raise _Mistake(f"expected a table for {place}; got {_shown(value)}")
        if not is_record:
            return {key: _converted(item, arguments[1], f"{place}.{key}") for key, item in value.items()}
        kinds = get_type_hints(kind)
        wrong = [f"{key} is missing" for key in kinds if key not in value]
        wrong += [f"{key} is unknown" for key in value if key not in kinds]
        if wrong:
            raise _Mistake(f"expected other keys in {place}: {', '.join(wrong)}")
        return kind(**{key: _converted(item, kinds[key], f"{place}.{key}") for key, item in value.items()})
    if kind is str and isinstance(value, str):
        return value
    if kind is not str and type(value) in (int, kind) and 0 <= value < math.inf:
        return kind(value)
    words = {str: "text", int: "a whole number of at least 0", float: "a number of at least 0"}
    raise _Mistake(f"expected {words[kind]} for {place}; got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
