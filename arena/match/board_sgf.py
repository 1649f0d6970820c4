"""Write games of games/ as SGF (FF[4], GM[1]: Go), for viewers. NoGo has no number in SGF; its stones and points are Go's."""

from __future__ import annotations

from arena.engine.gtp import PASS
from arena.match.board_game import BoardGame
from arena.match.game_record import GameRecord
from arena.match.sgf_point import point
from arena.rules import Termination
from common.sgf import escaped
from games.go.position import GoPosition

RULES = {"nogo": "NoGo", "go": "Tromp-Taylor without suicide"}


def board_game_to_sgf(game: GameRecord) -> str:
    """Return a game of games/ as one SGF tree; a pass is an empty value."""
    assert game.game is not None
    board = game.game
    black, white = (escaped(game.name_of(agent)) for agent in (game.black, 1 - game.black))
    comment = escaped(f"{game.termination.value} {game.detail}".strip())
    komi = "" if board.komi is None else f"KM[{board.komi:g}]"
    heading = (
        f"(;FF[4]GM[1]CA[UTF-8]AP[gomoku-arena]SZ[{board.size}]GN[{game.index}]RU[{RULES[board.name]}]{komi}"
        f"PB[{black}]PW[{white}]RE[{_result(game, board)}]GC[{comment}]"
    )
    moves = [f"{'BW'[ply % 2]}[{'' if move == PASS else point(move, board.size)}]" for ply, move in enumerate(game.moves)]
    return "\n;".join([heading, *moves]) + ")\n"


def _result(game: GameRecord, board: BoardGame) -> str:
    if not game.is_decided:
        return "Void"
    if game.winner is None:
        return "0"
    winner = "B+" if game.winner == game.black else "W+"
    if game.faulty is not None:
        return winner + ("T" if game.termination == Termination.TIMEOUT else "F")
    if game.termination == Termination.RESIGNED:
        return winner + "R"
    position = board.rules().position()
    for move in game.moves:
        action = board.action(move)
        assert action is not None
        position.do_move(action)
    return winner + (f"{abs(position.score()):g}" if isinstance(position, GoPosition) else "")
