"""nbgrader for this course; read by every `nbgrader` command that is run in this folder.

nbgrader is the bridge, never the executor: programs are graded by `python -m grader grade`, and their points enter the
gradebook by `python -m grader gradebook`.
"""

from pathlib import Path

c = get_config()  # noqa: F821 (given by traitlets, which runs this file)

c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# `nbgrader autograde` only takes in a report that was written in the released notebook. It must not run a student's cell,
# so the step that executes (nbgrader.preprocessors.Execute) is left out; HTML in a student's text is made harmless before
# a marker's browser shows it.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbconvert.preprocessors.sanitize.SanitizeHTML",
]
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.SanitizeHTML.enabled = True
