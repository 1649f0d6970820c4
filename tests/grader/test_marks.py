"""`python -m grader marks`: a class of eight under each scheme, wrong tables, overrides, and the tables for the platforms."""

import csv
import re
from decimal import Decimal

import pytest
from course_tools import enter
from marks_tools import BY_HAND, COLUMNS, NAMES, OVERRIDES, journal, marks, table

from common.harmless_text import from_csv_cell
from common.locks import LOCK
from grader.__main__ import main
from grader.instructor.collecting.outcomes import LATE_BY_CANVAS
from grader.instructor.marking.journal import JOURNAL, read_journal

# ------------------------------------------------------------------------------------------------------ three schemes

INCOMPLETE = dict.fromkeys(("carol", "erin", "heidi"), "incomplete")
TOTALS = {
    # bob: (22 + 35 + 27.25) * 0.9; grace: 35 + 7 + 27.25
    "win_rate": {"alice": "97.5", "bob": "76", "dave": "97.5", "frank": "0", "grace": "69.5"},
    # alice: 40 + 25 + 42.25; bob: 40 * 22 / 35 + 25 + 37.25 - 5; grace: 40 + 5 + 27.25
    "capped": {"alice": "100", "bob": "82", "dave": "92", "frank": "0", "grace": "72"},
    "pass_fail": {"alice": "97.5", "bob": "84.5", "dave": "97.5", "frank": "0", "grace": "69.5"},
}


@pytest.mark.parametrize("scheme", TOTALS)
def test_a_class_is_totalled_by_each_scheme(scheme, school, capsys):
    assert school("--scheme", scheme, *(school.project if scheme == "capped" else school.usual)) == 1
    rows = marks(school)
    assert [*rows] == [*NAMES]
    assert {i: row["total"] for i, row in rows.items()} == TOTALS[scheme] | INCOMPLETE
    parts, hand = ("part_1", "part_2", "written"), ("bonus",) if scheme == "win_rate" else ()
    for row in rows.values():
        if row["total"] != "incomplete":
            shown = {key: Decimal(row[key] or 0) for key in (*parts, *hand, "above_cap", "penalty", "rounding", "total")}
            sums = sum(shown[key] for key in (*parts, *hand)) - shown["above_cap"] - shown["penalty"] + shown["rounding"]
            assert sums == shown["total"]
    grades = {i: row["grade"] for i, row in rows.items() if row["grade"]}
    passed = {"alice": "pass", "bob": "pass", "dave": "pass", "frank": "fail", "grace": "fail"}
    assert {row["scheme"] for row in rows.values()} == {scheme}
    assert grades == (passed if scheme == "pass_fail" else {})
    said = capsys.readouterr()
    assert "4 of 8 totals are final" in said.out
    assert said.err.count("\n") == 4


def test_what_is_lacking_is_named_and_never_0(school, capsys):
    school(*school.usual)
    rows = marks(school)
    assert rows["carol"]["note"] == "could not be graded: minimax.win_rate"
    assert (rows["carol"]["minimax.win_rate"], rows["carol"]["part_1"], rows["carol"]["part_2"]) == ("", "", "35")
    assert rows["erin"]["note"] == "it is not known whether the submission was late"
    assert rows["heidi"]["note"] == "not marked: report, code_review"
    assert rows["frank"]["note"] == "nothing was handed in"
    assert "grader: carol is incomplete: could not be graded: minimax.win_rate\n" in capsys.readouterr().err


def test_who_is_marked_late_without_a_time_is_never_counted_as_on_time(school, write):
    lines = [("erin", "", "", "collected", 2, "a.zip", "", "", f"attempt 2 of 2 counts. {LATE_BY_CANVAS}.")]
    lines += [("alice", "", "", "collected", 1, "a.zip", "", "", "")]
    handed = ("--collected", write("c.csv", COLUMNS, lines), "--unknown-as-on-time", *school.usual[2:])
    assert school(*handed) == 1
    rows = marks(school)
    assert (rows["alice"]["total"], rows["erin"]["total"], rows["erin"]["final"]) == ("97.5", "incomplete", "no")
    assert "counted as on time" in rows["alice"]["note"]
    assert rows["erin"]["note"].startswith("the platform marks the submission as late, but not by how much: give its time")
    school(*handed, "--overrides", write("o.csv", OVERRIDES, [("erin", "late_minutes", 30, "Seen in SpeedGrader.", "X")]))
    assert marks(school)["erin"]["total"] != "incomplete"


