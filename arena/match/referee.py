"""One game under the rules of a match: asks the seats in turn, judges every answer, names the end.

A game that cannot be decided, because the machine was too busy to tell whether an answer would have been in time, is played
again from its first move with the same seed and opening, REPEATS times at most.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.protocols import open_engine
from arena.engine.stopwatch import Spent
from arena.match.rules import SIZE, SWAP, Action, IllegalAction, Position, Termination, to_line

REPEATS = 2
REFUSED_CAP = 200


@dataclass(frozen=True)
class GameRecord:
    """What happened in one game. Agents are 0 and 1 as given to the match; alone, agent 0 is black.

    Attributes:
        index: number of the game in its match, from 0.
        black: the agent that was told `0`.
        winner: agent, or None for a draw and for a game that could not be decided.
        faulty: the agent that lost by a fault, or None.
        detail: the fault, or why the game could not be decided, as a sentence, else empty.
        moves: all actions as (x, y), the swap as (-1, -1); black's first.
        move_s: wall-clock seconds each action took; the last one's too if it was a fault.
        move_cpu_s: the same in CPU seconds of all the engine's processes, zeros where the system does not tell.
        withheld_s: of each action's `move_s`, the seconds in which other programs had the core that the engine wanted.
        names: of the agents.
        seed: the game's seed.
        opening: black's first stone as it was offered to the engines, or None.
        size: of the board.
        repeats: how often the game had been begun before without coming to a decision.
        refused: the beginning of the answer that lost the game, which is no part of `moves`; empty if there was none.
    """

    index: int
    black: int
    winner: int | None
    termination: Termination
    faulty: int | None
    detail: str
    moves: tuple[Action, ...]
    move_s: tuple[float, ...]
    move_cpu_s: tuple[float, ...]
    withheld_s: tuple[float, ...]
    names: tuple[str, str]
    seed: int | None
    opening: Action | None
    size: int
    swapped: bool
    seconds: float
    repeats: int = 0
    refused: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether it counts: as a win, a loss or a draw."""
        return self.termination != Termination.UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GameRecord:
        """Raises TypeError, KeyError or ValueError for what is no record."""
        return cls(
            **{
                **data,
                "termination": Termination(data["termination"]),
                "moves": tuple((int(x), int(y)) for x, y in data["moves"]),
                "move_s": tuple(float(s) for s in data["move_s"]),
                "move_cpu_s": tuple(float(s) for s in data["move_cpu_s"]),
                "withheld_s": tuple(float(s) for s in data["withheld_s"]),
                "opening": None if data["opening"] is None else (int(data["opening"][0]), int(data["opening"][1])),
                "names": (str(data["names"][0]), str(data["names"][1])),
            }
        )


class SeatFault(Exception):
    """A game ended by what a seat did: a fault, or, with UNDECIDED, an answer that nobody can say was late."""

    def __init__(self, seat: int, termination: Termination, sentence: str, refused: str = "") -> None:
        super().__init__(sentence)
        self.seat, self.termination, self.refused = seat, termination, refused.strip()[:REFUSED_CAP]


def seat_seed(seed: int, seat: int) -> int:
    """A seat's GOMOKU_SEED, from which the other's cannot be told."""
    return random.Random(f"{seed}:{seat}").randrange(2**31)


def play_game(
    black: EngineSpec,
    white: EngineSpec,
    limits: Limits | None = None,
    *,
    seed: int | None = None,
    opening: Action | None = None,
    size: int = SIZE,
    index: int = 0,
    black_agent: int = 0,
    free_opening: bool = False,
    on_action: Callable[[Position, Action], None] | None = None,
    stopping: threading.Event | None = None,
) -> GameRecord:
    """Play one game between two engines, once more where it cannot be decided.

    Args:
        seed: each seat's GOMOKU_SEED is drawn from it, so that neither can tell the other's and foresee its choices.
        opening: black's first stone, offered to both; one that plays another plays on.
        size: of the board.
        index, black_agent: for the record: the game's number in a match, and which agent sits at black.
        free_opening: lets black's first stone lie anywhere.
        on_action: is shown the position after each action.
        stopping: when set, the game ends with MatchStopped and no record.
    """
    offers = [GameOffer(None if seed is None else seat_seed(seed, seat), opening, size) for seat in (0, 1)]
    for repeats in range(REPEATS + 1):
        engines = [open_engine(spec, limits or Limits(), o, stopping) for spec, o in zip((black, white), offers, strict=True)]
        position = Position(size=size, free_opening=free_opening)
        record = replace(_play(engines, position, seed, opening, index, black_agent, on_action), repeats=repeats)
        if record.is_decided:
            break
    return record


def _play(
    engines: list[EngineProcess],
    position: Position,
    seed: int | None,
    opening: Action | None,
    index: int,
    black_agent: int,
    on_action: Callable[[Position, Action], None] | None,
) -> GameRecord:
    """Play the game once, from this position."""
    started = time.monotonic()
    spent: list[Spent] = []
    winner, termination, faulty, detail, refused = None, Termination.DRAW, None, "", ""
    try:
        for seat, engine in enumerate(engines):
            try:
                engine.start(seat)
            except EngineFailure as failure:
                raise SeatFault(seat, failure.termination, str(failure)) from failure
        last: Action = SWAP
        while not position.is_over:
            seat = position.turn
            try:
                last = engines[seat].ask(last)
                position.play(last)
            except EngineFailure as fault:
                raise SeatFault(seat, fault.termination, str(fault), fault.answer) from fault
            except IllegalAction as fault:
                raise SeatFault(seat, fault.termination, str(fault), to_line(last)) from fault
            finally:
                spent.append(engines[seat].spent)
            if on_action is not None:
                on_action(position, last)
        if position.winner is not None:
            winner, termination = position.winner, Termination.FIVE
    except SeatFault as fault:
        termination, detail, refused = fault.termination, str(fault), fault.refused
        if termination == Termination.UNDECIDED:
            detail = f"{('black', 'white')[fault.seat]} {detail}"
        else:
            winner, faulty = 1 - fault.seat, fault.seat
    finally:
        for engine in engines:
            engine.close()

    def agent(seat: int | None) -> int | None:
        return None if seat is None else (seat if black_agent == 0 else 1 - seat)

    names = (engines[0].name, engines[1].name)
    return GameRecord(
        index=index,
        black=black_agent,
        winner=agent(winner),
        termination=termination,
        faulty=agent(faulty),
        detail=detail,
        moves=tuple(position.actions),
        move_s=tuple(round(s.wall_s, 4) for s in spent),
        move_cpu_s=tuple(round(s.cpu_s, 4) for s in spent),
        withheld_s=tuple(round(s.withheld_s, 4) for s in spent),
        names=names if black_agent == 0 else (names[1], names[0]),
        seed=seed,
        opening=opening,
        size=position.size,
        swapped=position.swapped,
        seconds=round(time.monotonic() - started, 3),
        refused=refused,
    )
