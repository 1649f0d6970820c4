"""`python -m grader marks --collected`: whether what was graded counts now, and submissions whose owner is not known."""

from dataclasses import replace

import pytest
from class_downloads import packed
from course_tools import enter, make_results
from marks_tools import COLUMNS, marks, table
from packing import ENGINE, WORK, write_packed

from grader.__main__ import main
from grader.pipeline.kept_reports import write_reports
from grader.pipeline.results import read_results
from grader.pipeline.submission import read_submission

OUTDATED = "the attempt that counts now is not the one that was graded: grade again"
OTHER_REPORT = "the attempt that counts now has another report than the graded one: grade again, which keeps the points"
NO_ATTEMPT = "the graded files are those of no collected attempt: grade again, unless a person repaired them"


@pytest.fixture
def total(collect, course, assignment, tmp_path, write):
    """`total.graded(path, name)` writes a result of what lies at a path; `total()` returns the line of s1 in marks.csv."""
    roster = write("only.csv", "id", [["s1"]])
    given = write("given.csv", "id,item,points", [("s1", "report", 20), ("s1", "code_review", 10)])

    def run():
        fixed = ["--course", course, "--students", roster, "--out", tmp_path / "marks", "--by-hand", given]
        collected = ["--collected", collect.out / "collected.csv", "--unknown-as-on-time"]
        main(["marks", str(tmp_path / "out"), *map(str, (*fixed, *collected))])
        return next(row for row in table(tmp_path / "marks" / "marks.csv") if row["id"] == "s1")

    def graded(path):
        folder = tmp_path / "out" / "s1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text("{}")
        submission = read_submission(path, assignment)
        write_reports(submission.report_files, folder)
        replace(make_results(assignment, "s1"), digest=submission.digest).sealed(folder).write(folder)

    run.graded = graded
    return run


def test_a_newer_attempt_that_was_not_graded_makes_the_total_incomplete(collect, download, total):
    collect(download({"adajralice_101_1_gomoku.zip": packed("old")}))
    total.graded(collect.out / "submissions" / "s1.zip")
    assert (total()["total"], total()["final"]) == ("100", "yes") and OUTDATED not in total()["note"]
    collect(download({"adajralice_101_2_gomoku-1.zip": packed("new")}, name="later"))
    assert (total()["total"], total()["final"]) == ("incomplete", "no") and OUTDATED in total()["note"]
    total.graded(collect.out / "submissions" / "s1.zip")
    assert total()["total"] == "100" and OUTDATED not in total()["note"]
    collect("--counts", "s1=1")  # what was graded is newer than what counts
    assert OUTDATED in total()["note"]
    collect(download({"adajralice_101_3_gomoku-2.zip": b"no archive"}, name="damaged"))
    assert OUTDATED in total()["note"]


def test_a_newer_attempt_of_which_only_the_report_is_new_makes_the_total_incomplete(collect, download, total):
    def reported(text):
        return packed(work={**WORK, "report.md": text})

    collect(download({"adajralice_101_1_gomoku.zip": reported(b"# Draft")}))
    total.graded(collect.out / "submissions" / "s1.zip")
    assert (total()["total"], total()["final"]) == ("100", "yes")
    collect(download({"adajralice_101_2_gomoku-1.zip": reported(b"# Report")}, name="later"))
    assert (total()["total"], total()["final"]) == ("incomplete", "no") and OTHER_REPORT in total()["note"]
    total.graded(collect.out / "submissions" / "s1.zip")
    assert (total()["total"], total()["final"]) == ("100", "yes")


def test_what_was_graded_as_a_folder_or_packed_in_another_way_is_the_same_work(collect, download, tmp_path, total):
    collect(download({"adajralice_101_1_gomoku.zip": packed("old")}))
    (tmp_path / "regraded").mkdir()
    folder = write_packed(tmp_path / "regraded" / "s1", "folder", {f"wrap/{path}": text for path, text in WORK.items()})
    total.graded(folder)
    assert total()["total"] == "100" and NO_ATTEMPT in total()["note"]  # repaired by hand and not collected
    collect(folder)
    collect("--counts", "s1=2")
    assert (total()["total"], collect.rows()["s1"]["counted"]) == ("100", "2-s1.zip") and NO_ATTEMPT not in total()["note"]
    collect("--counts", "s1=1")
    assert OUTDATED in total()["note"]


