"""The course's notebook has a cell for everything that has points, and no answer in what is released."""

import json

import pytest
from course_tools import COURSE, nbgrader

from common.errors import UsageError
from grader.__main__ import main
from grader.instructor import notebook
from grader.instructor.notebook import load_rubric


def test_the_notebook_in_the_repository_has_a_cell_with_the_points_of_every_check_and_mark(assignment):
    cells = json.loads((COURSE / "source" / assignment.id / "report.ipynb").read_text())["cells"]
    points = {cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"].get("points") for cell in cells}
    for check in assignment.checks:
        assert points[check.id.replace(".", "-")] == check.points
    for mark in assignment.marks:
        assert sum(p for i, p in points.items() if i.startswith(f"{mark.id}-") and p) == mark.points
    assert sum(p or 0 for p in points.values()) == sum(item.points for item in (*assignment.checks, *assignment.marks))


def test_the_notebook_holds_no_code_that_nbgrader_could_run(assignment):
    cells = json.loads((COURSE / "source" / assignment.id / "report.ipynb").read_text())["cells"]
    assert {cell["cell_type"] for cell in cells} == {"markdown"}


def test_a_rubric_whose_points_differ_from_the_marks_is_refused(course, capsys):
    text = (course / "rubric.toml").read_text()
    (course / "rubric.toml").write_text(text.replace('[1, "a suggestion', '[2, "a suggestion'))
    assert main(["notebook", "--course", str(course)]) == 2
    assert "expected 20 points for report, as in assignment.toml; the items give 21" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('id = "engine"', 'id = "environment"', "different ids in each mark; twice: report.environment"),
        ('[1, "processor', '[-1, "processor', r"at least 0 for items\[environment\]\.criteria\[0\]\[0\]; got -1$"),
        ('[1, "processor', '["1", "processor', r"at least 0 for items\[environment\]\.criteria\[0\]\[0\]; got '1'$"),
        ('[1, "processor', '["processor', r"expected 2 values for items\[environment\]\.criteria\[0\]; got \['processor"),
        ("criteria = [\n", "x = [\n", r"in items\[environment\]: criteria is missing, x is unknown; the keys are mark, id,"),
        ("[[items]]", "[[item]]", "expected other keys in the file: item is unknown; the keys are items$"),
        ("[[items]]", '[[items]]\nmark = "report"\nid = "x"\ntitle = ""\ntext = ""\ncriteria = []\n[[items]]', "for report.x"),
    ],
    ids=["twice", "below 0", "points as text", "without points", "a misspelt key", "a misspelt table", "without criteria"],
)
def test_an_item_of_the_rubric_that_would_count_wrongly_is_refused(course, assignment, old, new, words):
    text = (course / "rubric.toml").read_text()
    (course / "rubric.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=words):
        load_rubric(assignment, course)


def test_check_tells_a_notebook_that_has_drifted_and_the_command_mends_it(api, course, capsys):
    path = course / "source" / "gomoku" / "report.ipynb"
    assert main(["notebook", "--check", "--course", str(course)]) == 0
    path.write_text(path.read_text().replace('"points": 30', '"points": 31'))
    assert main(["notebook", "--check", "--course", str(course)]) == 1
    assert "run python -m grader notebook" in capsys.readouterr().err
    assert main(["notebook", "--course", str(course)]) == 0
    assert main(["notebook", "--check", "--course", str(course)]) == 0


def test_the_release_is_valid_has_all_points_and_no_answer_of_the_rubric(api, assignment, course):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator

    nbgrader(course, "generate_assignment", "gomoku")
    release = course / "release" / "gomoku" / "report.ipynb"
    MetadataValidator().validate_nb(nbformat.read(release, 4))
    cells = json.loads(release.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    answers = [item.answer.strip() for item in notebook.load_rubric(assignment) if item.answer]
    assert len(answers) == 6
    assert [line for answer in answers for line in answer.splitlines() if line in text] == []
    assert text.count("YOUR ANSWER HERE") == len(answers)
    assert sum(cell["metadata"]["nbgrader"].get("points", 0) for cell in cells) == 100
    assert {path.name for path in (course / "release").rglob("*") if path.is_file()} == {"report.ipynb"}
