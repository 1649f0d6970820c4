"""A roster: which columns it may have, and whom its lines name."""

import re

import pytest

from common.errors import UsageError
from grader.instructor.gradebook_entries import read_roster


def test_a_roster_is_a_csv_file_with_ids_that_differ_and_can_name_a_folder(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("id,submission,last_name\ns1,alice_12_gomoku,Ada\ns2,,\n", encoding="utf-8-sig")
    assert [(s.id, s.submission, s.names) for s in read_roster(path)] == [
        ("s1", "alice_12_gomoku", {"last_name": "Ada"}),
        ("s2", "s2", {}),
    ]
    for text, words in (
        ("name\ns1\n", "expected one column id in the first line; got 'name'"),
        ("", "expected one column id in the first line; got ''"),
        ("id\n../s1\n", "line 2: expected a student id that can name a folder and holds no HTML; got '../s1'"),
        ("id\n\n..\n", "line 3: expected a student id that can name a folder and holds no HTML; got '..'"),
        ("id,submission\n,x\n", "line 2: expected a student id that can name a folder and holds no HTML; got ''"),
        ("last_name,id\nAda\n", "line 2: expected a student id that can name a folder and holds no HTML; got ''"),
        ("id\ns1\ns1\n", "line 3: the id s1 is listed twice"),
        ("id,submission\na,x\nb,x\n", "line 3: the submission x is listed twice"),
        ("id\n<svg onload=alert(1)>\n", "line 2: expected a student id that can name a folder and holds no HTML; got '<svg"),
        ("id,last_name\ns1,<script>\n", "line 2: expected names without < and >"),
        ("id,first_name\ns1,Ada, Jr.\n", "line 2: expected at most 2 cells, as in the first line; got 3: put quotes around"),
        ('id,first_name\ns1,"Ada\ns2,Bob\n', "expected a roster (CSV, UTF-8) at"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=re.escape(words)):
            read_roster(path)
    path.write_text('id,first_name,email\ns1,"Ada, Jr.",Ada <ada@example.org>\n')
    assert read_roster(path)[0].names == {"first_name": "Ada, Jr.", "email": "Ada <ada@example.org>"}
    path.write_text('id , first_name, canvas_id\ns1, "Ada, Jr.", 17\n,,\ns2\n')
    assert [(s.id, s.names, s.canvas_id) for s in read_roster(path)] == [
        ("s1", {"first_name": "Ada, Jr."}, "17"),
        ("s2", {}, ""),
    ]
    path.write_text("id;last_name;first_name\ns1;Ada, Jr.;Grace\n")
    assert read_roster(path)[0].names == {"first_name": "Grace", "last_name": "Ada, Jr."}
    path.write_bytes(b"id\n\xff\xfe\n")
    with pytest.raises(UsageError, match="UTF-8"):
        read_roster(path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Canvas ID", "canvas_id"), ("firstname", "first_name"), ("e-mail", "email"), ("moodel_id", "moodle_id")],
)
def test_a_misspelt_column_of_a_roster_is_refused_with_the_name_that_is_meant(tmp_path, name, meant):
    path = tmp_path / "roster.csv"
    path.write_text(f"id,{name}\ns1,x\n")
    with pytest.raises(UsageError, match=rf"expected the column {meant}; got '{name}': correct its name"):
        read_roster(path)


@pytest.mark.parametrize("written", ["2.026E+11", "2,026e+11", "2026001.0", "2026001,00"])
def test_an_id_that_a_spreadsheet_wrote_as_a_number_is_refused(tmp_path, written):
    path = tmp_path / "roster.csv"
    path.write_text(f"id;last_name\n{written};Ada\n")
    with pytest.raises(UsageError, match=re.escape(f"line 2: expected the student's id; got {written!r}, as a spreadsheet")):
        read_roster(path)


@pytest.mark.parametrize("student", ["12e5", "3E+", "a.0", "7.10", "2026-00"])
def test_an_id_that_only_resembles_such_a_number_is_accepted(tmp_path, student):
    path = tmp_path / "roster.csv"
    path.write_text(f"id\n{student}\n")
    assert [one.id for one in read_roster(path)] == [student]


@pytest.mark.parametrize("column", ["canvas_id", "moodle_id"])
@pytest.mark.parametrize("written", ["70014.0", "7.0014E+04", "'70014", "Participant 70014"])
def test_a_number_of_a_platform_that_is_not_whole_is_refused(tmp_path, column, written):
    path = tmp_path / "roster.csv"
    path.write_text(f"id,{column}\ns1,{written}\n")
    with pytest.raises(UsageError, match=re.escape(f"line 2: expected a whole number or nothing in the column {column}")):
        read_roster(path)


def test_a_roster_may_have_columns_that_are_not_used(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("id,Section,Submission ID,canvas_id,Canvas ID\ns1,A,17,4,5\n")
    assert [(student.id, student.submission, student.canvas_id) for student in read_roster(path)] == [("s1", "s1", "4")]
