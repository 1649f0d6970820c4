"""A verdict's texts have a limit, whatever a submission makes of the names and lists that they quote."""

from types import SimpleNamespace

import pytest

from grader.errors import StudentFault
from grader.judge.conftest import MOST_CHARACTERS, _decide
from grader.judge.support.ruling import Ruling
from grader.pipeline.results import FAILED, PASSED

LONG = "x" * 20_000_000


@pytest.mark.parametrize("fault", [StudentFault(f"unknown {LONG}."), None], ids=["as a fault", "as what was seen"])
def test_a_text_of_any_length_is_cut_in_the_verdict(assignment, fault):
    check, ruling = assignment.check("network.layers"), Ruling(seen=LONG, message=LONG, expected=LONG)
    call = SimpleNamespace(excinfo=SimpleNamespace(value=fault) if fault else None)
    verdict = _decide(check, ruling, call, seconds=1.0)
    assert verdict.status == (FAILED if fault else PASSED)
    for text in (verdict.message, verdict.seen, verdict.expected):
        assert len(text) < MOST_CHARACTERS + 100 and text.endswith("more characters.")


def test_a_text_of_usual_length_stays_as_it_is(assignment):
    ruling = Ruling(seen="Three.", message="Two of three.", expected="Three of three.")
    verdict = _decide(assignment.check("network.layers"), ruling, SimpleNamespace(excinfo=None), seconds=1.0)
    assert (verdict.seen, verdict.message, verdict.expected) == ("Three.", "Two of three.", "Three of three.")