def test_an_attempt_that_was_collected_into_another_folder_is_not_the_graded_one(collect, download, total):
    collect(download({"adajralice_101_1_gomoku.zip": packed("old")}))
    total.graded(collect.out / "submissions" / "s1.zip")
    collect.out = collect.out.with_name("resubmissions")
    collect(download({"adajralice_101_2_gomoku-1.zip": packed("new")}, name="later"))
    assert total()["total"] == "100" and NO_ATTEMPT in total()["note"]


def test_a_class_that_was_judged_by_two_versions_is_named(pack, runs, grade, course, write, tmp_path, capsys):
    names = ("ada", "bob", "eve")
    grade(*(pack(".zip", {**WORK, ENGINE: name.encode()}, name) for name in names), profile="full")
    given = [(name, item, points) for name in names for item, points in (("report", 20), ("code_review", 10))]
    files = ["--students", write("r.csv", "id", [[name] for name in names]), "--out", tmp_path / "marks", "--course", course]
    files += ["--by-hand", write("g.csv", "id,item,points", given), "--unknown-as-on-time"]

    def total():
        return main(["marks", str(tmp_path / "out"), *map(str, files)]), capsys.readouterr().err

    def judged_otherwise(name, *checks):
        folder = tmp_path / "out" / name
        results = read_results(folder / "results.json")
        verdicts = [replace(one, basis="old") if one.id in checks else one for one in results.verdicts]
        replace(results, verdicts=tuple(verdicts)).write(folder)

    assert total() == (0, "")
    for name in ("ada", "bob"):
        judged_otherwise(name, "network.load", "minimax.build")
    assert total() == (
        1,
        "grader: another version of the grader or of assignment.toml judged minimax.build, network.load of ada, bob than of "
        "the rest of the class: give the grade command of the class again, if the change matters\n",
    )
    judged_otherwise("eve", "network.load", "minimax.build")
    assert total() == (0, "")


def test_the_table_of_another_assignment_is_refused(collect, download, school, course, capsys):
    path = download({"adajralice_101_1_gomoku.zip": packed("old")})
    for name, option in (("warmup", ("--warmup", "--course", course)), ("nogo", ("--lab", "nogo"))):
        collect.out = collect.out.with_name(f"{name}-class")
        collect(path, *option)
        table = collect.out / "collected.csv"
        assert school("--collected", table) == 2 and not school.folder.exists()
        assert enter(course, school.results, "--collected", table) == 2
        said = f"expected a collection of the main assignment after --collected; {table} holds submissions of {name}\n"
        assert capsys.readouterr().err == f"grader: {said}" * 2


def test_submissions_of_unknown_people_are_named_with_the_students_who_get_0_for_nothing(school, write, capsys):
    lines = [("frank", "", "", "missing", 0, "", "", "", ""), ("canvas-555", "", "", "unknown", 1, "", "", "", "x")]
    known = [(name, "", "", "collected", 1, "a.zip", "", 0, "") for name in ("alice", "bob", "another-section")]
    assert school("--collected", write("c.csv", COLUMNS, [*lines, *known])) == 1
    frank = marks(school)["frank"]
    assert (frank["total"], frank["final"]) == ("0", "no")
    assert "one of the submissions whose owner is not known may belong to this student" in frank["note"]
    assert (
        "grader: the owner of these submissions in collected.csv is not known: canvas-555; look whether one of them belongs to "
        "frank, marked as handing in nothing\n"
    ) in capsys.readouterr().err
    school("--collected", write("c.csv", COLUMNS, [*lines, *known]), "--missing-as-zero")
    assert (marks(school)["frank"]["total"], marks(school)["frank"]["final"]) == ("0", "yes")
    capsys.readouterr()
    school("--collected", write("c.csv", COLUMNS, known))
    said = capsys.readouterr().err
    assert "is not known" not in said.replace("it is not known", "")


def test_lines_of_ids_that_the_roster_lacks_are_named_and_refused_if_there_are_no_others(school, write, capsys):
    """A spreadsheet removes zeros at the beginning."""
    only = write("roster.csv", "id", [["0123"], ["0124"]])
    lines = [(i, "", "", "missing", 0, "", "", "", "") for i in ("123", "0124", "125")]
    assert school("--students", only, "--collected", write("c.csv", COLUMNS, lines)) == 1
    assert (
        "grader: these lines of collected.csv count for nobody, because the roster lacks their ids: 123 (did you mean 0123?), "
        "125\n"
    ) in capsys.readouterr().err
    table = write("d.csv", COLUMNS, [(i[1:] if i == "0124" else i, *rest) for i, *rest in lines])
    written = marks(school)
    assert school("--students", only, "--collected", table) == 2
    assert f"expected lines about students of {only} in {table}; got only other ids, such as '123'" in capsys.readouterr().err
    assert marks(school) == written
