"""Answers each question wrongly, after 24 of the 25 s that it may take by the clock."""

import time


class MCTS:
    def __init__(self, *_):
        self._root = None


class MCTSPlayer:
    def __init__(self, **_):
        time.sleep(24)
        self.mcts = MCTS()
