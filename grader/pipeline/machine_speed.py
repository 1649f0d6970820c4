"""The speed of this machine, measured with the baseline whatever the opponents are: the reference time was recorded with it."""

from __future__ import annotations

from arena.engine.engine_process import EngineSpec
from arena.match.calibrate import measure
from grader.assignment import Assignment
from grader.pipeline.opponents import build_listed

BASELINE = ("Minimax/baseline.cpp",)


def machine_speed(assignment: Assignment, at_once: int = 1) -> float:
    """Return `arena.match.calibrate.Speed.factor`; 1 if the assignment has no engines.

    Args:
        at_once: the cores that work at the same time.

    Raises:
        UsageError: the machine cannot be timed.
    """
    if not assignment.engine_folder:
        return 1.0
    baseline = str(build_listed("baseline", BASELINE, assignment))
    return measure(EngineSpec(path=baseline, command=(baseline,)), at_once).factor
