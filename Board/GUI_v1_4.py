"""The board in a window (pygame): what the player sees and clicks, apart from the rules.

`GUI` draws and knows what lies under a pixel, `Match` knows whose turn it is and the score, `play_in_window` is the loop
around them. The AI thinks in a thread on a copy of the board, so the window stays alive; an answer to a game that was restarted
meanwhile is dropped, and closing the window does not wait for it.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import pygame

WOOD, LINE, INK, PALE = (222, 184, 120), (96, 70, 36), (40, 34, 28), (250, 244, 232)
BLACK, WHITE, MARK, BUTTON, OVER = (26, 26, 28), (246, 246, 242), (206, 62, 44), (244, 232, 208), (255, 247, 228)
PANEL = 250
FRAMES_A_SECOND = 30
BUTTONS = ("Restart", "Switch sides", "Reset score")


@dataclass
class View:
    """All that is drawn. `stones` maps (h, w) to 0 (black) or 1 (white); `score` counts human, AI, draws."""

    stones: dict[tuple[int, int], int] = field(default_factory=dict)
    last: tuple[int, int] | None = None
    message: str = ""
    human_is_black: bool = True
    score: tuple[int, int, int] = (0, 0, 0)


class GUI:
    """A window with a board of any size.

    Args:
        board_size: points a side, or (width, height).

    Raises:
        RuntimeError: there is no screen.
    """

    def __init__(self, board_size: int | tuple[int, int] = 11) -> None:
        try:
            pygame.display.init()
        except pygame.error as error:
            raise RuntimeError(f"expected a screen to open a window on; {error}: play with --terminal") from error
        pygame.font.init()
        pygame.display.set_caption("Gomoku")
        self.width, self.height = (board_size, board_size) if isinstance(board_size, int) else board_size
        longest = max(self.width, self.height)
        self.unit = max(28, min(110, 660 // (longest + 1)))
        size = (self.unit * (self.width + 1) + PANEL, max(420, self.unit * (self.height + 1)))
        self.screen = pygame.display.set_mode(size)
        self.left = self.unit
        self.bottom = self.unit * self.height
        self.font = pygame.font.Font(None, 26)
        self.small = pygame.font.Font(None, max(16, min(24, self.unit // 2)))
        x = self.unit * (self.width + 1) + 20
        self.buttons = {name: pygame.Rect(x, 210 + 58 * i, PANEL - 40, 44) for i, name in enumerate(BUTTONS)}

    def centre_of(self, h: int, w: int) -> tuple[int, int]:
        """Pixel of a point; h counts from the bottom."""
        return self.left + w * self.unit, self.bottom - h * self.unit

    def point_at(self, pixel: tuple[int, int]) -> tuple[int, int] | None:
        """(h, w) of the point nearest to a pixel, or None if none is near."""
        w, h = round((pixel[0] - self.left) / self.unit), round((self.bottom - pixel[1]) / self.unit)
        inside = 0 <= w < self.width and 0 <= h < self.height
        return (h, w) if inside else None

    def button_at(self, pixel: tuple[int, int]) -> str | None:
        """The button under a pixel."""
        return next((name for name, box in self.buttons.items() if box.collidepoint(pixel)), None)

    def draw(self, view: View) -> None:
        """Draw the whole window."""
        self.screen.fill(WOOD)
        self._draw_grid()
        for (h, w), colour in view.stones.items():
            self._draw_stone(self.centre_of(h, w), colour)
        if view.last is not None:
            pygame.draw.circle(self.screen, MARK, self.centre_of(*view.last), max(4, self.unit // 8))
        self._draw_panel(view)
        pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        pygame.quit()

    def _draw_grid(self) -> None:
        for h in range(self.height):
            pygame.draw.line(self.screen, LINE, self.centre_of(h, 0), self.centre_of(h, self.width - 1), 2)
            x, y = self.centre_of(h, 0)
            self._write(str(h), (x - self.unit * 0.7, y), self.small, LINE)
        for w in range(self.width):
            pygame.draw.line(self.screen, LINE, self.centre_of(0, w), self.centre_of(self.height - 1, w), 2)
            x, y = self.centre_of(0, w)
            self._write(str(w), (x, y + self.unit * 0.7), self.small, LINE)

    def _draw_stone(self, centre: tuple[int, int], colour: int) -> None:
        radius = int(self.unit * 0.43)
        pygame.draw.circle(self.screen, (150, 118, 70), (centre[0] + 2, centre[1] + 2), radius)
        pygame.draw.circle(self.screen, (BLACK, WHITE)[colour], centre, radius)
        pygame.draw.circle(self.screen, LINE, centre, radius, 1)

    def _draw_panel(self, view: View) -> None:
        x, width = self.unit * (self.width + 1), self.screen.get_width()
        pygame.draw.rect(self.screen, PALE, (x, 0, width - x, self.screen.get_height()))
        human, ai, draws = view.score
        colours = ("black", "white") if view.human_is_black else ("white", "black")
        lines = [f"You ({colours[0]}): {human}", f"AI ({colours[1]}): {ai}", f"Draws: {draws}"]
        for i, text in enumerate(lines):
            self.screen.blit(self.font.render(text, True, INK), (x + 20, 24 + 32 * i))
        self.screen.blit(self.font.render(view.message, True, MARK), (x + 20, 140))
        pointer = pygame.mouse.get_pos()
        for name, box in self.buttons.items():
            pygame.draw.rect(self.screen, OVER if box.collidepoint(pointer) else BUTTON, box, border_radius=8)
            pygame.draw.rect(self.screen, LINE, box, 2, border_radius=8)
            self._write(name, box.center, self.font, INK)

    def _write(self, text: str, centre: tuple[float, float], font: pygame.font.Font, colour: Any) -> None:
        picture = font.render(text, True, colour)
        self.screen.blit(picture, picture.get_rect(center=(int(centre[0]), int(centre[1]))))


class Match:
    """Games of a human against an AI one after another: whose turn, the score, the AI's thread.

    Args:
        board: is played on.
        ai: a player.
        start_player: 0 lets the human begin, 1 the AI.

    Raises:
        ValueError: start_player is neither 0 nor 1, or the board cannot be set up.
    """

    def __init__(self, board: Any, ai: Any, start_player: int) -> None:
        if start_player not in (0, 1):
            raise ValueError(f"expected start_player 0 or 1; got {start_player!r}")
        self.board, self.ai, self.human_begins = board, ai, start_player == 0
        self.score = [0, 0, 0]
        self.game = 0
        self.failure: BaseException | None = None
        self._game_asked = 0
        self._answer: tuple[int, Any] | None = None
        self._thread: threading.Thread | None = None
        self.restart()

    @property
    def human(self) -> int:
        """The human's player number."""
        return self.board.players[0 if self.human_begins else 1]

    @property
    def is_thinking(self) -> bool:
        """Whether the AI is to move."""
        return not self.board.game_end()[0] and self.board.get_current_player() != self.human

    def restart(self) -> None:
        """A new game; an answer that the AI still owes to the old one will be dropped."""
        self.game += 1
        self.has_swapped = False
        self.board.init_board(0)

    def switch_sides(self) -> None:
        """The other one begins."""
        self.human_begins = not self.human_begins
        self.restart()

    def reset_score(self) -> None:
        self.score = [0, 0, 0]

    def click(self, point: tuple[int, int]) -> None:
        """The human's stone, if it is their turn and the point is empty."""
        move = self.board.location_to_move(list(point))
        if not self.is_thinking and not self.board.game_end()[0] and move in self.board.availables:
            self._play(move)

    def tick(self) -> None:
        """Start the AI's thread when it is its turn; take its answer when there is one.

        Raises:
            RuntimeError: the AI failed or answered with an illegal move; the cause is the AI's own exception.
        """
        if self.failure is not None:
            raise RuntimeError(f"the AI failed: {self.failure!r}") from self.failure
        if self._answer is not None:
            game, move = self._answer
            self._answer = None
            self._thread = None
            if game == self.game and self.is_thinking:
                try:
                    self._play(move)
                except ValueError as error:
                    raise RuntimeError(f"the AI answered with an illegal move: {error}") from error
        elif self.is_thinking and self._thread is None:
            self.ai.set_player_ind(self.board.get_current_player())
            self._thread = threading.Thread(target=self._think, args=(self.game, self.board.copy()), daemon=True)
            self._thread.start()

    def view(self) -> View:
        """What is to be drawn now."""
        width, first = self.board.width, self.board.players[0]
        stones = {divmod(move, width): 0 if player == first else 1 for move, player in self.board.states.items()}
        last = None if self.board.last_move == -1 else divmod(self.board.last_move, width)
        ended, winner = self.board.game_end()
        if ended:
            message = "A draw" if winner == -1 else ("You win" if winner == self.human else "The AI wins")
        else:
            turn = "The AI swapped: your turn" if self.has_swapped else "Your turn"
            message = "The AI is thinking" if self.is_thinking else turn
        return View(stones, last, message, self.human_begins, (self.score[0], self.score[1], self.score[2]))

    def _think(self, game: int, board: Any) -> None:
        try:
            if game != self._game_asked:  # what the AI remembers belongs to another game
                self.ai.reset_player()
                self._game_asked = game
            move, _ = self.ai.get_action(board, is_selfplay=False, print_probs_value=False)
            self._answer = (game, move)
        except BaseException as error:  # shown by the window's thread; this one has nobody to tell
            self.failure = error

    def _play(self, move: Any) -> None:
        self.board.play(move)
        self.has_swapped = move == self.board.SWAP
        ended, winner = self.board.game_end()
        if ended:
            self.score[2 if winner == -1 else (0 if winner == self.human else 1)] += 1


def run_frame(gui: GUI, match: Match) -> bool:
    """Handle what has been clicked, take the AI's answer, draw; False when the window is to be closed."""
    actions = {"Restart": match.restart, "Switch sides": match.switch_sides, "Reset score": match.reset_score}
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            return False
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            button, point = gui.button_at(event.pos), gui.point_at(event.pos)
            if button is not None:
                actions[button]()
            elif point is not None:
                match.click(point)
    match.tick()
    gui.draw(match.view())
    return True


def play_in_window(board: Any, ai: Any, start_player: int = 0) -> None:
    """Play until the window is closed.

    Raises:
        RuntimeError: there is no screen, or the AI failed.
    """
    match = Match(board, ai, start_player)
    gui = GUI((board.width, board.height))
    clock = pygame.time.Clock()
    try:
        while run_frame(gui, match):
            clock.tick(FRAMES_A_SECOND)
    finally:
        gui.close()
