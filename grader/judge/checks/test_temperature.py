"""Part 2, AlphaZero MCTS in self-play: the temperature of the draw (handout 5.4).

The draw is random, so it is tested statistically, by the moves played in many games. The visits are read from the tree, which
the other checks of 5.4 test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest

from Board.game_board import Board
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.board_position import EMPTY_3X3, BoardPosition, board_at, drawn_at
from grader.judge.support.drawn_positions import random_position, tictactoe_after
from grader.judge.support.draws import log_improbability, log_improbability_of_count
from grader.judge.support.root_priors import NOISE_SHARE, are_same, clean_priors, root_priors
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, expect_most_visited, place_for_move, player_under
from grader.judge.support.trees import Tree, most_visited

FIRST_N_MOVES = 4
GAMES = 40
KEPT_GAMES = 20  # games of one player, with reset_player between them, as in training
# The bound for each series of draws. Ten are tested, so a correct solution is accused in fewer than 2 in 10^7 runs.
LEAST_LOG_CHANCE = -18.5  # log(1e-8)
POSITIONS_IN_PLAY = 12
SAME_SHARES = 0.02


@pytest.mark.points("mcts_alphazero.temperature")
def test_temperature(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check the draw by the moves that are played, and `probs` by what the network may learn from.

    Accepts:
        Self-play returns the shares of the visits at every move (reference, search-published-layout)
        Self-play returns the distribution that the move was drawn from (search-fresh-tree-in-play, search-recursive)
        Play returns the distribution of the draw, or the shares of the visits (reference, search-shares-in-play)
        The most visited move is drawn at temperature 1e-3, or taken (reference, search-shares-in-play)
        Noise is mixed in at the draw, which costs a share of the points in the noise check (search-noise-at-the-draw)
        is_selfplay is compared with True, or taken for its truth (search-takes-moves-back, reference)
    """
    ruling.expected = (
        f"In self-play the first first_n_moves ({FIRST_N_MOVES}) moves are drawn in proportion to the visits, later moves are "
        "the most visited ones, and probs are the shares of the visits. In play the move is the most visited one. Taken "
        "points have probability 0."
    )
    _expect_most_visited_in_play(worker, ruling, rng)
    series = _series_of_draws(worker, ruling, rng)
    try:
        _expect_draws(series)
    except StudentFault as fault:  # each new player may begin with the same random numbers
        series = _series_of_draws(worker, ruling, rng, kept=True)
        try:
            _expect_draws(series)
        except StudentFault:
            raise fault from None
    else:
        _expect_draws_in_later_games(worker, ruling, rng)
    early, late = (list(chain(*part)) for part in (series[:FIRST_N_MOVES], series[FIRST_N_MOVES:]))
    top = sum(draw.is_most_visited for draw in early)
    ruling.seen = (
        f"In {GAMES} games of self-play the most visited move was played {top} times in {len(early)} draws among the first "
        f"{FIRST_N_MOVES} moves, and {sum(draw.is_most_visited for draw in late)} times in {len(late)} draws after that."
    )


