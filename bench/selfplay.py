"""Measure self-play: `python bench/selfplay.py` prints evaluations, moves and games per second, and compares train.py's loop.

On each board, with newly initialised weights of the reference's network (of a residual one of `training/` in NoGo and Go):

    forward     only the network: the forward calls of the inference copy, with one state per concurrent game in the batch
    serial      train.py's way: one game, the reference's player, one position in each call (Gomoku alone)
    puct        training/: concurrent games, their leaves in one batch, every position through a random symmetry
    cached      the same with a cache of positions in front of the network
    gumbel      like puct, but with Gumbel search

`asked` counts the positions that the search requests, `evaluated` those that the network evaluates. `share` is the rate of
evaluations relative to the rate of the forward calls, measured before and after each run. Since a game on a large board takes
long, games per second are moves per second divided by the mean length of games, which is measured with the same search and an
uninformed evaluator.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from reference_package import reference_package

from arena.match.records import machine
from Board.game_board import Board
from common.program_ends import Parser
from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from games.protocol import GameRules
from training.inference.evaluators import InferenceNetwork, Library, PositionCache, RandomSymmetry, StateEvaluator
from training.inference.networks import new_model
from training.samples import FinishedGame, pack_states
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings

HEAD = " board blocks how      batch   asked/s evaluated/s  moves/s  games/s  share"


GAMES_FOR_LENGTH = 32
FILTERS = 64


@dataclass(frozen=True)
class Case:
    """One case to measure: a game, a network and a search.

    Attributes:
        rules: the game.
        blocks: the number of residual blocks of the network.
        games: the number of games side by side.
        playouts: the number of playouts per move.
        search_depth: Go only: the depth limit of the search, as in the preset.
    """

    rules: GameRules
    blocks: int
    games: int
    playouts: int
    search_depth: int = 0

    def searches(self) -> tuple[PuctSettings, GumbelSettings]:
        """Return the settings of both searches."""
        depth = self.search_depth
        return PuctSettings(self.playouts, search_depth=depth), GumbelSettings(self.playouts, search_depth=depth)


CASES = {
    "3x3": Case(GomokuRules(3, 3, 3), 1, games=256, playouts=25),
    "9x9": Case(GomokuRules(9, 9, 5), 6, games=128, playouts=64),
    "11x11": Case(GomokuRules(11, 11, 5), 19, games=64, playouts=32),
    "15x15": Case(GomokuRules(15, 15, 5), 6, games=64, playouts=32),
    "nogo_9": Case(NoGoRules(9, 9), 6, games=64, playouts=32),
    "go_9": Case(GoRules(9, 9, komi=7.0), 6, games=64, playouts=48, search_depth=160),
}


class Counted:
    """An evaluator that counts its states."""

    def __init__(self, evaluate: StateEvaluator) -> None:
        self.evaluate = evaluate
        self.states = 0

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.states += len(states)
        return self.evaluate(states)


class KnowsNothing:
    """Returns a uniform policy and the value of a draw."""

    def __init__(self, actions: int) -> None:
        self._actions = actions

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probs = np.full((len(states), self._actions), 1 / self._actions, dtype=np.float32)
        return probs, np.zeros(len(states), dtype=np.float32)


@dataclass(frozen=True)
class Stopwatch:
    """The duration of a measurement and the clock that measures it."""

    seconds: float
    clock: Callable[[], float]

    def repeat(self, act: Callable[[], Any], share: float = 1.0) -> tuple[int, float]:
        """Call `act` repeatedly until the time (or a share of it) is over; return (number of calls, their total seconds)."""
        times, start, took = 0, self.clock(), 0.0
        while took < self.seconds * share:
            act()
            times += 1
            took = self.clock() - start
        return times, took


def forward_rate(network: InferenceNetwork, states: np.ndarray, stopwatch: Stopwatch) -> float:
    """Return the states per second with nothing but forward calls."""
    forward = network.forward_call(states)
    forward()
    times, took = stopwatch.repeat(forward, share=0.25)
    return times * len(states) / took


def selfplay_settings(case: Case, search: PuctSettings | GumbelSettings) -> SelfPlaySettings:
    """Return the settings for the case's board and games with this search."""
    return SelfPlaySettings(case.rules, games=case.games, search=search)


def mean_length(case: Case, search: PuctSettings | GumbelSettings) -> float:
    """Return the mean number of moves in a game."""
    case = replace(case, games=min(case.games, GAMES_FOR_LENGTH))
    selfplay = SelfPlay(selfplay_settings(case, search), KnowsNothing(case.rules.actions), np.random.default_rng(1))
    lengths: list[int] = []
    while len(lengths) < 2 * case.games:
        lengths += [len(game.moves) for game in selfplay.step()]
    return float(np.mean(lengths))


def measure_serial(case: Case, network: Any, stopwatch: Stopwatch) -> tuple[float, float]:
    """Return (positions, moves) per second when games are played one after another, as in TrainPipeline."""
    from AlphaZero.mcts_alphaZero import MCTSPlayer

    asked = 0

    def policy_value_fn(board: Board, *handles: int) -> Any:
        nonlocal asked
        asked += 1
        return network.policy_value_fn_random(board, *handles)

    board = case.rules.position()
    player = MCTSPlayer(
        policy_value_fn, network.action_fc_test, network.evaluation_fc2_test, n_playout=case.playouts, is_selfplay=1
    )

    def move() -> None:
        board.do_move(player.get_action(board, is_selfplay=True)[0])
        if board.game_end()[0]:
            board.init_board()
            player.reset_player()

    moves, took = stopwatch.repeat(move)
    return asked / took, moves / took


