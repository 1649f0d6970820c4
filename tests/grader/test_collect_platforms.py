"""`python -m grader collect` on the class downloads of Canvas, Moodle and Gradescope."""

import os

import pytest
from class_downloads import at, packed, tree
from packing import WORK

from grader.instructor.collecting.canvas import canvas_order
from grader.instructor.collecting.gradescope import read_metadata
from grader.pipeline.submission import read_submission

# ------------------------------------------------------------------------------------------------------------ Canvas


def test_canvas_gives_each_student_the_last_resubmission_and_keeps_all(collect, download):
    first, second, third = (packed(text) for text in ("first", "second", "third"))
    jose = packed("jose", ".tar.gz")
    path = download(
        {
            "adajralice_101_9001_gomoku.zip": first,
            "adajralice_LATE_101_9005_gomoku-2.zip": third,
            "adajralice_101_9003_gomoku-1.zip": second,
            "núñezjosé_102_9002_my work, final.tar.gz": jose,
            "李小明_103_9004_五子棋.zip": packed("ming"),
            "zhangwei_104_9006_gomoku.zip": packed("wei"),
            "__MACOSX/._x": b"x",
            ".DS_Store": b"x",
            "Thumbs.db": b"x",
        }
    )
    assert collect(path, "--due", "2026-12-01T23:59+01:00") == 0
    rows = collect.rows()
    assert rows["s1"]["outcome"] == "collected" and rows["s1"]["attempts"] == "3"
    assert rows["s1"]["counted"] == "3-gomoku-2.zip" and rows["s1"]["late_minutes"] == "" and "late" in rows["s1"]["note"]
    assert rows["s2"]["late_minutes"] == "0" and rows["s4"]["outcome"] == "collected"
    assert rows["s5"]["outcome"] == rows["2024007"]["outcome"] == "missing"
    kept = tree(collect.out)
    assert kept["submissions/s1.zip"] == kept["attempts/s1/3-gomoku-2.zip"] == third
    assert (kept["attempts/s1/1-gomoku.zip"], kept["attempts/s1/2-gomoku-1.zip"]) == (first, second)
    assert kept["submissions/s2.tar.gz"] == jose
    assert sorted(name for name in kept if name.startswith("submissions/")) == [
        "submissions/s1.zip",
        "submissions/s2.tar.gz",
        "submissions/s3.zip",
        "submissions/s4.zip",
    ]
    assert "download.zip: read as a class download (Canvas) with 6 hand-ins." in collect.said
    assert "4 collected, 3 missing" in collect.said


def test_two_students_of_one_name_are_told_apart_by_number_or_not_at_all(collect, download, tmp_path):
    path = download({"zhangwei_104_1_a.zip": packed("one"), "zhangwei_105_2_a.zip": packed("two")})
    assert collect(path) == 0
    assert collect.rows()["s5"]["outcome"] == "collected" and tree(collect.out)["submissions/s5.zip"] == packed("two")
    roster = tmp_path / "without.csv"
    roster.write_text("id,first_name,last_name\ns4,Wei,Zhang\ns5,Wei,Zhang\ns1,A,B\n")
    collect.out = tmp_path / "other"
    assert collect(path, roster=roster) == 1
    rows = collect.rows()
    assert rows["s4"]["outcome"] == rows["s5"]["outcome"] == rows["canvas-104"]["outcome"] == "unknown"
    assert rows["s1"]["outcome"] == "missing"  # only those to whom it may belong are in doubt
    assert not any(name.startswith("submissions/") for name in tree(collect.out))
    # With the numbers in the roster, the next call gives the files to their owners.
    roster.write_text("id,first_name,last_name,canvas_id\ns4,Wei,Zhang,104\ns5,Wei,Zhang,105\ns1,A,B,\n")
    assert collect(path, roster=roster) == 0
    kept = tree(collect.out)
    assert kept["attempts/s4/1-a.zip"] == packed("one") and kept["submissions/s5.zip"] == packed("two")
    assert not any(name.startswith("unknown/") for name in kept) and "belongs to s4 according to the roster" in collect.said


