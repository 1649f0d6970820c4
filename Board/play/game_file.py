"""Games of the window as SGF: what is saved can be loaded again and opened by other programs.

Columns are lettered from the left, rows from the top. A swap is a node that sets up all stones in their new colours, as in the
games of the arena. A pass is an empty value. Which game a file holds is for the `GameForPeople` to write and to read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from Board.play.for_people import GameForPeople, Gomoku, Position
from Board.rules import Board
from common.errors import UsageError, reason_of
from common.files import write_whole
from common.harmless_text import on_screen
from common.sgf import MOST_CHARACTERS, Node, main_line, write_node

Action = int | str
DEFAULT_GO_SIZE = "19"  # which a file of Go need not name
LARGEST = 26  # SGF names a column or row by one small letter
OLD_PASS = 19  # up to this size, `tt` is how files of SGF 3 write a pass
SAVED_GAMES = Path("saved_games")  # where games and pictures are saved, in the folder the program was started in
MOST_NAMES = 60  # characters of a player's name that are kept


@dataclass(frozen=True)
class GameFile:
    """A game as it is saved.

    Attributes:
        width, height, n_in_row: the board; n_in_row is None if the file does not say, and in other games than Gomoku.
        actions: the moves in order, passes among them, and Board.SWAP; black begins.
        black, white: the players' names, harmless on a screen.
        result: B+, W+, 0 for a draw, or "" if the game has not ended.
        game: the game; None for Gomoku.
    """

    width: int
    height: int
    n_in_row: int | None
    actions: tuple[Action, ...]
    black: str = ""
    white: str = ""
    result: str = ""
    game: GameForPeople | None = None

    @property
    def played(self) -> GameForPeople:
        """The game that was played."""
        return self.game or Gomoku(self.width, self.height, self.n_in_row)

    def to_text(self) -> str:
        """Return the game as SGF."""
        size = str(self.width) if self.width == self.height else f"{self.width}:{self.height}"
        game = self.played
        heading = game.sgf_heading()
        root = {"FF": ["4"], "GM": heading.pop("GM"), "CA": ["UTF-8"], "AP": ["gomoku-window"], "SZ": [size]}
        root |= heading | {"PB": [self.black], "PW": [self.white]} | ({"RE": [self.result]} if self.result else {})
        nodes = [write_node(root)]
        board = game.new_position()
        for ply, action in enumerate(self.actions):
            if action == Board.SWAP:
                board.swap_colours()
                stones = {name: self._stones(board, player) for name, player in zip(("AB", "AW"), board.players, strict=True)}
                nodes.append(write_node({"C": ["White swaps"], **stones, "PL": ["B"]}))
            else:
                board.do_move(action)
                value = "" if action == game.pass_action else self._point(int(action))
                nodes.append(write_node({"BW"[ply % 2]: [value]}))
        return "(" + "\n".join(nodes) + ")\n"

    def _point(self, move: int) -> str:
        h, w = divmod(move, self.width)
        return chr(97 + w) + chr(97 + self.height - 1 - h)

    def _stones(self, board: Position, player: int) -> list[str]:
        return [self._point(move) for move, owner in board.states.items() if owner == player]


def read_game(path: Path, game: GameForPeople | None = None) -> GameFile:
    """Read a game that a person chose.

    Args:
        game: the game that the file should hold, on a board of any size; None for Gomoku.

    Raises:
        UsageError: there is no such file, or it does not hold a game that can be shown here.
    """
    try:
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            raise UsageError(f"expected a game in SGF; {on_screen(str(path))} is too large for one")
        return from_text(path.read_text(encoding="utf-8-sig", errors="replace"), game)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise UsageError(f"expected a game at {on_screen(str(path))}; it cannot be read: {reason_of(error)}") from error
    except UsageError as error:
        raise UsageError(f"{on_screen(str(path))}: {error}") from None


def from_text(text: str, game: GameForPeople | None = None) -> GameFile:
    """Read a game from SGF; see `read_game`.

    Raises:
        UsageError: the text is not SGF, or the game does not follow the rules of this board.
    """
    root, *nodes = main_line(text)
    width, height = _size(root)
    played: GameForPeople = game.of_file(root, width, height) if game else Gomoku.of_file(root, width, height)
    if {"AB", "AW", "AE"} & root.keys():
        raise UsageError("expected a game from the empty board; this one begins with stones on it")
    board = played.new_position()
    actions: list[Action] = []
    for node in (root, *nodes):
        for action in _actions(node, board, played, len(actions)):
            if board.game_end()[0]:
                raise UsageError(f"by the rules of this board the game ends with move {len(actions)}; the file has more moves")
            try:
                if action == Board.SWAP:
                    board.swap_colours()
                else:
                    board.do_move(action)
            except ValueError as error:
                raise UsageError(f"move {len(actions) + 1} is not legal: {error}") from None
            actions.append(action)
    black, white, result = (on_screen(_first(root, name))[:MOST_NAMES].strip() for name in ("PB", "PW", "RE"))
    return game_file(played, actions, black, white, result)


def game_file(game: GameForPeople, actions: Sequence[Action], black: str, white: str, result: str) -> GameFile:
    """Return a game as it is saved."""
    n_in_row = game.n_in_row if isinstance(game, Gomoku) else None
    return GameFile(game.width, game.height, n_in_row, tuple(actions), black, white, result, game)


def _size(root: Node) -> tuple[int, int]:
    text = _first(root, "SZ") or (DEFAULT_GO_SIZE if _first(root, "GM") == "1" else "")
    found = re.fullmatch(r"(\d{1,2})(?::(\d{1,2}))?", text.strip())
    width, height = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not (1 <= width <= LARGEST and 1 <= height <= LARGEST):
        raise UsageError(f"expected the size of the board as SZ[1] to SZ[{LARGEST}]; got {on_screen(text)[:20]!r}")
    return width, height


def _actions(node: Node, board: Position, game: GameForPeople, ply: int) -> list[Action]:
    """Return what a node plays: nothing, a move, a pass or a swap."""
    if "AB" in node or "AW" in node:
        owners = {_move(value, game): player for name, player in zip(("AB", "AW"), board.players, strict=True)
                  for value in node.get(name, [])}  # fmt: skip
        swapped = {move: board.players[0] + board.players[1] - player for move, player in board.states.items()}
        if game.in_place_of_a_stone != "swap" or ply != 3 or owners != swapped:
            raise UsageError(f"expected moves only; after move {ply} the file sets up stones, and that is not a swap")
        return [Board.SWAP]
    played = [(colour, value) for colour in "BW" for value in node.get(colour, [])]
    if len(played) > 1 or any(colour != "BW"[ply % 2] for colour, _ in played):
        raise UsageError(f"expected black and white to move in turn, black first; move {ply + 1} is out of turn")
    return [_move(value, game) for _, value in played]


def _move(value: str, game: GameForPeople) -> int:
    if game.pass_action is not None and (not value or (value == "tt" and max(game.width, game.height) <= OLD_PASS)):
        return game.pass_action
    column, row = (ord(letter) - 97 for letter in value) if len(value) == 2 else (-1, -1)
    if not (0 <= column < game.width and 0 <= row < game.height):
        raise UsageError(f"expected points such as hh on this board; got {on_screen(value)[:20]!r}")
    return (game.height - 1 - row) * game.width + column


def _first(node: Node, name: str) -> str:
    return node.get(name, [""])[0]


def new_path(folder: Path, suffix: str, game: str = Gomoku.name) -> Path:
    """Return a name in the folder that no file has yet, with the game and the time in it."""
    stem = f"{game}-{datetime.now():%Y%m%d-%H%M%S}"
    paths = (folder / f"{stem}{number}{suffix}" for number in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(path for path in paths if not path.exists())


def save_game(game: GameFile, folder: Path) -> Path:
    """Write the game to a new file in the folder and return its path.

    Raises:
        UsageError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = new_path(folder, ".sgf", game.played.name)
        write_whole(path, game.to_text())
    except OSError as error:
        raise UsageError(f"expected to save the game in {on_screen(str(folder))}; {error.strerror}") from error
    return path


def saved_games(folder: Path, most: int) -> list[Path]:
    """Return the games in the folder, newest first."""
    try:
        paths = [path for path in folder.glob("*.sgf") if path.is_file()]
        return sorted(paths, key=lambda path: (-path.stat().st_mtime, path.name))[:most]
    except OSError:
        return []
