"""One game under the rules of a match: asks the seats in turn, judges every answer, names the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from Minimax.arena.engine import EngineFailure, EngineSpec, GameOffer, Limits, Spent
from Minimax.arena.protocols import open_engine
from Minimax.arena.rules import SIZE, SWAP, Action, IllegalAction, Position, Termination


@dataclass(frozen=True)
class GameRecord:
    """What happened in one game. Agents are 0 and 1 as given to the match; alone, agent 0 is black.

    Attributes:
        index: number of the game in its match, from 0.
        black: the agent that was told `0`.
        winner: agent, or None for a draw.
        faulty: the agent that lost by a fault, or None.
        detail: the fault as a sentence, else empty.
        moves: all actions as (x, y), the swap as (-1, -1); black's first.
        move_s: wall-clock seconds each action took; the last one's too if it was a fault.
        move_cpu_s: the same in CPU seconds of all the engine's processes, zeros where the system does not tell.
        names: of the agents.
        seed: the game's seed.
        opening: black's first stone as it was offered to the engines, or None.
        size: of the board.
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
    names: tuple[str, str]
    seed: int | None
    opening: Action | None
    size: int
    swapped: bool
    seconds: float

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
                "opening": None if data["opening"] is None else (int(data["opening"][0]), int(data["opening"][1])),
                "names": (str(data["names"][0]), str(data["names"][1])),
            }
        )


class SeatFault(Exception):
    """A seat lost by a fault."""

    def __init__(self, seat: int, termination: Termination, sentence: str) -> None:
        super().__init__(sentence)
        self.seat, self.termination = seat, termination


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
    on_action: Callable[[Position, Action], None] | None = None,
    stopping: threading.Event | None = None,
) -> GameRecord:
    """Play one game between two engines.

    Args:
        seed: each seat's GOMOKU_SEED is drawn from it, so that neither can tell the other's and foresee its choices.
        opening: black's first stone, offered to both; one that plays another plays on.
        size: of the board.
        index, black_agent: for the record: the game's number in a match, and which agent sits at black.
        on_action: is shown the position after each action.
        stopping: when set, the game ends with MatchStopped and no record.
    """
    started = time.monotonic()
    position = Position(size=size)
    spent: list[Spent] = []
    offers = [GameOffer(None if seed is None else seat_seed(seed, seat), opening, size) for seat in (0, 1)]
    winner, termination, faulty, detail = None, Termination.DRAW, None, ""
    limits = limits or Limits()
    engines = [open_engine(spec, limits, offer, stopping) for spec, offer in zip((black, white), offers, strict=True)]
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
            except (EngineFailure, IllegalAction) as fault:
                raise SeatFault(seat, fault.termination, str(fault)) from fault
            finally:
                spent.append(engines[seat].spent)
            if on_action is not None:
                on_action(position, last)
        if position.winner is not None:
            winner, termination = position.winner, Termination.FIVE
    except SeatFault as fault:
        winner, termination, faulty, detail = 1 - fault.seat, fault.termination, fault.seat, str(fault)
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
        names=names if black_agent == 0 else (names[1], names[0]),
        seed=seed,
        opening=opening,
        size=size,
        swapped=position.swapped,
        seconds=round(time.monotonic() - started, 3),
    )
