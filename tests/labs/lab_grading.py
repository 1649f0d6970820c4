"""What a lab's checks make of the reference with other files laid over it."""

from dataclasses import replace

from grader.assignment import ROOT
from grader.assignment_file import load_named
from grader.confinement.sandbox import find_sandbox
from grader.instructor import trust

PATHS = {
    "nogo": {"board": "NoGo/board.py", "search": "AlphaZero/mcts_alphaZero.py"},
    "go": {"board": "Go/board.py", "search": "AlphaZero/mcts_alphaZero.py"},
}


def reference(lab, name):
    """The text of the reference's board or search."""
    return (ROOT / "labs" / lab / "reference" / PATHS[lab][name]).read_text(encoding="utf-8")


def edited(text, *edits):
    """A text in which each old part, which occurs once, is replaced by a new one."""
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def graded(tmp_path, lab="nogo", part="", **files):
    """The checks of a lab that the reference with other files loses, each with its message; only those of a part, if given."""
    content = {PATHS[lab][name]: text.encode() for name, text in files.items()}
    sample = trust.Sample(kind="mutants", name="a-lie", why="It lies.", files=content)
    assignment = load_named(lab)
    assignment = replace(assignment, checks=tuple(check for check in assignment.checks if check.id.startswith(part)))
    return trust.run_sample(sample, tmp_path, find_sandbox(), seed=1, assignment=assignment).failed
