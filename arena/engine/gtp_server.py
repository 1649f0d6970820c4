"""A player behind the Go Text Protocol, version 2: any front end (Sabaki, GoGui) or referee plays with it.

The server runs the game by the rules of games/ and asks the player only for moves. Moves alternate, so a move out of turn is
refused. Besides the usual commands it knows those by which GoGui learns the rules of games other than Go
(gogui-rules_...), and all_legal as GNU Go has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from arena.engine.gtp import LARGEST_BOARD, PASS, Answer, Command, parse_colour, parse_command, parse_vertex, vertex
from games.go.position import GoPosition
from games.protocol import NOBODY

COLOUR_NAMES = ("black", "white")
SMALLEST = 2


class Rules(Protocol):
    """What the server asks of a game; see `games.protocol.GameRules`."""

    @property
    def width(self) -> int: ...

    def position(self) -> Any: ...

    def action_name(self, action: int) -> str: ...

    def action_of(self, name: str) -> int: ...

    def text(self, position: Any) -> str: ...


class ServedPlayer(Protocol):
    """A player that chooses moves.

    Attributes:
        name, version: what the player answers to the commands of these names.
    """

    name: str
    version: str

    def prepare(self, rules: Any) -> None:
        """Prepare for games by these rules; ValueError, in a sentence, if the player cannot play by them."""

    def seed(self, seed: int) -> None:
        """Seed all random choices."""

    def choose(self, position: Any) -> int:
        """Return the action for the side to move; the position is the player's own, and the game goes on in it."""
        ...


class GtpError(Exception):
    """Raised for a command that cannot be carried out, with the text of the answer; the game is unchanged."""