def test_a_corrected_id_takes_along_what_was_collected_under_the_old_one(collect, download, tmp_path):
    first = download({"adaalice_LATE_5_1_a.zip": packed("one"), "beebob_6_2_a.zip": packed("bob")})
    second = download({"adaalice_LATE_5_3_a-1.zip": packed("two")}, name="second")
    roster, table = tmp_path / "ids.csv", tmp_path / "times.csv"
    roster.write_text("id,first_name,last_name\n123,Alice,Ada\n124,Bob,Bee\n125,Carol,Cee\n")
    table.write_text("id,submitted_at\n123,2026-12-02T00:10+01:00\n")
    due = ("--due", "2026-12-01T23:59+01:00", "--times", table)
    assert collect(first, roster=roster) == collect(second, *due, roster=roster) == 0
    assert collect("--counts", "123=2", roster=roster) == 0
    roster.write_text("id,first_name,last_name\n0123,Alice,Ada\n125,Carol,Cee\n")
    assert collect(roster=roster) == 1  # Bob has left the course
    rows, kept = collect.rows(), tree(collect.out)
    assert (rows["0123"]["attempts"], rows["0123"]["counted"]) == ("2", "2-a-1.zip") and "123" not in rows
    assert rows["0123"]["late_minutes"] == "" and rows["124"]["outcome"] == "unknown" and rows["125"]["outcome"] == "missing"
    assert "attempts/123/1-a.zip: belongs to 0123 according to the roster, and is now kept there." in collect.said
    assert "123: the roster has another id for this student now, so give --counts again for that id." in collect.said
    assert collect.said.count("so give --times again for that id") == 1
    assert kept["submissions/0123.zip"] == kept["attempts/0123/2-a-1.zip"] == packed("two")
    assert not any("/123" in name for name in kept)
    assert collect(roster=roster) == 1 and tree(collect.out) == kept


def test_two_users_with_the_name_of_one_student_are_not_guessed(collect, download):
    path = download({"núñezjosé_21_1_a.zip": packed("one"), "nunezjose_22_2_a.zip": packed("two")})
    assert collect(path) == 1
    row = collect.rows()["s2"]
    assert (row["outcome"], row["counted"], row["attempts"]) == ("unknown", "", "2")
    assert "attempts of two people on Canvas, 21 and 22" in row["note"]
    assert collect(path, "--counts", "s2=2") == 0
    assert collect.rows()["s2"]["outcome"] == "collected" and "attempt 2 of 2 counts, chosen by --counts." in collect.said
    assert collect(path, "--counts", "s2=3") == 2
    assert "an attempt of s2 that earlier calls collected (1, 2) in --counts; got 3" in collect.complaint
    assert collect(path) == 0  # the choice holds until a new attempt comes
    more = download({"núñezjosé_21_3_a-1.zip": packed("three")}, name="more")
    assert collect(more) == 1
    assert collect.rows()["s2"]["outcome"] == "unknown" and "no longer holds" in collect.said


def test_a_report_beside_the_archive_is_kept_with_it_and_two_archives_are_unclear(collect, download, assignment):
    path = download(
        {
            "adajralice_101_1_gomoku.zip": packed("x"),
            "adajralice_101_2_report.pdf": b"%PDF",
            "núñezjosé_102_3_part1.zip": packed("a"),
            "núñezjosé_102_4_part2.zip": packed("b"),
            "zhangwei_104_5_gomoku.zip": packed("w"),
            "zhangwei_104_6_engine.cpp": b"int x;",
        }
    )
    assert collect(path) == 1
    rows = collect.rows()
    seen = read_submission(collect.out / "submissions" / "s1.zip", assignment)
    assert "Minimax/engine.cpp" in seen.files and seen.reports == ("report.pdf",)
    assert rows["s2"]["outcome"] == rows["s4"]["outcome"] == "unknown"
    assert "part1 and part2" in rows["s2"]["note"] and "sources beside it" in rows["s4"]["note"]
    assert len([name for name in tree(collect.out) if name.startswith("attempts/s2/")]) == 2


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["gomoku.zip", "gomoku-1.zip", "gomoku-10.zip", "gomoku-9.zip"], [0, 1, 10, 9]),
        (["lab-3.zip", "lab-3-1.zip"], [0, 1]),
        (["gomoku-1.zip", "gomoku-2.zip"], [1, 2]),
    ],
)
def test_canvas_numbers_resubmissions(names, order):
    found = canvas_order(names)
    assert [found[name][1] for name in names] == order and len({base for base, _ in found.values()}) == 1


