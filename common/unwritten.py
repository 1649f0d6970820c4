"""Which of the student's files is to be written next, as train.py and human_play.py tell whoever starts them too early."""

import os
import re

STUBS_IN_ORDER = ("AlphaZero/mcts_pure.py", "AlphaZero/policy_value_net_torch.py", "AlphaZero/mcts_alphaZero.py")
# What a stub raises: its file, the method and the section of the handout.
REMINDER = re.compile(r'raise NotImplementedError\("[^":]+: (?P<method>[^":]+): see handout section (?P<section>[\d.]+)"\)')


def first_unwritten(error):
    """One sentence (without its full stop) on the first stub that is not filled in, in the order of the handout.

    Args:
        error: the NotImplementedError that a stub raised, of this file or of a later one.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in STUBS_IN_ORDER:
        try:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                reminder = REMINDER.search(file.read())
        except FileNotFoundError:
            return f"{path} is missing; unpack the assignment again"
        if reminder:
            where = f"docs/handout.md, section {reminder['section']}"
            return f"{path} comes first and is not written yet: {reminder['method']}; see {where}"
    return f"not written yet: {error}"