def print_row(name: str, case: Case, how: str, batch: int, asked: float, evaluated: float, *rest: float) -> None:
    """Print a line of the table; `rest` is moves and games per second and the share, or nothing."""
    moves, games, share = (f"{number:.{digits}f}" for number, digits in zip(rest, (1, 2, 0), strict=True)) if rest else "---"
    row = f"{name:>6} {case.blocks:6} {how:8} {batch:5} {asked:9.0f} {evaluated:11.0f} {moves:>8} {games:>8}"
    print(row, f"{f'{share} %' if rest else share:>6}", flush=True)


def measure(name: str, case: Case, stopwatch: Stopwatch, seed: int, library: Library | None) -> None:
    """Measure one case and print its rows."""
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    torch.manual_seed(seed)
    np.random.seed(seed)
    rules, plays_gomoku = case.rules, isinstance(case.rules, GomokuRules)
    width, height = rules.width, rules.height
    network = PolicyValueNet(width, height, case.blocks) if plays_gomoku else None
    model = network.model if network else new_model("residual", rules, case.blocks, FILTERS)
    fast = InferenceNetwork(model, width, height, dtype=None, library=library, batch_size=case.games)
    puct, gumbel = case.searches()
    batch = np.random.default_rng(seed).integers(0, 2, (case.games, rules.planes, height, width)).astype(np.float32)
    limit = forward_rate(fast, batch, stopwatch)
    print(f"{name}: {case.playouts} playouts, {fast.description}")
    print_row(name, case, "forward", case.games, limit, limit)
    lengths = {search: mean_length(case, search) for search in (puct, gumbel)}
    if network:
        asked, moves = measure_serial(case, network, stopwatch)
        print_row(name, case, "serial", 1, asked, asked, moves, moves / lengths[puct], 100 * asked / limit)
    for how, search in (("puct", puct), ("cached", puct), ("gumbel", gumbel)):
        rng = np.random.default_rng(seed)
        behind: StateEvaluator = PositionCache(fast) if how == "cached" else fast
        counted = Counted(RandomSymmetry(behind, rules.symmetries, rng))
        selfplay = SelfPlay(selfplay_settings(case, search), counted, rng)
        selfplay.step()
        before = forward_rate(fast, batch, stopwatch)
        counted.states = fast.evaluations = selfplay.moves_played = 0
        _, took = stopwatch.repeat(selfplay.step)
        limit = (before + forward_rate(fast, batch, stopwatch)) / 2
        evaluated, moves = fast.evaluations / took, selfplay.moves_played / took
        share = 100 * evaluated / limit
        print_row(name, case, how, case.games, counted.states / took, evaluated, moves, moves / lengths[search], share)


def position_bytes(rules: GameRules) -> int:
    """Return the bytes of one position in the form stored for learning."""
    game = FinishedGame(
        moves=np.zeros(1, dtype=np.int16),
        plies=np.zeros(1, dtype=np.int16),
        states=pack_states(np.zeros((1, rules.planes, rules.height, rules.width), dtype=np.float32)),
        policies=np.zeros((1, rules.actions), dtype=np.float16),
        values=np.zeros(1, dtype=np.float16),
        winner=1,
    )
    return game.nbytes


def main() -> int:
    """Parse the command line and measure case after case."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--boards", nargs="+", choices=CASES, default=list(CASES), help="the cases to measure (default: all)")
    parser.add_argument("--seconds", type=float, default=20, help="seconds of each measurement (default 20)")
    parser.add_argument("--games", type=int, help="concurrent games (default: as in the case)")
    parser.add_argument("--playouts", type=int, help="playouts of each move (default: as in the case)")
    parser.add_argument(
        "--libraries",
        nargs="+",
        choices=get_args(Library),
        help="measure with each of these libraries (default: with the faster one of those installed)",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default 1)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU seconds instead of wall-clock time, for a busy machine"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.seconds > 0:
        parser.error(f"expected --seconds of more than 0; got {options.seconds}")
    for option in ("games", "playouts", "threads"):
        if (number := getattr(options, option)) is not None and number < 1:
            parser.error(f"expected --{option} of at least 1; got {number}")
    torch.set_num_threads(options.threads)
    stopwatch = Stopwatch(options.seconds, time.process_time if options.cpu_time else time.perf_counter)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    here = machine()
    print(f"{here['processor']}, {here['cores']} cores, {here['system']}, Python {here['python']}, numpy {np.__version__}")
    print(f"torch {torch.__version__} with {options.threads} threads, {device}, seed {options.seed}")
    print(f"Rates by {'CPU time' if options.cpu_time else 'the clock'}")
    with reference_package():
        print(HEAD)
        for name in options.boards:
            case = CASES[name]
            case = replace(case, games=options.games or case.games, playouts=options.playouts or case.playouts)
            for library in options.libraries or [None]:
                measure(name, case, stopwatch, options.seed, library)
    for name in options.boards:
        print(f"{name}: {position_bytes(CASES[name].rules)} MB per million positions as they are stored for learning")
    return 0


if __name__ == "__main__":
    sys.exit(main())
