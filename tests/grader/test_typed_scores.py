"""Scores that a person typed into formgrader, and what changes afterwards: the points of their items, the student's report."""

import pytest
from course_tools import enter, nbgrader, rows

from grader.__main__ import main

SUGGESTIONS = 'criteria = [[1, "a suggestion'
SWAP = '[1, "clock, opening and swap"]'


def move_a_point(course):
    """Take a point from report.engine, which has 5, and give it to report.suggestions."""
    rubric = course / "rubric.toml"
    text = rubric.read_text()
    assert SUGGESTIONS in text and SWAP in text
    rubric.write_text(text.replace(SUGGESTIONS, SUGGESTIONS.replace("1", "2")).replace(SWAP, SWAP.replace("1", "0")))


def most(opened):
    with opened() as gradebook:
        return gradebook.find_grade("report-engine", "report", "gomoku", "alice").max_score


def type_a_score(opened):
    with opened() as gradebook:
        gradebook.find_grade("report-engine", "report", "gomoku", "alice").manual_score = 3.5
        gradebook.db.commit()


def test_points_may_change_only_until_somebody_has_typed_a_score_for_them(graded_as, course, opened, capsys):
    path, original = graded_as("alice"), (course / "rubric.toml").read_text()
    assert enter(course, path) == 0 and most(opened) == 5
    move_a_point(course)
    assert enter(course, path) == 0 and most(opened) == 4
    type_a_score(opened)
    before = rows(opened)
    assert enter(course, path) == 0
    (course / "rubric.toml").write_text(original)
    capsys.readouterr()
    assert enter(course, path) == 2
    said = capsys.readouterr().err
    assert "typed for cells whose points have changed: report-engine from 4 to 5; restore" in said and said.count("\n") == 1
    assert rows(opened) == before and most(opened) == 4


def test_a_release_with_other_points_is_refused_once_a_score_was_typed_for_them(graded_as, course, opened):
    assert enter(course, graded_as("alice")) == 0
    type_a_score(opened)
    move_a_point(course)
    assert main(["notebook", "--course", str(course)]) == 0
    with pytest.raises(AssertionError, match="report-engine from 5 to 4"):
        nbgrader(course, "generate_assignment", "gomoku", "--force")
    assert most(opened) == 5


def test_a_report_that_changed_after_marks_were_typed_is_named_once(graded_as, course, opened, capsys):
    path = graded_as("alice")
    report = path.parent / "reports" / "report.md"
    report.parent.mkdir()

    def enter_with(text):
        report.write_text(text)
        return enter(course, path), capsys.readouterr().err

    assert enter_with("# First") == enter_with("# Second") == (0, "")
    type_a_score(opened)
    assert enter_with("# Second") == (0, "")
    assert enter_with("# Third") == (1, "grader: alice: the report changed after marks were typed: mark it again\n")
    assert enter_with("# Third") == (0, "")
