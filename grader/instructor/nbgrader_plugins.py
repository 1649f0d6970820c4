"""Plugins that nbgrader's programs load for this course (see `instructor/course/nbgrader_config.py`).

They are steps that make a student's notebook harmless, run the warm-up in the sandbox and give the feedback its titles, a
filter that adds a Content-Security-Policy to the pages that show a notebook, and an export of the marks for spreadsheets.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import re
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from nbconvert.preprocessors import Preprocessor
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin
from nbgrader.preprocessors import GetGrades
from nbgrader.utils import is_grade
from traitlets import Bool, List, Unicode

from common.errors import UsageError
from common.harmless_text import csv_cell
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.instructor.harmless_notebook import harmless_notebook
from grader.instructor.notebook import cell_titles
from grader.pipeline.notebook_cells import CodeCell, run_cells

MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"
SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r'\son[a-z]+="([^"]*)"')
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


class HarmlessNotebook(Preprocessor):
    """`harmless_notebook` as a step of nbgrader; it runs when a notebook is collected and whenever one is shown."""

    enabled = Bool(True).tag(config=True)
    run = List(Unicode(), help="Assignments whose cells ConfinedExecute runs").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        notebook, removed = harmless_notebook(nb, run=self._is_run(resources))
        if removed:
            self.log.warning("%s links or pictures were removed; only http, https, mailto and embedded pictures stay", removed)
        return notebook, resources

    def _is_run(self, resources: Any) -> bool:
        return resources.get("nbgrader", {}).get("assignment") in self.run


class HarmlessUnlessRun(HarmlessNotebook):
    """The same when a notebook is collected, except for assignments whose cells `ConfinedExecute` still has to run."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        return (nb, resources) if self._is_run(resources) else super().preprocess(nb, resources)


class ConfinedExecute(Preprocessor):
    """Runs the code cells of some assignments in the sandbox, where nbgrader would start a kernel without confinement.

    A cell that fails gets an error as its output, and nbgrader gives a test with an error 0 points.
    """

    enabled = Bool(True).tag(config=True)
    run = List(Unicode(), help="Assignments whose cells are run; no other cell ever is").tag(config=True)
    allow_weak_sandbox = Bool(False, help="Run the cells although they can reach the grader's files").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        about = resources["nbgrader"]
        if about["assignment"] not in self.run:
            return nb, resources
        sandbox = find_sandbox()
        if sandbox.weak and not self.allow_weak_sandbox:
            raise UsageError(
                "expected a confinement that keeps notebooks that nobody has read from the grader's files. "
                f"{sandbox.sentence} Set c.ConfinedExecute.allow_weak_sandbox = True in nbgrader_config.py to run them anyway"
            )
        self._name_deleted_tests(nb, about)
        numbered = [(number, cell) for number, cell in enumerate(nb.cells, 1) if cell.cell_type == "code"]
        cells = [cell for _, cell in numbered]
        named = [CodeCell(str(cell.metadata.get("nbgrader", {}).get("grade_id", n)), cell.source) for n, cell in numbered]
        for cell, failure in zip(cells, run_cells(named, sandbox), strict=True):
            error = {"ename": "Error", "evalue": failure, "traceback": [failure]}
            cell.outputs = [nbformat.v4.new_output("error", **error)] if failure else []
        return nb, resources

    def _name_deleted_tests(self, nb: Any, about: Any) -> None:
        present = {cell.metadata.nbgrader["grade_id"] for cell in nb.cells if is_grade(cell)}
        with Gradebook(about["db_url"]) as gradebook:
            tests = {cell.name for cell in gradebook.find_notebook(about["notebook"], about["assignment"]).grade_cells}
        if deleted := sorted(tests - present):
            self.log.warning("%s deleted the tests %s, which give 0 points", about["student"], ", ".join(deleted))


class TitledGrades(GetGrades):
    """nbgrader's step that looks up points and comments for the feedback; it adds what `page.html.j2` shows with them.

    That is a title for each cell, and whether anybody has given points. nbgrader shows a cell without points as 0.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        assignment = load_assignment()
        is_ours = resources["nbgrader"]["assignment"] == assignment.id
        self._titles = cell_titles(assignment, Path(self.config.CourseDirectory.root)) if is_ours else {}
        return super().preprocess(nb, resources)

    def _get_score(self, cell: Any, resources: Any) -> None:
        super()._get_score(cell, resources)
        about = cell.metadata.nbgrader
        grade = self.gradebook.find_grade(about.grade_id, self.notebook_id, self.assignment_id, self.student_id)
        about.is_marked = grade.manual_score is not None or grade.auto_score is not None
        about.title = self._titles.get(about.grade_id, about.grade_id)


@jinja2.pass_environment
def with_policy(environment: jinja2.Environment, header: str, resources: dict[str, Any]) -> str:
    """Return the page's header with a policy that lets the browser run only the scripts of nbgrader's template.

    The inline scripts are allowed by their digests. A `javascript:` link, an event handler or a script from a notebook or a
    name is therefore refused, even if it was not removed.

    Args:
        header: the page up to the end of its head, which holds no text of a student.
        resources: values that nbgrader passes to its templates.
    """
    try:
        # The bar at the top of formgrader's page has scripts too. It would show the student's name, which is left out here.
        macros: Any = environment.get_template("formgrade_macros.html.j2").module
        bar = macros.nav({**resources, "student": "", "last_name": "", "first_name": ""})
    except jinja2.TemplateNotFound:
        bar = ""
    allowed = SCRIPT.findall(header + bar) + HANDLER.findall(bar)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in allowed]
    policy = "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", MATHJAX, "'unsafe-eval' 'unsafe-hashes'", *(f"'sha256-{d}'" for d in digests)]),
            f"style-src 'self' 'unsafe-inline' {MATHJAX}",
            f"font-src 'self' {MATHJAX}",
            f"img-src data: {MATHJAX}",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return header.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)


class MarksExport(ExportPlugin):
    """nbgrader's table of marks, quoted as CSV requires and without cells that a spreadsheet would evaluate."""

    def export(self, gradebook: Gradebook) -> None:
        """Write a line for each student and assignment to `--to`."""
        with open(self.to or "grades.csv", "w", encoding="utf-8-sig", newline="") as file:
            table = csv.writer(file)
            table.writerow(COLUMNS)
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    if self.assignment and assignment.name not in map(str, self.assignment):
                        continue
                    if self.student and student.id not in map(str, self.student):
                        continue
                    table.writerow(map(csv_cell, _marks(gradebook, assignment, student)))


def _marks(gradebook: Gradebook, assignment: Any, student: Any) -> tuple[Any, ...]:
    """Return a line of the table. A student who handed in nothing gets 0; what nobody has graded yet has no score."""
    who = (student.id, student.last_name, student.first_name, student.email)
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return (assignment.name, assignment.duedate, None, *who, 0.0, 0.0, 0.0, assignment.max_score)
    score, penalty = submission.score, submission.late_submission_penalty
    scores = (score, penalty, max(0.0, score - penalty)) if _is_graded(submission) else (None, None, None)
    return (assignment.name, assignment.duedate, submission.timestamp, *who, *scores, assignment.max_score)


def _is_graded(submission: Any) -> bool:
    """Return whether each notebook has some points, by a program or a person; they may be 0."""
    return all(
        any(grade.auto_score is not None or grade.manual_score is not None for grade in notebook.grades)
        for notebook in submission.notebooks
    )
