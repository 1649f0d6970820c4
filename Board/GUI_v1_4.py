"""The board in a window (pygame). The rules are in rules.py, the course of a game in play/, the drawing in window/.

`play_in_window` lets a person play against a player. `show_session` shows any `Session`, including one of two people or two
players.
"""

from __future__ import annotations

from Board.play.for_people import line_through
from Board.play.people import Participant, Rules
from Board.play.session import Session
from Board.play.words import say
from Board.rules import Board, Player
from Board.window.window import Window, run

__all__ = ["Window", "line_through", "play_in_window", "show_session"]
SWAP_BOARD = (15, 15, 5)  # the board of the course's engines, on which white may swap


def play_in_window(board: Board, ai: Player, start_player: int = 0) -> None:
    """Let a person play against a player until the window is closed.

    Args:
        start_player: 0 if the person moves first, 1 if the player does.

    Raises:
        ValueError: start_player is neither 0 nor 1, or the board cannot be set up.
        RuntimeError: there is no screen.
        NotImplementedError: the player is not written yet.
    """
    if start_player not in (0, 1):
        raise ValueError(f"expected start_player 0 or 1; got {start_player!r}")
    participants = (Participant(say("en", "you")), Participant(say("en", "ai"), ai))
    rules = Rules(may_swap=(board.width, board.height, board.n_in_row) == SWAP_BOARD)
    show_session(Session(board, participants, black=start_player, rules=rules))


def show_session(session: Session, language: str = "en", font: str | None = None) -> None:
    """Show games until the window is closed, then cancel running searches and reset all players.

    Args:
        language: "en" or "zh".
        font: the file of a font that can write the language; None for pygame's own.

    Raises:
        RuntimeError: there is no screen.
        NotImplementedError: a player is not written yet.
    """
    try:
        window = Window(session, language, font)
        try:
            run(window)
        finally:
            window.close()
    finally:
        session.close()