def test_points_of_each_item_stand_beside_the_total_with_lateness_and_comments(school):
    school(*school.usual)
    bob, alice = marks(school)["bob"], marks(school)["alice"]
    assert (bob["minimax.win_rate"], bob["report"], bob["code_review"], bob["part_1"]) == ("17", "18", "9.25", "22")
    assert (bob["submitted_at"], bob["late_minutes"], bob["penalty"]) == ("2026-12-01T23:00:00+01:00", "75", "8.425")
    assert (alice["penalty"], alice["rounding"], alice["comments"]) == ("0", "0.25", "report: Well argued, clear.")


def test_a_result_of_another_profile_than_the_scheme_requires_is_warned_of_in_the_note_and_by_the_exit_code(
    school, capsys, write, tmp_path
):
    words = "graded with profile quick, but the scheme win_rate requires full: grade again with --profile full"
    write("roster.csv", "id", [["dave"]])
    only = tmp_path / "out" / "dave"
    fixed = ["--students", tmp_path / "roster.csv", "--out", tmp_path / "marks", "--course", tmp_path / "course"]
    given = write("dave.csv", "id,item,points", [("dave", "report", 20), ("dave", "code_review", 10)])
    assert main(["marks", str(only), *map(str, (*fixed, "--by-hand", given, "--unknown-as-on-time"))]) == 1
    row = marks(school)["dave"]
    assert row["total"] == "100" and words in row["note"] and "counted as on time" in row["note"]
    assert words in capsys.readouterr().err
    enter(tmp_path / "course", only)
    assert f"grader: dave: {words}" in capsys.readouterr().err


def test_a_folder_of_results_that_is_not_there_gives_nobody_0(school, tmp_path, capsys):
    fixed = ["--course", tmp_path / "course", "--students", tmp_path / "roster.csv", "--out", school.folder]
    assert main(["marks", str(tmp_path / "no_results"), *map(str, fixed), "--missing-as-zero"]) == 2
    assert "no_results; there is no such file or folder" in capsys.readouterr().err
    assert not school.folder.exists()


def test_a_roster_of_nobody_and_one_that_names_two_students_alike_are_no_reason_to_guess(school, write, tmp_path, capsys):
    write("roster.csv", "id", [])
    assert school() == 2
    assert "expected at least one student in the roster" in capsys.readouterr().err
    write("roster.csv", "id,submission", [("alice", "bob"), ("bob", "a")])
    assert school() == 1
    assert "has 'bob' as the id of one student and as the submission of another" in capsys.readouterr().err
    assert "there is no result" in marks(school)["bob"]["note"]


def test_who_has_no_result_gets_0_only_if_collected_or_the_instructor_says_so(school, write, tmp_path):
    assert school("--by-hand", tmp_path / "by_hand.csv", "--unknown-as-on-time") == 1
    assert marks(school)["frank"]["note"].startswith("there is no result; not marked")
    assert school("--by-hand", tmp_path / "by_hand.csv", "--unknown-as-on-time", "--missing-as-zero") == 1
    assert (marks(school)["frank"]["total"], marks(school)["frank"]["minimax.build"]) == ("0", "0")
    for outcome, attempts, note in (
        ("collected", 1, "something was handed in, but there is no result"),
        ("missing", 2, "collected.csv counts none of 2 attempts"),
        ("unclear", 2, "collected.csv has the outcome 'unclear'"),
    ):
        collected = write("c.csv", COLUMNS, [("frank", "", "", outcome, attempts, "", "", 0, "")])
        assert school("--collected", collected, "--missing-as-zero") == 1
        assert marks(school)["frank"]["total"] == "incomplete"
        assert note in marks(school)["frank"]["note"]
    collected = write("c.csv", COLUMNS, [("alice", "", "", "missing", 0, "", "", "", "")])
    assert school("--collected", collected) == 1
    assert "says that nothing was handed in, but there is a result" in marks(school)["alice"]["note"]


def test_a_result_that_cannot_be_used_makes_one_total_incomplete_and_one_of_nobody_is_named(school, graded_as, capsys):
    path = school.results / "alice" / "results.json"
    path.write_text(path.read_text()[:300])
    (school.results / "bob" / "refused.txt").write_text("bob.zip is a RAR archive")
    graded_as("stranger")
    assert school(*school.usual) == 1
    assert "alice/results.json is damaged" in marks(school)["alice"]["note"]
    assert "the latest archive was refused, so the result is of an earlier one: bob.zip" in marks(school)["bob"]["note"]
    assert marks(school)["dave"]["total"] == "97.5"
    assert "lists no student for the submission 'stranger'; it counts for nobody" in capsys.readouterr().err


