"""Measure what the referee costs: `python bench/match_overhead.py` prints microseconds per move, games per second and ratios.

Random engines (Minimax/sample.cpp) play each other on one core. They answer at once, so the referee takes nearly all the time.
The following referees play the same games, move by move (the run stops if they ever differ):

  arena           the arena as matches use it: engines stopped while idle, CPU clock, rules, deadlines, whole trees ended
  arena, bare     the same without stopping, resuming and CPU clock, to show what these cost
  windows         a plain referee: subprocess.Popen, lines of text, and after each move a check of every five points of a numpy
                  board in all four directions, each of them a numpy slice; no clock, no deadline
  shifts          the same, but the whole board is checked by a few shifted products, as an experienced numpy user would do it
  pipes           only the moves, over the same pipes, without any checks: no referee can be faster than this

Each round contains all referees, in a rotating order. Figures are medians over rounds with the 95 % interval of the median
(order statistics); ratios are computed round by round. CPU time is that of the referee and the engines, including their start
and end. Unlike the wall clock, it is hardly affected by other programs on the core.
"""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import median
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from arena.engine import engine_process as engine
from arena.engine.cores import one_core
from arena.engine.engine_process import EngineSpec, GameOffer, Limits
from arena.engine.process import ProcessTree
from arena.match.records import machine
from arena.match.referee import play_game, seat_seed
from arena.match.setup import GameTask, MatchSetup
from arena.rules import SIZE, SWAP, Action, Position
from common.program_ends import Parser

SAMPLE = Path(__file__).resolve().parent.parent / "build" / "engines" / "sample"
AIM_US, AIM_RATIO = 1000, 10
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


# ------------------------------------------------------------------------------------------------- plain referees


def five_by_windows(board: np.ndarray) -> bool:
    """Return whether there are five stones of one colour (1 or -1) in a row on a board [15, 15]."""
    for x in range(SIZE):
        for y in range(SIZE):
            square = board[x : x + 5, y : y + 5]
            lines = [board[x : x + 5, y], board[x, y : y + 5], square.diagonal(), square[:, ::-1].diagonal()]
            if any(line.size == 5 and abs(line.sum()) == 5 for line in lines):
                return True
    return False


def five_by_shifts(board: np.ndarray) -> bool:
    """Return the same as `five_by_windows`, computed for all points at once."""
    for colour in (1, -1):
        own = board == colour
        for dx, dy in DIRECTIONS:
            width = SIZE - 4 * dx
            low, high = (4, SIZE) if dy < 0 else (0, SIZE - 4 * dy)
            five = np.ones((width, high - low), dtype=bool)
            for i in range(5):
                five &= own[i * dx : i * dx + width, low + i * dy : high + i * dy]
            if five.any():
                return True
    return False


@dataclass
class Game:
    """The moves of a game, and four times in seconds: start, after the first and the last move, after all engines ended."""

    moves: list[Action]
    times: tuple[float, float, float, float]


class PlainEngine:
    """A program with two text pipes and nothing else."""

    def __init__(self, path: str, side: int, seed: int) -> None:
        self.popen = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=GameOffer(seed).environment()
        )
        self.name = self._ask(str(side))

    def _ask(self, line: str) -> str:
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        return self.popen.stdout.readline().strip()

    def move(self, last: Action) -> Action:
        x, y = self._ask(f"{last[0]} {last[1]}").split()
        return int(x), int(y)

    def end(self) -> None:
        self.popen.kill()
        self.popen.communicate()


