"""What happened in one game, and how a game ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arena.engine.stopwatch import Spent
from arena.match.board_game import BoardGame
from arena.match.setup import GameTask
from arena.rules import Action, Termination

REFUSED_CAP = 200


@dataclass(frozen=True)
class GameRecord:
    """What happened in one game. Agents are numbered 0 and 1 as in the match; in a single game, agent 0 is black.

    Attributes:
        index: number of the game in its match, from 0.
        black: the agent that played black, which received `0` as its side.
        winner: the agent that won, or None for a draw or an undecided game.
        termination: why the game ended.
        faulty: the agent that lost by a fault, or None.
        detail: a description of the fault, or of why the game could not be decided; otherwise empty.
        moves: all actions as (x, y), with the swap as (-1, -1), starting with black's first stone.
        move_s: wall-clock seconds of each action, including one that was a fault; zeros for those that were imposed.
        move_cpu_s: CPU seconds of each action, over all processes of the engine; zeros if the system does not report CPU time.
        withheld_s: for each action, the part of `move_s` in which the engine wanted a core that other programs had.
        names: the names by which the agents introduced themselves.
        seed: the game's seed.
        opening: the first stone that was offered to the engines, or None.
        size: rows and columns of the board.
        swapped: whether white swapped.
        seconds: wall-clock seconds of the whole game.
        repeats: how many earlier attempts at this game could not be decided.
        refused: the beginning of the answer that lost the game, which is not part of `moves`; otherwise empty.
        game: the game of games/ that was played, in which (-1, -1) in `moves` is a pass; None for Gomoku.
        imposed: how many of the first moves neither player chose.
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
    game: BoardGame | None = None
    imposed: int = 0

    @property
    def is_decided(self) -> bool:
        """Whether the game counts as a win, a loss or a draw."""
        return self.termination != Termination.UNDECIDED

    def name_of(self, agent: int) -> str:
        """Return the name of an agent, also of one that was not started or gave none."""
        return self.names[agent] or f"agent {agent}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values; `from_json` is the inverse."""
        data = asdict(self)
        if self.game is None:
            del data["game"]
        if not self.imposed:
            del data["imposed"]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GameRecord:
        """Make the record from plain values; the inverse of `to_json`.

        Raises:
            TypeError, KeyError, ValueError: the values are not those of a record.
        """
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
                "game": BoardGame(**data["game"]) if data.get("game") else None,
            }
        )

    @classmethod
    def of(
        cls,
        task: GameTask,
        end: GameEnd,
        moves: Sequence[Action],
        spent: Sequence[Spent],
        *,
        names: tuple[str, str],
        seconds: float,
        swapped: bool = False,
    ) -> GameRecord:
        """Make the record of a game that was just played.

        Args:
            moves: all actions.
            spent: the time that each answer took.
            names: the names of black and white.
            seconds: wall-clock seconds of the whole game.
            swapped: whether white swapped.
        """

        def agent(seat: int | None) -> int | None:
            return None if seat is None else (seat + task.black_agent) % 2

        return cls(
            index=task.index,
            black=task.black_agent,
            winner=agent(end.winner),
            termination=end.termination,
            faulty=agent(end.faulty),
            detail=end.detail,
            moves=tuple(moves),
            move_s=tuple(round(times.wall_s, 4) for times in spent),
            move_cpu_s=tuple(round(times.cpu_s, 4) for times in spent),
            withheld_s=tuple(round(times.withheld_s, 4) for times in spent),
            names=names if task.black_agent == 0 else (names[1], names[0]),
            seed=task.seed,
            opening=task.opening,
            size=task.size,
            swapped=swapped,
            seconds=round(seconds, 3),
            refused=end.refused,
            game=task.game,
            imposed=len(task.imposed),
        )


@dataclass(frozen=True)
class GameEnd:
    """How a game ended, with seats instead of agents.

    Attributes:
        termination: why it ended.
        winner: the seat that won, or None.
        faulty: the seat that lost by a fault, or None.
        detail, refused: see GameRecord.
    """

    termination: Termination
    winner: int | None = None
    faulty: int | None = None
    detail: str = ""
    refused: str = ""


class SeatFault(Exception):
    """Raised when a seat's answer ends the game: it was a fault or, if UNDECIDED, nobody can tell whether it was late."""

    def __init__(self, seat: int, termination: Termination, sentence: str, refused: str = "") -> None:
        super().__init__(sentence)
        self.seat, self.termination, self.refused = seat, termination, refused.strip()[:REFUSED_CAP]

    @property
    def end(self) -> GameEnd:
        """How the game ends because of this: the other seat wins or, if UNDECIDED, nobody does."""
        if self.termination == Termination.UNDECIDED:
            return GameEnd(self.termination, detail=f"{('black', 'white')[self.seat]} {self}", refused=self.refused)
        return GameEnd(self.termination, 1 - self.seat, self.seat, str(self), self.refused)


def seat_seed(seed: int, seat: int) -> int:
    """Return a seat's GOMOKU_SEED. The seed of one seat does not reveal the seed of the other."""
    return random.Random(f"{seed}:{seat}").randrange(2**31)
