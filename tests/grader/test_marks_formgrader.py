"""`python -m grader marks --gradebook`: what people typed into formgrader, in nbgrader's own database."""

import pytest
from course_tools import enter, nbgrader
from marks_tools import BY_HAND, OVERRIDES, journal, marks, table


@pytest.fixture
def typed(school, course, opened, tmp_path):
    """Enters the class into nbgrader's gradebook and types scores as formgrader does: `typed(student, cell, **fields)`."""
    assert enter(course, school.results, "--collected", tmp_path / "collected.csv") == 1  # dave's profile

    def type_in(student, cell, score=None, extra=None, comment=None):
        with opened() as gradebook:
            grade = gradebook.find_grade(cell, "report", "gomoku", student)
            grade.manual_score, grade.extra_credit, grade.needs_manual_grade = score, extra, False
            gradebook.find_comment(cell, "report", "gomoku", student).manual_comment = comment
            gradebook.db.commit()

    return type_in


RUBRIC = {"environment": 2, "engine": 5, "win-rates": 4, "problems": 3, "alphazero": 5, "suggestions": 1}
REVIEW = {"structure": 4, "comments": 2, "cleanliness": 2, "explanation": 2}


def mark_all(typed, student, less=0):
    for cell, points in {f"report-{i}": p for i, p in RUBRIC.items()}.items():
        typed(student, cell, points - less)
    for cell, points in {f"code_review-{i}": p for i, p in REVIEW.items()}.items():
        typed(student, cell, points)


def test_scores_typed_in_formgrader_count_with_extra_credit_and_corrections(school, course, typed, write):
    mark_all(typed, "alice", less=0.5)
    typed("alice", "report-engine", 4.5, extra=2, comment="Deep search,\nwell measured.")
    mark_all(typed, "carol")
    typed("carol", "minimax-win_rate", 21.5)
    mark_all(typed, "grace")
    typed("grace", "network-load", 0.5, comment="Loads only after renaming.")
    mark_all(typed, "bob")
    typed("bob", "network-load", 0)
    typed("heidi", "report-engine", 3)
    school("--collected", school.usual[1], "--gradebook", course / "gradebook.db")
    rows = marks(school)
    # 70 + 20 - 6 * 0.5 + 10 + 2
    assert (rows["alice"]["report.engine"], rows["alice"]["total"]) == ("6.5", "99")
    assert rows["alice"]["note"] == "report.engine includes 2 extra credit from formgrader"
    assert rows["alice"]["comments"] == "report.engine: Deep search, well measured."
    assert "report" not in rows["alice"]
    assert (rows["carol"]["minimax.win_rate"], rows["carol"]["total"]) == ("21.5", "91.5")
    assert rows["grace"]["overrides"] == "network.load 0.5 instead of 1, because Loads only after renaming. (formgrader)"
    assert rows["bob"]["note"] == "the correction of network.load in formgrader lacks a reason: write it as a comment there"
    assert rows["heidi"]["note"].startswith("not marked: report.environment, report.win-rates, ")
    assert [(line["id"], line["item"], line["by"]) for line in journal(school)] == [("grace", "network.load", "formgrader")]


def test_an_override_of_a_correction_in_formgrader_enters_the_journal_once(school, course, typed, write):
    typed("grace", "network-load", 0.5, comment="Loads only after renaming.")
    override = write("o.csv", OVERRIDES, [("grace", "network.load", 0.75, "Appeal", "X")])
    usual = ("--collected", school.usual[1], "--gradebook", course / "gradebook.db")
    for _ in range(3):
        school(*usual, "--overrides", override)
        assert [(line["event"], line["points"], line["before"], line["by"]) for line in journal(school)] == [
            ("applied", "0.5", "1", "formgrader"),
            ("changed", "0.75", "0.5", "X"),
        ]
    school(*usual)
    assert [(line["event"], line["points"], line["before"]) for line in journal(school)[2:]] == [("changed", "0.5", "0.75")]


def test_where_the_gradebook_and_the_table_disagree_nothing_is_guessed(school, course, typed, write):
    for student in ("alice", "grace"):
        mark_all(typed, student)
    rows = [("alice", "report.engine", 4, ""), ("grace", "report.engine", 5, "Agreed."), ("bob", "report", 3, "")]
    typed("bob", "report-engine", 2)
    before = (course / "gradebook.db").read_bytes()
    given = write("m.csv", BY_HAND, rows)
    school("--collected", school.usual[1], "--gradebook", course / "gradebook.db", "--by-hand", given)
    found = marks(school)
    assert found["alice"]["total"] == "incomplete"
    assert (
        f"two marks for report.engine disagree: 4 ({given}, line 2) and 5 ({course / 'gradebook.db'}, report-engine of alice)"
        in (found["alice"]["note"])
    )
    assert found["grace"]["total"] == "72"
    assert "report is given as a whole and by report.engine" in found["bob"]["note"]
    assert found["bob"]["written"] == ""
    assert (course / "gradebook.db").read_bytes() == before


def test_extra_credit_for_an_item_is_not_lost_where_the_mark_is_given_as_a_whole(school, course, typed, write):
    typed("alice", "report-engine", None, extra=2)
    given = write("m.csv", BY_HAND, [("alice", "report", 18, ""), ("alice", "code_review", 9, "")])
    school("--collected", school.usual[1], "--gradebook", course / "gradebook.db", "--by-hand", given)
    alice = marks(school)["alice"]
    assert alice["total"] == "incomplete"
    assert alice["note"].startswith("report.engine has 2 extra credit in formgrader, but no points there, so it does not count")


def test_a_score_that_cannot_be_right_and_a_stranger_in_the_gradebook_are_named(school, course, typed, write, capsys):
    typed("alice", "report-engine", 5)
    write("roster.csv", "id", [["bob"]])
    capsys.readouterr()
    assert school("--gradebook", course / "gradebook.db") == 1
    assert "the gradebook has marks of 'alice', who is not on the roster" in capsys.readouterr().err
    typed("alice", "report-engine", 50)
    assert school("--gradebook", course / "gradebook.db") == 2
    said = capsys.readouterr().err
    assert "report-engine of alice: expected a score from 0 to 5; got 50" in said and said.count("\n") == 1


def test_a_score_that_was_typed_when_its_item_had_other_points_is_refused(school, course, typed, capsys):
    typed("alice", "report-engine", 4)
    rubric = course / "rubric.toml"
    text = rubric.read_text().replace('[1, "clock, opening', '[0, "clock, opening').replace('[[1, "a sugg', '[[2, "a sugg')
    rubric.write_text(text)
    capsys.readouterr()
    assert school("--gradebook", course / "gradebook.db") == 2
    said = capsys.readouterr().err
    assert "report-engine of alice: the score was typed for 5 points, but the item has 4 now" in said and said.count("\n") == 1


def test_the_time_of_a_submission_reaches_nbgraders_export(school, course, typed):
    nbgrader(course, "export", "--to=grades.csv")
    times = {row["student_id"]: row["timestamp"] for row in table(course / "grades.csv")}
    assert times["bob"] == "2026-12-01 22:00:00"  # UTC, as nbgrader keeps it