def test_numbers_of_canvas_that_contradict_the_names_leave_the_student_unclear(collect, download):
    old, new = packed("old"), packed("new")
    first = download({"adajralice_101_9001_gomoku-2.zip": old, "zhangwei_104_9002_gomoku-2.zip": old}, name="first")
    second = download({"adajralice_101_9009_gomoku.zip": new, "zhangwei_104_9003_gomoku-3.zip": new}, name="second")
    assert collect(first) == 0 and collect(second) == 1
    note = collect.rows()["s1"]["note"]
    assert note.startswith(
        "unclear: attempt 1, gomoku-2.zip, has the highest number in its name, but Canvas received attempt 2"
    )
    assert "gomoku.zip, later (files 9001 and 9009): choose one with --counts" in note
    assert collect.rows()["s4"]["counted"] == "2-gomoku-3.zip"
    assert collect("--counts", "s1=2") == 0 and tree(collect.out)["submissions/s1.zip"] == new


def test_plain_names_that_look_like_those_of_canvas_are_said_and_leave_nobody_missing(collect, download, tmp_path):
    roster = tmp_path / "ids.csv"
    roster.write_text("id,first_name,last_name\n2024001,Bob,Bee\n2024002,Alice,Ada\n2024003,Carol,Cee\n2024004,Dan,\n")
    names = ("bob_2024001_2_gomoku.zip", "adaalice_2024002_1_gomoku.zip", "alice ada_2024004_1_gomoku.zip")
    path = download([(at(name, (2026, 12, day, 8, 0, 0)), packed(name)) for day, name in enumerate(names, start=1)])
    due = ("--due", "2026-12-01T09:00+00:00")
    assert collect(path, *due, roster=roster) == 1
    assert collect.said.count("taken for users of Canvas, so lateness comes only from the label LATE.") == 1
    assert "collect into a new folder with --pattern '{name}_{id}_{file}'" in collect.said
    rows = collect.rows()
    outcomes = [rows[f"202400{i}"]["outcome"] for i in (1, 2, 3, 4)]
    assert outcomes == ["unknown", "collected", "missing", "unknown"]
    assert "unclear: unknown/canvas-2024001/1-gomoku.zip may belong to this student" in rows["2024001"]["note"]
    assert "has the id of a student as its number, but another name" in rows["canvas-2024001"]["note"]
    collect.out = tmp_path / "plain"
    assert collect(path, *due, "--pattern", "{name}_{id}_{file}", roster=roster) == 0
    assert collect.rows()["2024002"]["late_minutes"] == "1380" and "users of Canvas" not in collect.said


def test_a_file_of_canvas_under_another_name_than_the_students_may_be_that_of_a_group(collect, download):
    path = download({"teamred_101_9001_gomoku.zip": packed("a"), "zhangweimaria_104_9002_gomoku.zip": packed("w")})
    assert collect(path) == 0
    assert collect.rows()["s1"]["note"] == (
        "Canvas calls who handed it in 'teamred'; if that is a group, its other members are listed as missing: collect a copy "
        "for each."
    )
    assert collect.rows()["s4"]["note"] == ""


def test_texts_and_links_of_canvas_belong_to_their_student_who_handed_in_no_file(collect, download):
    path = download(
        {
            "adajralice_LATE_101_text.html": b"<p>See my group.",
            "zhangwei_104_link.html": b"<a>",
            "núñezjosé_102_9002_gomoku.zip": packed("j"),
            "núñezjosé_102_text.html": b"<p>Good luck!",
        }
    )
    assert collect(path) == 1
    rows = collect.rows()
    assert [row["outcome"] for row in rows.values()].count("unknown") == 0
    assert rows["s1"]["outcome"] == rows["s4"]["outcome"] == rows["s2"]["outcome"] == "collected"
    assert "text.html is a text that was entered in Canvas, not a file that can be graded" in rows["s1"]["note"]
    assert "link.html is a link that was entered in Canvas" in rows["s4"]["note"]
    assert "No required file was found in Minimax/" in rows["s1"]["note"] and "Canvas marks it as late" in rows["s1"]["note"]
    assert rows["s2"]["note"] == "text.html was handed in as well and is kept in the same .zip."
    collect.out = collect.out.with_name("texts")
    assert collect(download({"adajralice_101_text.html": b"<p>"}, "folder", "texts")) == 1
    assert "(Canvas) with 1 hand-in" in collect.said and collect.rows()["s1"]["outcome"] == "collected"


