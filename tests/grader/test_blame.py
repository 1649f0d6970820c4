"""What the exception of a submission says."""

import pytest

from grader.confinement.blame import describe


def test_null_bytes_in_a_source_are_told_with_what_to_do(tmp_path):
    with pytest.raises((ValueError, SyntaxError)) as raised:
        compile("x\0 = 1", "AlphaZero/mcts_pure.py", "exec")
    assert describe(raised.value, tmp_path)["message"].endswith("null bytes (save the file as UTF-8)")
