"""Lines of tic-tac-toe, by which a training is judged, and what a model has learnt along them."""

from __future__ import annotations

from random import Random

import numpy as np

from Board.game_board import Board
from labs.support.cases import Case

STARTS, STEPS = 400, 3
NOBODY = -1


def draw_lines(rng: Random) -> Case:
    """Draw positions of random games with the moves after them, which may lead beyond the end.

    Returns:
        planes [N, 9, 3, 3], actions [N, K], legal [N, K + 1, 9], going_on [N, K + 1] and wins [N, K], whether an action wins.
    """
    rows = [_line(rng) for _ in range(STARTS)]
    planes, actions, legal, going_on, wins = (np.stack(column) for column in zip(*rows, strict=True))
    return {"planes": planes, "actions": actions, "legal": legal, "going_on": going_on, "wins": wins}


def _line(rng: Random) -> tuple[np.ndarray, ...]:
    """Return planes, actions [K], legal moves [K + 1, 9], whether the game goes on [K + 1], whether each action wins [K]."""
    states: list[np.ndarray] = []
    legal: list[np.ndarray] = []
    moves: list[int] = []
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board(rng.randrange(2))
    while not board.game_end()[0]:
        states.append(np.asarray(board.current_state(), dtype=np.float32))
        legal.append(np.isin(np.arange(9), board.availables))
        moves.append(rng.choice(board.availables))
        board.do_move(moves[-1])
    winner, length = board.game_end()[1], len(moves)
    start, nothing = rng.randrange(length), np.zeros(9, dtype=bool)
    plies = range(start, start + STEPS + 1)
    actions = [moves[ply] if ply < length else rng.randrange(9) for ply in plies[:-1]]
    wins = [ply == length - 1 and winner != NOBODY for ply in plies[:-1]]
    return (
        states[start],
        np.array(actions),
        np.stack([legal[ply] if ply < length else nothing for ply in plies]),
        np.array([ply < length for ply in plies]),
        np.array(wins),
    )


def legal_share(logits: np.ndarray, lines: Case) -> np.ndarray:
    """Return the mean probability that the policy gives to legal moves at each step, [K + 1]; logits are [K + 1, N, A]."""
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    probs = (weights / weights.sum(axis=2, keepdims=True)).transpose(1, 0, 2)
    on_legal = (probs * lines["legal"]).sum(axis=2)
    return np.array([on_legal[lines["going_on"][:, k], k].mean() for k in range(STEPS + 1)])


def reward_gap(rewards: np.ndarray, lines: Case) -> float:
    """Return the mean predicted reward of actions that win minus that of all others; rewards are [K, N]."""
    wins = lines["wins"].T
    return float(rewards[wins].mean() - rewards[~wins].mean())