def test_files_of_anonymous_grading_belong_to_nobody_even_if_the_number_of_one_is_an_id(collect, download):
    path = download({"anon_aB3dE_2024007_gomoku.zip": packed("a"), "LATE_anon_xYzzz_9002_gomoku-1.zip": packed("b")})
    assert collect(path) == 1
    rows = collect.rows()
    assert rows["2024007"]["outcome"] == "missing" and "anonymous" in rows["canvas-aB3dE"]["note"]
    assert rows["canvas-xYzzz"]["attempts"] == "1"


# ------------------------------------------------------------------------------------------------------------ Moodle


def moodle(name, number, file, kind="file"):
    return f"{name}_{number}_assignsubmission_{kind}_/{file}"


@pytest.mark.parametrize("kind", [".zip", "folder", ".tar.gz"])
def test_moodle_folders_with_one_archive_each_keep_its_bytes(collect, download, kind):
    members = {
        moodle("Alice Ada, Jr.", 7001, "gomoku.zip"): packed("a"),
        moodle("Someone Else", 7002, "gomoku.zip"): packed("j"),  # by its number, whatever the name
        moodle("zoe@example.org", 7003, "gomoku.zip"): packed("z"),
        moodle("李小明", 7004, "五子棋.zip"): packed("m"),
        moodle("李小明", 7004, "onlinetext.html", "onlinetext"): b"<p>",
        moodle("=cmd O'Hara", 7005, "only text.html", "onlinetext"): b"<p>text",
        moodle("Nobody Known", 7009, "gomoku.zip"): packed("n"),
    }
    assert collect(download(members, kind)) == 1
    rows, kept = collect.rows(), tree(collect.out)
    assert [key for key, row in rows.items() if row["outcome"] == "collected"] == ["s1", "s2", "s3", "s6", "2024007"]
    assert kept["submissions/s1.zip"] == packed("a") and kept["submissions/s2.zip"] == packed("j")
    assert "online text" in rows["s3"]["note"] and kept["submissions/s3.zip"] == packed("m")
    assert rows["s6"]["first_name"] == "'=cmd"
    assert rows["moodle-7009"]["outcome"] == "unknown" and kept["unknown/moodle-7009/1-gomoku.zip"] == packed("n")


@pytest.mark.parametrize("column", ["moodle_id", "canvas_id"])
def test_numbers_of_the_roster_that_are_shifted_give_nobody_the_work_of_another(column, collect, download, tmp_path):
    roster = tmp_path / "shifted.csv"
    roster.write_text(f"id,first_name,last_name,{column}\ns1,Alice,Ada,7002\ns2,José,Núñez,7001\ns3,Zoë,Zimt,7003\n")
    names = {
        "moodle_id": [moodle(*who, "a.zip") for who in (("Alice Ada", 7001), ("José Núñez", 7002), ("Zoe Zimt", 7003))],
        "canvas_id": ["adaalice_7001_1_a.zip", "núñezjosé_7002_2_a.zip", "zimtzoe_7003_3_a.zip"],
    }[column]
    assert collect(download({name: packed(name) for name in names}), roster=roster) == 1
    rows = collect.rows()
    assert [rows[i]["outcome"] for i in ("s1", "s2", "s3")] == ["unknown", "unknown", "collected"]
    stranger = rows[f"{column.removesuffix('_id')}-7002"]
    assert f"has the {column} of s1, but the name of s2: correct or empty that column of the roster" in stranger["note"]
    roster.write_text("id,first_name,last_name\ns1,Alice,Ada\ns2,José,Núñez\ns3,Zoë,Zimt\n")
    assert collect(roster=roster) == 0 and tree(collect.out)["submissions/s2.zip"] == packed(names[1])


def test_canvas_says_by_its_label_which_attempts_were_in_time(collect, download):
    names = ("adajralice_101_9001_gomoku.zip", "adajralice_101_9003_gomoku-1.zip", "adajralice_LATE_101_9005_gomoku-2.zip")
    path = download({name: packed(name) for name in names})
    assert collect(path, "--due", "2026-12-01T23:59+01:00", "--in-time-first") == 0
    row = collect.rows()["s1"]
    assert (row["counted"], row["late_minutes"]) == ("2-gomoku-1.zip", "0") and "not counted: attempt 3" in row["note"]
    assert tree(collect.out)["submissions/s1.zip"] == packed(names[1])


