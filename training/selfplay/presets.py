"""Settings of self-play runs, with presets for several boards. The command-line options are derived from the settings."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, asdict, dataclass, fields, replace
from math import inf, isfinite
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_type_hints

import numpy as np

from common.errors import UsageError
from games.catalog import rules_of
from games.protocol import GameRules
from training.inference.evaluators import PlayerBackend, library_of
from training.inference.int8_conversion import expect_nncf
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.balanced_openings import OpeningSettings
from training.selfplay.game_stream import SelfPlaySettings


class RunSettings(Protocol):
    """The settings of a run, a frozen dataclass of numbers, switches and words."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None:
        """Raise UsageError if the settings cannot work."""


AnyRunSettings = TypeVar("AnyRunSettings", bound=RunSettings)


# The smallest values of whole numbers that may be other than 1, and the ranges of shares and values.
LEAST = {
    "seed": 0, "search_depth": 0, "cooling_moves": 0, "opening_stones": 0, "playouts": 2, "fast_playouts": 2,
    "match_playouts": 2, "mcts_playouts": 2,
}  # fmt: skip
RANGES = {
    "full_share": (0.0, 1.0), "opening_value": (0.0, 1.0), "empty_board_share": (0.0, 1.0), "root_value_weight": (0.0, 1.0),
    "play_on_share": (0.0, 1.0), "resign_below": (-1.0, 0.0), "forced_playouts_k": (0.0, 100.0),
    "cpu_minutes": (0.0, inf), "window_share": (0.0, 1.0),
}  # fmt: skip


