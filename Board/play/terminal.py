"""Games in the terminal: the same `Session` as in the window, typed instead of clicked.

On a terminal the stones have colours (rich; NO_COLOR turns them off). Into a pipe or a file goes plain text, and each line that
was read is repeated, so that the output reads like a typed game.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from Board.play.game_file import SAVED_GAMES, read_game, save_game, saved_games
from Board.play.headline import ending_words, headline, hint_words, not_a_stone
from Board.play.people import Refused
from Board.play.session import Action, Session
from Board.play.words import say
from Board.rules import Board
from common.errors import UsageError
from common.harmless_text import on_screen
from common.typed import half_width

POLL_S = 0.01
MARKS, STYLES = ("X", "O"), ("bold cyan", "bold magenta")
TERRITORY = "xo"


class Leave(Exception):
    """Raised when the person ends the program."""


class Terminal:
    """A conversation about the games of a session.

    Args:
        session: the games that are played.
        language: "en" or "zh".
    """

    def __init__(self, session: Session, language: str) -> None:
        from rich.console import Console

        self.session, self.language = session, language
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._is_typed = sys.stdin.isatty()
        self._shown: list[Action] | None = None

    def run(self) -> None:
        """Play until the game ends; on a terminal, until the person leaves.

        Raises:
            EOFError: the input has ended before the game.
            NotImplementedError: a player is not written yet.
            UsageError: a player's fault ended a game whose moves come from a file.
        """
        self._name_sides()
        try:
            while True:
                self.session.paused = False  # as an opened game is; no command here would let it go on
                self._wait_for_players()
                if self.session.trouble is not None:
                    self._report_trouble()
                elif self.session.has_ended:
                    ending = ending_words(self.session, self.language)
                    if ending:
                        self._say(ending)
                    self._tell("game_end", result=headline(self.session, self.language)[0])
                    if not self._is_typed:
                        return
                self._obey(self._read())
        except Leave:
            return

    # ------------------------------------------------------------------------------------------ what is shown

    def _say(self, text: Any) -> None:
        self._console.print(text)

    def _tell(self, key: str, **values: object) -> None:
        self._say(say(self.language, key, **values))

    def _name_sides(self) -> None:
        names = (self.session.participants[self.session.participant_at(ply)].name for ply in (0, 1))
        self._say("   ".join(f"{mark}: {name}" for mark, name in zip(MARKS, names, strict=True)))

    def _draw(self) -> None:
        """Draw the position if it has changed: the last move in brackets, the lowest row at the bottom; then the captures."""
        from rich.text import Text

        board, game = self.session.board, self.session.game
        now = self.session.actions[: self.session.live]
        if now == self._shown:
            return
        self._shown = now
        picture = Text()
        territory = game.territory(board)
        for h in reversed(range(board.height)):
            picture.append(f"{game.row_names[h]:>3} ")
            for w in range(board.width):
                move = h * board.width + w
                before, after = "[]" if move == board.last_move else "  "
                owner = board.states.get(move)
                picture.append(before)
                if move in territory:
                    picture.append(TERRITORY[territory[move]], style=STYLES[territory[move]])
                elif owner is None:
                    picture.append(".", style="dim")
                else:
                    side = board.players.index(owner)
                    picture.append(MARKS[side], style=STYLES[side])
                picture.append(after)
            picture.append("\n")
        picture.append("    " + "".join(f"{name:^3}" for name in game.column_names))
        self._say(picture)
        captures = game.captures(board)
        if captures is not None:
            self._tell("captures", black=captures[0], white=captures[1])

    def _report_trouble(self) -> None:
        trouble = self.session.trouble
        assert trouble is not None
        if isinstance(trouble.error, NotImplementedError):
            raise trouble.error
        sentence = headline(self.session, self.language)[0]
        if not self._is_typed:
            raise UsageError(sentence)
        self._say(sentence)

    # ------------------------------------------------------------------------------------------ players and person

    def _wait_for_players(self) -> None:
        """Let the players move until a person is to move, or nobody can."""
        session = self.session
        self._draw()
        while session.is_thinking:
            live = session.live
            name = session.participants[session.turn].name
            self._wait(say(self.language, "thinking", name=name), partial(self._has_moved, live))
            if session.live != live:
                action = session.actions[session.live - 1]
                self._say(
                    not_a_stone(session, session.live, self.language)
                    or say(self.language, "plays", name=name, point=session.game.action_name(int(action)))
                )
                seen = session.analyses.get(session.live - 1)
                if seen is not None and seen.words:
                    self._tell("says", name=name, words=seen.words)
                self._draw()

    def _has_moved(self, live: int) -> bool:
        return self.session.live != live

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Tick until a condition holds, or the player's fault ends the game."""
        from rich.text import Text

        with self._console.status(Text(what)):  # a text of its own, because a name may look like rich's markup
            while not condition() and self.session.trouble is None:
                self.session.tick()
                time.sleep(POLL_S)

    def _read(self) -> str:
        session = self.session
        alone = sum(one.player is None for one in session.participants) == 1
        key = "prompt" if alone else "prompt_of"
        if session.has_ended or session.trouble is not None:
            key = "prompt_end"
        prompt = say(self.language, key, name=session.participants[session.turn].name, typed=session.game.typed)
        text = input(prompt)
        if not self._is_typed:
            self._say(on_screen(text))
        return text.strip()

    def _obey(self, text: str) -> None:
        session = self.session
        commands: dict[str, Callable[[], object]] = {
            "u": session.undo,
            "r": session.redo,
            "n": session.new_game,
            "x": self._switch_sides,
            "s": lambda: session.play(Board.SWAP),
            "pass": session.pass_turn,
            "i": self._hint,
            "w": lambda: self._tell("saved", path=save_game(session.to_file(), SAVED_GAMES)),
            "?": lambda: self._tell(f"terminal_help_{session.game.name}"),
            "q": self._leave,
        }
        try:
            typed = half_width(text).lower()
            if typed in commands:
                commands[typed]()
            elif typed.split()[:1] == ["o"]:
                self._open(text[1:].strip())
            else:
                session.play(self._move(text))
                self._draw()
        except Refused as refused:
            self._tell(refused.key, **refused.values)
        except UsageError as error:
            self._say(str(error))

    def _move(self, text: str) -> int:
        """Return the move that a person typed.

        Raises:
            UsageError: it is no move.
        """
        game = self.session.game
        try:
            return game.action_of(text)
        except ValueError:
            raise UsageError(say(self.language, "expected_move", example=game.example, text=repr(text))) from None

    def _switch_sides(self) -> None:
        self.session.switch_sides()
        self._name_sides()

    def _open(self, file: str) -> None:
        """Replace the game by a saved one, the latest if no file is named, and play on from its end."""
        path = Path(file) if file else next(iter(saved_games(SAVED_GAMES, 1)), None)
        if path is None:
            self._tell("open_none", folder=SAVED_GAMES)
            return
        self.session.load(read_game(path, self.session.game))
        self._tell("opened", path=path)

    def _hint(self) -> None:
        session = self.session
        session.ask_for_hint()
        self._wait(say(self.language, "hinting"), lambda: not session.is_hinting)
        if session.hint is not None:
            self._say(hint_words(session, self.language))

    def _leave(self) -> None:
        raise Leave
