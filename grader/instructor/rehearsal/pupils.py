"""Draw a sample and an archive for each student of a made-up class, and say which points are known in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

from grader.assignment import Assignment, Check
from grader.instructor import trust
from grader.instructor.rehearsal.packing import PACKINGS, Packing
from grader.instructor.rehearsal.people import Person, person, stranger
from grader.instructor.trust import Sample
from grader.pipeline.handed_out import checks_decided_by

GRADED, REFUSED, MISSING, UNCLEAR, UNKNOWN = OUTCOMES = "graded", "refused", "missing", "unclear", "unknown"
# Shares of the class, each rounded up; the rest hands in one readable archive in time.
UNREADABLE, ABSENT, TWICE, RIVALS, LATE = 0.06, 0.06, 0.12, 0.02, 0.12


@dataclass(frozen=True)
class Pupil:
    """One row of expected.csv.

    Attributes:
        sample: what counts; None if nothing was handed in.
        packing: the archive that counts; None if nothing was handed in.
        earlier: an attempt that does not count, or None.
        rival: another archive of the same time, so that nobody can tell which one counts, or None.
    """

    person: Person
    sample: Sample | None
    packing: Packing | None
    earlier: Sample | None
    late: bool
    on_roster: bool = True
    rival: Sample | None = None

    @property
    def outcome(self) -> str:
        if not self.on_roster:
            return UNKNOWN
        if self.packing is None:
            return MISSING
        if self.rival is not None:
            return UNCLEAR
        return GRADED if self.packing.readable else REFUSED


def draw_class(size: int, seed: int, platform: str, samples: Sequence[Sample]) -> list[Pupil]:
    """Draw the class; a last pupil is not on the roster. The same arguments give the same class.

    Args:
        samples: what students can have written; the first ones are used first.
    """
    rng = Random(seed)
    readable = [packing for packing in PACKINGS if packing.readable]
    unreadable = [packing for packing in PACKINGS if not packing.readable]
    places = list(range(size))
    rng.shuffle(places)
    chosen: list[set[int]] = []
    for share in (UNREADABLE, ABSENT, TWICE, RIVALS):
        chosen.append({places.pop() for _ in range(min(ceil(size * share), len(places)))})
    damaged, absent, twice, torn = chosen
    present = sorted(set(range(size)) - absent - torn)
    late = set(rng.sample(present, min(ceil(size * LATE), len(present))))
    order = rng.sample(range(len(samples)), len(samples))
    found = []
    for number in range(size):
        if number in absent:
            found.append(Pupil(person(number), None, None, None, late=False))
            continue
        kinds = unreadable if number in damaged else readable
        earlier = rng.choice(samples) if number in twice and platform != "moodle" else None
        sample = samples[order[number % len(order)]]
        rival = samples[order[(number + 1) % len(order)]] if number in torn else None
        found.append(Pupil(person(number), sample, kinds[number % len(kinds)], earlier, number in late, rival=rival))
    return [*found, Pupil(stranger(), samples[0], readable[0], None, late=False, on_roster=False)]


def certain_checks(sample: Sample, assignment: Assignment) -> set[str]:
    """Return the checks whose points a sample's files decide for certain.

    Checks that depend on luck are left out, and so are those that take minutes, whose brief versions decide little, and those
    of other files in the folders that the sample changes: these files may import what it changed.
    """
    decided, _ = trust.checks_for(sample, assignment)
    folders = {path.split("/")[0] for path in (*sample.files, *sample.without)}
    near = checks_decided_by(folders, assignment)
    long = {check_id for ids in assignment.long_checks.values() for check_id in ids}
    untouched = [c for c in assignment.checks if c.id not in long and not any(c.is_of(name) for name in near)]
    return {check.id for check in (*decided, *untouched)} - set(sample.luck)


def expected_points(sample: Sample, check: Check) -> str:
    """Return the points that a sample must get for a certain check: a number, or `<N` for fewer than N."""
    share = sample.expected.get(check.id, 1.0)
    return f"<{check.points:g}" if share is None else f"{share * check.points:g}"


def uncertain_checks(sample: Sample, assignment: Assignment) -> list[Check]:
    """Return the checks whose exact points the rehearsal does not know."""
    certain = certain_checks(sample, assignment)
    return [check for check in assignment.checks if check.id not in certain or sample.expected.get(check.id, 1.0) is None]


def samples_of_a_class() -> list[Sample]:
    """Return the reference, the variants and the mutants."""
    return trust.load_samples(("variants", "mutants"))
