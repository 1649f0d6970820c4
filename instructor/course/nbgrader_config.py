"""nbgrader for this course; read by every `nbgrader` command that is run in this folder, and by formgrader.

nbgrader is the bridge, never the executor: programs are graded by `python -m grader grade`, and their points enter the
gradebook by `python -m grader gradebook`.
"""

import sys
from pathlib import Path

c = get_config()  # noqa: F821 (given by traitlets, which runs this file)

COURSE = Path(__file__).resolve().parent
c.CourseDirectory.root = str(COURSE)
# nbgrader's programs find the grader below. A course elsewhere needs the repository on PYTHONPATH.
sys.path.append(str(COURSE.parent.parent))

# nbgrader must not run a student's cell itself, so its own step that does (nbgrader.preprocessors.Execute) is left out. Of a
# report, `nbgrader autograde` only takes in the text. The cells of the warm-up are run in the sandbox. In the end only the
# readable text of each cell is kept, so that a marker's browser shows nothing else.
c.HarmlessNotebook.run = c.ConfinedExecute.run = ["warmup"]
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
    "grader.instructor.nbgrader_plugins.HarmlessUnlessRun",
]
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "grader.instructor.nbgrader_plugins.ConfinedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
    "grader.instructor.nbgrader_plugins.HarmlessNotebook",
]

# Scores that people typed belong to the points that their cells had then.
c.GenerateAssignment.preprocessors.prepend(["grader.instructor.kept_points.KeepPoints"])

# What formgrader and feedback show is made harmless once more, whatever lies in autograded/, and the page has a content
# security policy that stops a notebook's scripts.
c.GenerateFeedback.preprocessors = [
    "grader.instructor.nbgrader_plugins.TitledGrades",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
c.HTMLExporter.preprocessors = ["grader.instructor.nbgrader_plugins.HarmlessNotebook"]
c.HTMLExporter.filters = {"with_policy": "grader.instructor.nbgrader_plugins.with_policy"}
c.HTMLExporter.template_file = str(COURSE / "templates" / "page.html.j2")

c.ExportApp.plugin_class = "grader.instructor.nbgrader_plugins.MarksExport"
