"""The warm-up: the reference solves it, a planted mistake fails where it was made, and no cell leaves the sandbox."""

import json
import shutil

import pytest
from course_tools import COURSE, nbgrader

from common.errors import UsageError
from grader.__main__ import main
from grader.assignment import ROOT
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.instructor import release
from grader.pipeline.notebook_cells import CodeCell, read_notebook, run_cells

SOURCES = COURSE / "source" / "warmup"
# notebook, what is replaced by what, the test that must fail, words of its message
MISTAKES = {
    "wrong-axis": ("boards", "np.flip(array, axis=-1)", "np.flip(array, axis=1)", "turns-test", "each board of a batch"),
    "no-transpose": (
        "boards",
        "np.flip(np.swapaxes(array, -1, -2), axis=-2)",
        "np.flip(np.flip(array, axis=-2), axis=-1)",
        "turns-test",
        "the right column becomes the top row",
    ),
    "bottom-row-first": ("boards", "height - 1 - h", "h", "planes-test", "move 0 is the bottom left corner"),
    "one-diagonal": ("boards", "[mask, mask[::-1]]", "[mask]", "rows-test", "rises to the right"),
    "width-is-height": ("boards", "return divmod(move, width)", "return divmod(move, 3)", "moves-test", "a board of width 4"),
    "probabilities-upside-down": (
        "boards",
        "grid = to_grid(probs, *planes.shape[1:])",
        "grid = probs.reshape(3, 3)",
        "symmetries-test",
        "no longer at the point of its stone",
    ),
    "sum-not-mean": ("network", "- results) ** 2).mean()", "- results) ** 2).sum()", "loss-test", "= 0.3125; got 1.2500"),
    "broadcast": ("network", "values.squeeze(1) - results", "values - results", "loss-test", "= 0.3125"),
    "gradients-kept": ("network", "    optimiser.zero_grad()\n", "", "step-test", "are gradients cleared?"),
    "no-tanh": ("network", "return torch.tanh(self.out(x))", "return self.out(x)", "network-test", "look at relu, tanh"),
    "planes-exchanged": ("network", "[points == 1, points == -1]", "[points == -1, points == 1]", "tensors-test", "plane 0"),
}


def changed(notebook, old, new):
    """The code cells of a source notebook, with one place of the solution changed."""
    cells = read_notebook(SOURCES / f"{notebook}.ipynb")
    assert sum(cell.source.count(old) for cell in cells if not cell.points) == 1
    return [CodeCell(c.name, c.source if c.points else c.source.replace(old, new), c.points) for c in cells]


def written(path, cells, source=SOURCES / "boards.ipynb"):
    """Write a notebook with the sources of these cells by the cells' names."""
    notebook = json.loads(source.read_text())
    texts = {cell.name: cell.source for cell in cells}
    for cell in notebook["cells"]:
        cell["source"] = texts.get(cell["metadata"]["nbgrader"]["grade_id"], cell["source"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))
    return path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_fails_the_test_of_its_cell_and_no_earlier_one(name):
    notebook, old, new, test, words = MISTAKES[name]
    cells = changed(notebook, old, new)
    cells = cells[: [cell.name for cell in cells].index(test) + 1]  # training takes seconds
    *before, last = run_cells(cells, find_sandbox())
    assert "".join(before) == ""
    assert last.startswith("AssertionError") and words in last


def test_the_solved_notebooks_get_full_points_and_the_handed_out_ones_none(capsys):
    assert main(["warmup", *map(str, sorted(SOURCES.glob("*.ipynb")))]) == 0
    assert capsys.readouterr().out.count("10 of 10 points") == 2
    assert main(["warmup", str(ROOT / "warmup" / "boards.ipynb")]) == 1
    out = capsys.readouterr().out
    assert "0 of 10 points. Look first at the cell moves-test" in out and "NotImplementedError" in out


def test_a_cell_that_ends_the_program_stops_the_cells_below_it_and_keeps_the_points_above():
    cells = [CodeCell("one", "x = 1"), CodeCell("two", "raise SystemExit(3)"), CodeCell("three", "assert x == 1")]
    assert list(run_cells(cells, find_sandbox())) == ["", "SystemExit: 3 (cell two, line 1: raise SystemExit(3))", ""]
    cells[1] = CodeCell("two", "import os; os._exit(0)")
    one, two, three = run_cells(cells, find_sandbox())
    assert one == "" and "ended" in two and three == "Not run, because the cell two ended the program."


def test_a_cell_reads_nothing_of_the_grader_and_prints_nothing_into_its_answers():
    cells = [
        CodeCell("secrets", f"open({str(SOURCES / 'boards.ipynb')!r})"),
        CodeCell("print", "import sys; print('{}'); sys.stdout.write('x'); sys.stderr.write('y')"),
        CodeCell("magic", "%matplotlib inline"),
        CodeCell("escape", "raise ValueError('\\x1b[2J\\ud800')"),
    ]
    secrets, printed, magic, escape = run_cells(cells, find_sandbox())
    assert secrets.startswith(("FileNotFoundError", "PermissionError"))
    assert printed == "" and magic.startswith("SyntaxError")
    assert escape.isprintable() and escape.startswith("ValueError")