@dataclass(frozen=True)
class RunConfig:
    """Settings of a self-play run (docs/training.md, Self-play runs).

    Attributes:
        board_width, board_height: the board's size.
        n_in_row: Gomoku only: the length of a winning row.
        blocks: the number of residual blocks in the network; the plain network has none.
        game: the game (`games/catalog.py`).
        network: the course's network, which plays only Gomoku, or one of `training/inference/networks.py`.
        filters: the number of filters of the residual blocks.
        komi: Go only: what white receives.
        search_depth: Go only: the depth limit of searches that play on after two passes (`games/go/position.py`); 0 for
            searches whose games end with two passes.
        search: the search that chooses moves, in self-play and in matches.
        playouts: the number of playouts per move in self-play.
        considered: the number of moves that Gumbel search considers at the root.
        c_puct: the exploration constant of PUCT.
        first_n_moves: the number of moves at the start of a self-play game that PUCT draws at temperature 1.
        cooling_moves: the number of moves after these over which PUCT lets the temperature fall to 0.
        forced_playouts_k: PUCT only: k of KataGo's forced playouts, for which it has 2; 0 to force none.
        sharpened_targets: PUCT only: whether the policy learns the distribution that each move was drawn from, rather than the
            visit shares.
        full_share: playouts capped at random: the share of moves that are searched with `playouts` and learnt from.
        fast_playouts: the number of playouts of the other moves, without noise.
        opening_stones: a game of self-play begins with 1 to this many random moves; 0 for games from the empty board alone.
        opening_value: these moves are drawn again until the network's value lies between -opening_value and opening_value.
        empty_board_share: the share of games that begin on the empty board all the same.
        resign_below: a side resigns if its search gives it a lower value; at -1 nobody resigns.
        play_on_share: the share of games in which nobody may resign. The games among them that the side that would have
            resigned did not lose are counted in elo.csv.
        games_at_once: the number of games that each worker plays side by side.
        games: the number of games in the whole run.
        cpu_minutes: the CPU time after which the run ends even if it has fewer games; 0 for no such end. It counts the games of
            self-play, the training steps and the matches of the gate, in all processes and over all starts of the run.
        buffer_positions: the largest number of most recent positions to learn from.
        window_share: the share of the run's positions to learn from, always the most recent ones; at least `start_positions`
            and at most `buffer_positions` of them. With 1, a run that has not filled its buffer yet draws its first positions
            far more often than its last ones.
        start_positions: the number of positions to collect before the first training step.
        batch_size: the number of samples per training step.
        reuse: the average number of samples drawn for each new position.
        root_value_weight: w; the value learns (1 - w) z + w q, where z is the game's result and q the search's value.
        learning_rate: the initial learning rate; it falls linearly to a tenth over `games` or, if they end the run first, over
            `cpu_minutes`.
        gate: whether self-play only changes to networks that beat the best one so far; otherwise it always uses the latest.
        gate_games: the largest number of games in such a match.
        gate_score: the score rate above which a network is accepted if the sequential test has not decided the match.
        check_every: the number of self-play games between two evaluations.
        rating_games: the number of games that the latest network plays in each evaluation against pure MCTS, and against the
            best network or, without a gate, the network evaluated before it. The ratings come from these matches.
        mcts_playouts: the number of playouts per move of pure MCTS.
        match_playouts: the number of playouts per move of the networks in matches.
        save_every_s: seconds between two checkpoints.
        backend: what computes the networks that play: torch, openvino, or the faster one of them (auto). With int8, OpenVINO
            computes the convolutions of self-play in 8-bit integers, and those of the evaluations as with openvino.
        seed: the seed of all random numbers.
        structured_start: whether new weights let the residual blocks change nothing yet, and the course's policy treat all
            points alike (`training.inference.networks.structured_model`), in place of ordinary random weights.
        init_model: weights to start from, without their idle blocks if they have more blocks than `blocks`; an empty string
            for new weights.
    """

    board_width: int
    board_height: int
    n_in_row: int = 5
    blocks: int = 6
    game: Literal["gomoku", "nogo", "go"] = "gomoku"
    network: Literal["course", "plain", "residual", "pooled"] = "course"
    filters: int = 64
    komi: float = 7.5
    search_depth: int = 0
    search: Literal["gumbel", "puct"] = "gumbel"
    playouts: int = 32
    considered: int = 16
    c_puct: float = 5.0
    first_n_moves: int = 12
    cooling_moves: int = 0
    forced_playouts_k: float = 0.0
    sharpened_targets: bool = False
    full_share: float = 1.0
    fast_playouts: int = 8
    opening_stones: int = 0
    opening_value: float = 0.3
    empty_board_share: float = 0.25
    resign_below: float = -1.0
    play_on_share: float = 0.1
    games_at_once: int = 64
    games: int = 5000
    cpu_minutes: float = 0.0
    buffer_positions: int = 100_000
    window_share: float = 0.4
    start_positions: int = 2000
    batch_size: int = 256
    reuse: float = 6.0
    root_value_weight: float = 0.0
    learning_rate: float = 1e-3
    gate: bool = False
    gate_games: int = 400
    gate_score: float = 0.55
    check_every: int = 1000
    rating_games: int = 40
    mcts_playouts: int = 1000
    match_playouts: int = 32
    save_every_s: float = 60.0
    backend: PlayerBackend = "auto"
    seed: int = 1
    structured_start: bool = False
    init_model: str = ""

    def rules(self) -> GameRules:
        """Return the game; UsageError if there is none of this size."""
        return rules_of(self.game, self.board_width, self.board_height, n_in_row=self.n_in_row, komi=self.komi)

    def search_settings(self, playouts: int) -> PuctSettings | GumbelSettings:
        """Return the settings of a search with this number of playouts."""
        if self.search == "gumbel":
            return GumbelSettings(playouts, self.considered, self.search_depth)
        return PuctSettings(
            playouts,
            self.c_puct,
            self.first_n_moves,
            self.cooling_moves,
            search_depth=self.search_depth,
            forced_playouts_k=self.forced_playouts_k,
            sharpened_targets=self.sharpened_targets,
        )

    def window(self, positions: int) -> int:
        """Return how many of the latest positions the network learns from when the run has so many."""
        return min(self.buffer_positions, max(self.start_positions, round(self.window_share * positions)))

    @property
    def publish_steps(self) -> int:
        """Without a gate, workers get a new network after this many training steps: later if it must be quantised first."""
        return 128 if self.backend == "int8" else 32

    def selfplay_settings(self) -> SelfPlaySettings:
        """Return the settings of a worker."""
        openings = OpeningSettings(self.opening_stones, self.opening_value, self.empty_board_share)
        return SelfPlaySettings(
            self.rules(),
            self.games_at_once,
            self.search_settings(self.playouts),
            self.resign_below if self.resign_below > -1 else None,
            self.play_on_share,
            openings if self.opening_stones else None,
            self.full_share,
            self.fast_playouts,
        )

    def check(self) -> None:
        """Raise UsageError if the settings cannot work."""
        for name, value in asdict(self).items():
            least = LEAST.get(name, 1)
            if isinstance(value, bool | str) or name == "komi":
                continue
            if name in RANGES:
                low, high = RANGES[name]
                if not low <= value <= high:
                    wanted = f"from {low:g} to {high:g}" if isfinite(high) else f"of at least {low:g}"
                    raise UsageError(f"expected {option(name)} {wanted}; got {value:g}")
            elif isinstance(value, float):
                if not 0 < value < inf:
                    raise UsageError(f"expected {option(name)} above 0{' and finite' if value > 0 else ''}; got {value:g}")
            elif value < least:
                raise UsageError(f"expected {option(name)} of at least {least}; got {value}")
            elif name in ("gate_games", "rating_games") and value % 2:
                raise UsageError(f"expected an even {option(name)}, since openings are played with both colours; got {value}")
        if not 0.5 < self.gate_score < 0.75:
            raise UsageError(f"expected --gate-score above 0.5 and below 0.75; got {self.gate_score:g}")
        if self.network == "course" and self.game != "gomoku":
            raise UsageError(
                f"expected --network plain, residual or pooled for {self.game}; the course's network plays only Gomoku"
            )
        if self.forced_playouts_k and self.search == "gumbel":
            raise UsageError("expected --search puct with --forced-playouts-k; got gumbel, which has no noise")
        if self.sharpened_targets and self.search == "gumbel":
            raise UsageError("expected --search puct with --sharpened-targets; got gumbel, which learns from no visits")
        if self.search_depth == 1:
            raise UsageError("expected --search-depth 0, or at least 2; got 1")
        if self.game == "gomoku" and min(self.board_width, self.board_height) < self.n_in_row:
            raise UsageError(
                f"expected a board of at least {self.n_in_row} by {self.n_in_row} points for {self.n_in_row} in a row; "
                f"got {self.board_width} by {self.board_height}"
            )
        if self.backend == "int8":
            expect_nncf()
        library_of(self.backend)
        if not self.full_share > 0:
            raise UsageError("expected --full-share above 0, since the network learns only from these moves; got 0")
        if self.full_share < 1 and self.fast_playouts >= self.playouts:
            raise UsageError(f"expected --fast-playouts below --playouts, {self.playouts}; got {self.fast_playouts}")
        self.rules().draw_opening(self.opening_stones, np.random.default_rng(0))  # refuses too many stones
        if self.start_positions > self.buffer_positions:
            raise UsageError(
                f"expected --start-positions of at most --buffer-positions, {self.buffer_positions}; got {self.start_positions}"
            )
        if (most := self.games * self.rules().longest_game) < self.start_positions:
            raise UsageError(
                f"expected --games for at least --start-positions, {self.start_positions}, since a run with fewer never "
                f"learns; {self.games} games have at most {most}"
            )