def test_all_final_is_exit_code_0_and_a_second_run_changes_no_byte(school, tmp_path, write, capsys):
    write("roster.csv", "id,first_name", [("alice", "Ada")])
    given = write("m.csv", "id,item,points", [("alice", "report", 1), ("alice", "code_review", 2), ("alice", "bonus", 4.5)])
    override = write("o.csv", "id,item,points,reason,by", [("alice", "network.load", 0.5, "Half of it loads.", "X")])
    alone = ["marks", str(school.results / "alice"), "--course", str(tmp_path / "course"), "--out", str(school.folder)]
    alone += ["--students", str(tmp_path / "roster.csv"), "--by-hand", str(given), "--overrides", str(override)]
    before = None
    for _ in range(2):
        assert main([*alone, "--unknown-as-on-time"]) == 0
        now = {path.name: path.read_bytes() for path in school.folder.iterdir()}
        assert before in (None, now)
        before = now
    assert set(before) == {"marks.csv", "canvas.csv", "moodle.csv", "journal.jsonl", LOCK}
    assert marks(school)["alice"]["total"] == "77"  # 70 - 0.5 + 3 + 4.5
    assert capsys.readouterr().err == ""


def test_tables_that_someone_has_edited_are_kept_when_they_are_replaced(school, capsys):
    school()
    names = ("marks.csv", "canvas.csv", "moodle.csv")
    written = {name: (school.folder / name).read_bytes() for name in names}
    for number in (1, 2):
        (school.folder / "marks.csv").write_text(f"edited {number}")
        school()
        assert {name: (school.folder / name).read_bytes() for name in names} == written
        assert (school.folder / f"earlier/{number}/marks.csv").read_text() == f"edited {number}"
    assert f"The earlier marks.csv is kept as {school.folder}/earlier/2/marks.csv." in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------- wrong calls