HUGE = {"cell_type": "code", "source": "", "metadata": {"nbgrader": {"grade": True, "points": 10**400}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"cells": [3]}',
        b'{"cells": [{"cell_type": "code"}]}',
        b"[" * 100_000,
        json.dumps({"cells": [HUGE]}).encode(),
    ],
    ids=["empty", "list", "number", "no source", "deep", "huge points"],
)
def test_what_is_no_notebook_gets_a_sentence(tmp_path, capsys, content):
    path = tmp_path / "odd.ipynb"
    path.write_bytes(content)
    assert main(["warmup", str(path)]) == 2
    assert f"expected a Jupyter notebook (format 4) at {path}" in capsys.readouterr().err


def test_a_notebook_without_tests_or_no_notebook_gets_a_sentence(tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    path.write_text('{"cells": []}')
    assert main(["warmup", str(path)]) == 2
    assert "expected tests in" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["boards", "Board.ipynb", "elsewhere/boards.ipynb"])
def test_a_missing_notebook_gets_a_sentence_with_the_nearest_one(name, capsys):
    assert main(["warmup", name]) == 2
    said = f"expected a notebook at {name}; there is none: try warmup/boards.ipynb\n"
    assert capsys.readouterr().err.endswith(said)
    assert main(["warmup", "tree.ipynb"]) == 2
    assert capsys.readouterr().err.endswith("try warmup/boards.ipynb or warmup/network.ipynb\n")


def test_the_kits_notebooks_are_those_of_the_source_and_a_solved_line_in_them_is_a_leak(api, assignment):
    assert main(["notebook", "--check"]) == 0
    kit = release.Kit({f"warmup/{path.name}": path.read_bytes() for path in (ROOT / "warmup").iterdir()})
    secrets = release.read_secrets(assignment, ROOT)
    assert release.find_leaks(kit, secrets, assignment) == []
    line = b"grid = to_grid(probs, *planes.shape[1:])"
    kit.files["warmup/boards.ipynb"] = kit.files["warmup/boards.ipynb"].replace(b"raise NotImplementedError()", line)
    assert "is a line of the solution" in release.find_leaks(kit, secrets, assignment)[0]


def test_nbgrader_releases_the_warm_up_and_grades_it_in_the_sandbox(opened, course, tmp_path):
    nbgrader(course, "generate_assignment", "warmup")
    for path in (course / "release" / "warmup").iterdir():
        assert path.read_text().rstrip() == (ROOT / "warmup" / path.name).read_text().rstrip()
    submitted = course / "submitted"
    shutil.copytree(SOURCES, submitted / "solved" / "warmup")
    written(submitted / "wrong" / "warmup" / "boards.ipynb", changed(*MISTAKES["wrong-axis"][:3]))
    trace = tmp_path / "ran outside"
    hostile = changed("boards", "return divmod(move, width)", f"open({str(trace)!r}, 'w'); [click](javascript:alert(1))")
    path = written(submitted / "hostile" / "warmup" / "boards.ipynb", hostile)
    notebook = json.loads(path.read_text())
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] != "errors-test"]
    path.write_text(json.dumps(notebook))
    said = nbgrader(course, "autograde", "warmup")
    assert "hostile deleted the tests errors-test, which give 0 points" in said
    assert not trace.exists()
    with opened() as gradebook:
        marks = {
            (grade.notebook.student.id, grade.name): grade.auto_score
            for submission in gradebook.assignment_submissions("warmup")
            for sheet in submission.notebooks
            for grade in sheet.grades
        }
        totals = {s.student.id: (s.score, s.max_score) for s in gradebook.assignment_submissions("warmup")}
    assert totals["solved"] == (20, 20)
    lost = {name for (who, name), score in marks.items() if who == "wrong" and not score and name.endswith("-test")}
    assert lost >= {"turns-test"} and marks["wrong", "moves-test"] == 1 and marks["wrong", "grid-test"] == 1
    assert not marks["hostile", "moves-test"] and not marks["hostile", "errors-test"]
    shown = (course / "autograded" / "hostile" / "warmup" / "boards.ipynb").read_text()
    assert "javascript:" not in shown and '"cell_type": "code"' not in shown


def test_notebooks_that_nobody_has_read_run_at_a_weak_level_only_on_request(monkeypatch):
    plugins = pytest.importorskip("grader.instructor.nbgrader_plugins")
    monkeypatch.setattr(plugins, "find_sandbox", lambda: Sandbox("rlimits", False))
    monkeypatch.setattr(plugins.ConfinedExecute, "_name_deleted_tests", lambda *_: None)
    ran = []
    monkeypatch.setattr(plugins, "run_cells", lambda *given: ran.append(given) or [])
    about, notebook = {"nbgrader": {"assignment": "warmup"}}, plugins.nbformat.v4.new_notebook()
    with pytest.raises(UsageError, match=r"Weak confinement \(rlimits.* Set c\.ConfinedExecute\.allow_weak_sandbox = True"):
        plugins.ConfinedExecute(run=["warmup"]).preprocess(notebook, about)
    assert ran == []
    plugins.ConfinedExecute(run=["warmup"], allow_weak_sandbox=True).preprocess(notebook, about)
    assert len(ran) == 1