# The values of settings that a run does not record because it is older than they are.
DEFAULTS = {field.name: field.default for field in fields(RunConfig) if field.default is not MISSING} | {"window_share": 1.0}

RUN_PRESETS = {
    "tictactoe": RunConfig(
        3, 3, 3, 1, playouts=16, considered=9, first_n_moves=4, games_at_once=32, games=1500, buffer_positions=5000,
        window_share=1.0, start_positions=500, batch_size=64, reuse=20, check_every=250, mcts_playouts=100, match_playouts=16,
    ),
    "5x5x4": RunConfig(
        5, 5, 4, 3, playouts=24, first_n_moves=6, games=6000, buffer_positions=50_000, batch_size=128, check_every=1000,
    ),
    "6x6x4": RunConfig(6, 6, 4, 4, first_n_moves=8, games=10_000, check_every=2000),
    "9x9x5": RunConfig(
        9, 9, 5, 6, games=50_000, buffer_positions=500_000, start_positions=10_000, check_every=5000, structured_start=True,
    ),
    "gomoku_11": RunConfig(
        11, 11, 5, 19, games=100_000, buffer_positions=1_000_000, start_positions=20_000, check_every=5000, save_every_s=180,
        structured_start=True,
    ),
    "gomoku_15": RunConfig(
        15, 15, 5, 19, games=100_000, buffer_positions=1_000_000, start_positions=20_000, check_every=5000, save_every_s=180,
        structured_start=True,
    ),
    # As the course's document has it; its buffer of 500000 samples holds 62500 positions in eight symmetries each.
    "gomoku_11_paper": RunConfig(
        11, 11, 5, 19, search="puct", playouts=400, match_playouts=400, first_n_moves=12, games=100_000,
        buffer_positions=62_500, window_share=1.0, start_positions=2000, batch_size=512, learning_rate=1e-3, gate=True,
        gate_games=400, gate_score=0.55, check_every=1000, save_every_s=180,
    ),
    # As a document on small boards has it: 50 rounds of 5 games. What it does not say is ours.
    "gomoku_9_small": RunConfig(
        9, 9, 5, network="plain", search="puct", playouts=100, match_playouts=100, games_at_once=5, games=250,
        buffer_positions=10_000, window_share=1.0, start_positions=200, batch_size=64, reuse=10, check_every=50,
        rating_games=10, mcts_playouts=100,
    ),
    # As a paper on NoGo has it: a plain network, many playouts, every network has to pass the gate.
    "nogo_9_plain": RunConfig(
        9, 9, game="nogo", network="plain", search="puct", playouts=1600, match_playouts=1600, first_n_moves=30,
        cooling_moves=20, games=20_000, buffer_positions=500_000, window_share=1.0, start_positions=10_000, check_every=1000,
        gate=True, gate_games=100,
    ),
    "nogo_9": RunConfig(
        9, 9, game="nogo", network="pooled", games=50_000, buffer_positions=500_000, start_positions=10_000,
        check_every=2500,
    ),
    "nogo_5": RunConfig(
        5, 5, game="nogo", network="residual", blocks=2, filters=32, playouts=16, games=1500, games_at_once=32,
        buffer_positions=20_000, start_positions=1000, batch_size=128, check_every=500, mcts_playouts=100, match_playouts=16,
    ),
    "go_5": RunConfig(
        5, 5, game="go", network="residual", blocks=3, komi=24.5, search_depth=60, games=10_000, buffer_positions=100_000,
        check_every=1000, mcts_playouts=400,
    ),
    "go_7": RunConfig(
        7, 7, game="go", network="residual", blocks=4, komi=9.0, search_depth=100, games=20_000, buffer_positions=300_000,
        check_every=2000, mcts_playouts=400,
    ),
    "go_9": RunConfig(
        9, 9, game="go", network="residual", komi=7.0, search_depth=160, playouts=48, games=50_000,
        buffer_positions=1_000_000, start_positions=20_000, check_every=2500, mcts_playouts=400,
    ),
}  # fmt: skip

