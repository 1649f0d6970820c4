"""Tic-tac-toe from nothing: self-play with your search, reanalysis of old games, and learning.

    python -m labs.muzero.given.training --games 200 --seed 1

The board plays the games. The search sees its feature planes and its legal moves, and nothing else.
"""

from __future__ import annotations

if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the program at once: there is nothing to save

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from Board.game_board import Board
from labs.muzero.given.games import Batch, Game, Root

PLANES, SIDE = 9, 3
REPORT_EVERY = 20  # games


@dataclass(frozen=True)
class Settings:
    """The settings of a training.

    Attributes:
        games: games of self-play.
        simulations: for each move, in self-play and in reanalysis.
        random_share: the chance that a move of self-play is drawn from the legal moves instead of the search's visits.
        batches: batches of learning after each game.
        batch_size: positions in a batch.
        unroll_steps: K.
        reanalyse_every: after this many games, the oldest game that has not been searched again is.
        warm_up: games before learning begins.
    """

    games: int = 200
    simulations: int = 8
    random_share: float = 0.5
    batches: int = 6
    batch_size: int = 64
    unroll_steps: int = 3
    reanalyse_every: int = 4
    warm_up: int = 5
    learn_rate: float = 3e-3


def play_game(model: Any, settings: Settings, rng: np.random.Generator) -> Game:
    """Play one game of self-play."""
    from MuZero.search import search

    board = Board(width=SIDE, height=SIDE, n_in_row=SIDE)
    board.init_board(int(rng.integers(2)))
    planes, legal, moves, players, policies = [], [], [], [], []
    while not board.game_end()[0]:
        state = np.asarray(board.current_state(), dtype=np.float32)
        result = search(model, Root(state, board.availables), settings.simulations)
        visits = np.asarray(result.visits, dtype=np.float64)
        shares = visits / visits.sum()
        is_random = rng.random() < settings.random_share
        move = int(rng.choice(board.availables)) if is_random else int(rng.choice(SIDE * SIDE, p=shares))
        planes.append(state)
        legal.append(np.isin(np.arange(SIDE * SIDE), board.availables))
        moves.append(move)
        players.append(board.get_current_player())
        policies.append(shares.astype(np.float32))
        board.do_move(move)
    winner = board.game_end()[1]
    return Game(np.stack(planes), np.stack(legal), np.array(moves), np.array(players), winner, np.stack(policies))


def sample_batch(games: list[Game], settings: Settings, rng: np.random.Generator) -> Batch:
    """Draw positions from all games, and make their targets."""
    from MuZero.targets import make_targets

    chosen = [games[int(number)] for number in rng.integers(len(games), size=settings.batch_size)]
    starts = [int(rng.integers(len(game.moves))) for game in chosen]
    targets = [make_targets(game, t, settings.unroll_steps, rng) for game, t in zip(chosen, starts, strict=True)]
    return Batch.of([game.planes[t] for game, t in zip(chosen, starts, strict=True)], targets)


def train(settings: Settings, seed: int, *, aloud: bool = False) -> Any:
    """Train a new model of tic-tac-toe and return it.

    Args:
        aloud: print the mean loss from time to time.
    """
    from MuZero.loss import unrolled_loss
    from MuZero.model import Model
    from MuZero.reanalysis import reanalyse

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Model(PLANES, SIDE, SIDE)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.learn_rate, weight_decay=1e-4)
    games: list[Game] = []
    losses: list[float] = []
    searched_again = 0
    for number in range(1, settings.games + 1):
        games.append(play_game(model, settings, rng))
        if number > settings.warm_up and number % settings.reanalyse_every == 0:
            games[searched_again] = reanalyse(games[searched_again], model, settings.simulations)
            searched_again += 1
        for _ in range(settings.batches if number > settings.warm_up else 0):
            loss = unrolled_loss(model, sample_batch(games, settings, rng))
            model.zero_grad()
            loss.total.backward()
            optimiser.step()
            losses.append(float(loss.total.detach()))
        if aloud and losses and number % REPORT_EVERY == 0:
            print(f"{number} games, loss {np.mean(losses[-100:]):.3f}")
    return model


def main() -> None:
    """Train, and print the mean loss every few games."""
    parser = argparse.ArgumentParser(description="Train your MuZero on tic-tac-toe.")
    parser.add_argument("--games", type=int, default=Settings.games)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.games < 1:
        parser.error(f"expected at least 1 game; got --games {options.games}")
    if options.seed < 0:
        parser.error(f"expected a seed of at least 0; got --seed {options.seed}")
    train(Settings(games=options.games), options.seed, aloud=True)


if __name__ == "__main__":
    main()
