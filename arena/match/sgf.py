"""Write games as SGF (FF[4], GM[4]: Gomoku), for viewers, and read the main line of such files.

Columns are lettered from the left, rows from the top. When white swaps, a node sets up all stones in their new colours,
since SGF has no move that changes colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from arena.engine.gtp import PASS
from arena.match.board_game import BoardGame
from arena.match.match import MatchResult
from arena.match.referee import GameRecord
from arena.match.sgf_point import point
from arena.rules import LARGEST_SIZE, SWAP, Action, Position
from common.errors import UsageError
from common.sgf import MOST_CHARACTERS, Node, escaped, main_lines


def game_to_sgf(game: GameRecord) -> str:
    """Return one game as one SGF tree."""
    if game.game is not None:
        from arena.match.board_sgf import board_game_to_sgf  # needs rules that the kit of a lab does not hold

        return board_game_to_sgf(game)
    black, white = (game.name_of(agent) for agent in (game.black, 1 - game.black))
    result = "0" if game.winner is None else ("B" if game.winner == game.black else "W") + "+"
    if not game.is_decided:
        result = "Void"
    elif game.faulty is not None:
        result += "T" if game.termination == "timeout" else "F"
    nodes = [heading(game.size, game.index, black, white, result, f"{game.termination.value} {game.detail}".strip())]
    position = Position(size=game.size, free_opening=True)  # the game was played, whatever its opening was
    for action in game.moves:
        colour = "BW"[position.turn]
        position.play(action)
        if action == SWAP:
            stones = ["".join(f"[{point(p, game.size)}]" for p, seat in position.stones.items() if seat == s) for s in (0, 1)]
            nodes.append(f"C[White swaps]AB{stones[0]}AW{stones[1]}PL[B]")
        else:
            nodes.append(stone(colour, action, game.size))
    return "\n;".join(nodes) + ")\n"


def heading(size: int | str, number: int, black: str, white: str, result: str, comment: str) -> str:
    """Return the root node of a game: board size (columns:rows if they differ), names, result (such as B+) and comment."""
    return (
        f"(;FF[4]GM[4]CA[UTF-8]AP[gomoku-arena]SZ[{size}]GN[{number}]"
        f"PB[{escaped(black)}]PW[{escaped(white)}]RE[{result}]GC[{escaped(comment)}]"
    )


def stone(colour: str, place: Action, size: int) -> str:
    """Return the node of a move by B or W at (x, y), where y counts from the bottom row."""
    return f"{colour}[{point(place, size)}]"


def write_sgf(result: MatchResult, folder: Path) -> int:
    """Write each game to a file such as `game_0007.sgf` and return the number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for game in result.games:
        (folder / f"game_{game.index:04}.sgf").write_text(game_to_sgf(game), encoding="utf-8")
    return len(result.games)


# ------------------------------------------------------------------------------------------------------- reading

PASSES = ("", "tt")  # SGF's earlier edition had no empty value


@dataclass(frozen=True)
class SgfGame:
    """A game read from SGF; colours are "b" and "w", points (x, y) with y counted from the bottom row.

    Attributes:
        setup: (colour, point) of the stones on the board before the first move.
        moves: (colour, point) of each move; ("s", SWAP) for a swap as `game_to_sgf` writes it.
        result: the RE property, such as B+.
        comment: the GC property.
        board_game: the game of games/ that it is, in which a point may be PASS; None for Gomoku.
        n_in_row: how many stones in a row win in Gomoku; 0 if the file does not say.
    """

    width: int
    height: int
    black: str
    white: str
    result: str
    comment: str
    setup: tuple[tuple[str, Action], ...]
    moves: tuple[tuple[str, Action], ...]
    board_game: BoardGame | None = None
    n_in_row: int = 0


def read_sgf(path: Path) -> list[SgfGame]:
    """Read the main line of each game of Gomoku, NoGo or Go in an SGF file.

    A file of Go has GM[1], and one of NoGo RU[NoGo] as well; everything else is taken as a game of placing stones.

    Raises:
        UsageError: the file is missing, too large or not SGF, or holds something that is not such a game.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(4 * MOST_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(f"expected games in {path}: {error.strerror}") from error
    try:
        games = [_game(nodes) for nodes in main_lines(content.decode("utf-8", "replace"))]
    except (ValueError, UsageError) as error:
        raise UsageError(f"expected games as SGF in {path}: {error}") from error
    if not games:
        raise UsageError(f"expected games as SGF in {path}; it holds no game")
    return games


def _game(nodes: list[Node]) -> SgfGame:
    if not nodes:
        raise ValueError("a game has no nodes")
    root = nodes[0]
    is_go = _first(root, "GM") == "1"
    width, height = _size(_first(root, "SZ") or ("19" if is_go else "15"))
    moves: list[tuple[str, Action]] = []
    for number, node in enumerate(nodes):
        if number and any(name in node for name in ("AB", "AW", "AE")):
            if _first(node, "C") != "White swaps":
                raise ValueError(f"node {number} sets up stones in the middle of a game")
            moves.append(("s", SWAP))
        for name, colour in (("B", "b"), ("W", "w")):
            value = _first(node, name)
            if is_go and name in node and value in PASSES:
                moves.append((colour, PASS))
            elif value:
                moves.append((colour, _read_point(value, width, height)))
    taken = set[Action]()
    for colour, place in moves:
        if colour != "s" and place in taken and not is_go:
            raise ValueError(f"a stone lies at {place[0]} {place[1]} already")
        taken.add(place)
    setup = [(c, _read_point(v, width, height)) for name, c in (("AB", "b"), ("AW", "w")) for v in root.get(name, [])]
    black, white, result, comment = (_first(root, name) for name in ("PB", "PW", "RE", "GC"))
    board_game = _board_game(root, width, height) if is_go else None
    row = re.fullmatch(r"([1-9]\d?) in a row", _first(root, "RU"), re.ASCII)
    n_in_row = int(row[1]) if row else 0
    return SgfGame(width, height, black, white, result, comment, tuple(setup), tuple(moves), board_game, n_in_row)


def _board_game(root: Node, width: int, height: int) -> BoardGame:
    """Return the game that the root node of a file with GM[1] describes."""
    if width != height:
        raise ValueError(f"the board is {width}x{height}; a board of Go or NoGo must be square")
    if _first(root, "RU").lower() == "nogo":
        return BoardGame("nogo", width)
    komi = _first(root, "KM") or "0"
    try:
        return BoardGame("go", width, komi=float(komi))
    except ValueError:
        raise ValueError(f"the komi is {komi[:20]!r}; it must be a number") from None


def _first(node: Node, name: str) -> str:
    return node.get(name, [""])[0]


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition(":")
    sides = [int(side) if side.isdecimal() else 0 for side in (columns, rows or columns)]
    if not all(1 <= side <= LARGEST_SIZE for side in sides):
        raise ValueError(f"the size of the board is {text[:20]!r}; it must be from 1 to {LARGEST_SIZE}")
    return sides[0], sides[1]


def _read_point(letters: str, width: int, height: int) -> Action:
    x, y = (ord(letter) - 97 for letter in letters) if len(letters) == 2 else (-1, -1)
    if not (0 <= x < width and 0 <= y < height):
        raise ValueError(f"{letters[:20]!r} is not a point of the {width}x{height} board")
    return x, height - 1 - y