DUE = ("--due", "2026-12-01T23:59+01:00")


def times(tmp_path, *lines):
    path = tmp_path / "times.csv"
    path.write_text("\n".join(("id,submitted_at", *lines, "")), encoding="utf-8")
    return path


def test_a_time_that_was_looked_up_says_how_late_a_canvas_attempt_is_and_stays_with_it(collect, download, tmp_path):
    late = {"adajralice_LATE_101_9001_gomoku.zip": packed("a"), "núñezjosé_LATE_102_9002_gomoku.zip": packed("j")}
    path = download(late | {"zhangwei_104_9006_gomoku.zip": packed("w")})
    table = times(tmp_path, "s1,2026-12-02T01:29", "s2,2026-12-02T00:10:00+01:00", "s4,2026-12-02T00:09+01:00")
    assert collect(path, *DUE, "--grace", "15", "--times", table) == 0
    rows = collect.rows()
    assert [rows[student]["late_minutes"] for student in ("s1", "s2", "s4")] == ["90", "0", "0"]
    assert rows["s1"]["submitted_at"] == "2026-12-02T01:29:00+01:00" and rows["s1"]["note"].startswith("its time was looked up")
    assert "Canvas marks it" not in rows["s1"]["note"] and "that of the due date is assumed" in collect.said
    before = tree(collect.out)
    assert collect(path) == 0 and tree(collect.out) == before  # the collection remembers the times
    again = download({"adajralice_LATE_101_9009_gomoku-1.zip": packed("new")}, name="again")
    assert collect(again, "--times", table) == 1
    assert "it is that of attempt 1, and attempt 2 counts now" in collect.said
    assert collect.rows()["s1"]["late_minutes"] == "" and "is that of attempt 1" in collect.rows()["s1"]["note"]
    assert collect("--times", times(tmp_path, "s1,2026-12-02T03:00:00+01:00")) == 0
    assert collect.rows()["s1"]["late_minutes"] == "181"
    for said in (True, False):
        assert collect("--times", times(tmp_path, "s1,")) == 0
        assert ("The time of s1 is withdrawn: 2026-12-02T03:00:00+01:00." in collect.said) == said
        assert collect.rows()["s1"]["late_minutes"] == "" and "Canvas marks it as late" in collect.rows()["s1"]["note"]


def test_a_time_that_contradicts_the_platform_or_fits_no_attempt_is_not_used(collect, download, tmp_path):
    path = download({"adajralice_LATE_101_9001_gomoku.zip": packed("a"), "zhangwei_104_9006_gomoku.zip": packed("w")})
    table = times(tmp_path, "s1,2026-12-01T23:58+01:00", "s2,2026-12-02T00:10+01:00", "s4,2026-12-02T01:29+01:00")
    assert collect(path, *DUE, "--times", table) == 1
    assert "the platform marks attempt 1 as late, and 2026-12-01T23:58:00+01:00 is not after the due date" in collect.said
    assert "The time of s2 is not used: no attempt of this student counts." in collect.said
    rows = collect.rows()
    assert (rows["s1"]["late_minutes"], rows["s4"]["late_minutes"]) == ("", "90")
    assert "the platform does not mark it as late" in rows["s4"]["note"]
    plain = download([(at("2024007_a.zip"), packed("z"))], name="plain")
    assert collect(plain, "--times", times(tmp_path, "2024007,2026-12-01T10:00+01:00")) == 1
    assert "The time of 2024007 is not used: the platform gives one." in collect.said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("s9,2026-12-02T00:10+01:00", "line 2: expected an id of the roster; got 's9'"),
        (
            "s1,yesterday",
            "line 2: expected a date with a time, such as 2026-12-01T23:59+01:00 for submitted_at; got 'yesterday'",
        ),
        ("s1,2026-12-02", "for submitted_at; got '2026-12-02'"),
        ("s1,2026-12-02T00:10\ns1,2026-12-02T00:10", "line 3: the id s1 is listed twice"),
        ("s1", "line 2: expected 2 cells, as in the first line; got 1"),
    ],
)
def test_a_wrong_table_of_times_gets_one_sentence_and_collects_nothing(collect, download, tmp_path, line, words):
    path = download({"adajralice_LATE_101_9001_gomoku.zip": packed("a")})
    assert collect(path, *DUE, "--times", times(tmp_path, line)) == 2
    assert words in collect.complaint and collect.complaint.count("\n") == 1 and tree(collect.out) == {}


