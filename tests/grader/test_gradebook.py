"""The points of the programs reach nbgrader's gradebook, feedback and exports; what cannot be entered is named.

What needs nbgrader itself is skipped where it is not installed (requirements-instructor.txt).
"""

import csv
import json
import shutil
import sys

import pytest
from course_tools import enter, nbgrader, resealed, rows

from common.errors import UsageError
from grader.instructor.gradebook_entries import as_comment, find_results, read_entry
from grader.pipeline.results import COULD_NOT_GRADE, FAILED

# ------------------------------------------------------------------------------------------------------ results


def test_a_path_is_a_results_file_or_its_folder_or_a_folder_of_such(tmp_path, graded_as):
    one, two = graded_as("one"), graded_as("two")
    assert find_results([one]) == find_results([one.parent]) == [one]
    assert find_results([tmp_path / "out", one]) == [one, two]
    with pytest.raises(UsageError, match=r"expected results\.json"):
        find_results([tmp_path])


def test_a_result_that_cannot_be_used_gives_one_sentence(tmp_path, graded_as, assignment):
    def refused(match, change=None, text=None):
        path = graded_as("one")
        data = json.loads(path.read_text())
        if change:
            change(data)
            data = resealed(data, path.parent)
        path.write_text(json.dumps(data) if text is None else text)
        with pytest.raises(UsageError, match=match) as caught:
            read_entry(path, assignment)
        assert "\n" not in str(caught.value)

    whole = graded_as("one").read_text()
    refused("is damaged", text=whole[: len(whole) // 2])
    refused("is damaged", text="\x00\x01")
    refused("has no checksum", text="[]")
    refused("has no checksum", text='{"assignment": "gomoku", "checks": 3}')
    refused("was altered after the grading", text=whole.replace('"points": 30', '"points": 29'))
    refused("lacks or misspells", lambda d: d.update(checks=3))
    refused("belongs to 'go', for which marks and give-back take --lab go", lambda d: d.update(assignment="go"))
    refused("belongs to 'chess': no assignment here has this id", lambda d: d.update(assignment="chess"))
    refused("holds 24 of 25 checks: give the same grade command without --only", lambda d: d["checks"].pop(0))
    refused("other checks or points", lambda d: d["checks"][0].update(max_points=5))
    refused("lacks or misspells", lambda d: d["checks"][0].update(points=1000))
    refused("lacks or misspells", lambda d: d["checks"][0].update(points=float("nan")))
    refused("lacks or misspells", lambda d: d["checks"][0].update(status="excellent"))
    graded_as("one").unlink()
    with pytest.raises(UsageError, match="holds an unfinished run"):
        read_entry(tmp_path / "out" / "one" / "results.json", assignment)
    with pytest.raises(UsageError, match=r"expected a results\.json at .*: No such file"):
        read_entry(tmp_path / "nothing.json", assignment)


def test_a_comment_is_an_indented_block_of_bounded_length():
    lines = as_comment("Seen: <b>x</b>\n\n# y\x00\x1b[31m " + "word " * 1000).splitlines()
    assert all(line.startswith("    ") and len(line) <= 104 and line.isprintable() for line in lines)
    assert len(lines) < 30


def test_without_nbgrader_one_sentence_names_the_command_that_installs_it(graded_as, course, monkeypatch, capsys):
    for name in [*sys.modules, "nbgrader"]:
        if name.split(".")[0] == "nbgrader":
            monkeypatch.setitem(sys.modules, name, None)
    assert enter(course, graded_as("one")) == 2
    assert capsys.readouterr().err == (
        "grader: nbgrader is needed for the gradebook and is not installed: "
        "python -m pip install -r requirements-instructor.txt\n"
    )


# ---------------------------------------------------------------------------------------------------- gradebook


def test_points_and_reasons_are_read_back_through_nbgrader(graded_as, course, opened):
    lost = {"status": COULD_NOT_GRADE, "points": 0.0, "message": "The worker died."}
    fell = {"status": FAILED, "points": 0.0, "message": "No legal move.", "expected": "A move.", "seen": "Nothing."}
    assert enter(course, graded_as("alice", {"network.load": fell, "minimax.win_rate": lost})) == 0
    with opened() as gradebook:
        submission = gradebook.find_submission("gomoku", "alice")
        assert (submission.score, submission.max_score, submission.needs_manual_grade) == (70 - 1 - 30, 100, True)

        def find(cell):
            return gradebook.find_grade(cell, "report", "gomoku", "alice")

        def comment(cell):
            return gradebook.find_comment(cell, "report", "gomoku", "alice").comment

        assert (find("minimax-protocol").auto_score, find("minimax-protocol").needs_manual_grade) == (2, False)
        assert comment("minimax-protocol") is None
        assert (find("network-load").auto_score, find("network-load").needs_manual_grade) == (0, False)
        assert [line.strip() for line in comment("network-load").splitlines()] == [
            "No legal move.",
            "Expected: A move.",
            "Seen: Nothing.",
            "Handout section 5.2.",
        ]
        assert (find("minimax-win_rate").auto_score, find("minimax-win_rate").needs_manual_grade) == (None, True)
        assert "The worker died." in comment("minimax-win_rate")
        assert (find("report-engine").auto_score, find("report-engine").needs_manual_grade) == (None, True)


def test_a_second_run_changes_nothing_and_a_regrade_only_what_the_program_gave(graded_as, course, opened, capsys):
    path = graded_as("alice")
    assert enter(course, path) == 0
    with opened() as gradebook:
        for cell, score in (("minimax-win_rate", 25.0), ("report-engine", 4.5)):
            grade = gradebook.find_grade(cell, "report", "gomoku", "alice")
            grade.manual_score, grade.needs_manual_grade = score, False
            gradebook.find_comment(cell, "report", "gomoku", "alice").manual_comment = "by hand"
        gradebook.db.commit()
    before, sheet = rows(opened), (course / "autograded/alice/gomoku/report.ipynb").read_bytes()
    capsys.readouterr()
    assert enter(course, path) == 0
    assert rows(opened) == before
    assert (course / "autograded/alice/gomoku/report.ipynb").read_bytes() == sheet
    assert "marks given by hand and kept: minimax.win_rate 25 (program 30)" in capsys.readouterr().out

    fell = {"status": FAILED, "points": 3.0, "message": "Lost.", "seen": ""}
    graded_as("alice", {"minimax.win_rate": fell, "network.load": {**fell, "points": 0.0}})
    assert enter(course, path) == 0
    changed = {cell: values for (_, cell), values in rows(opened).items() if values != before["alice", cell]}
    reasons = "    Lost.\n    Handout section {}."
    assert changed == {
        "minimax-win_rate": (3.0, 25.0, False, reasons.format("4.4"), "by hand"),
        "network-load": (0.0, None, False, reasons.format("5.2"), None),
    }
    with opened() as gradebook:
        assert gradebook.find_submission("gomoku", "alice").score == 70 - 30 + 25 - 1 + 4.5


def test_a_damaged_result_does_not_keep_the_others_from_being_entered(graded_as, course, opened, capsys):
    alice, bob = graded_as("alice"), graded_as("bob")
    alice.write_text(alice.read_text()[:500])
    assert enter(course, alice.parent.parent) == 2
    output = capsys.readouterr()
    assert output.err.count("\n") == 1
    assert "alice/results.json is damaged" in output.err
    assert "1 of 2 results were entered" in output.out
    assert {student for student, _ in rows(opened)} == {"bob"}
    bob.unlink()
    assert enter(course, bob.parent) == 2


def test_where_nothing_can_be_entered_no_gradebook_is_made(graded_as, course):
    path = graded_as("alice")
    path.write_text("killed")
    assert enter(course, path) == 2
    assert not (course / "gradebook.db").exists()


def test_a_roster_gives_ids_and_names_and_leaves_out_whom_it_does_not_name(tmp_path, graded_as, course, opened, capsys):
    graded_as("alice_12_file")
    graded_as("stranger")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,submission,first_name\ns1,alice_12_file,Alice\ns2,bob_13_file,Bob\n")
    assert enter(course, tmp_path / "out", "--students", roster) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "lists no student for the submission 'stranger'; nothing was written for it" in error
    assert {student for student, _ in rows(opened)} == {"s1"}
    with opened() as gradebook:
        assert {(student.id, student.first_name) for student in gradebook.students} == {("s1", "Alice"), ("s2", "Bob")}
    assert {path.name for path in (course / "autograded").iterdir()} == {"s1"}


def test_a_result_is_found_by_the_students_id_too_but_not_if_it_is_another_students_submission(
    tmp_path, graded_as, course, opened, capsys
):
    graded_as("s1")
    graded_as("s2")
    graded_as("s4").write_text("cut")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,submission\ns1,alice_file\ns2,bob_file\ns3,s2\ns4,dave_file\n")
    assert enter(course, tmp_path / "out", "--students", roster) == 2
    said = capsys.readouterr()
    assert "has 's2' as the id of one student and as the submission of another; nothing was written for it" in said.err
    assert "has a result that cannot be read: s4 (dave_file)\n" in said.out
    assert {student for student, _ in rows(opened)} == {"s1"}


def test_who_is_without_a_result_is_named_and_an_unreadable_result_is_told_from_none(tmp_path, graded_as, course, api, capsys):
    graded_as("alice")
    graded_as("bob").write_text("cut")
    graded_as("carol").unlink()
    (tmp_path / "out/dave").mkdir()
    (tmp_path / "out/dave/refused.txt").write_text("dave.zip is a RAR archive\n")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,submission\ns1,alice\ns2,bob\ns3,carol\ns4,dave\ns5,erin\nfrank,\n")
    assert enter(course, tmp_path / "out", "--students", roster) == 2
    said = capsys.readouterr()
    assert "1 of 4 results were entered" in said.out
    assert "3 of the 6 students on the roster have a result that cannot be read: s2 (bob), s3 (carol), s4 (dave)\n" in said.out
    assert "2 of the 6 students on the roster have no result: s5 (erin), frank\n" in said.out
    assert "because the archive was refused: dave.zip is a RAR archive" in said.err and said.err.count("\n") == 3


def test_a_result_of_an_earlier_archive_than_the_refused_one_is_entered_and_told(tmp_path, graded_as, course, api, capsys):
    graded_as("alice").with_name("refused.txt").write_text("alice.zip is empty\n")
    assert enter(course, tmp_path / "out") == 2
    said = capsys.readouterr()
    assert "1 of 1 results" in said.out and "the latest one was refused: alice.zip is empty" in said.err


def test_reports_lie_beside_the_sheet_that_names_them(tmp_path, graded_as, course, api):
    path = graded_as("alice")
    kept = path.parent / "reports"
    (kept / "figures").mkdir(parents=True)
    (kept / "report.pdf").write_bytes(b"%PDF")
    (kept / "report.md").write_text("# Mine")
    (kept / "figures/a.png").write_bytes(b"png")
    (kept / "link.md").symlink_to(path)
    beside = course / "autograded/alice/gomoku/reports"
    beside.parent.mkdir(parents=True)
    beside.symlink_to(tmp_path, target_is_directory=True)
    files = {"report.pdf", "report.md", "figures/a.png"}
    for _ in range(2):
        assert enter(course, path) == 0
        assert {p.relative_to(beside).as_posix() for p in beside.rglob("*") if p.is_file()} == files
    assert not beside.is_symlink() and (tmp_path / "out").exists()
    sheet = (beside.parent / "report.ipynb").read_text(encoding="utf-8")
    assert "<code>reports/figures/a.png</code> <code>reports/report.md</code> <code>reports/report.pdf</code>" in sheet
    assert 'href=\\"reports.html\\"' in sheet
    assert "<h1>Mine</h1>" in (beside.parent / "reports.html").read_text()


def test_an_archives_name_that_is_html_is_no_student_id(graded_as, course, api, capsys):
    assert enter(course, graded_as("<svg onload=alert(1)>")) == 2
    assert (
        "expected a student id that can name a folder and holds no HTML; got '<svg onload=alert(1)>'" in capsys.readouterr().err
    )
    assert not (course / "autograded").exists()


def test_a_name_does_not_reach_the_terminal_as_it_is(graded_as, course, api, capsys):
    assert enter(course, graded_as("\x1b]0;owned\x07\x1b[2J\nx")) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert all(c.isprintable() or c == "\n" for c in said.out + said.err)


def test_two_results_of_one_student_are_refused_before_anything_is_written(tmp_path, graded_as, course, capsys):
    one = graded_as("alice")
    again = shutil.copytree(one.parent, tmp_path / "again")
    assert enter(course, one, again) == 2
    assert "got several for alice. Nothing was written" in capsys.readouterr().err
    assert not (course / "gradebook.db").exists()


def test_a_database_that_cannot_be_used_gives_one_sentence(tmp_path, graded_as, course, api, capsys):
    path = graded_as("alice")
    text = tmp_path / "notes.txt"
    text.write_text("This is no database. " * 100)
    for db in (text, tmp_path / "no" / "where.db", "nonsense://x"):
        assert enter(course, path, "--db", db) == 2
        error = capsys.readouterr().err
        assert error.startswith("grader: the gradebook ")
        assert error.count("\n") == 1
    assert text.read_text().startswith("This is no database.")


def test_submissions_for_other_cells_are_never_overwritten(graded_as, course, opened, capsys):
    path = graded_as("alice")
    assert enter(course, path) == 0
    before = rows(opened)
    rubric = course / "rubric.toml"
    rubric.write_text(rubric.read_text().replace('id = "engine"', 'id = "motor"'))
    assert enter(course, path) == 2
    assert "holds submissions for cells that differ" in capsys.readouterr().err
    assert rows(opened) == before


# --------------------------------------------------------------------------------------------- nbgrader's own part


def test_release_marking_feedback_and_export_of_three_submissions(graded_as, tmp_path, course, opened):
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    nbgrader(course, "generate_assignment", "gomoku")
    hostile = {
        "status": FAILED,
        "points": 0.0,
        "message": "It raised ValueError.",
        "seen": "</pre><script>alert(1)</script> $$x$$",
    }
    half = {"status": "partial", "points": 15.0, "message": "Won 5, lost 5."}
    kept = graded_as("alice").parent / "reports" / "figures"
    kept.mkdir(parents=True)
    (kept / "a.png").write_bytes(b"png")
    graded_as("bob", {"minimax.win_rate": half})
    graded_as("carol", {"network.load": hostile, "minimax.win_rate": {**half, "status": COULD_NOT_GRADE, "points": 0.0}})
    assert enter(course, tmp_path / "out") == 0

    # What formgrader lists, and what it does when a marker types a score.
    listed = NbGraderAPI(CourseDirectory(root=str(course))).get_notebook_submissions("gomoku", "report")
    assert {(entry["student"], entry["needs_manual_grade"]) for entry in listed} == {
        ("alice", True),
        ("bob", True),
        ("carol", True),
    }
    with opened() as gradebook:
        grade = gradebook.find_grade("report-engine", "report", "gomoku", "alice")
        grade.manual_score, grade.needs_manual_grade = 4.5, False
        gradebook.db.commit()

    nbgrader(course, "generate_feedback", "gomoku", "--force")
    assert (course / "feedback/alice/gomoku/program.html").read_text() == "<p>report of alice</p>"
    assert (course / "autograded/alice/gomoku/reports/figures/a.png").read_bytes() == b"png"
    feedback = (course / "feedback/carol/gomoku/report.html").read_text()
    assert "It raised ValueError." in feedback
    assert "&lt;script&gt;alert(1)" in feedback
    assert "<script>alert(1)" not in feedback
    assert 'name="viewport"' in feedback and "(Score:" not in feedback
    assert '<a href="#report-engine">Engine</a>: no points here yet</li>' in feedback
    assert '<a href="#network-load">Published weights load strictly</a>: 0 of 1, with a comment</li>' in feedback
    feedback = (course / "feedback/alice/gomoku/report.html").read_text()
    assert '<a href="#report-engine">Engine</a>: 4.5 of 5</li>' in feedback and "74.5 of 100 points" in feedback

    nbgrader(course, "export", "--to=grades.csv")
    with open(course / "grades.csv", encoding="utf-8-sig", newline="") as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    assert scores == {"alice": (70 + 4.5, 100), "bob": (70 - 30 + 15, 100), "carol": (70 - 30 - 1, 100)}


def test_a_release_after_results_were_entered_changes_none_of_them(graded_as, course, opened):
    path = graded_as("alice")
    assert enter(course, path) == 0
    before = rows(opened)
    nbgrader(course, "generate_assignment", "gomoku")
    assert rows(opened) == before
    assert enter(course, path) == 0
    assert rows(opened) == before and (course / "release/gomoku/report.ipynb").is_file()


def test_a_report_written_in_the_notebook_is_taken_in_and_nothing_of_it_is_run(tmp_path, graded_as, course, opened):
    import nbformat

    nbgrader(course, "generate_assignment", "gomoku")
    report = nbformat.read(course / "release/gomoku/report.ipynb", 4)
    for cell in report.cells:
        if cell.metadata.nbgrader.grade_id == "report-engine":
            cell.source = "Alpha-beta. <script>alert(1)</script>"
        if cell.metadata.nbgrader.grade_id == "minimax-win_rate":
            cell.metadata.nbgrader.points = 3000
            cell.source = "I won."
    trace = tmp_path / "was_run"
    report.cells.insert(0, nbformat.v4.new_code_cell(f"open({str(trace)!r}, 'w').close()"))
    submitted = course / "submitted/alice/gomoku/report.ipynb"
    submitted.parent.mkdir(parents=True)
    nbformat.write(report, submitted)

    assert enter(course, graded_as("alice")) == 0
    nbgrader(course, "autograde", "gomoku", "--force")
    assert enter(course, graded_as("alice")) == 0

    assert not trace.exists()
    taken = nbformat.read(course / "autograded/alice/gomoku/report.ipynb", 4)
    cells = {cell.metadata.nbgrader.grade_id: cell.source for cell in taken.cells if "nbgrader" in cell.metadata}
    assert cells["report-engine"] == "<article><p>Alpha-beta. </p></article>"
    assert "Win rate against the baseline" in cells["minimax-win_rate"]
    found = rows(opened)
    assert found["alice", "minimax-win_rate"][:3] == (30.0, None, False)
    # An answer left empty is no automatic 0: the report may be a file.
    assert found["alice", "report-problems"][:3] == (None, None, True)


def test_the_table_of_marks_holds_names_as_they_are_and_nothing_that_a_spreadsheet_computes(graded_as, tmp_path, course, api):
    people = {
        "s1": ("Ada, Jr.", 'O"Neill', "ada@example.org"),
        "s2": ('=1+cmd|" /C calc"!A0', "+49", "-1"),
        "s3": ("@SUM(1)", "王, 小明", "\t=2"),
        "-s4": ("Eve", "x\ny", ""),
        "s5": ("absent", "", ""),
    }
    roster = tmp_path / "roster.csv"
    with open(roster, "w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "first_name", "last_name", "email"])
        table.writerows([i, *names] for i, names in people.items())
    for student in [*people][:-1]:
        graded_as(student)
    assert enter(course, tmp_path / "out", "--students", roster) == 0
    nbgrader(course, "export", "--to=marks.csv")
    with open(course / "marks.csv", encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file, strict=True))
    assert {len(line) for line in lines} == {11}
    marks = {row["student_id"]: row for row in (dict(zip(lines[0], line, strict=True)) for line in lines[1:])}
    assert set(marks) == {"s1", "s2", "s3", "'-s4", "s5"}
    names = [[marks[i][key] for key in ("first_name", "last_name", "email")] for i in ("s1", "s2", "s3", "'-s4")]
    assert names == [
        ["Ada, Jr.", 'O"Neill', "ada@example.org"],
        ['\'=1+cmd|" /C calc"!A0', "'+49", "'-1"],
        ["'@SUM(1)", "王, 小明", "'=2"],
        ["Eve", "x y", ""],
    ]
    assert [float(marks[i]["score"]) for i in ("s1", "'-s4", "s5")] == [70, 70, 0]
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_a_notebook_that_came_into_autograded_by_another_way_is_made_harmless(graded_as, course, api, capsys):
    """By a hand, or by nbgrader without this course's configuration."""
    import nbformat

    pytest.importorskip("nh3")
    place = course / "autograded/alice/gomoku"
    place.mkdir(parents=True)
    told = {"grade_id": "report-engine", "grade": True, "solution": True, "locked": False, "task": False, "schema_version": 3}
    answer = nbformat.v4.new_markdown_cell("[Figure 1](javascript:alert(1))", metadata={"nbgrader": {**told, "points": 5}})
    code = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("display_data", {"text/html": "<script>"})])
    nbformat.write(nbformat.v4.new_notebook(cells=[answer, code]), place / "report.ipynb")
    (place / "program.html").write_text("<script>alert(1)</script>")
    result = graded_as("alice")
    (result.parent / "report.html").unlink()
    assert enter(course, result) == 0
    assert "report.ipynb: 1 links or pictures were removed" in capsys.readouterr().out
    taken = nbformat.read(place / "report.ipynb", 4)
    assert [cell.cell_type for cell in taken.cells] == ["markdown", "markdown"]
    assert taken.cells[0].source == "<article><p>Figure 1 &#91;link removed&#93;</p></article>"
    assert taken.cells[0].metadata.nbgrader.points == 5
    assert "script" not in (place / "report.ipynb").read_text()
    assert not (place / "program.html").exists()
    before = (place / "report.ipynb").read_bytes()
    assert enter(course, result) == 0
    assert (place / "report.ipynb").read_bytes() == before


def test_notebooks_that_cannot_be_read_are_named_and_do_not_keep_results_from_being_entered(graded_as, course, opened, capsys):
    pytest.importorskip("nh3")
    texts = ("", "[]", "{", '{"cells": 3}', "[" * 100_000, '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}')
    paths = [course / f"autograded/s{number}/gomoku/report.ipynb" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert enter(course, graded_as("alice")) == 2
    said = capsys.readouterr()
    assert "1 of 1 results were entered" in said.out
    for path, line in zip(paths, said.err.splitlines(), strict=True):
        assert line.startswith(f"grader: expected a notebook at {path}: ")
