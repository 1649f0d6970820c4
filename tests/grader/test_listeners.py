"""The lines on the screen while a submission is graded."""

from grader.pipeline.listeners import Lines
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, Verdict


def lines_for(*outcomes):
    """The lines that are shown for checks with these (status, message)."""
    lines = []
    listener = Lines(lines.append)
    for number, (status, message) in enumerate(outcomes, 1):
        listener.decided(number, len(outcomes), Verdict(f"part.{number}", status, 0.0, 1.0, message, "4.1"))
    return lines


def test_one_reason_for_several_checks_is_shown_once_and_counted():
    lines = lines_for(*[(COULD_NOT_GRADE, "Nothing of a/.")] * 3, *[(COULD_NOT_GRADE, "Nothing of b/.")] * 2)
    first, same_as_first, second, same_as_second = lines
    assert first.endswith("Nothing of a/.") and same_as_first == "The same for 2 more checks."
    assert second.startswith("[ 4/5] part.4") and same_as_second == "The same for 1 more check."


def test_checks_that_were_graded_each_have_a_line():
    assert len(lines_for(*[(FAILED, "Not written yet.")] * 3, (COULD_NOT_GRADE, "Lost."), (FAILED, "Not written yet."))) == 5
