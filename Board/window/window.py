"""The window: opens a screen, turns mouse and keys into what a person wants, and draws a frame when something has changed."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pygame

from Board.play.game_file import SAVED_GAMES, new_path, read_game, save_game, saved_games
from Board.play.people import Refused
from Board.play.session import Session
from Board.play.thinking import Analysis
from Board.play.words import say
from Board.rules import Board
from Board.window import shapes
from Board.window.board_picture import BoardPicture
from Board.window.fonts import Pen, bold_of
from Board.window.layout import Layout, first_size, lay_out
from Board.window.panel import Panel, list_row_at
from Board.window.scene import Look, Overlay, Scene, make_scene
from common.errors import UsageError
from common.harmless_text import on_screen

FRAMES_PER_SECOND = 30
LOOK_EVERY_S = 0.25  # how often the tree of a running search is read
NOTICE_S = 7.0
MOST_FILES = 9
# A search thread holds the interpreter for this long before the window gets its turn.
SWITCH_INTERVAL_S = 0.0001
ORDINARY_HEIGHT = 1100  # pixels of a screen on which text has its usual size
KEYS: dict[int, str] = {
    pygame.K_n: "new", pygame.K_x: "switch", pygame.K_z: "undo", pygame.K_u: "undo", pygame.K_BACKSPACE: "undo",
    pygame.K_y: "redo", pygame.K_r: "redo", pygame.K_h: "hint", pygame.K_w: "swap", pygame.K_p: "pause",
    pygame.K_SPACE: "pause", pygame.K_LEFT: "back", pygame.K_RIGHT: "forward", pygame.K_HOME: "first", pygame.K_END: "last",
    pygame.K_RETURN: "here", pygame.K_s: "save", pygame.K_o: "open", pygame.K_c: "shot", pygame.K_v: "overlay",
    pygame.K_l: "line", pygame.K_m: "numbers", pygame.K_k: "coordinates", pygame.K_F1: "help", pygame.K_ESCAPE: "close_list",
}  # fmt: skip
HELP = (
    ("N", "key_new"), ("X", "key_switch"), ("Z  U", "key_undo"), ("Y  R", "key_redo"), ("H", "key_hint"), ("W", "key_swap"),
    ("P", "key_pass"), ("P  Space", "key_pause"),
    ("Left Right  Home End", "key_step"), ("Enter", "key_here"), ("S", "key_save"), ("O", "key_open"),
    ("C", "key_shot"), ("V", "key_overlay"), ("L", "key_line"), ("M", "key_numbers"), ("K", "key_coordinates"),
    ("F1", "key_help"),
)  # fmt: skip
IN_PLACE_OF_A_STONE: dict[str | None, str] = {"swap": "key_swap", "pass": "key_pass"}


def open_screen(columns: int, rows: int, title: str = "Gomoku") -> float:
    """Open a window for a board of this size and return the scale of its text.

    Raises:
        RuntimeError: there is no screen.
    """
    try:
        pygame.display.init()
    except pygame.error as error:
        raise RuntimeError(f"expected a screen to open a window on; {error}: play with --terminal") from error
    # Without a screen SDL may fall back to drawing off screen, which is wanted only if the caller chose that driver.
    if pygame.display.get_driver() == "offscreen" and os.environ.get("SDL_VIDEODRIVER") != "offscreen":
        pygame.quit()
        raise RuntimeError("expected a screen to open a window on; found none: play with --terminal")
    pygame.font.init()
    pygame.display.set_caption(title)
    desktop = pygame.display.get_desktop_sizes()[0]
    scale = max(1.0, min(3.0, round(4 * desktop[1] / ORDINARY_HEIGHT) / 4))
    pygame.display.set_mode(first_size(columns, rows, scale, desktop), pygame.RESIZABLE)
    pygame.key.stop_text_input()  # an input method that is switched on would take the letter keys
    return scale


class Window:
    """A window that shows a session; it must be closed.

    Args:
        session: the games that are played in it.
        language: "en" or "zh".
        font: the file of a font; None for pygame's own.
        folder: where games and pictures are saved.

    Attributes:
        look: what the person has chosen to see.
        layout: where everything lies now.
        drawn: how many frames were drawn; a frame in which nothing has changed is not drawn.

    Raises:
        RuntimeError: there is no screen.
    """

    def __init__(self, session: Session, language: str = "en", font: str | None = None, folder: Path | None = None) -> None:
        self.session = session
        self.look = Look(language=language)
        self.folder = folder or SAVED_GAMES
        game = session.game
        self._scale = open_screen(game.width, game.height, game.title)
        self._keys = KEYS if game.pass_action is None else KEYS | {pygame.K_p: "pass"}
        self._pen = Pen(font, bold_of(font))
        self._files: list[Path] = []
        self._notice, self._notice_until_s = "", 0.0
        self._live: Analysis | None = None
        self._looked_s = 0.0
        self._last: tuple[Scene, tuple[int, int] | None] | None = None
        self.drawn = 0
        self._lay_out()

    def _lay_out(self) -> None:
        self.screen = pygame.display.get_surface()
        shapes.forget_pictures()
        game = self.session.game
        self.layout: Layout = lay_out(
            self.screen.get_size(), game.width, game.height, self._scale, game.is_cells, game.in_place_of_a_stone
        )
        self._picture = BoardPicture(self.layout, self._pen, (game.column_names, game.row_names))
        self._panel = Panel(self.layout, self._pen)
        self._last = None

    # ------------------------------------------------------------------------------------------ one frame

    def run_frame(self) -> bool:
        """Handle events, advance the games and draw; return False if the window should close."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                return False
            self._handle(event)
        try:
            self.session.tick()
        except Refused as refused:
            self._tell(refused)
        now = time.monotonic()
        if now - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now
            self._live = self.session.look()
        elif self.session.thinking_s is None:
            self._live = None
        self.draw()
        return True

    def draw(self) -> None:
        """Draw the window if anything in it has changed."""
        surface = pygame.display.get_surface()
        if surface is not self.screen or surface.get_size() != self.layout.size:
            self._lay_out()
        pointer = pygame.mouse.get_pos() if pygame.mouse.get_focused() else None
        notice = self._notice if time.monotonic() < self._notice_until_s else ""
        point = self.layout.point_at(pointer) if pointer is not None and not self.look.list_of else None
        scene = make_scene(self.session, self.look, self._live, point, notice)
        over = self.layout.button_at(pointer) if pointer is not None else None
        shows = (scene, self.layout.buttons[over].center if over else None)
        if shows == self._last:
            return
        self._last = shows
        self._picture.draw(self.screen, scene)
        self._panel.draw(self.screen, scene, shows[1])
        pygame.display.flip()
        self.drawn += 1

    def screenshot(self, path: Path) -> None:
        """Save what the window shows as a picture.

        Raises:
            OSError, pygame.error: the file cannot be written.
        """
        pygame.image.save(self.screen, str(path))

    def close(self) -> None:
        """Close the window."""
        pygame.quit()

    # ------------------------------------------------------------------------------------------ mouse and keys

    def _handle(self, event: Any) -> None:
        if event.type == pygame.KEYDOWN:
            number = event.key - pygame.K_1 + 1
            if self.look.list_of and 1 <= number <= len(self._files):
                self._open_file(self._files[number - 1])
            elif event.key in self._keys:
                self.do(self._keys[event.key])
        elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self._click(event.pos)
        elif event.type == pygame.MOUSEWHEEL and event.y:
            self.do("back" if event.y > 0 else "forward")
        elif event.type == pygame.DROPFILE:
            self._open_file(Path(event.file))

    def _click(self, pixel: tuple[int, int]) -> None:
        if self.look.list_of:
            row = list_row_at(self.layout, len(self.look.list_of), pixel)
            if row is not None and 1 <= row <= len(self._files):
                self._open_file(self._files[row - 1])
            else:
                self.do("close_list")
            return
        button, point = self.layout.button_at(pixel), self.layout.point_at(pixel)
        if button is not None:
            self.do(button)
        elif point is not None:
            self._try(lambda: self.session.play(point[0] * self.layout.columns + point[1]))

    def do(self, action: str) -> None:
        """Run the command of a button or key; if it cannot be run, the window shows why."""
        session = self.session
        actions: dict[str, Callable[[], object]] = {
            "new": session.new_game,
            "switch": session.switch_sides,
            "reset": session.reset_score,
            "undo": session.undo,
            "redo": session.redo,
            "pause": session.toggle_pause,
            "hint": session.ask_for_hint,
            "swap": lambda: session.play(Board.SWAP),
            "pass": session.pass_turn,
            "here": session.go_on_from_here,
            "first": lambda: session.view(0),
            "back": lambda: session.view(session.shown - 1),
            "forward": lambda: session.view(session.shown + 1),
            "last": lambda: session.view(session.live),
            "save": self._save,
            "shot": self._save_picture,
            "open": self._list_files,
            "help": self._show_help,
            "close_list": lambda: self._look(list_of=()),
            "overlay": self._next_overlay,
            "line": lambda: self._look(line=not self.look.line),
            "numbers": lambda: self._look(numbers=not self.look.numbers),
            "coordinates": lambda: self._look(coordinates=not self.look.coordinates),
        }
        if self.look.list_of and action not in ("help", "open"):
            self._look(list_of=())
        self._notice = ""
        self._try(actions[action])

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Refused as refused:
            self._tell(refused)
        except UsageError as error:
            self._say("bad_file", error=error)

    def _tell(self, refused: Refused) -> None:
        self._say(refused.key, **refused.values)

    def _say(self, key: str, **values: object) -> None:
        self._notice = say(self.look.language, key, **values)
        self._notice_until_s = time.monotonic() + NOTICE_S

    def _look(self, **changes: Any) -> None:
        self.look = replace(self.look, **changes)

    def _next_overlay(self) -> None:
        every = list(Overlay)
        self._look(overlay=every[(every.index(self.look.overlay) + 1) % len(every)])

    # ------------------------------------------------------------------------------------------ files and lists

    def _show_help(self) -> None:
        if self.look.list_of and not self._files:
            self._look(list_of=())
            return
        self._files = []
        language, own = self.look.language, self.session.game.in_place_of_a_stone
        rows = (row for row in HELP if row[1] not in IN_PLACE_OF_A_STONE.values() or row[1] == IN_PLACE_OF_A_STONE.get(own))
        keys = {"key_pause": "Space"} if own == "pass" else {}
        shown = (f"{keys.get(words, key)}\t{say(language, words)}" for key, words in rows)
        self._look(list_of=(say(language, "help_title"), *shown))

    def _save(self) -> None:
        self._say("saved", path=self._short(save_game(self.session.to_file(), self.folder)))

    def _save_picture(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = new_path(self.folder, ".png", self.session.game.name)
            self.screenshot(path)
        except (OSError, pygame.error) as error:
            raise UsageError(f"expected to save a picture in {self.folder}; {error}") from error
        self._say("saved", path=self._short(path))

    def _list_files(self) -> None:
        self._files = saved_games(self.folder, MOST_FILES)
        if not self._files:
            self._say("open_none", folder=self._short(self.folder))
            return
        language = self.look.language
        names = (f"{number}\t{on_screen(path.name)}" for number, path in enumerate(self._files, start=1))
        self._look(list_of=(say(language, "open_title"), *names, say(language, "open_how")))

    def _open_file(self, path: Path) -> None:
        self._look(list_of=())

        def load() -> None:
            self.session.load(read_game(path, self.session.game))
            self._say("loaded", path=path.name, button="P" if self._keys[pygame.K_p] == "pause" else "Space")

        self._try(load)

    def _short(self, path: Path) -> str:
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def run(window: Window) -> None:
    """Show the window until it is closed.

    Raises:
        NotImplementedError: a player is not written yet; every other fault is shown in the window.
    """
    clock = pygame.time.Clock()
    with smooth_beside_a_search():
        while window.run_frame():
            trouble = window.session.trouble
            if trouble is not None and isinstance(trouble.error, NotImplementedError):
                raise trouble.error
            clock.tick(FRAMES_PER_SECOND)


@contextmanager
def smooth_beside_a_search() -> Iterator[None]:
    """Keep the interpreter from being held for long by a search in another thread.

    Each full garbage collection visits every object, and those of torch's modules alone take 0.3 s. Inside the block, objects
    that were there before are not visited.
    """
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval_s)