def test_flat_moodle_files_with_times_are_late_beyond_the_grace(collect, download):
    def name(number, student):
        return f"{student}_{number}_assignsubmission_file_gomoku.zip"

    path = download(
        [
            (at(name(3, "李小明"), (2026, 12, 2, 0, 14, 2)), packed("c")),
            (at(name(1, "Alice Ada Jr"), (2026, 12, 1, 23, 59, 0)), packed("a")),
            (at(name(7002, "José Núñez"), (2026, 12, 2, 0, 14, 0)), packed("b")),
            (at(name(4, "Zoe Muller Weiss"), (1980, 1, 1, 0, 0, 0)), packed("d")),
        ]
    )
    assert collect(path, "--due", "2026-12-01T23:59+08:00", "--grace", "15") == 0
    rows = collect.rows()
    assert [rows[key]["late_minutes"] for key in ("s1", "s2", "s3", "2024007")] == ["0", "0", "16", ""]
    assert rows["s3"]["submitted_at"] == "2026-12-02T00:14:02+08:00" and rows["2024007"]["submitted_at"] == ""
    assert "that of the due date is assumed, UTC+08:00" in collect.said
    assert collect(path) == 0
    assert (
        "Due date as in the earlier collection: 2026-12-01T23:59:00+08:00, grace 15 minutes; the last attempt" in collect.said
    )
    assert collect.rows() == rows
    assert collect("--due", "2026-12-01T23:58+08:00") == 0 and "Grace as in the earlier collection: 15 minutes." in collect.said
    assert [collect.rows()[key]["late_minutes"] for key in ("s1", "s2")] == ["0", "16"]
    assert collect("--due", "2026-12-01T23:59+08:00", "--grace", "0") == 0 and collect.rows()["s2"]["late_minutes"] == "15"


def test_a_moodle_folder_with_two_archives_is_unclear_and_loose_files_become_one_zip(collect, download, assignment):
    members = {moodle("Alice Ada Jr", 1, "a.zip"): packed("a"), moodle("Alice Ada Jr", 1, "b.zip"): packed("b")}
    members |= {moodle("José Núñez", 7002, f"gomoku/{path}"): content for path, content in WORK.items()}
    assert collect(download(members)) == 1
    assert "it holds 2 archives" in collect.rows()["s1"]["note"]
    assert read_submission(collect.out / "submissions" / "s2.zip", assignment).files == WORK
    (chosen := collect.out.parent / "s1.zip").write_bytes(packed("b"))
    collect(chosen)
    assert collect("--counts", "s1=2") == 0
    assert (collect.out / "submissions" / "s1.zip").read_bytes() == packed("b")


def test_an_id_that_the_university_adds_to_the_name_finds_the_student(collect, download):
    names = ("Zoe M. (2024007)", "2024007x Someone Else")
    assert collect(download({moodle(name, i, "a.zip"): packed(name) for i, name in enumerate(names)})) == 1
    assert collect.rows()["2024007"]["attempts"] == "1" and collect.rows()["moodle-1"]["outcome"] == "unknown"


def test_a_student_whose_number_contradicts_the_roster_is_in_doubt_and_not_missing(collect, download):
    path = download({moodle("José Núñez", 7999, "a.zip"): packed("a"), moodle("李小明", 7, "a.zip"): packed("m")})
    assert collect(path) == 1
    rows = collect.rows()
    assert rows["s2"]["outcome"] == rows["moodle-7999"]["outcome"] == "unknown" and rows["s3"]["outcome"] == "collected"
    assert "has the name of s2, but the roster has a different number" in rows["moodle-7999"]["note"]


# -------------------------------------------------------------------------------------------------------- Gradescope

