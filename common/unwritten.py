"""Find the file that the student should write next; train.py and human_play.py name it when they are started too early."""

import os
import re

STUBS_IN_ORDER = ("AlphaZero/mcts_pure.py", "AlphaZero/policy_value_net_torch.py", "AlphaZero/mcts_alphaZero.py")
# The error that a stub raises; it names the file, the method and the section of the handout.
REMINDER = re.compile(r'raise NotImplementedError\("[^":]+: (?P<method>[^":]+): see handout section (?P<section>[\d.]+)"\)')


def first_unwritten(error):
    """Return one sentence, without the full stop, about the first stub in the handout's order that is not filled in.

    Args:
        error: the NotImplementedError that was raised by that stub or a later one.
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
