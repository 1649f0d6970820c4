"""What two gradings of one submission must agree on, however busy the machine was."""

import json
import re

PASSING = r"\b\d+ s\b| Other programs withheld [^.]*\."  # how long something took, and what other programs took meanwhile


def outcomes(folder):
    """Check -> status, points and message without what passes, from the results.json of a run's folder."""
    checks = json.loads((folder / "results.json").read_text(encoding="utf-8"))["checks"]
    return {c["id"]: (c["status"], c["points"], re.sub(PASSING, "", c["message"])) for c in checks}