# The files of a run depend on these settings, so they cannot change.
LASTING = (
    "board_width", "board_height", "n_in_row", "blocks", "game", "network", "filters", "komi", "buffer_positions",
    "mcts_playouts", "seed", "structured_start", "init_model",
)  # fmt: skip


def option(name: str) -> str:
    """Return the command-line option of a setting."""
    return "--" + name.replace("_", "-")


def add_options(parser: argparse.ArgumentParser, kind_of_run: type[RunSettings] = RunConfig) -> None:
    """Add an option for each setting; an option that is not given does not appear in the namespace."""
    path = kind_of_run.__module__.replace(".", "/") + ".py"
    group = parser.add_argument_group(f"settings (default: the preset's; see {kind_of_run.__name__} in {path})")
    hints = get_type_hints(kind_of_run)
    for field in fields(kind_of_run):
        kind = hints[field.name]
        more: dict[str, Any] = {"type": kind, "metavar": {int: "N", float: "X"}.get(kind, "FILE")}
        if kind is bool:
            more = {"action": argparse.BooleanOptionalAction}
        elif get_args(kind):
            more = {"choices": get_args(kind)}
        group.add_argument(option(field.name), default=argparse.SUPPRESS, **more)


def changed(config: AnyRunSettings, options: argparse.Namespace) -> AnyRunSettings:
    """Return the settings, overridden by those given on the command line.

    Raises:
        UsageError: the resulting settings cannot work.
    """
    given = {field.name: getattr(options, field.name) for field in fields(config) if hasattr(options, field.name)}
    config = replace(config, **given)
    config.check()
    return config
