"""The priors of a root's moves: those in a student's tree, and those of the hash evaluator, without noise."""

from __future__ import annotations

import numpy as np

from Board.game_board import Board
from grader.errors import StudentFault
from grader.judge.support.searches import hash_evaluation
from grader.judge.support.trees import Tree, expect_no_child_taken_out

NOISE_SHARE = 0.25  # of Dirichlet noise, in self-play
SAME_PRIORS = 1e-4  # priors are copied; the probability that noise changes all of twenty priors by less is below 1e-30


def clean_priors(board: Board, seed: int) -> np.ndarray:
    """Return the hash evaluator's priors of the legal moves, in ascending order of moves."""
    return hash_evaluation(board, seed)[0]


def root_priors(tree: Tree, board: Board) -> np.ndarray:
    """Return the root's priors in ascending order of moves; raise StudentFault unless its children are the legal moves."""
    priors, legal = tree.root_priors, board.availables
    if set(priors) != set(legal):
        expect_no_child_taken_out(priors, legal)
        raise StudentFault("The root's children should be exactly the legal moves.")
    return np.array([priors[move] for move in legal])


def by_move(board: Board, priors: np.ndarray) -> dict[int, float]:
    """Return move -> prior of the legal moves."""
    return dict(zip(board.availables, priors.tolist(), strict=True))


def are_same(priors: np.ndarray, clean: np.ndarray) -> bool:
    """Return whether two arrays of priors differ by no more than rounding."""
    return bool(np.abs(priors - clean).max() < SAME_PRIORS)
