"""A step of nbgrader that keeps the points of a cell as they are once a person has typed a score for it.

nbgrader's own step SaveCells refuses other names of cells, but takes over other points, on whose scale the scores would then be
read.
"""

from __future__ import annotations

from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import is_grade, is_task
from traitlets import Bool

from common.errors import UsageError


class KeepPoints(Preprocessor):
    """Refuses a source notebook that changes the points of a cell with a score that a person typed."""

    enabled = Bool(True).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return both as they are; raise a UsageError if points have changed."""
        about = resources["nbgrader"]
        told = [cell.metadata.nbgrader for cell in nb.cells if is_grade(cell) or is_task(cell)]
        points = {cell["grade_id"]: float(cell["points"]) for cell in told}
        with Gradebook(about["db_url"]) as gradebook:
            try:
                submissions = gradebook.find_notebook(about["notebook"], about["assignment"]).submissions
            except MissingEntry:
                return nb, resources
            grades = (grade for submission in submissions for grade in submission.grades)
            former = {one.name: one.max_score for one in grades if one.manual_score is not None or one.extra_credit}
        changed = {name: most for name, most in sorted(former.items()) if name in points and points[name] != most}
        if changed:
            names = ", ".join(f"{name} from {most:g} to {points[name]:g}" for name, most in changed.items())
            raise UsageError(
                f"the gradebook {about['db_url']} holds scores that people typed for cells whose points have changed: {names}; "
                "restore these points, or use a new gradebook"
            )
        return nb, resources