WRONG = {
    "an unknown student": ("--by-hand", BY_HAND, "zoe,report,3,", "line 2: expected an id of the roster; got 'zoe'"),
    "an unknown item": ("--by-hand", BY_HAND, "bob,raport,3,", "line 2: expected an item; got 'raport' (did you mean report?)"),
    "too many points": ("--by-hand", BY_HAND, "bob,report,21,", "expected at most 20 points for report; got 21"),
    "a decimal comma": ("--by-hand", BY_HAND, 'bob,report,"4,5",', "expected points such as 4.5; got '4,5'"),
    "points below 0": ("--by-hand", BY_HAND, "bob,report,-1,", "expected points such as 4.5; got '-1'"),
    "no number": ("--by-hand", BY_HAND, "bob,report,nan,", "expected points such as 4.5; got 'nan'"),
    "a mark twice": ("--by-hand", BY_HAND, "bob,report,3,\nbob,report,3,", "line 3: report of bob is listed twice"),
    "a missing column": (
        "--by-hand",
        "id,item,score",
        "bob,report,3",
        "expected marks by hand with the columns id,item,points,[comment]; missing: points; the first line has id, item, "
        "score\n",
    ),
    "a column too many": ("--by-hand", f"{BY_HAND},by", "bob,report,3,,X", "[comment]; unknown: by\n"),
    "a column twice": ("--by-hand", f"{BY_HAND},item", "bob,report,3,,report", "[comment]; there twice: item\n"),
    "an open quote": ("--by-hand", BY_HAND, 'bob,report,3,"open', "unexpected end of data"),
    "too few cells": ("--by-hand", BY_HAND, "bob,report", "line 2: expected 4 cells, as in the first line; got 2"),
    "an override without a reason": (
        "--overrides",
        OVERRIDES,
        "bob,report,3, ,X",
        "expected a 'reason' for the override of report",
    ),
    "an override by nobody": ("--overrides", OVERRIDES, "bob,report,3,why,", "expected a 'by' for the override of report"),
    "an override of the total": (
        "--overrides",
        OVERRIDES,
        "bob,total,3,why,X",
        "expected an item or a part; the total follows from them",
    ),
    "a student's id in capitals and full-width letters": (
        "--by-hand",
        BY_HAND,
        "Ｂob,report,3,",
        "expected an id of the roster; got 'Ｂob' (did you mean bob?)",
    ),
    **{
        f"a delay of {text}": (
            "--overrides",
            OVERRIDES,
            f"bob,late_minutes,{text},why,X",
            f"expected a whole number of minutes for late_minutes, such as 90, or 0 for in time; got '{text}'",
        )
        for text in ("3.5", "-5", "2026-12-02")
    },
    "a table that is not collected.csv": (
        "--collected",
        "id,late",
        "bob,3",
        "the table collected.csv with the columns id,",
    ),
    "a negative delay": (
        "--collected",
        COLUMNS,
        "bob,,,collected,1,,,-3,",
        "number or nothing for late_minutes; got '-3'",
    ),
    "a time without a zone": (
        "--collected",
        COLUMNS,
        "bob,,,collected,1,,2026-12-01T23:59,0,",
        "expected a time with its zone for submitted_at, such as 2026-12-01T23:59+01:00; got '2026-12-01T23:59'",
    ),
    "a student collected twice": (
        "--collected",
        COLUMNS,
        "bob,,,missing,,,,,\nbob,,,missing,,,,,",
        "line 3: the id bob is listed twice",
    ),
    "no text": ("--by-hand", BY_HAND, "\udcff\udcfe", "it is not in UTF-8 (in Excel, save it as CSV UTF-8)"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_table_with_a_mistake_is_refused_with_its_line_before_anything_is_written(mistake, school, tmp_path, capsys):
    option, header, rows, words = WRONG[mistake]
    path = tmp_path / "wrong.csv"
    path.write_bytes(f"{header}\n{rows}\n".encode("utf-8", "surrogateescape"))
    assert school(option, path) == 2
    said = capsys.readouterr().err
    assert words in said and str(path) in said and said.count("\n") == 1
    assert not school.folder.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scheme", "curve"), "expected a scheme among capped, pass_fail, win_rate"),
        (("--scheme", "schemes/capped.toml"), "without folder and suffix; got 'schemes/capped.toml'"),
        (("--gradebook", "no.db"), "expected nbgrader's gradebook at no.db; there is no such file"),
        (("--by-hand", "no.csv"), "expected marks by hand (CSV, UTF-8) at no.csv: No such file or directory\n"),
    ],
)
def test_a_file_that_is_not_there_gives_one_sentence(arguments, words, school, capsys):
    assert school(*arguments) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_table_that_a_spreadsheet_saved_with_another_separator_is_read(separator, school, tmp_path):
    path = tmp_path / "by_hand.csv"
    path.write_text(path.read_text().replace(",", separator).replace(f"argued{separator}", "argued,"))
    school("--by-hand", path)
    assert marks(school)["alice"]["report"] == "18"
    assert marks(school)["alice"]["comments"] == "report: Well argued, clear."


# ---------------------------------------------------------------------------------------- overrides and their journal


def test_an_override_counts_and_enters_the_journal_once_with_its_change_and_its_end(school, write, capsys):
    def override(*rows):
        return school(*school.usual, "--overrides", write("o.csv", OVERRIDES, rows))

    carol = ("carol", "minimax.win_rate", 25, "Replayed: 25 of 30.", "Prof. X")
    waived = ("bob", "late_minutes", 0, "The server was down, =1+1", "Ünal")
    for _ in range(2):
        override(carol, waived)
        rows = marks(school)
        assert (rows["carol"]["total"], rows["carol"]["minimax.win_rate"], rows["carol"]["note"]) == ("92.5", "25", "")
        assert (rows["bob"]["total"], rows["bob"]["penalty"], rows["bob"]["late_minutes"]) == ("84.5", "0", "0")
        assert rows["carol"]["overrides"] == "minimax.win_rate 25 instead of nothing, because Replayed: 25 of 30. (Prof. X)"
        assert [(line["event"], line["id"], line["points"], line["before"]) for line in journal(school)] == [
            ("applied", "bob", "0", "75"),
            ("applied", "carol", "25", None),
        ]
    override((*carol[:2], 26, *carol[3:]), waived)
    capsys.readouterr()
    override((*carol[:2], 26, *carol[3:]))
    withdrawn = "journal.jsonl: overrides withdrawn, because this call does not apply them: bob late_minutes\n"
    assert withdrawn in capsys.readouterr().out
    override(carol)
    assert "journal.jsonl: overrides changed: carol minimax.win_rate\n" in capsys.readouterr().out
    assert [(line["event"], line["id"], line["points"], line["before"]) for line in journal(school)[2:]] == [
        ("changed", "carol", "26", "25"),
        ("withdrawn", "bob", "0", "75"),
        ("changed", "carol", "25", "26"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line["time"]) for line in journal(school))


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_reason_with_a_line_separator_leaves_the_journal_readable(school, write, tmp_path, separator):
    reason = f"Read again.{separator}See the minutes."
    for _ in range(2):
        school(*school.usual, "--overrides", write("o.csv", OVERRIDES, [("alice", "report", 17, reason, "X")]))
    (line,) = read_journal(tmp_path / "marks" / JOURNAL)
    assert line.reason == reason


