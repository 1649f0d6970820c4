"""A student who dropped the course after something was handed in, graded and marked is left out by each command."""

import pytest
from class_downloads import at, packed
from course_tools import enter
from marks_tools import BY_HAND, table

from common.errors import UsageError
from grader.__main__ import main
from grader.instructor.gradebook_entries import read_roster

SENTENCE = "Left out, because the roster says that they dropped the course: bob.\n"


@pytest.fixture
def roster(write):
    """The roster of Alice and Bob, who dropped the course."""
    return write("roster.csv", "id,submission,dropped", [("alice", "", ""), ("bob", "bob_2_file", "yes")])


def test_nothing_of_the_student_counts_and_nothing_needs_a_look(collect, download, roster, write, tmp_path):
    path = download([(at("alice.zip"), packed("a")), (at("bob.zip"), packed("b"))])
    enrolled = write("enrolled.csv", "id", [["alice"], ["bob"]])
    assert collect(path, roster=enrolled) == 0 and (collect.out / "submissions" / "bob.zip").exists()
    times = write("times.csv", "id,submitted_at", [("bob", "2026-12-01T10:00+01:00")])
    assert collect("--times", times, roster=roster) == 0
    assert (collect.rows()["bob"]["outcome"], collect.rows()["bob"]["attempts"]) == ("dropped", "1")
    assert [one.name for one in (collect.out / "submissions").iterdir()] == ["alice.zip"]
    assert (collect.out / "attempts" / "bob" / "1-bob.zip").exists()
    assert collect(roster=enrolled) == 0 and collect.rows()["bob"]["outcome"] == "collected"


def test_marks_and_folders_are_made_without_the_student_and_without_a_complaint(
    graded_as, course, roster, write, tmp_path, capsys
):
    graded_as("alice")
    graded_as("bob_2_file").write_text("damaged")
    given = write("m.csv", BY_HAND, [(i, item, 9, "") for i in ("alice", "bob") for item in ("report", "code_review")])
    out, common = tmp_path / "out", ["--students", str(roster), "--course", str(course)]
    call = ["marks", str(out), *common, "--out", str(tmp_path / "marks"), "--by-hand", str(given), "--unknown-as-on-time"]
    assert main(call) == 0
    said = capsys.readouterr()
    assert SENTENCE in said.out and said.err == ""
    assert [row["id"] for row in table(tmp_path / "marks" / "marks.csv")] == ["alice"]
    call = ["give-back", str(out), *common, "--marks", str(tmp_path / "marks" / "marks.csv"), "--out", str(tmp_path / "back")]
    assert main(call) == 0
    said = capsys.readouterr()
    assert SENTENCE in said.out and said.err == "" and not (tmp_path / "back" / "bob").exists()


def test_the_gradebook_is_made_without_the_student(graded_as, course, api, roster, tmp_path, capsys):
    graded_as("alice")
    graded_as("bob")
    assert enter(course, tmp_path / "out", "--students", roster) == 0
    said = capsys.readouterr()
    assert SENTENCE in said.out and "1 of 1 results were entered" in said.out and said.err == ""
    assert {path.name for path in (course / "autograded").iterdir()} == {"alice"}


def test_another_word_than_yes_is_refused(write):
    with pytest.raises(UsageError, match=r"line 2: expected yes or nothing in the column dropped; got 'no'"):
        read_roster(write("r.csv", "id,dropped", [("s1", "no")]))
