"""Messages of submissions, quoted on a page for everybody: nothing that leads to a student stays."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment_file import load_assignment
from grader.instructor.returning.anonymous import GAP, LONGEST_EXAMPLE, Anonymiser, pattern_of

ANONYMISER = Anonymiser(load_assignment(), ["s4711", "Grace", "Black", "Ng", "20240815", "team_xylophone"])


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("The root has 3 visits. It should have 4.", "The root has 3 visits."),
        ("Grace plays black at (3, 4).", f"{GAP} plays {GAP} at (3, 4)."),
        ("The engine of 20240815 and 99999999 moves.", f"The engine of {GAP} and {GAP} moves."),
        ("Minimax/xylophone_ng.cpp does not compile.", f"Minimax/{GAP}.cpp does not compile."),
        ("The engine \x1b[31m\u202emoves\nat (1, 2).", "The engine  [31m moves at (1, 2)."),
    ],
)
def test_words_that_the_grader_does_not_use_become_gaps(message, sentence):
    assert ANONYMISER.sentence(message) == sentence


def test_messages_that_differ_only_in_numbers_have_one_pattern():
    messages = ("At (3, 4) it played 7, -1.", "At (10, 0) it played 12, 5, 8.")
    assert len({pattern_of(message) for message in messages}) == 1
    assert pattern_of("3 of 8 games") != pattern_of("3 of 8 moves")


NAMES = ("Grace", "s4711", "team_xylophone", "BLACK", "伟")


@given(
    st.text(alphabet=string.printable + "伟王ëß…", max_size=300),
    st.sampled_from(NAMES),
)
def test_no_private_word_survives_whatever_surrounds_it(text, name):
    sentence = ANONYMISER.sentence(f"{text} {name} {text}")
    assert name.casefold() not in sentence.casefold() and len(sentence) <= LONGEST_EXAMPLE + 2
