"""Where a game was lost: the last move before which a strong engine sees no forced loss, found backwards from the end.

With GOMOKU_REPORT, the reference engine and the baseline say on standard error what their search found: a score for the side
to move, which is a forced win beyond 900000. They only evaluate positions, so any engine that accepts positions and writes such
lines will do. What the baseline sees is less certain, since its search looks at few moves.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from arena.engine.cores import one_core
from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits
from arena.rules import SIZE, Action
from arena.view.drawn_boards import BLACK
from arena.view.games import Loss, ShownGame

PROVEN = 900_000
MOVE_S = 1.0
MOST_QUESTIONS = 24
GAME_S = 20.0
SEED = 1
REPORT = re.compile(r"^depth \d+ nodes \d+ nps \d+ score (-?\d+) pv", re.MULTILINE)


@dataclass(frozen=True)
class Opinion:
    """What an engine thinks of a position: its move, and a score for the side to move (beyond PROVEN: a forced win)."""

    move: Action
    score: int


def opinion(engine: EngineSpec, own: list[Action], other: list[Action]) -> Opinion | None:
    """Return the engine's opinion of a position, or None if it has none that can be read.

    Args:
        own: the stones of the side to move.
        other: the stones of its opponent, as many as `own` or one more, at least one.
    """
    # The engine is given the stones in turn. It is black if both sides have equally many, whatever colours the game gave them.
    side = int(len(other) > len(own))
    first, second = (other, own) if side else (own, other)
    order = [stone for pair in zip(first, second, strict=False) for stone in pair] + first[len(second) :]
    spec = replace(engine, env={**engine.env, "GOMOKU_REPORT": "1", "GOMOKU_NO_SWAP": "1"})
    limits = Limits(move_s=30.0, told_move_s=MOVE_S)
    with EngineProcess(spec, limits, GameOffer(seed=SEED, position=tuple(order[:-1]))) as process:
        try:
            process.start(side)
            if len(order) > 1 and not process.took_position:
                return None
            move = process.ask(order[-1])
        except EngineFailure:
            return None
        scores = REPORT.findall(process.standard_error())
    return Opinion(move, int(scores[-1])) if scores else None


def can_be_examined(game: ShownGame) -> bool:
    """Return whether a game ended with five in a row on the course's board, so that an engine can say where it was lost."""
    return bool(game.line and game.steps and not game.setup) and (game.width, game.height) == (SIZE, SIZE)


def find_losses(games: list[ShownGame], places: Iterable[int], engine: EngineSpec, progress: Callable[[str], None]) -> None:
    """Say in the games at these places where they were lost; Ctrl-C leaves the remaining ones as they are.

    Args:
        progress: is told before each game how far this is.
    """
    examined = [place for place in places if can_be_examined(games[place])]
    for number, place in enumerate(examined, 1):
        progress(f"{Path(engine.path).name} looks where {games[place].title} was lost ({number} of {len(examined)})")
        try:
            games[place] = replace(games[place], loss=find_loss(games[place], engine))
        except KeyboardInterrupt:
            progress("Stopped; the page says where the games before this one were lost.")
            return


def find_loss(game: ShownGame, engine: EngineSpec) -> Loss | None:
    """Return where the loser of a finished game lost it, or None if the engine cannot say.

    The positions are looked at from the last one backwards, with a second for each, and at most GAME_S seconds for the game.
    """
    if not can_be_examined(game):
        return None
    began = time.monotonic()
    winner = game.steps[-1].colour
    plies = [ply for ply, step in enumerate(game.steps, 1) if step.colour not in ("s", winner)]
    lost_at: int | None = None
    with one_core():
        for ply in [ply for ply in reversed(plies) if _stones(game, ply)[0]][:MOST_QUESTIONS]:
            own, other = _stones(game, ply)
            if not 0 <= len(other) - len(own) <= 1:
                break
            after = opinion(engine, own, other)
            if after is None or after.score <= PROVEN:
                break
            lost_at = ply
            if time.monotonic() - began > GAME_S:
                break
        if lost_at is None:
            return None
        own, other = _stones(game, lost_at - 1)
        before = opinion(engine, own, other) if other and 0 <= len(other) - len(own) <= 1 else None
    return _loss(game, lost_at, before, winner, Path(engine.path).name)


def _loss(game: ShownGame, ply: int, before: Opinion | None, winner: str, engine: str) -> Loss:
    loser, victor = ("White", "Black") if winner == BLACK else ("Black", "White")
    x, y = game.steps[ply - 1].point
    sentence = f"The engine {engine} sees a forced win for {victor.lower()} after ply {ply}, {loser.lower()}'s {x} {y}"
    if before is None:
        return Loss(ply, f"{sentence}.")
    if before.score < -PROVEN:
        return Loss(ply, f"{sentence}; it found no defence before that move either.")
    if before.move == (x, y):
        return Loss(ply, f"{sentence}; it would have played the same.")
    return Loss(ply, f"{sentence}. It would have played {before.move[0]} {before.move[1]}.", before.move)


def _stones(game: ShownGame, plies: int) -> tuple[list[Action], list[Action]]:
    """Return the stones of the side to move and of its opponent after this many plies."""
    colours: dict[Action, str] = {}
    for step in game.steps[:plies]:
        if step.colour == "s":
            colours = {point: "w" if colour == BLACK else BLACK for point, colour in colours.items()}
        else:
            colours[step.point] = step.colour
    following = game.steps[plies].colour if plies < len(game.steps) else ""
    if following in ("", "s"):
        # White swaps only with three stones on the board, and otherwise the numbers of stones say who is to move.
        following = BLACK if len(colours) % 2 == 0 else "w"
    own = [point for point, colour in colours.items() if colour == following]
    return own, [point for point, colour in colours.items() if colour != following]
