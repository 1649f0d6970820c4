"""What goes back: each student's folder holds that student's things only, and the class page nobody's."""

import io
import re
import shutil
import zipfile
from html.parser import HTMLParser

import pytest
from accessibility import needs_axe, serious_findings
from course_tools import COURSE
from returned_class import win_rate, write_marks, write_result

from grader.__main__ import main
from grader.instructor.notebook import load_rubric
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PARTIAL

# Names that no text of ours contains, so that each occurrence on a page is a leak.
PEOPLE = {
    "s4711": ("Wilhelmina", "Xanthopoulos, Jr."),
    "s4712": ("=HYPERLINK(1)", "Quetzal"),
    "s4713": ("伟", "王"),
    "s4714": ('Zoë "Z"', "O'Brannagh"),
}
LEAKS = ("s471", "Wilhelmina", "Xanthopoulos", "HYPERLINK", "Quetzal", "伟", "王", "Zoë", "Brannagh")


class Page(HTMLParser):
    """What a page refers to, and its text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.tags, self.text = [], set(), ""
        self.feed(text)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "action", "data", "srcset", "xlink:href")]

    def handle_data(self, data):
        self.text += f" {data}"


def failed(message, check="mcts_pure.tactics"):
    return {check: {"status": FAILED, "points": 0.0, "message": message}}


@pytest.fixture
def a_class(tmp_path, assignment):
    """Four students: a command that gives their results back, and the folders that it reads and writes."""
    results = tmp_path / "results"
    for place, (student, (first, _)) in enumerate(PEOPLE.items()):
        name = re.search(r"\w+", first)[0]
        mine = f"Minimax/{name}_{student}.cpp"
        changes = win_rate(assignment, 10 + 10 * place, 54 - 10 * place, student)
        changes |= failed(f"At ({place}, 3) the player of {name} played {place}.")
        changes |= failed(
            f"The engine does not compile: {mine}:{place}: error: '{student}_x' was not declared", "minimax.build"
        )
        write_result(results, assignment, student, changes, seed=900000 + place, digest=f"{place:064x}")
    rows = [(student, *names, {"report": 15, "code_review": 8}) for student, names in PEOPLE.items()]

    def run(*arguments):
        command = ["give-back", results, "--marks", run.marks, "--out", run.out, "--course", run.course, *arguments]
        return main([str(word) for word in command])

    run.results, run.out, run.course = results, tmp_path / "back", tmp_path / "course"
    shutil.copytree(COURSE / "schemes", run.course / "schemes")
    shutil.copy(COURSE / "rubric.toml", run.course)
    run.marks, run.rows = write_marks(tmp_path / "marks.csv", assignment, rows), rows
    return run


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_holds_nothing_of_another_student_and_no_seed(a_class):
    assert a_class() == 0
    for place, (student, names) in enumerate(PEOPLE.items()):
        text = "".join((a_class.out / student / name).read_text() for name in ("report.html", "marks.html"))
        text = text.replace("&#34;", '"').replace("&#39;", "'")
        assert student in text and names[1] in text
        others = [word for other, both in PEOPLE.items() if other != student for word in (other, *both)]
        assert [word for word in others if word in text] == []
        assert f"{900000 + place}" not in text and str(a_class.results) not in text


def test_marks_with_other_program_points_than_the_results_are_named(a_class, assignment, capsys):
    values = {"report": 15, "code_review": 8}
    cells = [
        ({"network.load": 1}, "as graded"),
        ({"network.load": 0}, "before a regrade"),
        ({"network.load": 0, "overrides": "network.load 0 instead of 1, because copied; see the file (M)"}, "corrected"),
        ({"network.load": ""}, "not in the table"),
    ]
    rows = [(i, *PEOPLE[i], values | own) for i, (own, _) in zip(PEOPLE, cells, strict=True)]
    write_marks(a_class.marks, assignment, rows)
    assert a_class() == 1
    said = capsys.readouterr().err
    assert said == "The marks have other program points than the results, so give marks again first: s4712\n"


def test_the_pages_of_a_student_name_points_corrections_and_the_engine_of_the_class_page(a_class, assignment):
    values = {"report": 15, "late_minutes": 90, "penalty": 5, "total": 61.5}
    values["overrides"] = (
        "report 15 instead of 12, because a figure counted twice; it does (M); late_minutes 90 instead of 95, because"
    )
    values["comments"] = "code_review: too long; report.engine: clear"
    values |= {"minimax.win_rate": 20, "code_review": "", "note": "<script>alert(1)</script>"}
    write_marks(a_class.marks, assignment, [("s4714", *PEOPLE["s4714"], values), *a_class.rows[:3]])
    assert a_class() == 0
    source = (a_class.out / "s4714" / "marks.html").read_text()
    page = Page(source)
    assert "61.5 total" in page.text and "Win rate against the baseline 20 of 30" in page.text
    assert "Minutes late 90" in page.text and "Code review –" in page.text
    assert "“Report”: 15 instead of 12, because a figure counted twice; it does (M); “Minutes late”: 90 instead of" in page.text
    assert "“Code review”: too long; “Engine”: clear" in page.text
    assert "your engine is engine 1" in page.text  # the highest score rate
    assert "script" not in page.tags and "<script>alert(1)</script>" in page.text
    assert set(page.links) == {"report.html"}


def test_the_page_of_the_class_names_nobody_and_asks_for_nothing(a_class):
    assert a_class() == 0
    source = (a_class.out / "class" / "index.html").read_text()
    assert [leak for leak in LEAKS if leak in source] == []
    page = Page(source)
    assert page.links == [] and not page.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert not re.search(r"url\(|@import|https?:", source)
    assert "default-src 'none'" in source and "prefers-color-scheme: dark" in source
    # The mistakes are grouped, although they differ in numbers, names and files.
    assert re.search(r"At \(\d, 3\) the player of … played \d\. ?4 submissions", page.text)
    assert re.search(r"The engine does not compile: Minimax/….*?error.*? ?4 submissions", page.text)
    assert "Engines against the opponent baseline" in page.text
    assert page.text.index("engine 1") < page.text.index("engine 2") and "40 won, 0 drawn, 24 lost" in page.text


def test_the_members_of_a_group_count_as_one_submission_and_share_an_engine(a_class, assignment):
    for student in ("s4711", "s4712"):
        changes = win_rate(assignment, 20, 44, student) | failed("The player loses a turn.")
        write_result(a_class.results, assignment, student, changes, digest="5" * 64)
    assert a_class() == 0
    page = Page((a_class.out / "class" / "index.html").read_text()).text
    assert "loses a turn" not in page and "engine 3" in page and "engine 4" not in page
    for student in ("s4711", "s4712"):
        assert "your engine is engine 3" in Page((a_class.out / student / "marks.html").read_text()).text


@needs_axe
def test_the_pages_of_a_class_and_of_a_student_have_no_serious_fault_of_accessibility(a_class):
    assert a_class() == 0
    assert serious_findings(a_class.out / "class" / "index.html", a_class.out / "s4714" / "marks.html") == []


def test_a_second_run_changes_nothing_and_zips_are_equal_to_the_folders(a_class, capsys):
    assert a_class("--zip") == 0
    first = everything(a_class.out)
    times = {path: path.stat().st_mtime_ns for path in a_class.out.rglob("*") if path.is_file()}
    assert a_class("--zip") == 0
    assert everything(a_class.out) == first and {path: path.stat().st_mtime_ns for path in times} == times
    assert "0 of them new or changed" in capsys.readouterr().out
    with zipfile.ZipFile(io.BytesIO(first["s4711.zip"])) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {name: content for name, content in first.items() if name.startswith("s4711/")}


def test_the_feedback_of_the_notebook_is_put_beside_and_links_are_not_followed(a_class, tmp_path):
    for student in ("s4711", "s4712"):
        (a_class.course / "feedback" / student / "gomoku").mkdir(parents=True)
    (a_class.course / "feedback/s4711/gomoku/report.html").write_text("<p>well argued</p>")
    (tmp_path / "secret").write_text("secret")
    (a_class.course / "feedback/s4712/gomoku/report.html").symlink_to(tmp_path / "secret")
    assert a_class() == 0
    assert (a_class.out / "s4711/feedback.html").read_text() == "<p>well argued</p>"
    assert "feedback.html" in (a_class.out / "s4711/marks.html").read_text()
    assert not (a_class.out / "s4712/feedback.html").exists()


def test_links_of_the_feedback_lead_to_what_is_beside_it(a_class):
    place = a_class.course / "feedback/s4711/gomoku"
    place.mkdir(parents=True)
    (place / "report.html").write_text('<a href="program.html">points</a> <a href="reports.html">report</a>')
    (place / "reports.html").write_text("<p>my report</p>")
    assert a_class() == 0
    folder = a_class.out / "s4711"
    assert (folder / "feedback.html").read_text() == '<a href="report.html">points</a> <a href="reports.html">report</a>'
    assert (folder / "reports.html").read_text() == "<p>my report</p>" and (folder / "report.html").is_file()


def test_a_mark_is_shown_as_a_whole_or_by_its_items(a_class, assignment):
    columns = ["report.environment", "report.engine", "report", "code_review"]
    given = {"s4711": {"report": 15}, "s4712": {"report.engine": 4}}
    write_marks(a_class.marks, assignment, [(name, "A", "B", marks) for name, marks in given.items()], columns)
    a_class()
    whole, by_items = ((a_class.out / name / "marks.html").read_text() for name in given)
    assert "<td>Report</td>" in whole and "<td>Engine</td>" not in whole
    assert "<td>Report</td>" not in by_items and "<td>Engine</td>" in by_items and "<td>Environment</td>" in by_items


def test_what_fell_away_is_named_and_left(a_class, assignment, capsys):
    assert a_class("--zip") == 0
    write_marks(a_class.marks, assignment, a_class.rows[1:])
    shutil.rmtree(a_class.results / "s4712")
    before = everything(a_class.out)
    assert a_class() == 1
    said = capsys.readouterr()
    for name in ("s4711/", "s4711.zip", "s4712/report.html"):
        assert f"{a_class.out / name} is from an earlier run" in said.err
        assert {path: content for path, content in before.items() if path.startswith(name)}.items() <= everything(
            a_class.out
        ).items()
    assert "no line for these results, which are left out: s4711" in said.err
    assert "No result, so no report: s4712" in said.out


def test_an_altered_or_unfinished_result_is_left_out_with_a_sentence(a_class, capsys):
    path = a_class.results / "s4711" / "results.json"
    path.write_text(path.read_text().replace('"points": 0.0', '"points": 1.0'))
    (a_class.results / "s4712" / "results.json").unlink()
    assert a_class() == 2
    said = capsys.readouterr().err
    assert "altered" in said and "s4712 holds an unfinished run" in said and "Traceback" not in said
    assert not (a_class.out / "s4711/report.html").exists() and (a_class.out / "s4713/report.html").exists()


def test_a_refused_submission_and_open_points_are_no_zero(a_class, assignment, capsys):
    folder = a_class.results / "s4711"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "refused.txt").write_text("expected an archive at /home/teacher/in/s4711.rar; it is a RAR archive\n")
    open_check = {"network.load": {"status": COULD_NOT_GRADE, "points": 0.0, "message": f"see {a_class.results}/s4712/log"}}
    write_result(a_class.results, assignment, "s4712", open_check)
    rows = [(*row[:3], {"total": "incomplete"} if row[0] in ("s4711", "s4712") else row[3]) for row in a_class.rows]
    write_marks(a_class.marks, assignment, rows)
    assert a_class() == 1
    assert "not final, and their pages say so: s4711, s4712" in capsys.readouterr().err
    marks = (a_class.out / "s4711/marks.html").read_text()
    assert "This is not a zero" in marks and "s4711.rar; it is a RAR archive" in marks and "/home" not in marks
    assert str(a_class.results) not in (a_class.out / "s4712/report.html").read_text()
    page = Page((a_class.out / "class/index.html").read_text()).text
    assert "1 partly graded, a person has to look" in page and "1 refused" in page
    assert "1 could not be graded or are not marked yet" in page


def test_a_refusal_of_the_latest_archive_is_told_in_place_of_the_report_on_an_earlier_one(a_class, capsys):
    (a_class.results / "s4711" / "refused.txt").write_text("expected an archive; it is a RAR archive\n")
    a_class()
    assert "Refused submissions, so no report: s4711" in capsys.readouterr().out
    assert "it is a RAR archive" in (a_class.out / "s4711/marks.html").read_text()
    assert not (a_class.out / "s4711/report.html").exists()
    assert "1 refused" in Page((a_class.out / "class/index.html").read_text()).text


def test_a_result_whose_name_means_two_students_is_given_to_neither(a_class, tmp_path, capsys):
    (tmp_path / "roster.csv").write_text("id,submission\ns4711,s4712\ns4712,team\ns4713,\ns4714,\n")
    assert a_class("--students", tmp_path / "roster.csv") == 2
    assert "'s4712' as the id of one student and as the submission of another" in capsys.readouterr().err
    assert not (a_class.out / "s4712/report.html").exists()
    assert "s4712" not in (a_class.out / "s4711/report.html").read_text()


def test_results_filed_by_another_name_are_found_with_the_roster(a_class, tmp_path, assignment):
    shutil.rmtree(a_class.results / "s4711")
    write_result(a_class.results, assignment, "team_wilhelmina")
    (tmp_path / "roster.csv").write_text("id,submission\ns4711,team_wilhelmina\ns4712,\ns4713,\ns4714,\n")
    assert a_class("--students", tmp_path / "roster.csv") == 0
    assert "team_wilhelmina" in (a_class.out / "s4711/report.html").read_text()
    assert "wilhelmina" not in (a_class.out / "class/index.html").read_text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected the columns id and total"),
        ("id,first_name\n1,A\n", "expected the columns id and total"),
        ("id,total,total\n1,2,3\n", "total is there twice"),
        ("id,total\n1,2,3\n", "line 2: expected 2 cells; got 3"),
        ('id,total\n1,"71,5"\n', "line 2: expected a number with a decimal point for total, such as 71.5; got '71,5'"),
        ("id;network.load;total\n1;0,5;2\n", "for network.load, such as 0.5; got '0,5'"),
        ("id,total\n1,2\n1,3\n", "line 3: the id 1 is listed twice"),
        ("id,total\n../up,2\n", "expected a student id that can name a folder"),
        ("id,total\nclass,2\n", "expected ids other than class, ladder, upload; got class"),
        ("id,total\nab,2\nAB,3\n", "expected ids that differ not only in case"),
        ('id,total\n"a,2\n', "expected the marks"),
        ("id,total\n\udcff,2\n", "expected the marks"),
    ],
)
def test_marks_that_cannot_be_used_are_refused_in_one_sentence(a_class, capsys, text, sentence):
    a_class.marks.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert a_class() == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
    assert not a_class.out.exists()


def test_the_folder_of_the_results_is_refused_as_the_place_for_what_goes_back(a_class, capsys):
    before = everything(a_class.results)
    a_class.out = a_class.results
    assert a_class() == 2
    assert "expected a folder other than that of the results for --out" in capsys.readouterr().err
    assert everything(a_class.results) == before


def test_a_misspelled_folder_of_results_is_refused_before_anything_is_written(a_class, capsys):
    a_class.results.rename(a_class.results.with_name("other"))
    assert a_class() == 2
    assert "nothing is there" in capsys.readouterr().err and not a_class.out.exists()


def test_a_class_in_which_nothing_was_graded_has_a_page(a_class, assignment):
    for student in PEOPLE:
        shutil.rmtree(a_class.results / student)
        (a_class.results / student).mkdir()
        (a_class.results / student / "refused.txt").write_text("expected an archive; it is empty\n")
    assert a_class() == 0
    page = Page((a_class.out / "class/index.html").read_text()).text
    assert "4 refused" in page and "No submission has been graded completely yet." in page and "No match" in page


def test_a_link_in_the_place_of_a_folder_is_not_followed(a_class, tmp_path, capsys):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    a_class.out.mkdir()
    (a_class.out / "s4711").symlink_to(elsewhere)
    assert a_class() == 2
    assert "expected no link" in capsys.readouterr().err and list(elsewhere.iterdir()) == []


def test_several_profiles_are_named_on_the_page_and_on_the_screen(a_class, assignment, capsys):
    write_result(a_class.results, assignment, "s4711", profile="smoke")
    assert a_class() == 0
    assert "expected results of one profile; got 3 of full, 1 of smoke" in capsys.readouterr().err
    assert "graded with different profiles" in (a_class.out / "class/index.html").read_text()


def test_partial_points_count_in_the_difficulty_of_an_item(a_class, assignment):
    for student in PEOPLE:
        half = {"network.outputs": {"status": PARTIAL, "points": 1.5, "message": "Some outputs differ."}}
        write_result(a_class.results, assignment, student, half)
    assert a_class() == 0
    page = Page((a_class.out / "class/index.html").read_text()).text
    assert "The same outputs as the reference for the same weights 50 % 3 points · 0 full, 4 in part, 0 zero" in page
    assert "The median is 68.5 of 70 points" in page and "Report 75 % 20 points" in page


def test_marks_are_shown_by_part_with_the_titles_of_the_scheme_that_totalled_them(a_class, capsys):
    assert a_class() == 0
    student = next(iter(PEOPLE))
    page = (a_class.out / student / "marks.html").read_text(encoding="utf-8")
    assert page.index("Parts of the total") < page.index("<td>Minimax</td>") < page.index("The engine compiles")
    assert "part_1" not in page and "written" not in page and "submitted_at" not in page
    shutil.copy(a_class.course / "schemes/capped.toml", a_class.course / "schemes/own.toml")
    own = (a_class.course / "schemes/own.toml").read_text(encoding="utf-8").replace('id = "part_1"', 'id = "engine"')
    (a_class.course / "schemes/own.toml").write_text(own, encoding="utf-8")
    capsys.readouterr()
    assert a_class("--scheme", "own") == 2
    assert "expected the parts of the scheme own in" in (err := capsys.readouterr().err) and "engine is missing" in err


@pytest.mark.parametrize("word", ["nan", "inf", "-inf"])
def test_a_total_that_is_no_number_is_not_final(a_class, assignment, word):
    student, *others = a_class.rows
    write_marks(a_class.marks, assignment, [(*student[:3], {"total": word, "report": word}), *others])
    assert a_class() == 1
    assert "not final" in Page((a_class.out / student[0] / "marks.html").read_text()).text
    assert word not in Page((a_class.out / "class/index.html").read_text()).text.split()


def test_the_scheme_is_the_one_that_the_marks_name(a_class, assignment, capsys):
    named = [(*row[:3], row[3] | {"part_1": 30, "scheme": "capped"}) for row in a_class.rows]
    write_marks(a_class.marks, assignment, named)
    assert a_class() == 0
    page = Page((a_class.out / next(iter(PEOPLE)) / "marks.html").read_text(encoding="utf-8")).text
    assert "30 of 40" in page
    assert a_class("--scheme", "win_rate") == 2
    assert f"expected --scheme capped, by which {a_class.marks} was totalled; got 'win_rate'" in capsys.readouterr().err
    write_marks(a_class.marks, assignment, [(*row[:3], row[3] | {"scheme": "points"}) for row in a_class.rows])
    assert a_class() == 2
    assert "expected the scheme points, by which" in (err := capsys.readouterr().err) and "give --lab or --course as for" in err
    write_marks(a_class.marks, assignment, [*named[:-1], (*a_class.rows[-1][:3], {"scheme": "win_rate"})])
    assert a_class() == 2
    assert "expected the marks of one scheme in" in capsys.readouterr().err


def test_the_zero_of_a_missing_student_does_not_make_an_item_look_harder(a_class, assignment):
    missing = ("s4799", "Nobody", "Here", {"report": 0, "code_review": 0, "total": 0})
    write_marks(a_class.marks, assignment, [*a_class.rows, missing])
    assert a_class() == 0
    page = Page((a_class.out / "class/index.html").read_text()).text
    assert "Report 75 % 20 points" in page


def test_marks_by_rubric_are_on_the_class_page_like_marks_given_as_a_whole(a_class, assignment):
    items = [f"{item.mark}.{item.id}" for item in load_rubric(assignment, a_class.course)]
    report = [item for item in items if item.startswith("report.")]
    review = [item for item in items if item.startswith("code_review.")]
    whole, by_items, partly, empty = (row[:3] for row in a_class.rows)
    none = dict.fromkeys(report, 0)
    values = [
        {"report": 10},  # overridden as a whole
        none | {"report.engine": 5, "report.environment": 0} | dict.fromkeys(review, 0),
        dict.fromkeys(report[1:], 1),  # one item is missing, so the mark is not known
        {},
    ]
    rows = [(*who, value) for who, value in zip((whole, by_items, partly, empty), values, strict=True)]
    write_marks(a_class.marks, assignment, rows, [*report, "report", *review])
    assert a_class() == 0
    text = Page((a_class.out / "class/index.html").read_text()).text
    assert "Report 38 % 20 points · 0 full, 2 in part, 0 zero · 2 could not be graded or are not marked yet" in text
    assert "Code review 0 % 10 points · 0 full, 0 in part, 1 zero · 3 could not be graded or are not marked yet" in text


def test_the_class_page_has_the_marks_that_only_the_scheme_knows(a_class, assignment):
    rows = [(*row[:3], row[3] | {"scheme": "capped", "project": 5}) for row in a_class.rows]
    write_marks(a_class.marks, assignment, rows, ["report", "code_review", "project"])
    assert a_class() == 0
    assert "Project 33 % 15 points" in Page((a_class.out / "class/index.html").read_text()).text


def test_totals_have_a_histogram_of_their_own_without_those_that_are_incomplete(a_class, assignment):
    totals = [{"total": 97.5}, {"total": 40, "final": "no"}, {"total": 60}, {"total": "incomplete"}]
    missing = ("s4799", "Nobody", "Here", {"total": 0})
    rows = [(*row[:3], row[3] | total) for row, total in zip(a_class.rows, totals, strict=True)]
    write_marks(a_class.marks, assignment, [*rows, missing])
    assert a_class() == 1
    source = (a_class.out / "class/index.html").read_text()
    text = Page(source).text
    assert "The median is 60 of 100 points. Left out: 1 whose total is incomplete. 1 of these totals is not final." in text
    assert source.count('<svg class="histogram"') == 2 and "1 with 90 to 100 points" in source
    write_marks(a_class.marks, assignment, [(*row[:3], {"total": "incomplete"}) for row in a_class.rows])
    assert a_class() == 1
    assert "<h2>Totals</h2>" not in (a_class.out / "class/index.html").read_text()
