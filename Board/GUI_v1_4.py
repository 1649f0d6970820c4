"""The board in a window (pygame): what the player sees and clicks. The rules are in game_board.py.

`GUI` draws the window and finds the point or button under a pixel. `Match` keeps track of the turn and the score.
`play_in_window` runs both in a loop. The AI searches in a separate thread on a copy of the board, so the window keeps
responding. If the game is restarted while the AI is searching, its answer is dropped. Closing the window does not wait for
the search.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import pygame

WOOD, LINE, INK, FAINT, PALE = (222, 184, 120), (96, 70, 36), (40, 34, 28), (122, 108, 90), (250, 244, 232)
BLACK, WHITE, SHADOW, MARK = (26, 26, 28), (246, 246, 242), (176, 140, 84), (206, 62, 44)
BUTTON, OVER, TURN = (244, 232, 208), (255, 247, 228), (238, 222, 190)
PANEL, MARGIN = 250, 20  # the width of the panel beside the board, and its inner margin
MIN_HEIGHT = 420  # the panel needs this height
FINENESS = 4  # stones and text are drawn this many times larger and scaled down, which smooths their edges
FRAMES_PER_SECOND = 30
BUTTONS = ("Restart", "Switch sides", "Reset score")


@dataclass
class View:
    """Everything that is drawn.

    Attributes:
        stones: a dict (h, w) -> 0 (black) or 1 (white).
        score: games won by the human, won by the AI, and drawn.
        last: the point of the last move; None before the first one.
        line: the points of the winning line; empty while there is none.
        turn: who is to move, "human" or "ai"; "" once the game is over.
        pointed: the empty point under the mouse if the human may play there, otherwise None.
    """

    stones: dict[tuple[int, int], int] = field(default_factory=dict)
    last: tuple[int, int] | None = None
    message: str = ""
    human_is_black: bool = True
    score: tuple[int, int, int] = (0, 0, 0)
    line: tuple[tuple[int, int], ...] = ()
    turn: str = ""
    pointed: tuple[int, int] | None = None


class GUI:
    """A resizable window with a board of any size.

    Args:
        board_size: the number of points on each side, or (width, height).

    Raises:
        RuntimeError: there is no screen.
    """

    def __init__(self, board_size: int | tuple[int, int] = 11) -> None:
        try:
            pygame.display.init()
        except pygame.error as error:
            raise RuntimeError(f"expected a screen to open a window on; {error}: play with --terminal") from error
        # Without a screen SDL may fall back to drawing off screen, which is wanted only if the caller chose that driver.
        if pygame.display.get_driver() == "offscreen" and os.environ.get("SDL_VIDEODRIVER") != "offscreen":
            pygame.quit()
            raise RuntimeError("expected a screen to open a window on; found none: play with --terminal")
        pygame.font.init()
        pygame.display.set_caption("Gomoku")
        self.width, self.height = (board_size, board_size) if isinstance(board_size, int) else board_size
        unit = max(28, min(110, 660 // (max(self.width, self.height) + 1)))
        wide, high = pygame.display.get_desktop_sizes()[0]
        size = (unit * (self.width + 1) + PANEL, max(MIN_HEIGHT, unit * (self.height + 1)))
        self.screen = pygame.display.set_mode((min(size[0], wide - 40), min(size[1], high - 100)), pygame.RESIZABLE)
        self._lay_out()

    def _lay_out(self) -> None:
        """Compute where everything goes in a window of the current size."""
        self._size = self.screen.get_size()
        wide, high = max(1, self._size[0] - PANEL), self._size[1]
        self.unit = max(8, min(wide // (self.width + 1), high // (self.height + 1)))
        self.left = (wide - self.unit * (self.width - 1)) // 2
        self.bottom = (high + self.unit * (self.height - 1)) // 2
        self.panel = pygame.Rect(self._size[0] - PANEL, 0, PANEL, high)
        x = self.panel.x + MARGIN
        self.buttons = {name: pygame.Rect(x, 226 + 58 * i, PANEL - 2 * MARGIN, 44) for i, name in enumerate(BUTTONS)}
        self._stones: dict[tuple[int, int, bool], pygame.Surface] = {}
        self._words: dict[tuple[str, int, Any], pygame.Surface] = {}

    def centre_of(self, h: int, w: int) -> tuple[int, int]:
        """Return the pixel at the centre of a point; h counts from the bottom."""
        return self.left + w * self.unit, self.bottom - h * self.unit

    def point_at(self, pixel: tuple[int, int]) -> tuple[int, int] | None:
        """Return the point (h, w) nearest to a pixel; None if the pixel is not on the board."""
        w, h = round((pixel[0] - self.left) / self.unit), round((self.bottom - pixel[1]) / self.unit)
        inside = 0 <= w < self.width and 0 <= h < self.height and not self.panel.collidepoint(pixel)
        return (h, w) if inside else None

    def button_at(self, pixel: tuple[int, int]) -> str | None:
        """Return the name of the button under a pixel; None if there is no button."""
        return next((name for name, box in self.buttons.items() if box.collidepoint(pixel)), None)

    def draw(self, view: View) -> None:
        """Draw the whole window."""
        self.screen = pygame.display.get_surface() or self.screen
        if self.screen.get_size() != self._size:
            self._lay_out()
        self.screen.fill(WOOD)
        self._draw_grid()
        radius = int(self.unit * 0.44)
        for point, colour in view.stones.items():
            self._draw_stone(self.centre_of(*point), colour, radius, rim=point in view.line)
        if view.pointed is not None:
            self._draw_stone(self.centre_of(*view.pointed), 0 if view.human_is_black else 1, radius, alpha=110)
        if view.last is not None:
            pygame.draw.circle(self.screen, MARK, self.centre_of(*view.last), max(3, self.unit // 9))
        self._draw_panel(view)
        pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        pygame.quit()

    def _draw_grid(self) -> None:
        size = max(11, min(20, int(self.unit * 0.36)))
        beside = min(self.unit * 0.7, self.unit * 0.44 + 16)  # the distance from the outer line to the numbers
        for h in range(self.height):
            pygame.draw.line(self.screen, LINE, self.centre_of(h, 0), self.centre_of(h, self.width - 1), 2)
            x, y = self.centre_of(h, 0)
            self._write(str(h), size, LINE, center=(x - beside, y))
        for w in range(self.width):
            pygame.draw.line(self.screen, LINE, self.centre_of(0, w), self.centre_of(self.height - 1, w), 2)
            x, y = self.centre_of(0, w)
            self._write(str(w), size, LINE, center=(x, y + beside))
        for h in _stars(self.height):
            for w in _stars(self.width):
                pygame.draw.circle(self.screen, LINE, self.centre_of(h, w), max(3, self.unit // 9))

    def _draw_stone(self, centre: tuple[int, int], colour: int, radius: int, *, alpha: int = 255, rim: bool = False) -> None:
        radius = max(3, radius)
        if (colour, radius, rim) not in self._stones:
            side, middle = (2 * radius + 4) * FINENESS, (radius + 2) * FINENESS
            thick = max(2, radius // 7) if rim else 1
            large = pygame.Surface((side, side), pygame.SRCALPHA)
            large.fill((*SHADOW, 0))
            pygame.draw.circle(large, SHADOW, (middle + FINENESS, middle + 2 * FINENESS), radius * FINENESS)
            pygame.draw.circle(large, MARK if rim else LINE, (middle, middle), radius * FINENESS)
            pygame.draw.circle(large, (BLACK, WHITE)[colour], (middle, middle), (radius - thick) * FINENESS)
            self._stones[colour, radius, rim] = pygame.transform.smoothscale(large, (2 * radius + 4, 2 * radius + 4))
        picture = self._stones[colour, radius, rim]
        picture.set_alpha(alpha)
        self.screen.blit(picture, picture.get_rect(center=centre))

    def _draw_panel(self, view: View) -> None:
        pygame.draw.rect(self.screen, PALE, self.panel)
        left, right = self.panel.x + MARGIN, self.panel.right - MARGIN
        self._write(view.message, 22, MARK, midleft=(left, 42))
        human, ai, draws = view.score
        rows = (("You", "human", human, 0 if view.human_is_black else 1), ("AI", "ai", ai, 1 if view.human_is_black else 0))
        for i, (name, who, wins, colour) in enumerate(rows):
            y = 96 + 40 * i
            if view.turn == who:
                pygame.draw.rect(self.screen, TURN, (left - 10, y - 18, right - left + 20, 36), border_radius=8)
            self._draw_stone((left + 12, y), colour, 11)
            self._write(name, 20, INK, midleft=(left + 36, y))
            self._write(str(wins), 20, INK, midright=(right, y))
        self._write("Draws", 20, FAINT, midleft=(left + 36, 176))
        self._write(str(draws), 20, FAINT, midright=(right, 176))
        pointer = pygame.mouse.get_pos()
        for name, box in self.buttons.items():
            pygame.draw.rect(self.screen, OVER if box.collidepoint(pointer) else BUTTON, box, border_radius=8)
            pygame.draw.rect(self.screen, LINE, box, 2, border_radius=8)
            self._write(name, 19, INK, center=box.center)

    def _write(self, text: str, size: int, colour: Any, **place: tuple[float, float]) -> None:
        """Draw a line of text, scaled down to the width of the panel; `place` is passed to pygame's get_rect."""
        if (text, size, colour) not in self._words:
            large = pygame.font.Font(None, size * FINENESS * 4 // 3).render(text, True, colour)
            shrink = min(1 / FINENESS, (PANEL - 2 * MARGIN) / max(1, large.get_width()))
            small = (int(large.get_width() * shrink), int(large.get_height() * shrink))
            self._words[text, size, colour] = pygame.transform.smoothscale(large, small)
        picture = self._words[text, size, colour]
        self.screen.blit(picture, picture.get_rect(**{key: (int(x), int(y)) for key, (x, y) in place.items()}))


def _stars(length: int) -> tuple[int, ...]:
    """Return the rows or columns that have star points, which help the eye find a point; a small board has no star points."""
    if length < 9:
        return ()
    edge = 2 if length < 13 else 3
    return (edge, length // 2, length - 1 - edge) if length % 2 else (edge, length - 1 - edge)


def line_through(stones: dict[tuple[int, int], int], point: tuple[int, int], n_in_row: int) -> tuple[tuple[int, int], ...]:
    """Return the stones in unbroken lines of n_in_row or more through a point; for the last move, this is the winning line."""
    line: set[tuple[int, int]] = set()
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        run = [point]
        for sign in (1, -1):
            h, w = point
            while stones.get((h := h + sign * up, w := w + sign * right)) == stones[point]:
                run.append((h, w))
        if len(run) >= n_in_row:
            line.update(run)
    return tuple(sorted(line))


class Match:
    """A series of games between a human and an AI, with the turn, the score, and the AI's thread.

    Args:
        board: the board to play on.
        ai: the player that the human plays against.
        start_player: 0 if the human moves first, 1 if the AI does.

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
        self._game_of_ai = 0
        self._answer: tuple[int, Any] | None = None
        self._thread: threading.Thread | None = None
        self.restart()

    @property
    def human(self) -> int:
        """The player number of the human."""
        return self.board.players[0 if self.human_begins else 1]

    @property
    def is_thinking(self) -> bool:
        """Whether the AI is to move."""
        return not self.board.game_end()[0] and self.board.get_current_player() != self.human

    def restart(self) -> None:
        """Start a new game; if the AI is still searching in the old game, its answer will be dropped."""
        self.game += 1
        self.has_swapped = False
        self.board.init_board(0)

    def switch_sides(self) -> None:
        """Start a new game in which the other side moves first."""
        self.human_begins = not self.human_begins
        self.restart()

    def reset_score(self) -> None:
        self.score = [0, 0, 0]

    def click(self, point: tuple[int, int]) -> None:
        """Place a stone for the human if it is the human's turn and the point is empty."""
        move = self.board.location_to_move(list(point))
        if not self.is_thinking and not self.board.game_end()[0] and move in self.board.availables:
            self._play(move)

    def tick(self) -> None:
        """Start the AI's thread when the AI is to move, and play its answer once it has one.

        Raises:
            RuntimeError: the AI failed or returned an illegal move; the cause is the exception that the AI or the board raised.
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

    def view(self, pointer: tuple[int, int] | None = None) -> View:
        """Return what to draw now; `pointer` is the point (h, w) under the mouse, if any."""
        width, first = self.board.width, self.board.players[0]
        stones = {divmod(move, width): 0 if player == first else 1 for move, player in self.board.states.items()}
        last = None if self.board.last_move == -1 else divmod(self.board.last_move, width)
        ended, winner = self.board.game_end()
        line: tuple[tuple[int, int], ...] = ()
        if ended:
            message = "A draw" if winner == -1 else ("You win" if winner == self.human else "The AI wins")
            if winner != -1 and last is not None:
                line = line_through(stones, last, self.board.n_in_row)
        elif self.is_thinking:
            message = "The AI is thinking"
        else:
            message = "The AI swapped: your turn" if self.has_swapped else "Your turn"
        turn = "" if ended else ("ai" if self.is_thinking else "human")
        pointed = pointer if turn == "human" and pointer not in stones else None
        score = (self.score[0], self.score[1], self.score[2])
        return View(stones, last, message, self.human_begins, score, line, turn, pointed)

    def _think(self, game: int, board: Any) -> None:
        try:
            if game != self._game_of_ai:  # the AI's tree belongs to an earlier game
                self.ai.reset_player()
                self._game_of_ai = game
            move, _ = self.ai.get_action(board, is_selfplay=False, print_probs_value=False)
            self._answer = (game, move)
        except BaseException as error:  # tick() reports it in the window's thread
            self.failure = error

    def _play(self, move: Any) -> None:
        self.board.play(move)
        self.has_swapped = move == self.board.SWAP
        ended, winner = self.board.game_end()
        if ended:
            self.score[2 if winner == -1 else (0 if winner == self.human else 1)] += 1


def run_frame(gui: GUI, match: Match) -> bool:
    """Handle clicks, advance the match, and draw; return False if the window should close."""
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
    gui.draw(match.view(gui.point_at(pygame.mouse.get_pos()) if pygame.mouse.get_focused() else None))
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
            clock.tick(FRAMES_PER_SECOND)
    finally:
        gui.close()