class GtpServer:
    """One conversation.

    Args:
        game: the name of the game as front ends show it, such as NoGo.
        make_rules: makes the rules for a size and a komi; raises ValueError if there are none.
        player: chooses the moves.
        size: the size of the board before the first `boardsize`.
        komi: the komi before the first `komi`; NoGo and Gomoku ignore it.
    """

    def __init__(
        self, game: str, make_rules: Callable[[int, float], Rules], player: ServedPlayer, size: int, komi: float = 7.5
    ) -> None:
        self._game, self._make_rules, self._player = game, make_rules, player
        self._size, self._komi = size, komi
        self._rules = make_rules(size, komi)
        player.prepare(self._rules)
        self._actions: list[int] = []
        self._position = self._rules.position()
        self._commands: dict[str, Callable[[tuple[str, ...]], str]] = {
            "all_legal": self._all_legal,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "final_score": lambda _: self._final_score(),
            "genmove": self._genmove,
            "gogui-rules_board": lambda _: self._board(),
            "gogui-rules_board_size": lambda _: str(self._size),
            "gogui-rules_final_result": lambda _: self._final_result(),
            "gogui-rules_game_id": lambda _: self._game,
            "gogui-rules_legal_moves": lambda _: self._legal_moves(),
            "gogui-rules_side_to_move": lambda _: COLOUR_NAMES[self._side],
            "known_command": lambda words: str(_word(words, 0) in self._commands).lower(),
            "komi": self._set_komi,
            "list_commands": lambda _: "\n".join(self._commands),
            "name": lambda _: self._player.name,
            "play": self._play,
            "protocol_version": lambda _: "2",
            "quit": lambda _: "",
            "set_random_seed": self._seed,
            "showboard": lambda _: "\n" + self._rules.text(self._position),
            "time_left": lambda _: "",
            "time_settings": lambda _: "",
            "undo": self._undo,
            "version": lambda _: self._player.version,
        }

    @property
    def _has_pass(self) -> bool:
        try:
            self._rules.action_of(vertex(PASS))
        except ValueError:
            return False
        return True

    def answer(self, command: Command) -> Answer:
        """Carry out one command."""
        try:
            if command.name not in self._commands:
                raise GtpError("unknown command")
            return Answer(command.number, False, self._commands[command.name](command.arguments))
        except GtpError as error:
            return Answer(command.number, True, str(error))

    @property
    def _side(self) -> int:
        return int(self._position.get_current_player()) - 1

    @property
    def _is_over(self) -> bool:
        return bool(self._position.game_end()[0])

    def _boardsize(self, words: tuple[str, ...]) -> str:
        size = _number(_word(words, 0), 99)
        try:
            if not SMALLEST <= size <= LARGEST_BOARD:
                raise ValueError(f"expected {SMALLEST} to {LARGEST_BOARD}; got {size}")
            rules = self._make_rules(size, self._komi)
            self._player.prepare(rules)
        except ValueError as error:
            raise GtpError(f"unacceptable size: {error}") from None
        self._size, self._rules = size, rules
        return self._clear_board(())

    def _clear_board(self, _: tuple[str, ...]) -> str:
        self._actions = []
        self._position = self._rules.position()
        return ""

    def _set_komi(self, words: tuple[str, ...]) -> str:
        try:
            komi = float(_word(words, 0))
            rules = self._make_rules(self._size, komi)
        except (ValueError, OverflowError):
            raise GtpError("syntax error: expected a komi in steps of half a point") from None
        try:
            self._player.prepare(rules)
        except ValueError as error:
            raise GtpError(f"unacceptable komi: {error}") from None
        self._komi, self._rules = komi, rules
        self._set_up(self._actions)
        return ""

    def _set_up(self, actions: list[int]) -> None:
        position = self._rules.position()
        for action in actions:
            position.do_move(action)
        self._position, self._actions = position, list(actions)

    def _seed(self, words: tuple[str, ...]) -> str:
        self._player.seed(_number(_word(words, 0), 2**32 - 1))
        return ""

    def _turn_of(self, words: tuple[str, ...]) -> None:
        try:
            colour = parse_colour(_word(words, 0))
        except ValueError:
            raise GtpError("invalid color") from None
        if colour != self._side:
            raise GtpError(f"illegal move: it is {COLOUR_NAMES[self._side]}'s turn")

    def _play(self, words: tuple[str, ...]) -> str:
        try:
            point = parse_vertex(_word(words, 1), self._size)
        except ValueError:
            raise GtpError("invalid vertex") from None
        self._turn_of(words)
        try:
            action = self._rules.action_of(vertex(point))
        except ValueError:
            raise GtpError("illegal move: this game has no pass") from None
        if self._is_over:
            raise GtpError("illegal move: the game is over")
        if action not in self._position.availables:
            raise GtpError("illegal move")
        self._carry_out(action)
        return ""

    def _carry_out(self, action: int) -> None:
        self._position.do_move(action)
        self._actions.append(action)

    def _genmove(self, words: tuple[str, ...]) -> str:
        self._turn_of(words)
        if self._is_over:
            return "pass" if self._has_pass else "resign"
        action = int(self._player.choose(self._position.copy()))
        if action not in self._position.availables:
            raise GtpError(f"the player chose the illegal action {action}")
        self._carry_out(action)
        return self._name(action)

    def _undo(self, _: tuple[str, ...]) -> str:
        if not self._actions:
            raise GtpError("cannot undo")
        self._set_up(self._actions[:-1])
        return ""

    def _all_legal(self, words: tuple[str, ...]) -> str:
        self._turn_of(words)
        return self._legal_moves()

    def _legal_moves(self) -> str:
        if self._is_over:
            return ""
        return " ".join(map(self._name, self._position.availables))

    def _name(self, action: int) -> str:
        name = self._rules.action_name(action)
        return name if name == vertex(PASS) else name.upper()

    def _final_score(self) -> str:
        if isinstance(self._position, GoPosition):
            score = self._position.score()
            return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"
        if not self._is_over:
            raise GtpError("cannot score: the game is not over")
        winner = self._position.game_end()[1]
        return "0" if winner == NOBODY else f"{'BW'[winner - 1]}+"

    def _final_result(self) -> str:
        if not self._is_over:
            return "unknown"
        winner = self._position.game_end()[1]
        return "draw" if winner == NOBODY else COLOUR_NAMES[winner - 1]

    def _board(self) -> str:
        stones, size = self._position.states, self._size
        rows = [" ".join(".XO"[stones.get(h * size + w, 0)] for w in range(size)) for h in reversed(range(size))]
        return "\n" + "\n".join(rows)


def serve(server: GtpServer, lines: Iterable[str], say: Callable[[str], None]) -> None:
    """Answer the commands of a controller until quit or the end of the input."""
    for line in lines:
        command = parse_command(line)
        if command is not None:
            say(str(server.answer(command)))
            if command.name == "quit":
                return


def _word(words: tuple[str, ...], index: int) -> str:
    return words[index] if index < len(words) else ""


def _number(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= most):
        raise GtpError(f"syntax error: expected an integer from 0 to {most}")
    return int(text)
