"""A class with results that were never graded and its marks.csv, for the tests of what is given back."""

import csv
from dataclasses import replace

from course_tools import make_results

from arena.statistics.estimates import wilson_95
from common.harmless_text import csv_cell
from grader.instructor.marking.schemes import OUTCOME
from grader.pipeline.results import FAILED, PARTIAL, PASSED

PARTS = ("part_1", "part_2", "written")


def match_of(wins, draws, losses, name):
    """The evidence of a match against the baseline, as far as pages show it."""
    games = wins + draws + losses
    rate = (wins + draws / 2) / games
    low, high = wilson_95(wins + draws / 2, games)

    def agent(path, won, lost, score_rate, interval):
        statistics = {"score_rate": score_rate, "interval_95": interval}
        times = {"median": 1.0, "p95": 2.0, "max": 3.0}
        return {
            "path": path,
            "name": path,
            "wins": won,
            "losses": lost,
            "score": (won - lost) / games,
            "statistics": statistics,
            "move_s": times,
            "move_cpu_s": times,
            "losses_by": {"five": lost},
        }

    return {
        "plays": games,
        "draws": draws,
        "distinct_games": games,
        "limits": {"move_s": 5.0, "clock": "cpu"},
        "games": [],
        "agents": [
            agent(name, wins, losses, rate, [low, high]),
            agent("baseline", losses, wins, 1 - rate, [1 - high, 1 - low]),
        ],
    }


def win_rate(assignment, wins, losses, name):
    """The change of a result that gives it a match."""
    points = assignment.win_rate_points(wins, losses, wins + losses, 30)
    status = PASSED if points == 30 else PARTIAL if points else FAILED
    evidence = {"match": match_of(wins, 0, losses, name)}
    return {"minimax.win_rate": {"status": status, "points": points, "message": f"Won {wins} games.", "evidence": evidence}}


def write_result(folder, assignment, name, changes=None, **fields):
    """A finished run in `folder/name`; `fields` replace those of its Results."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "run.json").write_text("{}")
    results = replace(make_results(assignment, name, changes), **fields)
    results.sealed(place).write(place)
    return results


def write_marks(path, assignment, rows, marks=()):
    """A marks.csv; each row is (id, first name, last name, {column: value}).

    Args:
        marks: columns of the marks; by default the marks of the assignment, given as a whole.
    """
    items = [item.id for item in assignment.checks] + list(marks or (mark.id for mark in assignment.marks))
    header = ["id", "first_name", "last_name", *items, *PARTS, *OUTCOME]
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(header)
        for student, first, last, values in rows:
            cells = {"id": student, "first_name": first, "last_name": last, "total": 80, **values}
            lines.writerow([csv_cell(cells.get(column)) for column in header])
    return path
