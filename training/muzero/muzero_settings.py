"""Settings of MuZero runs, with presets. The command-line options are derived from the settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Literal

from common.errors import UsageError
from games.catalog import rules_of
from games.protocol import GameRules
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.presets import option

MAY_BE_ZERO = {
    *("seed", "blocks", "first_n_moves", "random_moves"),
    *("reanalysed_share", "consistency_weight", "reward_weight", "weight_decay"),
}


@dataclass(frozen=True)
class MuZeroConfig:
    """Settings of a MuZero run (docs/training.md, MuZero).

    Attributes:
        board_width, board_height: the board's size.
        n_in_row: Gomoku only: the length of a winning row.
        game: the game (`games/catalog.py`).
        komi: Go only: what white receives.
        filters: the number of planes of a latent state.
        blocks: the number of residual blocks of the representation, and of the dynamics.
        search: PUCT as in the paper, or Gumbel MuZero.
        playouts: the number of playouts per move in self-play and in reanalysis.
        considered: the number of moves that Gumbel search considers at the root.
        c_puct: the exploration constant of PUCT, for values in [0, 1]; the paper's c1.
        q_scale: how PUCT scales values; see `training/search/puct.py`.
        first_n_moves: the number of moves at the start of a self-play game that PUCT draws at temperature 1.
        random_moves: the most moves at the start of a self-play game that are drawn from all legal moves alike; each game draws
            its own number from 0 to this one. The model learns from the search of these positions all the same, and so sees
            how to answer moves that it would not play itself.
        games: the number of games in the whole run.
        games_per_round: the number of games played side by side before the model learns.
        buffer_games: the largest number of most recent games to learn from.
        window_share: the share of the run's games to learn from, always the most recent ones; at least `start_games` and at
            most `buffer_games` of them.
        start_games: the number of games before the first training step.
        batch_size: the number of samples per training step; a sample is a position and the steps after it.
        reuse: the average number of samples drawn for each new position.
        learning_rate: the initial learning rate; it falls linearly to a tenth over `games`.
        weight_decay: by which AdamW shrinks the weights at each step, relative to the learning rate.
        unroll_steps: K, the number of steps that the model is unrolled for.
        value_weight: the weight of the value's loss; the policy's is 1.
        reward_weight: the weight of the reward's loss. The search does not use rewards, since the values of finished games
            hold the results; 0 as in the paper, which learns no rewards in board games.
        consistency_weight: the weight of EfficientZero's consistency loss; 0 without it.
        reanalysed_share: the share of samples whose policy and value targets come from new searches with the latest model; the
            value targets of the last `unroll_steps` moves of a game are its result in these samples, too.
        check_every: the number of games between two counts of losing lines (tic-tac-toe only).
        seed: the seed of all random numbers.
    """

    board_width: int
    board_height: int
    n_in_row: int = 5
    game: Literal["gomoku", "nogo", "go"] = "gomoku"
    komi: float = 7.5
    filters: int = 32
    blocks: int = 2
    search: Literal["puct", "gumbel"] = "puct"
    playouts: int = 25
    considered: int = 16
    c_puct: float = 1.25
    q_scale: Literal["tree", "siblings"] = "tree"
    first_n_moves: int = 12
    random_moves: int = 0
    games: int = 5000
    games_per_round: int = 64
    buffer_games: int = 5000
    window_share: float = 0.4
    start_games: int = 128
    batch_size: int = 128
    reuse: float = 8.0
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    unroll_steps: int = 5
    value_weight: float = 1.0
    reward_weight: float = 1.0
    consistency_weight: float = 0.0
    reanalysed_share: float = 0.25
    check_every: int = 1000
    seed: int = 1

    def rules(self) -> GameRules:
        """Return the game; UsageError if there is none of this size."""
        return rules_of(self.game, self.board_width, self.board_height, n_in_row=self.n_in_row, komi=self.komi)

    def search_settings(self, playouts: int) -> PuctSettings | GumbelSettings:
        """Return the settings of a search with this number of playouts."""
        if self.search == "gumbel":
            return GumbelSettings(playouts, self.considered)
        return PuctSettings(playouts, self.c_puct, self.first_n_moves, q_scale=self.q_scale)

    def window(self, games: int) -> int:
        """Return how many of the latest games the model learns from when the run has so many."""
        return min(self.buffer_games, max(self.start_games, round(self.window_share * games)))

    @property
    def is_tictactoe(self) -> bool:
        """Whether every line of replies can be played."""
        return (self.game, self.board_width, self.board_height, self.n_in_row) == ("gomoku", 3, 3, 3)

    def check(self) -> None:
        """Raise UsageError if the settings cannot work."""
        for name, value in asdict(self).items():
            if isinstance(value, str) or name == "komi":
                continue
            least = 0 if name in MAY_BE_ZERO else 2 if name == "playouts" else 1
            if isinstance(value, float) and not (0 < value < inf or (value == 0 and least == 0)):
                wanted = f"{'of at least' if least == 0 else 'above'} 0{' and finite' if value > 0 else ''}"
                raise UsageError(f"expected {option(name)} {wanted}; got {value:g}")
            if isinstance(value, int) and value < least:
                raise UsageError(f"expected {option(name)} of at least {least}; got {value}")
        for name in ("reanalysed_share", "window_share"):
            if not (share := getattr(self, name)) <= 1:
                smallest = "from 0" if name in MAY_BE_ZERO else "above 0 and up"
                raise UsageError(f"expected {option(name)} {smallest} to 1; got {share:g}")
        if self.start_games > self.buffer_games:
            raise UsageError(f"expected --start-games of at most --buffer-games, {self.buffer_games}; got {self.start_games}")
        if self.games < self.start_games:
            raise UsageError(
                f"expected --games of at least --start-games, {self.start_games}, since a run with fewer never learns; "
                f"got {self.games}"
            )
        if self.game == "gomoku" and min(self.board_width, self.board_height) < self.n_in_row:
            raise UsageError(
                f"expected a board of at least {self.n_in_row} by {self.n_in_row} points for {self.n_in_row} in a row; "
                f"got {self.board_width} by {self.board_height}"
            )
        self.rules()


# The values of settings that a run does not record because it is older than they are.
MUZERO_DEFAULTS = {"window_share": 1.0}

# Every move of tic-tac-toe is drawn, so that the model sees the errors that it has to answer.
MUZERO_PRESETS = {
    "tictactoe": MuZeroConfig(
        3, 3, 3, first_n_moves=9, random_moves=4, considered=9, games=8192, buffer_games=2048, window_share=1.0,
        start_games=128, reuse=16, check_every=1024,
    ),
    "5x5x4": MuZeroConfig(
        5, 5, 4, filters=64, blocks=3, playouts=32, first_n_moves=8, games=6000, buffer_games=4000, check_every=2000,
    ),
}  # fmt: skip

# The files of a run depend on these settings, so they cannot change.
LASTING_OF_MUZERO = ("board_width", "board_height", "n_in_row", "game", "komi", "filters", "blocks", "games_per_round", "seed")
