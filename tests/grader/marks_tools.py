"""A class of eight with results, marks and times of submission: for the tests of `python -m grader marks`."""

import csv
import json

import pytest

from grader.__main__ import main
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PARTIAL

BY_HAND = "id,item,points,comment"
OVERRIDES = "id,item,points,reason,by"
COLUMNS = "id,first_name,last_name,outcome,attempts,counted,submitted_at,late_minutes,note"
FORMULA = '=1+cmd|" /C calc"!A0'
NAMES = {
    "alice": ("Ada, Jr.", 'O"Neill'),
    "bob": (FORMULA, "王小明"),
    "carol": ("Ørsted", "Šimůnek"),
    "dave": ("Dave", "-1"),
    "erin": ("Erin", "@SUM(1)"),
    "frank": ("", ""),
    "grace": ("Grace\nHopper", "x;y"),
    "heidi": ("Heidi", "'quoted'"),
}
COLLECTED = {  # outcome, attempts, late minutes
    "alice": ("collected", 1, 0),
    "bob": ("collected", 2, 75),
    "carol": ("collected", 1, 0),
    "dave": ("collected", 1, 0),
    "erin": ("collected", 1, ""),
    "frank": ("missing", 0, ""),
    "grace": ("collected", 1, 15),
    "heidi": ("collected", 1, 0),
}


@pytest.fixture
def write(tmp_path):
    """Writes a CSV file: `write(name, header, rows)`; returns its path."""

    def to(name, header, rows):
        path = tmp_path / name
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])
        return path

    return to


@pytest.fixture
def school(tmp_path, graded_as, course, write, assignment):
    """A class of eight with all its files; `school(*arguments)` runs `marks` and returns its exit code."""
    half = {"status": PARTIAL, "points": 17.0, "message": "Won a part."}
    lost = {"status": FAILED, "points": 0.0, "message": "Wrong."}
    unsure = {"status": COULD_NOT_GRADE, "points": 0.0, "message": "The machine was busy."}
    graded_as("alice")
    graded_as("bob", {"minimax.win_rate": half})
    graded_as("carol", {"minimax.win_rate": unsure})
    graded_as("dave", profile="quick")
    graded_as("erin")
    weak = [check.id for check in assignment.checks if not check.is_of("minimax") and not check.is_of("network")]
    graded_as("grace", dict.fromkeys(weak, lost))
    graded_as("heidi")
    roster = [(i, *names, f"{i}@example.org") for i, names in NAMES.items()]
    write("roster.csv", "id,first_name,last_name,email", roster)
    time = "2026-12-01T23:00:00+01:00"
    collected = [(i, "", "", what, n, "a.zip", time if n else "", late, "") for i, (what, n, late) in COLLECTED.items()]
    write("collected.csv", COLUMNS, collected)
    given = [
        (i, item, points, "")
        for i in NAMES
        if i not in ("frank", "heidi")
        for item, points in (("report", 18), ("code_review", 9.25))
    ]
    given[0] = ("alice", "report", 18, "Well argued, clear.")
    write("by_hand.csv", "id,item,points,comment", given)
    projects = [(i, "project", 15 if i == "alice" else 10 if i == "bob" else 0, "") for i in NAMES]
    write("with_project.csv", "id,item,points,comment", [*given, *projects])

    def run(*arguments):
        fixed = ["--course", course, "--students", tmp_path / "roster.csv", "--out", tmp_path / "marks"]
        return main(["marks", str(tmp_path / "out"), *map(str, (*fixed, *arguments))])

    run.folder, run.results = tmp_path / "marks", tmp_path / "out"
    run.usual = ("--collected", tmp_path / "collected.csv", "--by-hand", tmp_path / "by_hand.csv")
    run.project = ("--collected", tmp_path / "collected.csv", "--by-hand", tmp_path / "with_project.csv")
    return run


def table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


def marks(school):
    return {row["id"]: row for row in table(school.folder / "marks.csv")}


def journal(school):
    return [json.loads(line) for line in (school.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