def _expect_draws_in_later_games(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Raise StudentFault unless one player draws its moves in the same way in each of several games, as in training.

    If a later game fails, the player may have kept a tree, which costs points in mcts_alphazero.reuse.
    """
    try:
        series = _series_of_draws(worker, ruling, rng, KEPT_GAMES, kept=True)
    except StudentFault:
        return
    try:
        _expect_draws(series)
    except StudentFault as fault:
        raise StudentFault(
            f"{fault} One player played these games, with reset_player between them; with a new player for each game, the "
            "moves were right. What a player remembers of a game must not affect the next one.",
            fault.boards,
        ) from fault


def _series_of_draws(worker: Worker, ruling: Ruling, rng: Random, games: int = GAMES, **more: Any) -> list[list[Draw]]:
    """Return for each of the first plies the draws of all games; a series of later plies may be shorter."""
    series: list[list[Draw]] = [[] for _ in range(FIRST_N_MOVES + 2)]
    for _ in range(games):
        for draws, draw in zip(series, _drawn_moves(worker, ruling, rng, len(series), **more), strict=False):
            draws.append(draw)
    ruling.expect(len(series[0]) == games, "In self-play no move was made.")
    return series


def _expect_draws(series: list[list[Draw]]) -> None:
    """Raise StudentFault unless the moves were drawn, and probs returned, as the handout says."""
    noise_at_the_draw = all(draw.clean_priors for draws in series for draw in draws)
    for ply, draws in enumerate(series):
        _expect_probs(draws, ply)
    for ply in range(FIRST_N_MOVES):
        _expect_drawn_by_visits(series[ply], f"At move {ply + 1} of self-play", noise_at_the_draw)
    early, late = (list(chain(*part)) for part in (series[:FIRST_N_MOVES], series[FIRST_N_MOVES:]))
    _expect_drawn_by_visits(early, f"In the first {FIRST_N_MOVES} moves of self-play", noise_at_the_draw)
    _expect_most_visited_later(late, noise_at_the_draw)


def _drawn_moves(worker: Worker, ruling: Ruling, rng: Random, plies: int, **more: Any) -> list[Draw]:
    """Return the first moves of a game of self-play, or moves of new players in positions with as many stones.

    New players are used if a kept tree does not belong to the position; that fault costs points in mcts_alphazero.reuse.
    With kept=True, one player makes the moves of all games.
    """
    seed = rng.randrange(2**31)
    settings = {"n_playout": 30, "first_n_moves": FIRST_N_MOVES, "own": ("move",), **player_under(seed), **more}
    try:
        steps = call(worker, "self_play", position=EMPTY_3X3, plies=plies, **settings)
        ruling.evidence.setdefault("self_play", []).append({"seed": seed, "moves": [step["move"] for step in steps]})
        boards = [board_at(EMPTY_3X3, [before["move"] for before in steps[:ply]]) for ply in range(len(steps))]
        return [Draw.from_step(step, board, seed) for step, board in zip(steps, boards, strict=True)]
    except StudentFault:
        positions = [tictactoe_after(rng, ply) for ply in range(plies)]
        ruling.evidence.setdefault("positions", []).append({"seed": seed, "moves": [list(each.moves) for each in positions]})
        steps = [call(worker, "search", position=position, is_selfplay=1, **settings) for position in positions]
        return [Draw.from_step(step, board_at(position), seed) for step, position in zip(steps, positions, strict=True)]


@dataclass(frozen=True)
class Draw:
    """One move of self-play on 3x3.

    Attributes:
        position: where it was made.
        visits: the visits of the root's children, by move.
        shares: [9], each move's share of the visits.
        probs: [9], the probabilities that get_action returned.
        clean_priors: whether the root's priors are the evaluator's, without noise.
    """

    move: int
    position: BoardPosition
    visits: dict[int, float]
    shares: np.ndarray
    probs: np.ndarray
    clean_priors: bool

    @classmethod
    def from_step(cls, step: dict[str, Any], board: Board, seed: int) -> Draw:
        """Read a worker's reply; raise StudentFault if probs are not a distribution over the empty points."""
        _expect_distribution(step["probs"], 9, list(board.states))
        tree = Tree.from_reply(step["tree"])
        visits = tree.root_visits
        shares = np.array([visits.get(move, 0.0) for move in range(9)]) / max(1.0, sum(visits.values()))
        clean = are_same(root_priors(tree, board), clean_priors(board, seed))
        if step["move"] not in visits:
            raise StudentFault(f"get_action returned move {step['move']}, which is not a child of the root.")
        position = replace(EMPTY_3X3, moves=tuple(board.states))
        return cls(step["move"], position, visits, shares, np.asarray(step["probs"]), clean)

    def compared(self) -> list[dict[str, Any]]:
        """Return the shares of the visits and the probabilities, for a report."""
        return self.position.compared("probs", dict(enumerate(self.shares)), dict(enumerate(self.probs)))

    @property
    def is_most_visited(self) -> bool:
        return self.move in most_visited(self.visits)

    def chances(self, noise: bool) -> np.ndarray:
        """Return the probability [9] of each move at temperature 1, with or without noise."""
        if not noise:
            return self.shares
        even = np.array([1.0 if move in self.visits else 0.0 for move in range(9)]) / len(self.visits)
        return (1 - NOISE_SHARE) * self.shares + NOISE_SHARE * even


def _expect_probs(draws: list[Draw], ply: int) -> None:
    """Raise StudentFault unless probs are the shares of the visits or, in later moves, 1 on the most visited move."""
    for draw in draws:
        if np.abs(draw.probs - draw.shares).max() <= SAME_SHARES:
            continue
        if ply < FIRST_N_MOVES:
            message = f"At move {ply + 1} of self-play (temperature 1) probs are not the shares of the visits."
            raise StudentFault(message, draw.compared())
        if not _on_most_visited(draw.probs, draw.visits):
            raise StudentFault(
                f"At move {ply + 1} of self-play (after {FIRST_N_MOVES} moves) probs are neither the shares of the visits nor, "
                "as at temperature 1e-3, 1 on the most visited move.",
                draw.compared(),
            )


def _expect_drawn_by_visits(draws: list[Draw], where: str, noise_at_the_draw: bool) -> None:
    """Raise StudentFault if the most visited move is played too rarely or too often, or the moves do not follow the visits."""
    moves = [draw.move for draw in draws]
    ways = (False, True) if noise_at_the_draw else (False,)
    if max(log_improbability([draw.chances(noise) for draw in draws], moves) for noise in ways) >= LEAST_LOG_CHANCE:
        return
    top = sum(draw.is_most_visited for draw in draws)
    expected = sum(float(draw.shares[list(most_visited(draw.visits))].sum()) for draw in draws)
    raise StudentFault(
        f"{where} (temperature 1) the move should be drawn in proportion to the visits. In {len(draws)} draws it was the most "
        f"visited one {top} times; expected about {expected:.0f}."
    )


def _expect_most_visited_later(draws: list[Draw], noise_at_the_draw: bool) -> None:
    others = sum(not draw.is_most_visited for draw in draws)
    by_noise = noise_at_the_draw and log_improbability_of_count(others, len(draws), NOISE_SHARE) >= LEAST_LOG_CHANCE
    if others and not by_noise:
        raise StudentFault(
            f"After the first {FIRST_N_MOVES} moves of self-play (temperature 1e-3) the most visited move should be played; in "
            f"{others} of {len(draws)} draws another move was played."
        )


def _expect_most_visited_in_play(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Raise StudentFault for another move in any of several positions; in a single one, a random draw might hit by luck."""
    for _ in range(POSITIONS_IN_PLAY):
        position, seed = random_position(rng, 5, 4, 4, 3), rng.randrange(2**31)
        ruling.evidence.setdefault("in_play", []).append({**position.to_json(), "seed": seed})
        try:
            reply = call(worker, "search", position=position, n_playout=150, own=("move",), **player_under(seed))
        except StudentFault as fault:
            if "NaN" not in str(fault):
                raise
            raise StudentFault(f"{fault} The exponential of a large number overflows: log(visits) / 1e-3 is large.") from None
        tree = Tree.from_reply(reply["tree"])
        visits, probs = tree.root_visits, reply["probs"]
        with drawn_at(position, "The search began here"):
            _expect_distribution(probs, 20, position.moves)
        message = "In play (temperature 1e-3) the move should be the most visited one; another one was played."
        expect_most_visited(reply["move"], tree, position, message)
        shares = np.array([visits.get(move, 0.0) for move in range(20)]) / max(1.0, sum(visits.values()))
        if not _on_most_visited(probs, visits) and np.abs(probs - shares).max() > SAME_SHARES:
            raise StudentFault(
                "In play (temperature 1e-3) probs should be 1 on the most visited move."
                + place_for_move(int(np.argmax(probs)), visits),
                position.compared("probs", dict.fromkeys(most_visited(visits), 1.0), dict(enumerate(probs))),
            )


def _expect_distribution(probs: Any, points: int, taken: Sequence[int]) -> None:
    if probs is None or np.asarray(probs).shape != (points,):
        raise StudentFault(f"get_action should return probs of length width * height = {points}.")
    probs = np.asarray(probs, dtype=float)
    if not np.all(np.isfinite(probs)) or probs.min() < -1e-9 or abs(probs.sum() - 1) > 1e-3:
        raise StudentFault("The probs of get_action should be a distribution: no negative entries, and a sum of 1.")
    if any(probs[move] > 1e-9 for move in taken):
        raise StudentFault("The probs of get_action should be 0 on taken points.")


def _on_most_visited(probs: np.ndarray, visits: dict[int, float]) -> bool:
    return float(probs[[move for move in most_visited(visits) if 0 <= move < len(probs)]].sum()) > 0.99
