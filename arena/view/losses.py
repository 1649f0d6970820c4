"""Where a game was lost: the last move before which a judge sees no forced loss, found backwards from the end.

On the course's board the judge is an engine. With GOMOKU_REPORT, the reference engine and the baseline say on standard error
what their search found: a score for the side to move, which is a forced win beyond 900000. They only evaluate positions, so any
engine that accepts positions and writes such lines will do. What the baseline sees is less certain, since its search looks at
few moves. On other boards, a position with few empty points is searched to its end (`arena.view.every_reply`).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from arena.engine.cores import one_core
from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits
from arena.rules import FIVE, SIZE, Action
from arena.view.drawn_boards import BLACK
from arena.view.every_reply import MOST_EMPTY, EveryReply
from arena.view.games import Loss, ShownGame
from arena.view.opinions import PROVEN, Opinion, in_turn

MOVE_S, HARD_LIMIT_S = 1.0, 5.0
MOST_QUESTIONS = 24
GAME_S = 20.0
SEED = 1
Judge = Callable[[list[Action], list[Action]], Opinion | None]
"""The stones of the side to move and of its opponent -> an opinion, or None."""
REPORT = re.compile(r"^depth \d+ nodes \d+ nps \d+ score (-?\d+) pv", re.MULTILINE)


def opinion(engine: EngineSpec, own: list[Action], other: list[Action]) -> Opinion | None:
    """Return the engine's opinion of a position, or None if it has none that can be read.

    Args:
        own: the stones of the side to move.
        other: the stones of its opponent, as many as `own` or one more, at least one.
    """
    side, order = in_turn(own, other)
    spec = replace(engine, env={**engine.env, "GOMOKU_REPORT": "1", "GOMOKU_NO_SWAP": "1"})
    limits = Limits(move_s=HARD_LIMIT_S, told_move_s=MOVE_S)
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


def needs_engine(game: ShownGame) -> bool:
    """Return whether only an engine can say where this game was lost."""
    return (game.width, game.height, game.n_in_row) == (SIZE, SIZE, FIVE)


def can_be_examined(game: ShownGame) -> bool:
    """Return whether a game ended with a row that won, on the course's board or on one that was nearly full by then."""
    if not (game.line and game.steps and not game.setup):
        return False
    return needs_engine(game) or game.width * game.height - len(game.steps) + 2 <= MOST_EMPTY


def find_losses(
    games: list[ShownGame],
    places: Iterable[int],
    engine: EngineSpec | None,
    progress: Callable[[str], None],
    most_s: float = math.inf,
) -> None:
    """Say in the games at these places where they were lost.

    Args:
        engine: judges the positions of the course's board; None to leave them out.
        progress: called before each game with a sentence about the progress.
        most_s: seconds for all games together; those for which no time is left stay as they are.
    """
    began = time.monotonic()
    examined = [place for place in places if can_be_examined(games[place]) and (engine or not needs_engine(games[place]))]
    for number, place in enumerate(examined, 1):
        left_s = began + most_s - time.monotonic()
        if left_s <= 0:
            return
        name = _name(engine) if needs_engine(games[place]) else "A search of all replies"
        progress(f"{name} is looking for the losing move of {games[place].title} ({number} of {len(examined)})")
        games[place] = replace(games[place], loss=find_loss(games[place], engine, min(GAME_S, left_s)))


def find_loss(game: ShownGame, engine: EngineSpec | None, most_s: float = GAME_S) -> Loss | None:
    """Return where the loser of a finished game lost it, or None if that is unclear.

    The positions are looked at from the last one backwards; an engine has a second for each.

    Args:
        engine: see `find_losses`.
        most_s: no question is asked after this many seconds.
    """
    if not can_be_examined(game):
        return None
    if not needs_engine(game):
        judge = EveryReply(game.width, game.height, game.n_in_row).opinion
        return _find_loss(game, judge, "A search of all replies finds", most_s)
    if engine is None:
        return None
    with one_core():
        return _find_loss(game, partial(opinion, engine), f"The engine {_name(engine)} sees", most_s)


def _name(engine: EngineSpec | None) -> str:
    return Path(engine.path).name if engine else ""


def _find_loss(game: ShownGame, judge: Judge, finds: str, most_s: float) -> Loss | None:
    began = time.monotonic()
    winner = game.steps[-1].colour
    plies = [ply for ply, step in enumerate(game.steps, 1) if step.colour not in ("s", winner)]
    lost_at: int | None = None
    for ply in [ply for ply in reversed(plies) if _stones(game, ply)[0]][:MOST_QUESTIONS]:
        own, other = _stones(game, ply)
        if time.monotonic() - began > most_s or not 0 <= len(other) - len(own) <= 1:
            break
        after = judge(own, other)
        if after is None or after.score <= PROVEN:
            break
        lost_at = ply
    if lost_at is None:
        return None
    own, other = _stones(game, lost_at - 1)
    before = judge(own, other) if other and 0 <= len(other) - len(own) <= 1 else None
    return _loss(game, lost_at, before, winner, finds)


def _loss(game: ShownGame, ply: int, before: Opinion | None, winner: str, finds: str) -> Loss:
    loser, victor = ("White", "Black") if winner == BLACK else ("Black", "White")
    x, y = game.steps[ply - 1].point
    sentence = f"{finds} a forced win for {victor.lower()} after ply {ply}, {loser.lower()}'s {x} {y}"
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