METADATA = """---
submission_11:
  :submitters:
  - :name: Alice Ada
    :sid: s1
    :email: alice@example.org
  :created_at: 2026-12-02 00:10:00.123456000 Z
  :score: 3.0
  :history:
  - :id: 10
    :created_at: 2026-12-01 10:00:00 Z
  - :id: 9
    :created_at: 2026-12-01 09:00:00 Z
submission_12:
  :submitters:
  - :name: José Núñez
    :sid:
    :email: jose@example.org
  - :name: 李 小明
    :sid: ''
    :email:
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2026-12-01 08:00:00 Z
  :history: []
submission_13:
  :submitters:
  - :name: Zoë
    :sid: 2024007
  :created_at: 2026-12-01 08:00:00.0 Z
submission_14:
  :submitters:
  - :name: Stranger
    :sid: 0999
"""


@pytest.mark.parametrize("kind", [".zip", "folder"])
def test_gradescope_folders_become_the_same_zip_each_time(collect, download, assignment, kind):
    root = "assignment_1_export"
    members = {f"{root}/submission_metadata.yml": METADATA.encode()}
    members |= {f"{root}/submission_11/{path}": content for path, content in WORK.items()}
    members |= {f"{root}/submission_10/Minimax/engine.cpp": b"old"}
    members |= {f"{root}/submission_12/Minimax/engine.cpp": b"group", f"{root}/submission_12/.DS_Store": b"x"}
    members |= {f"{root}/submission_14/a.py": b"", f"{root}/submission_99/a.py": b"", f"{root}/notes.txt": b""}
    path = download(members, kind)
    assert collect(path, "--due", "2026-12-01T23:59Z") == 1
    rows = collect.rows()
    assert (rows["s1"]["attempts"], rows["s1"]["late_minutes"]) == ("2", "12")  # a begun minute counts
    assert rows["s1"]["submitted_at"].startswith("2026-12-02T00:10:00") and "2 earlier attempts" in rows["s1"]["note"]
    assert "together with Gradescope jose@example.org (José Núñez)" in rows["s3"]["note"]
    assert rows["2024007"]["outcome"] == "collected" and "It holds no file" in rows["2024007"]["note"]
    assert rows["gradescope-0999"]["outcome"] == rows["gradescope-submission_99"]["outcome"] == "unknown"
    assert "notes.txt is not collected" in collect.said
    assert read_submission(collect.out / "submissions" / "s1.zip", assignment).files == WORK
    before = tree(collect.out)
    os.utime(path)
    assert collect(path) == 1 and tree(collect.out) == before


def test_somebody_of_the_same_name_on_gradescope_is_not_taken_for_the_student(collect, download):
    def export(*submitters):
        lines = [
            f"submission_{i}:\n  :submitters:\n  - :name: Alice Ada Jr\n    :sid: {sid}\n    :email: {email}\n"
            f"  :created_at: 2026-12-0{i} 08:00:00 Z\n"
            for i, (sid, email) in enumerate(submitters, start=1)
        ]
        files = {f"submission_{i}/Minimax/engine.cpp": str(i).encode() for i in range(1, len(submitters) + 1)}
        return download({"submission_metadata.yml": "".join(lines).encode(), **files})

    assert collect(export(("s1", "alice@example.org"), ("a77", "auditor@example.org"))) == 1
    row = collect.rows()["s1"]
    assert (row["outcome"], row["counted"]) == ("unknown", "")
    assert "attempts of a77 and s1 on Gradescope, found by a name: choose one with --counts" in row["note"]
    collect.out = collect.out.with_name("two_ways")
    assert collect(export(("s1", "alice@example.org"), ("", "alice@example.org"))) == 0
    assert collect.rows()["s1"]["counted"].startswith("2-")


def test_hostile_metadata_ends_in_one_sentence(collect, download):
    for content in (
        b"[" * 100_000,
        b"a: !!python/object/apply:os.system [ls]",
        b"- 1",
        b"a: 3",
        b"a: 2021-99-99",
        b"\xff\xfe\x00",
    ):
        path = download({"submission_metadata.yml": content, "submission_1/a.py": b""}, name="bad")
        assert collect(path) == 2 and "submission_metadata.yml" in collect.complaint and collect.complaint.count("\n") == 1
        assert not collect.out.exists()
    found = read_metadata(b"s:\n  :submitters:\n  - :sid: 0123\n    :name: yes\n", "x")
    assert (found["s"].people[0].student_id, found["s"].people[0].name) == ("0123", "yes")
