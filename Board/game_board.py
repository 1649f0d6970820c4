"""The game loop: two players at one board, self-play, and a person at the window. The rules are in rules.py.

Results and feature planes are from the point of view of the side to move. pygame is imported when a window opens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from Board.rules import HISTORY, NO_MOVE, SWAP_STONES, Board, Player

__all__ = ["HISTORY", "NO_MOVE", "SWAP_STONES", "Board", "Game", "Player"]


class Game:
    """Two players at one board."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def graphic(self, board: Board, player1: int, player2: int) -> None:
        """Print the position: X for `player1`, O for `player2`, the last move in brackets, row 0 at the bottom."""
        marks = {player1: "X", player2: "O"}
        print(f"Player {player1} with X, player {player2} with O")
        for h in reversed(range(board.height)):
            cells = []
            for w in range(board.width):
                move = h * board.width + w
                mark = marks.get(board.states.get(move, 0), ".")
                cells.append(f"[{mark}]" if move == board.last_move else f" {mark} ")
            print(f"{h:3} {''.join(cells)}")
        print("    " + "".join(f"{w:^3}" for w in range(board.width)))

    def start_play(
        self, player1: Player, player2: Player, start_player: int = 0, is_shown: int = 1, print_prob: bool = True
    ) -> int:
        """Play one game; `player1` moves first if `start_player` is 0, otherwise `player2`.

        Returns:
            The winner, 1 (player1), 2 (player2) or -1 for a draw.

        Raises:
            ValueError: start_player is neither 0 nor 1, or a player returned an illegal move.
        """
        self.board.init_board(start_player)
        first, second = self.board.players
        player1.set_player_ind(first)
        player2.set_player_ind(second)
        for player in (player1, player2):
            player.reset_player()  # drop the tree of an earlier game
        seats = {first: player1, second: player2}
        if is_shown:
            self.graphic(self.board, first, second)
        while True:
            turn = self.board.get_current_player()
            move, _ = seats[turn].get_action(self.board, is_selfplay=False, print_probs_value=print_prob)
            self._play(move, f"player {turn}")
            if is_shown:
                if move == self.board.SWAP:
                    print(f"Player {turn} swaps: every stone changes colour")
                self.graphic(self.board, first, second)
            ended, winner = self.board.game_end()
            if ended:
                if is_shown:
                    print("Game end. " + ("Tie" if winner == -1 else f"Winner is player {winner}"))
                return winner

    def start_self_play(self, player: Player, is_shown: int = 0) -> tuple[int, Iterable[tuple[np.ndarray, Any, float]]]:
        """Play one game of a player against itself.

        Returns:
            (winner or -1, samples): one sample (state [9, H, W], move probabilities [W*H], z) for each move. The result z in
            {1, -1, 0} is for the side to move in that state.
        """
        self.board.init_board()
        first, second = self.board.players
        states, probabilities, sides = [], [], []
        while True:
            turn = self.board.get_current_player()
            player.set_player_ind(turn)
            move, move_probs = player.get_action(self.board, is_selfplay=True, print_probs_value=False)
            states.append(self.board.current_state())
            probabilities.append(move_probs)
            sides.append(turn)
            self._play(move, "the player")
            if is_shown:
                self.graphic(self.board, first, second)
            ended, winner = self.board.game_end()
            if ended:
                player.reset_player()
                if is_shown:
                    print("Game end. " + ("Tie" if winner == -1 else f"Winner is player {winner}"))
                results = [0.0 if winner == -1 else (1.0 if side == winner else -1.0) for side in sides]
                return winner, list(zip(states, probabilities, results, strict=True))

    def start_play_with_UI(self, AI: Player, start_player: int = 0) -> None:
        """Let a human play against `AI` until the window is closed; the human moves first if `start_player` is 0."""
        from Board.GUI_v1_4 import play_in_window

        play_in_window(self.board, AI, start_player)

    def _play(self, move: Any, who: str) -> None:
        try:
            self.board.play(move)
        except ValueError as error:
            raise ValueError(f"{who} answered with an illegal move: {error}") from error
