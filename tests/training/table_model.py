"""A model made of random tables, which a search takes in place of a network or of a learnt model."""

import numpy as np

from training.search.steps import Expansion, Steps

STATES, ACTIONS = 4000, 7


class Tables:
    """A model: state and action -> state; a policy and a value for each state."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.following = rng.integers(STATES, size=(STATES, ACTIONS))
        self.logits = rng.normal(size=(STATES, ACTIONS)).astype(np.float32)
        self.values = rng.uniform(-1, 1, size=STATES).astype(np.float32)
        self.probs = np.exp(self.logits) / np.exp(self.logits).sum(axis=1, keepdims=True)

    def new_steps(self):
        return TableSteps(self)


class Roots:
    """The positions at the roots: game g begins in state g."""

    def __init__(self, legal):
        self.legal, self.length = legal, np.zeros(len(legal), dtype=int)

    def __len__(self):
        return len(self.legal)


class TableSteps(Steps):
    keeps_trees = False

    def __init__(self, tables):
        self.tables = tables

    def begin(self, boards, rows):
        self.legal = boards.legal
        self.states = np.zeros(rows, dtype=int)

    def at_roots(self, games, rows):
        self.states[rows] = games
        legal = self.legal[games]
        probs = np.where(legal, self.tables.probs[games], 0)
        probs /= probs.sum(axis=1, keepdims=True)
        return Expansion(self.tables.values[games], np.zeros(len(rows), dtype=bool), probs, legal)

    def behind_edges(self, games, rows, ways):
        states = self.tables.following[self.states[ways.parents], ways.moves]
        self.states[rows] = states
        return Expansion(self.tables.values[states], np.zeros(len(rows), dtype=bool), self.tables.probs[states])
