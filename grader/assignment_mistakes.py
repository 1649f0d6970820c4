"""What is wrong with an assignment that could be read: values that contradict each other or would mark wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from pathlib import PurePosixPath
from typing import Any

from common.scoring import FORMULAS
from grader.assignment import Assignment

NAMED_PROFILES = {"quick": "grade", "check": "check", "trust": "trust"}
"""Profile -> the command that uses it unless another one is named."""
ID = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
FILE_NAME = re.compile(r"[\w.-]+", re.ASCII)


def mistakes_in(assignment: Assignment) -> Iterator[str]:
    """Yield a sentence for each mistake; those after the first may follow from it."""
    return chain(
        _wrong_ids(assignment),
        _wrong_words(assignment),
        _wrong_profiles(assignment),
        _unknown_checks(assignment),
        _undecided_checks(assignment),
        _wrong_patterns(assignment),
        _wrong_shares(assignment),
        _wrong_numbers(assignment),
        _wrong_opponents(assignment),
    )


def _wrong_ids(assignment: Assignment) -> Iterator[str]:
    items = [(item.id, item.title) for item in (*assignment.checks, *assignment.marks)]
    for i, title in [(assignment.id, assignment.title), *items]:
        if not ID.fullmatch(i):
            yield f"expected an id of letters, digits, _ and -, with single dots between them, for {title!r}; got {i!r}"
    ids = [i for i, _ in items]
    if doubled := sorted({i for i in ids if ids.count(i) > 1}):
        yield f"expected a different id for each check and mark; twice: {', '.join(doubled)}"
    if parts_too := [mark.id for mark in assignment.marks if any(check.is_of(mark.id) for check in assignment.checks)]:
        yield f"expected ids of marks that no part of the checks has; got {', '.join(parts_too)}"


def _wrong_words(assignment: Assignment) -> Iterator[str]:
    if assignment.handout_url and not re.match(r"https?://\S+$", assignment.handout_url):
        got = repr(assignment.handout_url)
        yield f"expected an address that begins with https:// or http:// as assignment.handout_url; got {got}"
    if assignment.win_rate_formula not in FORMULAS:
        yield f"expected score.win_rate.formula among {', '.join(FORMULAS)}; got {assignment.win_rate_formula!r}"
    if not re.fullmatch(r"3\.[1-9]?\d", assignment.python):
        yield f"expected a version of Python such as 3.11 as judge.python; got {assignment.python!r}"


def _wrong_profiles(assignment: Assignment) -> Iterator[str]:
    for name, command in NAMED_PROFILES.items():
        if name not in assignment.profiles:
            got = ", ".join(assignment.profiles) or "none"
            yield f"expected a profile {name}, which python -m grader {command} uses; got {got}"
    for kind in assignment.long_checks:
        if lacking := [name for name, profile in assignment.profiles.items() if not getattr(profile, kind).minutes]:
            yield f"expected {kind} in each profile, since long_checks has one; {lacking[0]} lacks it"
    for name, profile in assignment.profiles.items():
        if profile.match.move_s > profile.match.limit_s:
            yield (
                f"expected move_s of at most limit_s ({profile.match.limit_s:g}) in profiles.{name}.match, because an engine "
                f"loses beyond limit_s; got {profile.match.move_s:g}"
            )


def _unknown_checks(assignment: Assignment) -> Iterator[str]:
    known = {check.id for check in assignment.checks}
    named = {f"long_checks.{kind}": ids for kind, ids in assignment.long_checks.items()}
    for place, names in {"score.shares": tuple(assignment.shares), **named}.items():
        if unknown := [name for name in names if name not in known]:
            yield f"expected checks of the assignment in {place}; got {', '.join(unknown)}"
    for place, names in assignment.decides.items():
        if unknown := [name for name in names if not any(check.is_of(name) for check in assignment.checks)]:
            yield f"expected checks of the assignment in files.decides.{place}; got {', '.join(unknown)}"


def _undecided_checks(assignment: Assignment) -> Iterator[str]:
    if undecided := sorted(set(assignment.parts) - set(assignment.decides)):
        yield f"expected the checks of each part in files.decides; {', '.join(undecided)} is missing"
    deciding = [name for names in assignment.decides.values() for name in names]
    if homeless := [check.id for check in assignment.checks if not any(check.is_of(name) for name in deciding)]:
        yield f"expected each check or its part in files.decides; {', '.join(homeless)} is missing"
    parts = [part for part, _ in groupby(check.id.split(".")[0] for check in assignment.checks)]
    if parted := [part for part in dict.fromkeys(parts) if parts.count(part) > 1]:
        yield f"expected the checks of a part one after another; others are between those of {parted[0]}"


def _wrong_patterns(assignment: Assignment) -> Iterator[str]:
    lists = {
        "files.stubs": assignment.stubs,
        "files.collected": assignment.collected,
        "files.protected": assignment.protected,
        "files.framework": assignment.framework,
        "files.reports": assignment.reports,
        "release.kit": assignment.kit,
        "release.withheld": assignment.withheld,
        "release.answers": assignment.answers,
        "judge.files": assignment.judging,
    }
    for place, patterns in (lists | {f"parts.{part}": needs for part, needs in assignment.parts.items()}).items():
        for pattern in patterns:
            parts = PurePosixPath(pattern).parts
            if not parts or parts[0] == "/" or ".." in parts:
                yield f"expected paths relative to the root and below it in {place}; got {pattern!r}"
            if any("**" in part and part != "**" for part in parts):
                yield f"expected ** in place of whole folders, as in a/**/*.py, in {place}; got {pattern!r}"


def _wrong_shares(assignment: Assignment) -> Iterator[str]:
    if beyond := [i for i, shares in assignment.shares.items() if any(share >= 1 for share in shares.values())]:
        yield f"expected shares below 1 in score.shares; {', '.join(beyond)} has a share of 1 or more"
    for name, share in vars(assignment.likeness).items():
        if isinstance(share, float) and share > 1:
            yield f"expected a share of at most 1 for likeness.{name}; got {share:g}"
    steps = assignment.losing_line_steps
    falling = all(first[0] < second[0] and first[1] > second[1] for first, second in pairwise(steps))
    if (steps or "training" in assignment.long_checks) and not (falling and steps and steps[0][1] == 1):
        yield (
            "expected score.losing_lines.steps to begin with the share 1.0 and to give less for more losing lines, "
            f"such as [[0, 1.0], [2, 0.8]]; got {[list(step) for step in steps]}"
        )


def _wrong_numbers(assignment: Assignment) -> Iterator[str]:
    """Yield a sentence for each 0 that would mark wrongly, without an error.

    A check without points would count as failed, and a match without games as undecided.
    """
    tables: dict[str, Any] = {f"checks ({check.id})": check for check in assignment.checks}
    tables |= {f"marks ({mark.id})": mark for mark in assignment.marks} | {"limits": assignment.limits}
    for name, profile in assignment.profiles.items():
        tables[f"profiles.{name}"] = profile
        tables |= {f"profiles.{name}.{kind}": getattr(profile, kind) for kind in assignment.long_checks}
    for place, table in tables.items():
        for key, value in vars(table).items():
            numbers = value if isinstance(value, tuple) else (value,)
            if not numbers or any(number == 0 for number in numbers):
                advice = "; to remove a check, delete its table and its test" if place.startswith("checks") else ""
                yield f"expected a number above 0 for {key} in {place}; got {0 if numbers else 'an empty list'}{advice}"


def _wrong_opponents(assignment: Assignment) -> Iterator[str]:
    lists = {"engine.compile": assignment.compile_command, "opponents": tuple(assignment.opponents)}
    lists |= {f"opponents.{name}": sources for name, sources in assignment.opponents.items()}
    for place, entries in lists.items():
        if assignment.engine_folder and not entries:
            yield f"expected at least one entry in {place}; got none"
    for name, sources in assignment.opponents.items():
        if not FILE_NAME.fullmatch(name):
            yield f"expected names of letters, digits, dots, _ and - in opponents, since files are named by them; got {name!r}"
        for source in sources:
            if assignment.is_collected(source):
                yield (
                    f"expected each file of opponents.{name} in files.protected, so that no submission hands it in as its own; "
                    f"{source} is missing"
                )