def play_plain(path: str, seed: int, has_five: Callable[[np.ndarray], bool] | None, plies: int) -> Game:
    """Play one game with a plain referee; without `has_five`, play `plies` moves that are not checked."""
    started = first = time.perf_counter()
    engines = [PlainEngine(path, side, seat_seed(seed, side)) for side in (0, 1)]
    board = np.zeros((SIZE, SIZE), dtype=int)
    moves: list[Action] = []
    last, over = SWAP, False
    while not over:
        side = len(moves) % 2
        last = engines[side].move(last)
        moves.append(last)
        if has_five is None:
            over = len(moves) == plies
        elif last == SWAP:
            board *= -1
        else:
            if board[last] != 0:
                raise AssertionError(f"{path} played {last} twice")
            board[last] = 1 if side == 0 else -1
            over = has_five(board) or bool((board != 0).all())
        if len(moves) == 1:
            first = time.perf_counter()
    ended = time.perf_counter()
    for program in engines:
        program.end()
    return Game(moves, (started, first, ended, time.perf_counter()))


# ------------------------------------------------------------------------------------------------------ the arena


class BareTree(ProcessTree):
    """A program that keeps running while it is idle, and whose CPU time is not read."""

    def stop(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def cpu_s(self) -> float:
        return 0.0


def play_arena(path: str, seed: int) -> Game:
    """Play one game with the arena's referee."""
    shown: list[float] = []

    def on_action(position: Position, action: Action) -> None:
        shown.append(time.perf_counter())

    task = GameTask(EngineSpec(path), EngineSpec(path), Limits(memory_mib=4096), seed=seed)
    started = time.perf_counter()
    record = play_game(task, on_action=on_action)
    if record.faulty is not None:
        raise AssertionError(f"{path} lost by a fault: {record.detail}")
    return Game(list(record.moves), (started, shown[0], shown[-1], time.perf_counter()))


def play_bare(path: str, seed: int) -> Game:
    """Play one game with the arena's referee, without the work for its clock."""
    with mock.patch.object(engine, "ProcessTree", BareTree):
        return play_arena(path, seed)


# ---------------------------------------------------------------------------------------------------- measurement


@dataclass(frozen=True)
class Block:
    """The time that one referee took for some games; each figure is a mean per game or move.

    Attributes:
        start_ms: milliseconds from the start of a game to its first move.
        end_ms: milliseconds from the last move until all engines have ended.
        move_us: wall-clock microseconds of each move in between.
        wall_s: wall-clock seconds of a game.
        own_s, engines_s: CPU seconds of a game, used by the referee and by the engines.
    """

    start_ms: float
    move_us: float
    end_ms: float
    wall_s: float
    own_s: float
    engines_s: float

    @property
    def cpu_s(self) -> float:
        """The total CPU seconds of a game."""
        return self.own_s + self.engines_s


def children_cpu_s() -> float:
    """Return the CPU seconds of all processes that this one started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def block(play: Callable[[int], Game], seeds: Sequence[int], expected: dict[int, list[Action]]) -> Block:
    """Play a game with each seed and return the times; the moves must be those recorded in `expected`, if there are any."""
    own, engines, games = time.process_time(), children_cpu_s(), []
    for seed in seeds:
        games.append(play(seed))
        if games[-1].moves != expected.setdefault(seed, games[-1].moves):
            raise AssertionError(f"the referees played different games with seed {seed}")
    count = len(games)
    own, engines = time.process_time() - own, children_cpu_s() - engines
    moved = sum(game.times[2] - game.times[1] for game in games)
    return Block(
        start_ms=sum(game.times[1] - game.times[0] for game in games) / count * 1e3,
        move_us=moved / sum(len(game.moves) - 1 for game in games) * 1e6,
        end_ms=sum(game.times[3] - game.times[2] for game in games) / count * 1e3,
        wall_s=sum(game.times[3] - game.times[0] for game in games) / count,
        own_s=own / count,
        engines_s=engines / count,
    )


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median and the order statistics that enclose it with at least 95 % confidence (the extremes if too few)."""
    ordered, n = sorted(values), len(values)
    rank = 0
    while rank + 1 <= (n - 1) // 2 and sum(comb(n, i) for i in range(rank + 1)) / 2**n <= 0.025:
        rank += 1
    low = max(0, rank - 1)
    return median(ordered), ordered[low], ordered[n - 1 - low]


def with_interval(values: Sequence[float], form: str = ".1f") -> str:
    """`median [low, high]`."""
    mid, low, high = middle(values)
    return f"{mid:{form}} [{low:{form}}, {high:{form}}]"


def report(rounds: Sequence[dict[str, Block]]) -> None:
    """Print a row for each referee, then the overhead and the two ratios with their aims."""
    print(f"\n{'':12} {'move us':>26} {'start ms':>9} {'end ms':>7} {'games/s':>22} {'CPU ms/game':>12} {'games/CPU s':>22}")
    for name in rounds[0]:
        rows = [blocks[name] for blocks in rounds]
        print(
            f"{name:12} {with_interval([r.move_us for r in rows], '.0f'):>26} {median(r.start_ms for r in rows):9.2f} "
            f"{median(r.end_ms for r in rows):7.2f} {with_interval([1 / r.wall_s for r in rows]):>22} "
            f"{median(r.cpu_s for r in rows) * 1e3:12.2f} {with_interval([1 / r.cpu_s for r in rows]):>22}"
        )
    over = [blocks["arena"].move_us - blocks["pipes"].move_us for blocks in rounds]
    print(f"\noverhead per move, arena - pipes: {with_interval(over, '.0f')} us (aim: at most {AIM_US})")
    for other in ("windows", "shifts"):
        wall = [blocks[other].wall_s / blocks["arena"].wall_s for blocks in rounds]
        cpu = [blocks[other].cpu_s / blocks["arena"].cpu_s for blocks in rounds]
        print(
            f"games per second, arena / {other}: {with_interval(wall)} by the wall clock, "
            f"{with_interval(cpu)} by CPU time (aim: {AIM_RATIO})"
        )


def main() -> int:
    """Play all rounds and print the table."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds; each contains all referees (default 15)")
    parser.add_argument("--games", type=int, default=5, help="number of games of each referee in a round (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the games (default 1)")
    parser.add_argument("--program", default=str(SAMPLE), help="a fast engine that follows GOMOKU_SEED (default the sample)")
    options = parser.parse_args()
    for name in ("rounds", "games"):
        if getattr(options, name) < 1:
            parser.error(f"expected --{name} of at least 1; got {getattr(options, name)}")
    path = options.program
    if not Path(path).exists():
        print(f"expected an engine at {path}; nothing is there (make engines builds it)", file=sys.stderr)
        return 2
    spec = EngineSpec(path)
    setup = MatchSetup((spec, spec), options.rounds * options.games, options.seed)
    seeds = [setup.game_seed(index) for index in range(setup.plays)]
    moves: dict[int, list[Action]] = {}
    referees: dict[str, Callable[[int], Game]] = {
        "arena": lambda seed: play_arena(path, seed),
        "arena, bare": lambda seed: play_bare(path, seed),
        "windows": lambda seed: play_plain(path, seed, five_by_windows, 0),
        "shifts": lambda seed: play_plain(path, seed, five_by_shifts, 0),
        "pipes": lambda seed: play_plain(path, seed, None, len(moves[seed])),
    }
    here = machine()
    print(f"{here['processor']}, {here['cores']} cores, {platform.system()}, Python {here['python']}, numpy {np.__version__}")
    rounds = []
    with one_core() as core:  # for this program and all engines
        where = "on a core that other games use" if core is None else f"on core {core} alone"
        print(f"seed {options.seed}, {options.rounds} rounds of {options.games} games, {where}, {path}")
        for seed in seeds:  # not timed; this determines the games and loads everything into memory
            moves[seed] = play_arena(path, seed).moves
        for number in range(options.rounds):
            own = seeds[number * options.games : (number + 1) * options.games]
            names = list(referees)
            turned = names[number % len(names) :] + names[: number % len(names)]
            blocks = {name: block(referees[name], own, moves) for name in turned}
            rounds.append({name: blocks[name] for name in names})
    print(f"{sum(map(len, moves.values())) / len(moves):.1f} moves per game")
    report(rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
