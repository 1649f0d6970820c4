"""How fast this machine is, measured by the CPU time of a fixed search.

The baseline searches to a fixed depth, so with the same seed and the same replies it does the same work everywhere. One of its
games was recorded together with the CPU time it took on a reference machine. To time this machine, the baseline plays the
beginning of that game again. Its answers are a signature: if they differ, this is not the engine that was recorded.

Cores that are busy at the same time share caches, memory and, where two of them are threads of one core, the core itself. A
machine is therefore timed with as many engines at once as the work to come will use.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.process import has_cpu_clock
from arena.match.records import machine
from arena.match.referee import play_game
from arena.match.setup import GameTask
from arena.rules import OPEN
from common.errors import UsageError
from common.interrupts import each_in_threads

RECORD = Path(__file__).with_name("reference_speed.json")
SEED = 1
ANSWERS = 8  # how many answers are timed; they take about two seconds
ROUNDS = 3


@dataclass(frozen=True)
class Speed:
    """CPU seconds for the recorded work here and on the reference machine; `factor` is above 1 if this machine is faster."""

    cpu_s: float
    recorded_s: float

    @property
    def factor(self) -> float:
        return self.recorded_s / self.cpu_s


def _work(engine: EngineSpec, game: list[list[int]]) -> float:
    """Return the CPU seconds that the engine, as black, needs for its first answers in the game."""
    actions = [(x, y) for x, y in game]
    with EngineProcess(engine, Limits(move_s=60), GameOffer(seed=2 * SEED)) as process:
        process.start(0)
        used, last = 0.0, OPEN
        for index in range(0, 2 * ANSWERS, 2):
            answer = process.ask(last)
            used += process.spent.cpu_s
            if answer != actions[index]:
                raise UsageError(
                    f"expected the baseline that the reference figure was recorded with, which answers {actions[index]} at "
                    f"ply {index + 1}; {engine.path} answered {answer}: run python -m arena calibrate --record"
                )
            last = actions[index + 1]
    return used


def _fastest(engine: EngineSpec, game: list[list[int]]) -> float:
    """Return the CPU seconds of the fastest of three rounds."""
    try:
        return min(_work(engine, game) for _ in range(ROUNDS))
    except EngineFailure as failure:
        raise UsageError(f"expected {engine.path} to play the recorded game; it {failure}") from failure


def _require_cpu_clock() -> None:
    if not has_cpu_clock():
        raise UsageError("expected a system that shows the CPU time of other programs, such as Linux; this one does not")


def measure(engine: EngineSpec, at_once: int = 1) -> Speed:
    """Time the recorded work.

    Args:
        engine: the baseline.
        at_once: how many engines work side by side, one on each core; the CPU seconds are their mean.

    Raises:
        UsageError: this is not the engine that was recorded, or the system does not show the CPU time of other programs.
    """
    _require_cpu_clock()
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    with closing(each_in_threads(lambda _: _fastest(engine, record["game"]), range(at_once), at_once, lambda: None)) as rounds:
        cpu_s = mean(ended.result() for ended in list(rounds))
    return Speed(cpu_s, record["cpu_s"])


def record(engine: EngineSpec) -> Speed:
    """Make this machine the reference machine by recording a game of this engine against itself.

    Raises:
        UsageError: the game is too short, the system does not show the CPU time of other programs, or the record cannot be
            written.
    """
    _require_cpu_clock()
    if not os.access(RECORD if RECORD.exists() else RECORD.parent, os.W_OK):
        raise UsageError(f"expected a file that may be written at {RECORD}; it may not")
    game = play_game(GameTask(engine, engine, Limits(move_s=60), seed=SEED))
    moves = [list(move) for move in game.moves]
    if len(moves) < 2 * ANSWERS:
        ending = f"{game.termination.value} {game.detail}".strip()
        raise UsageError(f"expected a game of at least {2 * ANSWERS} plies to record; after {len(moves)} it ended by {ending}")
    cpu_s = _fastest(engine, moves)
    data = {"cpu_s": round(cpu_s, 3), "machine": machine(), "game": moves[: 2 * ANSWERS]}
    RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return Speed(cpu_s, cpu_s)