def test_an_override_that_confirms_a_mark_says_so(school, write):
    school(*school.usual, "--overrides", write("o.csv", OVERRIDES, [("alice", "report", 18, "Read again", "X")]))
    assert marks(school)["alice"]["overrides"] == "report 18, as before, because Read again (X)"


def test_an_override_of_a_part_or_a_mark_replaces_what_it_is_made_of(school, write):
    rows = [
        ("carol", "part_1", 20, "Oral examination", "X"),
        ("bob", "part_1", 20, "Oral examination", "X"),
        ("heidi", "report", 10, "Marked on paper", "X"),
        ("heidi", "code_review.structure", 4, "Marked on paper", "X"),
    ]
    school(*school.usual, "--overrides", write("o.csv", OVERRIDES, rows))
    found = marks(school)
    assert (found["carol"]["part_1"], found["carol"]["total"]) == ("20", "82.5")
    assert found["carol"]["overrides"].startswith("part_1 20 instead of nothing")  # the win rate could not be graded
    assert found["bob"]["overrides"].startswith("part_1 20 instead of 22")
    assert [line["before"] for line in journal(school) if line["id"] == "bob"] == ["22"]
    assert found["heidi"]["report"] == "10"
    rest = ", ".join(f"code_review.{name}" for name in ("comments", "cleanliness", "explanation"))
    assert found["heidi"]["note"] == f"not marked: {rest}"
    school(*school.usual, "--overrides", write("o.csv", OVERRIDES, [("alice", "report.engine", 4, "why", "X")]))
    assert "report is given as a whole, so report.engine cannot be overridden" in marks(school)["alice"]["note"]
    assert marks(school)["alice"]["total"] == "incomplete"


def test_an_override_that_the_override_of_its_part_leaves_without_effect_is_named(school, write):
    rows = [
        ("alice", "part_1", 20, "Oral examination", "X"),
        ("alice", "minimax.win_rate", 0, "Copied", "X"),
        ("alice", "network.load", 0, "Copied", "X"),
    ]
    school(*school.usual, "--overrides", write("o.csv", OVERRIDES, rows))
    alice = marks(school)["alice"]
    assert alice["note"] == "part_1 is overridden, so the overrides of minimax.win_rate change no total"
    assert (alice["part_1"], alice["part_2"], alice["final"]) == ("20", "34", "yes")


def test_a_missing_student_keeps_the_items_that_a_person_gave_and_gets_0_for_the_others(school, write, capsys):
    given = write("items.csv", BY_HAND, [("frank", "report.engine", 3, "Shown in the lab.")])
    school("--collected", school.usual[1], "--by-hand", given)
    frank = marks(school)["frank"]
    assert (frank["report.engine"], frank["report.problems"], frank["written"], frank["total"]) == ("3", "0", "3", "3")
    assert frank["note"] == (
        "nothing was handed in; marks given by a person count; the items of report that nobody gave count as 0"
    )
    decided = [("frank", "report.engine", 4, "Oral examination", "X"), ("frank", "minimax.build", 1, "Seen to run", "X")]
    school("--collected", school.usual[1], "--overrides", write("o.csv", OVERRIDES, decided))
    assert (marks(school)["frank"]["written"], marks(school)["frank"]["total"]) == ("4", "5")
    school("--collected", school.usual[1], "--by-hand", write("whole.csv", BY_HAND, [("frank", "report", 9, "")]))
    assert (marks(school)["frank"]["report"], marks(school)["frank"]["total"]) == ("9", "9")
    assert "incomplete: \n" not in capsys.readouterr().err


def test_a_damaged_journal_is_refused_before_anything_is_written(school, capsys):
    school.folder.mkdir()
    (school.folder / "journal.jsonl").write_text('{"time": "2026-')
    assert school(*school.usual) == 2
    assert "journal.jsonl, line 1: expected a line that `marks` wrote" in capsys.readouterr().err
    assert {path.name for path in school.folder.iterdir()} == {"journal.jsonl", LOCK}


