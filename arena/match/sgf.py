"""Write games as SGF (FF[4], GM[4]: Gomoku), for viewers.

Columns are lettered from the left, rows from the top. When white swaps, a node sets up all stones in their new colours,
since SGF has no move that changes colours.
"""

from __future__ import annotations

from pathlib import Path

from arena.match.match import MatchResult
from arena.match.referee import GameRecord
from arena.rules import SWAP, Action, Position


def game_to_sgf(game: GameRecord) -> str:
    """Return one game as one SGF tree."""
    black, white = (game.names[agent] or f"agent {agent}" for agent in (game.black, 1 - game.black))
    result = "0" if game.winner is None else ("B" if game.winner == game.black else "W") + "+"
    if not game.is_decided:
        result = "Void"
    elif game.faulty is not None:
        result += "T" if game.termination == "timeout" else "F"
    nodes = [heading(game.size, game.index, black, white, result, f"{game.termination.value} {game.detail}".strip())]
    position = Position(size=game.size)
    for action in game.moves:
        colour = "BW"[position.turn]
        position.play(action)
        if action == SWAP:
            stones = ["".join(f"[{_point(p, game.size)}]" for p, seat in position.stones.items() if seat == s) for s in (0, 1)]
            nodes.append(f"C[White swaps]AB{stones[0]}AW{stones[1]}PL[B]")
        else:
            nodes.append(stone(colour, action, game.size))
    return "\n;".join(nodes) + ")\n"


def heading(size: int | str, number: int, black: str, white: str, result: str, comment: str) -> str:
    """Return the root node of a game: board size (columns:rows if they differ), names, result (such as B+) and comment."""
    return (
        f"(;FF[4]GM[4]CA[UTF-8]AP[gomoku-arena]SZ[{size}]GN[{number}]"
        f"PB[{_text(black)}]PW[{_text(white)}]RE[{result}]GC[{_text(comment)}]"
    )


def stone(colour: str, point: Action, size: int) -> str:
    """Return the node of a move by B or W at (x, y), where y counts from the bottom row."""
    return f"{colour}[{_point(point, size)}]"


def _point(point: Action, size: int) -> str:
    return chr(97 + point[0]) + chr(97 + size - 1 - point[1])


def _text(words: str) -> str:
    return words.replace("\\", "\\\\").replace("]", "\\]").replace("\n", " ")


def write_sgf(result: MatchResult, folder: Path) -> int:
    """Write each game to a file such as `game_0007.sgf` and return the number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for game in result.games:
        (folder / f"game_{game.index:04}.sgf").write_text(game_to_sgf(game), encoding="utf-8")
    return len(result.games)
