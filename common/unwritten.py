"""Find the file that the student should write next; train.py and human_play.py report it if they are started too early."""

import os
import re

STUBS_IN_ORDER = ("AlphaZero/mcts_pure.py", "AlphaZero/policy_value_net_torch.py", "AlphaZero/mcts_alphaZero.py")
# The exception that a stub raises; its message names the file, the method and the handout section.
REMINDER = re.compile(r'raise NotImplementedError\("[^":]+: (?P<method>[^":]+): see handout section (?P<section>[\d.]+)"\)')


def first_unwritten(error):
    """Return one sentence (without a full stop) about the first unwritten stub, in the order of the handout.

    Args:
        error: the NotImplementedError raised by a stub; used if no unwritten stub is found in these files.
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