def test_points_by_hand_for_a_check_count_only_where_the_program_has_not_decided(school, write):
    rows = [("carol", "minimax.win_rate", 12, "By hand."), ("alice", "network.load", 0.5, ""), ("bob", "network.load", 1, "")]
    school("--collected", school.usual[1], "--by-hand", write("m.csv", BY_HAND, rows))
    assert marks(school)["carol"]["part_1"] == "17"
    assert (
        "points for network.load, which the program has decided: correct it with an override" in marks(school)["alice"]["note"]
    )
    assert "network.load" not in marks(school)["bob"]["note"]


# ------------------------------------------------------------------------------------------------- the platforms


def raw(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def test_canvas_gets_its_columns_the_points_possible_and_no_0_for_what_is_incomplete(school):
    school(*school.usual, "--canvas-assignment", "4711")
    header, possible, *rows = raw(school.folder / "canvas.csv")
    title = "Gomoku AI: Minimax and AlphaZero (4711)"
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]
    assert re.fullmatch(r".*\s\(\d+\)", header[-1])  # how Canvas finds the number of the assignment
    assert possible == ["    Points Possible", "", "", "", "", "100"]
    assert {row[2]: row[5] for row in rows} == TOTALS["win_rate"] | dict.fromkeys(INCOMPLETE, "")
    assert rows[0][:4] == ['O"Neill, Ada, Jr.', "", "alice", "alice@example.org"]


def test_moodle_gets_grades_with_feedback_and_nothing_for_what_is_incomplete(school):
    school(*school.usual)
    rows = table(school.folder / "moodle.csv")
    assert [*rows[0]] == ["ID number", "Email address", "Grade", "Feedback comments"]
    assert {row["ID number"]: row["Grade"] for row in rows} == TOTALS["win_rate"] | dict.fromkeys(INCOMPLETE, "")
    feedback = {row["ID number"]: row["Feedback comments"] for row in rows}
    assert feedback["bob"] == (
        "Minimax: 22 of 35. AlphaZero: 35 of 35. Report and code review: 27.25 of 30. 75 minutes late: -8.425. Total: 76."
    )
    assert feedback["carol"] == ""


@pytest.mark.parametrize("second", ["", "A@example.org"])
def test_moodle_gets_no_column_of_addresses_that_would_give_a_grade_to_another_student(school, write, second):
    write("roster.csv", "id,email", [("alice", "a@example.org"), ("bob", second)])
    school(*("--collected", school.usual[1]))
    assert raw(school.folder / "moodle.csv")[0] == ["ID number", "Grade", "Feedback comments"]


def test_moodles_feedback_says_what_lies_above_the_cap(school):
    school("--scheme", "capped", *school.project)
    alice = table(school.folder / "moodle.csv")[0]["Feedback comments"]
    assert "Above the maximum of 100: -7.25. Total: 100." in alice


def test_pass_and_fail_are_full_points_and_0_on_a_platform(school):
    school("--scheme", "pass_fail", *school.usual)
    grades = {row[2]: row[5] for row in raw(school.folder / "canvas.csv")[2:]}
    assert grades == {"alice": "100", "bob": "100", "dave": "100", "frank": "0", "grace": "0", **dict.fromkeys(INCOMPLETE, "")}


def test_names_are_read_back_as_they_are_and_no_spreadsheet_computes_them(school):
    school(*school.usual)
    assert (school.folder / "marks.csv").read_bytes().startswith(b"\xef\xbb\xbfid,")
    for name in ("marks.csv", "canvas.csv", "moodle.csv"):
        cells = [cell for row in raw(school.folder / name) for cell in row]
        risky = [
            cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@")) and not re.fullmatch(r"-[\d.]+", cell)
        ]
        assert risky == []
    rows = marks(school)
    assert {i: tuple(map(from_csv_cell, (row["first_name"], row["last_name"]))) for i, row in rows.items()} == {
        **NAMES,
        "grace": ("Grace Hopper", "x;y"),
    }


def test_a_name_does_not_reach_the_terminal_as_it_is(school, write, capsys):
    school("--by-hand", write("m.csv", BY_HAND, [("\x1b]0;owned\x07", "report", 3, "")]))
    said = capsys.readouterr()
    assert all(c.isprintable() or c == "\n" for c in said.out + said.err) and said.err.count("\n") == 1
