"""Games of NoGo and Go for the viewer: our rules replay them, take captured stones off, and count the board at the end."""

from __future__ import annotations

from collections.abc import Iterable

from arena.engine.gtp import PASS, vertex
from arena.match.board_game import BoardGame
from arena.match.referee import GameRecord
from arena.match.sgf import SgfGame
from arena.rules import Action, Termination
from arena.view.drawn_boards import BLACK, WHITE, point_of
from arena.view.games import COLOURS, ShownGame, Step, ending_of, outcome_of, result_in_words, seat_name, times_of
from common.errors import UsageError
from games.go.position import GoPosition
from games.nogo.position import NoGoPosition

SIDES = (BLACK, WHITE)


def replayed(game: BoardGame, moves: Iterable[Action]) -> tuple[tuple[Step, ...], GoPosition | NoGoPosition]:
    """Return the steps of a game, black first, and the position after them.

    Raises:
        UsageError: a move is against the rules.
    """
    position = game.rules().position()
    steps: list[Step] = []
    for move in moves:
        action, before = game.action(move), dict(position.states)
        if action is None or action not in position.availables:
            raise UsageError(f"move {len(steps) + 1}, {vertex(move)}, is against the rules of {game.name}")
        position.do_move(action)
        taken = tuple(point_of(point, game.size) for point in before if point not in position.states)
        steps.append(Step(SIDES[len(steps) % 2], move, taken, is_pass=move == PASS))
    return tuple(steps), position


def areas_of(position: GoPosition | NoGoPosition) -> tuple[tuple[str, Action], ...]:
    """Return the empty points that count for a side at the end of a game of Go; nothing for other positions."""
    if not isinstance(position, GoPosition) or not position.game_end()[0]:
        return ()
    return tuple(
        (side, point_of(point, position.width))
        for side, mask in zip(SIDES, position.areas(), strict=True)
        for point in position.grid.moves(mask)
        if point not in position.states
    )


def count_of(position: GoPosition) -> str:
    """Return the count of a board in words."""
    black, white = (mask.bit_count() for mask in position.areas())
    komi = f" and a komi of {position.komi:g}" if position.komi else ""
    lead = position.score()
    result = "a draw" if lead == 0 else f"{COLOURS[lead < 0]} leads by {abs(lead):g}"
    return f"Black has {black} points, white {white}{komi}: {result}."


def play_command(game: BoardGame) -> str:
    """Return the command that plays this game."""
    komi = "" if game.komi is None else f" --komi {game.komi:g}"
    return f"python human_play.py --game {game.name} --board {game.size}x{game.size}{komi}"


def shown_board_game(game: GameRecord, *, agent: int | None = None, limit_s: float = 0.0) -> ShownGame:
    """Return a recorded game of NoGo or Go for the viewer; see `arena.view.games.shown_game`."""
    assert game.game is not None
    steps, position = replayed(game.game, game.moves)
    seconds, clock = times_of(game)
    return ShownGame(
        title=f"Game {game.index}",
        names=(game.names[game.black] or "black", game.names[1 - game.black] or "white"),
        width=game.size,
        height=game.size,
        steps=steps,
        seconds=seconds,
        clock=clock,
        limit_s=limit_s,
        outcome="" if agent is None else outcome_of(game, agent),
        ending=_ending(game, position),
        areas=areas_of(position),
        has_letters=True,
        play_on=play_command(game.game),
    )


def _ending(game: GameRecord, position: GoPosition | NoGoPosition) -> str:
    if game.faulty is not None or not game.is_decided:
        return ending_of(game)
    count = count_of(position) if isinstance(position, GoPosition) else ""
    if game.winner is None:
        return f"Drawn. {count}".strip()
    winner, loser = seat_name(game, game.winner), seat_name(game, 1 - game.winner)
    if game.termination == Termination.RESIGNED:
        return f"{winner} won: {loser} resigned."
    if game.termination == Termination.NO_MOVE:
        return f"{winner} won: {loser} has no legal move."
    how = "at the move limit" if game.termination == Termination.MOVE_LIMIT else "after two passes"
    return f"{winner} won {how}. {count}"


def shown_board_sgf(game: SgfGame, number: int) -> ShownGame:
    """Return a game of NoGo or Go that was read from SGF for the viewer.

    Raises:
        UsageError: our rules do not allow the game, or it does not begin on an empty board with black.
    """
    assert game.board_game is not None
    if game.setup:
        raise UsageError(f"expected game {number} to begin on an empty board; it has handicap stones or a set position")
    if any(colour != SIDES[ply % 2] for ply, (colour, _) in enumerate(game.moves)):
        raise UsageError(f"expected black and white to move in turn in game {number}; one of them moves twice")
    try:
        steps, position = replayed(game.board_game, [point for _, point in game.moves])
    except UsageError as error:
        raise UsageError(f"expected game {number} to follow the rules: {error}") from error
    count = count_of(position) if isinstance(position, GoPosition) and position.game_end()[0] else ""
    said = (result_in_words(game.result), count, game.comment and f"The file says: {game.comment}.")
    return ShownGame(
        title=f"Game {number}",
        names=(game.black or "black", game.white or "white"),
        width=game.width,
        height=game.height,
        steps=steps,
        ending=" ".join(filter(None, said)),
        areas=areas_of(position),
        has_letters=True,
        play_on="" if game.setup else play_command(game.board_game),
    )
